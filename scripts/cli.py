#!/usr/bin/env python3
"""The command line of toolpulse. It uses the settings and the store of the app, which may run at the same time.

    .venv/bin/python scripts/cli.py feeds health | list | bulk ACTION | add URL | presets | apply | import | export
    .venv/bin/python scripts/cli.py tools list | add NAME | apply [FILE] | preview TOOL ... | merge TOOL INTO | ...
    .venv/bin/python scripts/cli.py corrections list TOOL | judge TOOL ARTICLE VERDICT | mute | exclude | undo | export
    .venv/bin/python scripts/cli.py stories list | show STORY
    .venv/bin/python scripts/cli.py signals
    .venv/bin/python scripts/cli.py quarantine list | preview ITEM | review ITEM DECISION --author A --reason R
    .venv/bin/python scripts/cli.py documents show ARTICLE | acquire ARTICLE
    .venv/bin/python scripts/cli.py runs list | history FEED
    .venv/bin/python scripts/cli.py sources
    .venv/bin/python scripts/cli.py export FILE [--layer LAYER] [--format FORMAT]
    .venv/bin/python scripts/cli.py audit [--repair] [--tool TOOL] [--json]
    .venv/bin/python scripts/cli.py ingest --all [--raw-all-sources] [--export FILE]

Articles that a command ingests are analysed by the app that runs beside it; if none runs, by the command. Results go to
stdout, progress and errors to stderr. A feed that could not be fetched is listed, and fetched again when it is due.

exit codes:
  0    done; `ingest --all`: at least one feed was fetched, or there was none to fetch
  1    refused or failed; `ingest --all`: every fetch failed; `audit`: differences were found
  2    the command line is wrong
  130  interrupted
  141  the reader of the output ended first, as in `feeds list | head`
"""

from __future__ import annotations

import argparse
import asyncio
import logging
import os
import sys
from collections.abc import Mapping
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT))

from scripts.dev import need_packages  # noqa: E402

need_packages()

from models.errors import ToolpulseError, WrongSettings  # noqa: E402
from scripts import demo  # noqa: E402
from scripts.commands import articles, audit, corrections, documents, export, feeds, quarantine, runs, stories, tools  # noqa: E402
from scripts.commands.form import Group  # noqa: E402
from scripts.commands.messages import queues_for, worked_off  # noqa: E402
from scripts.commands.printed import say  # noqa: E402
from scripts.local_host import Refused  # noqa: E402
from scripts.local_host.command import name_and_value  # noqa: E402
from scripts.local_host.settings import app_settings  # noqa: E402
from services import container  # noqa: E402
from services.setting_names import unknown  # noqa: E402
from services.settings import table  # noqa: E402

CONFIG = ROOT / "config"
READER_ENDED = 141
"""What a shell reports for a program that SIGPIPE ended."""


def parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="cli.py", description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--data", type=Path, metavar="DIR", help="the data folder (default: the setting DATA_DIR)")
    parser.add_argument(
        "--set",
        type=name_and_value,
        action="append",
        default=[],
        metavar="NAME=VALUE",
        help="an app setting; repeatable",
    )
    commands = Group(
        parser,
        "feeds | tools | corrections | stories | signals | documents | quarantine | runs | sources | ingest | audit",
    )
    feeds.add_to(commands.group("feeds", "list and change feeds"), CONFIG / "feeds.yaml")
    tools.add_to(commands.group("tools", "list and change tools"), CONFIG / "tools.yaml")
    corrections.add_to(commands.group("corrections", "correct mentions, and export what people said of them"))
    stories.add_to(commands.group("stories", "list stories, and show one"))
    stories.add_signals_to(commands)
    quarantine.add_to(commands.group("quarantine", "list and review what waits for a person"))
    documents.add_to(commands.group("documents", "show and acquire the full texts behind articles"))
    runs.add_to(commands.group("runs", "list runs, and the attempts at a feed"))
    articles.add_to(commands)
    audit.add_to(commands)
    export.add_to(commands)
    return parser


def settings_of(given: argparse.Namespace) -> Mapping[str, str]:
    """The settings of the local host: the command line wins over the demo, the environment and local.settings.json."""
    chosen: dict[str, str] = dict(given.set)
    if given.data is not None:
        chosen["DATA_DIR"] = str(given.data)
    found, _ = app_settings(ROOT, chosen, os.environ)
    if problems := unknown(found, table()):
        raise WrongSettings(*problems)
    settings = {**os.environ, **found}
    if "DATA_DIR" not in chosen and settings.get("DATA_DIR"):
        settings["DATA_DIR"] = str(ROOT / settings["DATA_DIR"])
    return {**settings, **demo.settings_in(Path(settings.get("DATA_DIR", "")), chosen)}


async def _run(given: argparse.Namespace) -> int:
    settings, kept = await queues_for(settings_of(given))
    app = await container.build(settings, queues=kept)
    logging.disable(logging.WARNING)
    shown = logging.StreamHandler()
    # The command reports failed fetches itself.
    shown.addFilter(lambda line: getattr(line, "event", None) != "feed_fetch_failed")
    logging.getLogger().addHandler(shown)
    try:
        code: int = await given.run(app, given)
        return code if kept is None else max(code, await worked_off(app, kept))
    finally:
        await app.close()


def main(arguments: list[str]) -> int:
    try:
        try:
            return _exit_code(arguments)
        finally:
            sys.stdout.flush()
    except BrokenPipeError:
        # Python would flush the rest at its end, and complain.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return READER_ENDED


def _exit_code(arguments: list[str]) -> int:
    given = parser().parse_args(arguments)
    try:
        return asyncio.run(_run(given))
    except BrokenPipeError:
        raise
    except (ToolpulseError, Refused) as error:
        say(str(error))
    except OSError as error:
        say(f"{error.filename or ''}: {error.strerror or error}")
    except KeyboardInterrupt:
        return 130
    return 1


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
