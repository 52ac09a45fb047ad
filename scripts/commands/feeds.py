"""`feeds`: lists and changes feeds."""

from __future__ import annotations

import argparse
import dataclasses
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any, get_args
from urllib.parse import urlsplit

from models.feed import Feed, FullTextChoice
from models.resources.feeds import FeedResource
from models.run import JobRun
from models.verdict import ADVICE, VERDICTS
from scripts.commands.form import Group
from scripts.commands.printed import say, show
from scripts.commands.runs import carried_out
from services.container import Container
from services.feeds.bulk import ACTIONS, BulkReport, Result, bulk_action
from services.feeds.form import checked_url, new_feed
from services.feeds.listing import FILTERS, SORTS, FeedFilter, Sorting, accepts, feed_filter
from services.feeds.lists import ListReport, apply_yaml, import_opml
from services.feeds.opml import write_opml
from services.topology import INGEST_FEEDS


def add_to(feeds: Group, default_file: Path) -> None:
    """Declares the commands of this module."""
    for listing in (
        feeds.command("health", health, "list the verdict on each feed with its reason, those that need you first"),
        feeds.command("list", list_, "list all feeds"),
    ):
        _add_filters(listing)
        listing.add_argument("--json", action="store_true", help="as JSON")
    listing.add_argument("--sort", choices=SORTS, default=SORTS[0], help="by what (default id)")
    listing.add_argument("--reverse", action="store_true", help="the last first")
    adding = feeds.command(
        "add", add, "add a feed by its URL, the URL of a page that links to it, or a preset; prints the feed's id"
    )
    adding.add_argument("url", nargs="?", help="not with --preset")
    adding.add_argument("--preset", help="one of `feeds presets`, instead of a URL")
    adding.add_argument(
        "--value", action="append", type=_value, default=[], metavar="NAME=VALUE", help="of the preset; may be repeated"
    )
    adding.add_argument("--name", help="the source's name (default: the host)")
    adding.add_argument("--id", help="default: derived from the URL")
    adding.add_argument("--priority", type=float, help="higher is fetched first (default 1)")
    adding.add_argument(
        "--source-priority", type=int, help="1 to 999: the reading of the lowest is the canonical one (default 999)"
    )
    adding.add_argument(
        "--credential", metavar="SETTING", help="the name of the setting FEED_CREDENTIAL_… for a private feed"
    )
    adding.add_argument(
        "--full-text", choices=get_args(FullTextChoice), help="whether to read the pages of entries (default never)"
    )
    adding.add_argument("--tag", action="append", dest="tags", help="a tag, such as News/World; may be repeated")
    adding.add_argument("--disabled", action="store_true", help="do not fetch it yet")
    feeds.command("presets", list_presets, "list the presets for `feeds add`, with their values").add_argument(
        "--json", action="store_true", help="as JSON"
    )
    many = feeds.command("bulk", bulk, "enable, disable, tag, untag or fetch all feeds that meet the filter")
    many.add_argument("action", choices=ACTIONS)
    many.add_argument("--with", action="append", dest="tags", metavar="TAG", help="the tag to give or take; repeatable")
    many.add_argument("--dry-run", action="store_true", help="only list what would change")
    many.add_argument("--json", action="store_true", help="as JSON")
    _add_filters(many)
    applying = feeds.command("apply", apply, "add and change feeds to match a YAML list")
    applying.add_argument("file", type=Path, nargs="?", default=default_file, help="default: config/feeds.yaml")
    feeds.command("import", import_, "add the feeds of an OPML file").add_argument("file", type=Path)
    out = feeds.command("export", export, "write all feeds as OPML")
    out.add_argument("file", type=Path, nargs="?", help="default: stdout")


def _add_filters(command: argparse.ArgumentParser) -> None:
    command.add_argument("--verdict", choices=VERDICTS, help="only feeds with this verdict")
    command.add_argument("--tag", help="only feeds with this tag")
    command.add_argument("--host", help="only feeds that are fetched from this host")
    command.add_argument("--text", help="only feeds with these words in their name or title")
    which = command.add_mutually_exclusive_group()
    which.add_argument("--enabled", action="store_true", default=None, help="only feeds that are enabled")
    which.add_argument("--disabled", action="store_false", dest="enabled", help="only feeds that are disabled")


def _filter(given: argparse.Namespace) -> FeedFilter:
    return feed_filter({name: value for name in FILTERS if (value := getattr(given, name)) is not None})


