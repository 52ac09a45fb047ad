#!/usr/bin/env python3
"""toolpulse from the command line, on the same settings and the same store as the app, which may run meanwhile.

    .venv/bin/python scripts/cli.py feeds health | list | add URL | apply [FILE] | import FILE | export [FILE]
    .venv/bin/python scripts/cli.py tools list | add NAME | apply [FILE] | preview TOOL ALIAS | merge TOOL INTO | ...
    .venv/bin/python scripts/cli.py sources
    .venv/bin/python scripts/cli.py ingest --all [--raw-all-sources] [--export FILE]

Results go to stdout, progress and errors to stderr. The exit code is 1 if something was refused or could not be done.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import logging
import os
import sys
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import asdict
from datetime import datetime
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT))

from models.errors import ToolpulseError  # noqa: E402
from models.run import IngestionBatch, JobRun  # noqa: E402
from models.values import format_time  # noqa: E402
from scripts.host import Refused  # noqa: E402
from scripts.host.settings import app_settings  # noqa: E402
from services import container  # noqa: E402
from services.analysis.backfill import preview  # noqa: E402
from services.catalog.form import new_tool  # noqa: E402
from services.catalog.lists import apply_yaml as apply_tools  # noqa: E402
from services.container import Container  # noqa: E402
from services.feeds.form import new_feed  # noqa: E402
from services.feeds.lists import ListReport, apply_yaml, import_opml  # noqa: E402
from services.feeds.opml import write_opml  # noqa: E402
from services.ingest.messages import FeedBatch  # noqa: E402
from services.reading.articles import Layer  # noqa: E402
from services.reading.shown import shown  # noqa: E402

Command = Callable[[Container, argparse.Namespace], Awaitable[int]]
FEEDS_FILE = ROOT / "config" / "feeds.yaml"
TOOLS_FILE = ROOT / "config" / "tools.yaml"
RUNS_AT_ONCE = 4
_PAGE = 500


def say(text: str) -> None:
    print(text, file=sys.stderr, flush=True)


def table(rows: list[dict[str, Any]], columns: list[str]) -> str:
    """Aligned, numbers to the right."""
    texts = [[_cell(row[column]) for column in columns] for row in rows]
    widths = [max(len(line[n]) for line in [columns, *texts]) for n in range(len(columns))]
    numeric = [all(isinstance(row[column], int | float) for row in rows) for column in columns]
    lines = [columns, ["-" * width for width in widths], *texts]
    return "\n".join(
        "  ".join(
            text.rjust(width) if right else text.ljust(width)
            for text, width, right in zip(line, widths, numeric, strict=True)
        ).rstrip()
        for line in lines
    )


def _cell(value: Any) -> str:
    if value is None:
        return "never"
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, datetime):
        return format_time(value)
    return f"{value:.2f}" if isinstance(value, float) else str(value)


def show(rows: list[dict[str, Any]], columns: list[str], *, as_json: bool, none: str) -> None:
    if as_json:
        print(json.dumps(rows, ensure_ascii=False, indent=2, default=_cell))
    elif rows:
        print(table(rows, columns))
    else:
        say(none)


async def feeds_health(app: Container, given: argparse.Namespace) -> int:
    rows = [asdict(each) for each in await app.overview.feed_health()]
    columns = ["feed_id", "source_name", "enabled", "consecutive_errors", "last_successful_fetch", "articles_per_hour"]
    show(rows, columns, as_json=given.json, none="No feed is enabled.")
    return 0


async def sources(app: Container, given: argparse.Namespace) -> int:
    rows = [asdict(each) for each in await app.overview.sources()]
    columns = ["source_name", "article_count", "avg_age_hours"]
    show(rows, columns, as_json=given.json, none="No article was published in the last 24 hours.")
    return 0


async def feeds_list(app: Container, given: argparse.Namespace) -> int:
    feeds = [shown(feed) async for feed in app.feeds.every()]
    columns = ["feed_id", "source_name", "enabled", "priority_score", "last_fetch_time", "last_status_code", "feed_url"]
    show(feeds, columns, as_json=given.json, none="There are no feeds yet: add one with `feeds add URL`.")
    return 0


async def feeds_add(app: Container, given: argparse.Namespace) -> int:
    said = {
        "url": given.url,
        "source_name": given.name or urlsplit(given.url).hostname,
        "id": given.id,
        "priority": given.priority,
        "source_priority": given.source_priority,
        "enabled": not given.disabled,
        "credential": given.credential,
    }
    added = await app.feeds.add(new_feed(said))
    say("added; it is fetched when the app runs" if added.is_new else "known already")
    print(added.feed.feed_id)
    return 0


async def feeds_apply(app: Container, given: argparse.Namespace) -> int:
    return _reported(await apply_yaml(app.feeds, given.file.read_bytes()))


async def feeds_import(app: Container, given: argparse.Namespace) -> int:
    return _reported(await import_opml(app.feeds, given.file.read_bytes()))


def _reported(report: ListReport) -> int:
    print(f"{len(report.added)} added, {len(report.changed)} changed, {len(report.known)} known as they are")
    for each in report.refused:
        say(f"line {each.line}: {each.url}: {each.reason}")
    return 1 if report.refused else 0


async def feeds_export(app: Container, given: argparse.Namespace) -> int:
    document = write_opml([feed async for feed in app.feeds.every() if feed.kind == "feed"], app.clock())
    if given.file is None:
        sys.stdout.write(document.decode())
    else:
        given.file.write_bytes(document)
    return 0


async def ingest(app: Container, given: argparse.Namespace) -> int:
    """Every enabled feed once, now. Queues are the app's: its clean_up sends on what is still to be analysed."""
    batches = await app.claims.claim_every(app.clock())
    total, done = sum(len(batch.feeds) for batch in batches), 0
    gate = asyncio.Semaphore(RUNS_AT_ONCE)

    async def one(batch: FeedBatch) -> IngestionBatch:
        nonlocal done
        async with gate:
            await app.ingestion.ingest(batch)
            run = await app.runs.get(batch.run_id)
            assert isinstance(run, IngestionBatch)
            done += len(batch.feeds)
            say(f"{done} of {total} feeds: {_summed(run)}")
            return run

    runs = await asyncio.gather(*(one(batch) for batch in batches))
    for error in (error for run in runs for error in run.errors):
        say(f"  {error}")
    print(f"feeds: {total}, {_summed(*runs)}")
    if given.export is not None:
        layer: Layer = "raw" if given.raw_all_sources else "canonical"
        print(f"exported from the {layer} layer: {await export(app, layer, given.export)}, to {given.export}")
    return 0


