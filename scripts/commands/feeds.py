"""`feeds`: lists and changes feeds."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

from models.feed import Feed
from models.run import JobRun
from scripts.commands.form import Group
from scripts.commands.printed import say, show
from scripts.commands.runs import carried_out
from services.container import Container
from services.feeds.form import checked_url, new_feed
from services.feeds.lists import ListReport, apply_yaml, import_opml, write_opml


def add_to(feeds: Group, default_file: Path) -> None:
    """Declares the commands of this module."""
    for listing in (
        feeds.command("health", health, "list enabled feeds, those with the most consecutive errors first"),
        feeds.command("list", list_, "list all feeds"),
    ):
        listing.add_argument("--json", action="store_true", help="as JSON")
    adding = feeds.command(
        "add", add, "add a feed by its URL or the URL of a page that links to it; prints the feed's id"
    )
    adding.add_argument("url")
    adding.add_argument("--name", help="the source's name (default: the host)")
    adding.add_argument("--id", help="default: derived from the URL")
    adding.add_argument("--priority", type=float, help="higher is fetched first (default 1)")
    adding.add_argument(
        "--source-priority", type=int, help="1 to 999: the reading of the lowest is the canonical one (default 999)"
    )
    adding.add_argument(
        "--credential", metavar="SETTING", help="the name of the setting FEED_CREDENTIAL_… for a private feed"
    )
    adding.add_argument("--disabled", action="store_true", help="do not fetch it yet")
    applying = feeds.command("apply", apply, "add and change feeds to match a YAML list")
    applying.add_argument("file", type=Path, nargs="?", default=default_file, help="default: config/feeds.yaml")
    feeds.command("import", import_, "add the feeds of an OPML file").add_argument("file", type=Path)
    out = feeds.command("export", export, "write all feeds as OPML")
    out.add_argument("file", type=Path, nargs="?", help="default: stdout")


async def health(app: Container, given: argparse.Namespace) -> int:
    columns = ["feed_id", "source_name", "enabled", "consecutive_errors", "last_successful_fetch", "articles_per_hour"]
    rows = [{name: getattr(feed, name) for name in columns} for feed in await app.overview.feed_health()]
    show(rows, columns, as_json=given.json, none="No feed is enabled.")
    return 0


async def list_(app: Container, given: argparse.Namespace) -> int:
    feeds = [feed.shown() for feed in await app.feeds.every()]
    columns = ["feed_id", "source_name", "enabled", "priority_score", "last_fetch_time", "last_status_code", "feed_url"]
    show(feeds, columns, as_json=given.json, none="There are no feeds yet: add one with `feeds add URL`.")
    return 0


async def add(app: Container, given: argparse.Namespace) -> int:
    url = checked_url(given.url)
    fields = {
        "url": url,
        "source_name": given.name or urlsplit(url).hostname,
        "id": given.id,
        "priority": given.priority,
        "source_priority": given.source_priority,
        "enabled": not given.disabled,
        "credential": given.credential,
    }
    added = await app.feeds.add(new_feed(fields, app.clock()))
    say("added; it is fetched when the app runs" if added.is_new else "already known")
    print(added.feed.feed_id)
    return 0


async def apply(app: Container, given: argparse.Namespace) -> int:
    runs: list[JobRun] = []

    async def change(feed_id: str, fields: Mapping[str, Any]) -> Feed:
        feed, run = await app.feed_changes.change(feed_id, fields)
        runs.extend([run] if run is not None else [])
        return feed

    code = _reported(await apply_yaml(app.feeds, given.file.read_bytes(), app.clock(), change))
    for run in runs:
        code |= await carried_out(app, run)
    return code


async def import_(app: Container, given: argparse.Namespace) -> int:
    return _reported(await import_opml(app.feeds, given.file.read_bytes(), app.clock()))


def _reported(report: ListReport) -> int:
    print(f"{len(report.added)} added, {len(report.changed)} changed, {len(report.known)} unchanged")
    for each in report.refused:
        say(f"line {each.line}: {each.url}: {each.reason}")
    return 1 if report.refused else 0


async def export(app: Container, given: argparse.Namespace) -> int:
    document = write_opml([feed for feed in await app.feeds.every() if feed.kind == "feed"], app.clock())
    if given.file is None:
        sys.stdout.write(document.decode())
    else:
        given.file.write_bytes(document)
    return 0