async def bulk(app: Container, given: argparse.Namespace) -> int:
    chosen = {name: value for name in FILTERS if (value := getattr(given, name)) is not None}
    fields = {"action": given.action, "filter": chosen, "dry_run": given.dry_run}
    wanted = bulk_action({**fields, "tags": given.tags} if given.tags else fields)
    results: list[Result] = []
    report: BulkReport | None = None
    while report is None or report.next is not None:
        report = await app.bulk_actions.run(wanted, after=report.next if report is not None else None)
        await app.run_starts.send_each(INGEST_FEEDS, [(each.run_id, each.to_message()) for each in report.messages])
        results += report.results
    columns = ["feed_id", "outcome", "reason", "run_id"]
    rows = [{name: getattr(each, name) or "" for name in columns} for each in results]
    show(rows, columns, as_json=given.json, none="No feed meets the filter.")
    return 1 if any(each.outcome == "refused" for each in results) else 0


async def health(app: Container, given: argparse.Namespace) -> int:
    by = _filter(given)
    feeds = [feed for feed in await app.overview.feed_health() if accepts(by, feed.to_document())]
    columns = ["feed_id", "verdict", "verdict_since", "verdict_reason"]
    if given.json:
        columns += ["verdict_advice", "source_name", "enabled"]
        columns += ["consecutive_errors", "last_successful_fetch", "articles_per_hour"]
    rows = [{name: shown[name] for name in columns} for shown in (FeedResource.of(feed).shown() for feed in feeds)]
    show(rows, columns, as_json=given.json, none="No feed is enabled." if by.is_all else "None.")
    if not given.json:
        for verdict in dict.fromkeys(feed.verdict for feed in feeds):
            if verdict is not None and verdict != "ok":
                say(f"{verdict}: {ADVICE[verdict]}")
    return 0


async def list_(app: Container, given: argparse.Namespace) -> int:
    by = _filter(given)
    feeds = [FeedResource.of(feed).shown() for feed in await app.feeds.found(by, Sorting(given.sort, given.reverse))]
    columns = ["feed_id", "source_name", "verdict", "priority", "last_fetch_time", "last_status_code", "url"]
    none = "There are no feeds yet: add one with `feeds add URL`." if by.is_all else "None."
    show(feeds, columns, as_json=given.json, none=none)
    return 0


async def add(app: Container, given: argparse.Namespace) -> int:
    url = checked_url(given.url) if given.preset is None or given.url is not None else None
    fields = {
        "url": url,
        "source_name": given.name or (urlsplit(url).hostname if url is not None else None),
        "preset": given.preset,
        "values": dict(given.value) or None,
        "feed_id": given.id,
        "priority": given.priority,
        "source_priority": given.source_priority,
        "enabled": not given.disabled,
        "credential": given.credential,
        "full_text": given.full_text,
        "tags": given.tags,
    }
    added = await app.feeds.add(new_feed(app.presets.resolved(fields), app.clock()))
    say("added; it is fetched when the app runs" if added.is_new else "already known")
    print(added.feed.feed_id)
    return 0


async def list_presets(app: Container, given: argparse.Namespace) -> int:
    rows: list[dict[str, Any]] = [dataclasses.asdict(each) for each in app.presets.every]
    if not given.json:
        rows = [
            row | {"values": " ".join(f"{each['name']}={each['example']}" for each in row["values"])} for row in rows
        ]
    show(rows, ["preset", "values", "about", "url"], as_json=given.json, none="There are no presets.")
    return 0


def _value(text: str) -> tuple[str, str]:
    name, found, value = text.partition("=")
    if not found or not name:
        raise argparse.ArgumentTypeError(f"{text!r} is not NAME=VALUE")
    return name, value


async def apply(app: Container, given: argparse.Namespace) -> int:
    runs: list[JobRun] = []

    async def change(feed_id: str, fields: Mapping[str, Any]) -> Feed:
        feed, run = await app.feed_changes.change(feed_id, fields)
        runs.extend([run] if run is not None else [])
        return feed

    code = _reported(await apply_yaml(app.feeds, given.file.read_bytes(), app.clock(), change, app.presets))
    for run in runs:
        code |= await carried_out(app, run)
    return code


async def import_(app: Container, given: argparse.Namespace) -> int:
    return _reported(await import_opml(app.feeds, given.file.read_bytes(), app.clock()))


def _reported(report: ListReport) -> int:
    print(f"{len(report.added)} added, {len(report.changed)} changed, {len(report.known)} unchanged")
    for sign, feeds in (("+", report.added), ("~", report.changed)):
        for feed in feeds:
            print(f"{sign} {feed.feed_id}  {feed.source_name}")
    for each in report.refused:
        named = f"{each.source_name} ({each.url})" if each.source_name not in ("", each.url) else each.url
        say(f"line {each.line}: {named}: {each.reason}")
    return 1 if report.refused else 0


async def export(app: Container, given: argparse.Namespace) -> int:
    document = write_opml([feed for feed in await app.feeds.every() if feed.kind == "feed"], app.clock())
    if given.file is None:
        sys.stdout.write(document.decode())
    else:
        given.file.write_bytes(document)
    return 0