def _summed(*runs: IngestionBatch) -> str:
    stored = sum(run.metrics.articles_stored for run in runs if run.metrics)
    joined = sum(run.metrics.collisions_detected for run in runs if run.metrics)
    errors = sum(len(run.errors) for run in runs)
    return f"new articles: {stored}, known from another source: {joined}, errors: {errors}"


async def export(app: Container, layer: Layer, path: Path) -> int:
    """The whole layer as one JSON array; how many are in it. The file is there when it is whole."""
    count = 0
    after: str | None = None
    unfinished = path.with_name(path.name + ".part")
    with unfinished.open("w", encoding="utf-8") as file:
        while True:
            exported = await app.articles.export(layer, _PAGE, after)
            for item in exported.items:
                file.write(("[\n" if count == 0 else ",\n") + json.dumps(item, ensure_ascii=False))
                count += 1
            after = exported.next
            if after is None:
                break
        file.write("\n]\n" if count else "[]\n")
    unfinished.replace(path)
    return count


async def tools_list(app: Container, given: argparse.Namespace) -> int:
    tools = [shown(tool) for tool in await app.catalog.active()]
    columns = ["primary_name", "aliases", "tickers", "discovery_date", "tool_id"]
    rows = [{**each, "aliases": ", ".join(each["aliases"]), "tickers": ", ".join(each["tickers"])} for each in tools]
    show(tools if given.json else rows, columns, as_json=given.json, none="There are no tools yet: see `tools apply`.")
    return 0


