#!/usr/bin/env python3
"""Runs the migrations that have not been run on the store.

    .venv/bin/python scripts/migrate.py [--list] [--data DIR]

The settings in the environment or in local.settings.json name the store.
A second run does nothing; a run after a crash continues. --list shows each migration and when it was run, and
runs none. Exit code 1: it failed; 2: the store did not answer, or refused the sign-in.
"""

from __future__ import annotations

import argparse
import asyncio
import os
import sys
from collections.abc import Mapping
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT))

from scripts.dev import need_packages  # noqa: E402

need_packages()

from models.errors import ToolpulseError, Unavailable, Unusable, WrongSettings  # noqa: E402
from scripts.local_host import Refused  # noqa: E402
from scripts.local_host.settings import app_settings  # noqa: E402
from services import container  # noqa: E402
from services.operations.migrations import run_pending, states  # noqa: E402
from services.ports import Store  # noqa: E402
from services.setting import unknown  # noqa: E402
from services.settings import table  # noqa: E402

READER_ENDED = 141
"""What a shell reports for a program that SIGPIPE ended."""


async def show(store: Store) -> None:
    for each in await states(store):
        print(f"{each.number:04d}  {each.name:24}  {each.state:22}  {each.about}")


async def migrate(settings: Mapping[str, str], *, only_list: bool) -> None:
    built = await container.build(settings, migrate=False)
    try:
        if only_list:
            await show(built.store)
            return
        count = 0
        async for migration in run_pending(built.store, built.clock):
            print(f"{migration.number:04d}  {migration.name}: done")
            count += 1
        print(f"{count} run" if count else "nothing to do: every migration has been run")
    finally:
        await built.close()


def main(arguments: list[str]) -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--list", action="store_true", help="list the migrations and run none")
    parser.add_argument("--data", metavar="DIR", help="folder of the embedded store (default: the setting DATA_DIR)")
    given = parser.parse_args(arguments)
    chosen = {} if given.data is None else {"DATA_DIR": given.data}
    try:
        settings, _ = app_settings(ROOT, chosen, os.environ)
        if problems := unknown(settings, table()):
            raise WrongSettings(*problems)
        asyncio.run(migrate({**settings, **os.environ, **chosen}, only_list=given.list))
        sys.stdout.flush()
    except BrokenPipeError:
        # Python would flush the rest at its end, and complain.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return READER_ENDED
    except (ToolpulseError, Refused) as error:
        print(error, file=sys.stderr)
        return 2 if isinstance(error, Unavailable) and not isinstance(error, Unusable) else 1
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