async def tools_add(app: Container, given: argparse.Namespace) -> int:
    said = {"name": given.name, "aliases": given.alias, "tickers": given.ticker, "keywords": given.keyword}
    tool, run = await app.tool_changes.add(new_tool({**said, "excluded": given.exclude}))
    print(tool.tool_id)
    return await _carried_out(app, run)


async def tools_apply(app: Container, given: argparse.Namespace) -> int:
    report = await apply_tools(app.catalog, given.file.read_bytes())
    print(f"{len(report.added)} added, {len(report.changed)} changed, {len(report.known)} known as they are")
    for each in report.refused:
        say(f"line {each.line}: {each.name}: {each.reason}")
    code = 1 if report.refused else 0
    if report.searched_for:
        code |= await _carried_out(app, await app.tool_changes.backfill(report.searched_for))
    return code


async def tools_preview(app: Container, given: argparse.Namespace) -> int:
    tool = await app.catalog.get(given.tool)
    found = await preview(app.store, app.catalog, app.watchlist, tool, {"aliases": tuple(given.alias)}, app.clock())
    if given.json:
        print(json.dumps(found.shown(), ensure_ascii=False, indent=2))
        return 0
    print(f"{found.would_add} of {found.articles} articles would be added" + ("" if found.complete else "; and more"))
    for sample in found.samples:
        print(f"  {format_time(sample.published)}  {sample.headline}  [{', '.join(sample.matches)}]")
    for alias, holder in found.taken_by.items():
        say(f"{alias} is the tool {holder} already")
    return 1 if found.taken_by else 0


async def tools_merge(app: Container, given: argparse.Namespace) -> int:
    return await _carried_out(app, await app.tool_changes.merge(given.tool, given.into))


async def tools_reanalyze(app: Container, given: argparse.Namespace) -> int:
    return await _carried_out(app, await app.tool_changes.reanalyze(given.tool))


async def _carried_out(app: Container, run: JobRun) -> int:
    """Here and now, to its end; should this be interrupted, the app's clean_up goes on with it."""
    turn = await app.workflows.advance(run.run_id)
    while turn.goes_on:
        say(f"{(await app.runs.get(run.run_id)).progress} done")
        turn = await app.workflows.advance(run.run_id)
    for tool_id in turn.changed:
        await app.cache.invalidation.invalidate_tool_cache(tool_id)
    done = await app.runs.get(run.run_id)
    say(f"{done.workflow_name} {done.status}: {', '.join(f'{count} {name}' for name, count in done.metrics.items())}")
    for error in done.errors:
        say(f"  {error}")
    return 0 if done.status == "SUCCEEDED" else 1


def parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="cli.py", description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--data", type=Path, metavar="DIR", help="the data folder (default: the setting DATA_DIR)")
    parser.add_argument("--set", action="append", default=[], metavar="NAME=VALUE", help="an app setting; repeatable")
    commands = parser.add_subparsers(required=True, metavar="feeds | tools | sources | ingest")
    feeds = commands.add_parser("feeds", help="the feeds that are watched").add_subparsers(
        required=True, metavar="WHAT"
    )

    tools = commands.add_parser("tools", help="the tools that are watched").add_subparsers(
        required=True, metavar="WHAT"
    )

    def command(group: Any, name: str, run: Command, about: str) -> argparse.ArgumentParser:
        added: argparse.ArgumentParser = group.add_parser(name, help=about, description=about)
        added.set_defaults(run=run)
        return added

    for group, name, run, about in (
        (feeds, "health", feeds_health, "enabled feeds, those with most errors in a row first"),
        (feeds, "list", feeds_list, "all feeds"),
        (tools, "list", tools_list, "all tools that are watched"),
        (commands, "sources", sources, "articles of the last 24 hours by source, and their average age"),
    ):
        command(group, name, run, about).add_argument("--json", action="store_true", help="as JSON")
    add = command(feeds, "add", feeds_add, "add a feed, or a page that names its feed; prints the feed's id")
    add.add_argument("url")
    add.add_argument("--name", help="the source's name (default: the host)")
    add.add_argument("--id", help="default: derived from the URL")
    add.add_argument("--priority", type=float, help="higher is fetched first (default 1)")
    add.add_argument("--source-priority", type=int, help="1 to 999: the lowest is read canonically (default 999)")
    add.add_argument("--credential", metavar="SETTING", help="the setting FEED_CREDENTIAL_… of a private feed")
    add.add_argument("--disabled", action="store_true", help="do not fetch it yet")
    apply = command(feeds, "apply", feeds_apply, "make the feeds of a YAML list be as it says")
    apply.add_argument("file", type=Path, nargs="?", default=FEEDS_FILE, help="default: config/feeds.yaml")
    command(feeds, "import", feeds_import, "add the feeds of an OPML file").add_argument("file", type=Path)
    out = command(feeds, "export", feeds_export, "all feeds as OPML")
    out.add_argument("file", type=Path, nargs="?", help="default: stdout")
    _tool_commands(tools, command)
    fetch = command(commands, "ingest", ingest, "fetch feeds now, in this process, until done")
    fetch.add_argument("--all", action="store_true", required=True, help="every enabled feed, due or not")
    fetch.add_argument("--export", type=Path, metavar="FILE", help="then write everything stored as JSON")
    fetch.add_argument(
        "--raw-all-sources", action="store_true", help="export what each source said, not one reading of each article"
    )
    return parser


def _tool_commands(tools: Any, command: Callable[..., argparse.ArgumentParser]) -> None:
    add = command(tools, "add", tools_add, "add a tool, and search the last 30 days for it; prints its id")
    add.add_argument("name")
    for option, about in (
        ("alias", "another name"),
        ("ticker", "a ticker"),
        ("keyword", "a word that means it too"),
        ("exclude", "a phrase that does not mean it"),
    ):
        add.add_argument(f"--{option}", action="append", default=[], help=f"{about}; repeatable")
    apply = command(tools, "apply", tools_apply, "make the tools of a YAML list be as it says")
    apply.add_argument("file", type=Path, nargs="?", default=TOOLS_FILE, help="default: config/tools.yaml")
    trying = command(tools, "preview", tools_preview, "which articles of the last 30 days an alias would add")
    trying.add_argument("tool", help="id, name or alias")
    trying.add_argument("alias", nargs="+")
    trying.add_argument("--json", action="store_true", help="as JSON")
    merge = command(tools, "merge", tools_merge, "make one tool answer as another, mentions and all")
    merge.add_argument("tool", help="the one that goes")
    merge.add_argument("into", help="the one that answers")
    command(tools, "reanalyze", tools_reanalyze, "score all mentions of a tool anew").add_argument("tool")


def settings_of(given: argparse.Namespace) -> Mapping[str, str]:
    """As the local host has them: the command line, the environment, local.settings.json, its sample."""
    chosen = dict(each.partition("=")[::2] for each in given.set)
    if given.data is not None:
        chosen["DATA_DIR"] = str(given.data)
    found, _ = app_settings(ROOT, chosen, os.environ)
    settings = {**os.environ, **found}
    if "DATA_DIR" not in chosen and settings.get("DATA_DIR"):
        settings["DATA_DIR"] = str(ROOT / settings["DATA_DIR"])
    return settings


async def _run(given: argparse.Namespace) -> int:
    app = await container.build(settings_of(given))
    # What goes wrong with a feed is in the command's own words.
    logging.disable(logging.WARNING)
    try:
        code: int = await given.run(app, given)
        return code
    finally:
        await app.close()


def main(arguments: list[str]) -> int:
    given = parser().parse_args(arguments)
    try:
        return asyncio.run(_run(given))
    except (ToolpulseError, Refused) as error:
        say(str(error))
    except OSError as error:
        say(f"{error.filename or ''}: {error.strerror or error}")
    except KeyboardInterrupt:
        return 130
    return 1


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
