"""`tools`: lists and changes tools, and does the work that follows from a change at once."""

from __future__ import annotations

import argparse
import json
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from models.resources.tools import ToolResource
from models.tool import Tool
from scripts.commands.form import Group
from scripts.commands.printed import say, show
from scripts.commands.runs import carried_out
from services.container import Container
from services.mentions.correction_form import signed
from services.mentions.tool_references import ROLES, Asked
from services.tools.form import ToolFields, new_tool, tool_change
from services.tools.lists import apply_yaml
from services.workflows.preview import Sample
from services.workflows.preview import preview as previewed

PAGE = 500

OPTIONS = (
    ("alias", "another name"),
    ("ticker", "a ticker"),
    ("keyword", "a word that also means the tool"),
    ("exclude", "a phrase that does not mean the tool"),
)


def add_to(tools: Group, default_file: Path) -> None:
    """Declares the commands of this module."""
    tools.command("list", list_, "list the active tools").add_argument("--json", action="store_true", help="as JSON")
    adding = tools.command("add", add, "add a tool, and search the last 30 days for it; prints its id")
    adding.add_argument("name")
    for option, about in OPTIONS:
        adding.add_argument(f"--{option}", action="append", default=[], help=f"{about}; repeatable")
    applying = tools.command("apply", apply, "add and change tools to match a YAML list")
    applying.add_argument("file", type=Path, nargs="?", default=default_file, help="default: config/tools.yaml")
    trying = tools.command(
        "preview", preview, "list the articles of the last 30 days that a change would add or remove"
    )
    trying.add_argument("tool", help="id, name or alias")
    for option, about in OPTIONS:
        trying.add_argument(
            f"--{option}", action="append", default=[], help=f"{about} besides those it has; repeatable"
        )
    trying.add_argument("--change", type=_fields, default={}, help="fields as for PATCH: a JSON object")
    trying.add_argument("--json", action="store_true", help="as JSON")
    merging = tools.command("merge", merge, "merge one tool into another, with its mentions")
    merging.add_argument("tool", help="the tool that is merged")
    merging.add_argument("into", help="the tool that replaces it")
    undoing = tools.command("unmerge", unmerge, "undo a merge: the tool gets its names and mentions back")
    undoing.add_argument("tool", help="the tool that was merged: its id, or a name that it had")
    merging.add_argument("--author", help="who says so")
    undoing.add_argument("--author", required=True, help="who says so")
    for each in (merging, undoing):
        each.add_argument("--reason")
    about = "list the articles that mention a tool, also those that have expired"
    listing = tools.command("references", references, about)
    listing.add_argument("tool", help="id, name or alias")
    listing.add_argument("--role", help=f"one of {', '.join(ROLES)}")
    for name, about in (("since", "published then or later"), ("until", "published before then")):
        listing.add_argument(f"--{name}", help=f"{about}, such as 2026-02-21T20:00:00Z")
    listing.add_argument("--limit", type=int, default=50, help="how many; default: 50")
    listing.add_argument("--json", action="store_true", help="as JSON")
    tools.command("reanalyze", reanalyze, "score all mentions of a tool again").add_argument("tool")
    comparing = tools.command("compare", compare, "report what another analyzer would change, without changing it")
    comparing.add_argument("tool", help="id, name or alias")
    about = "embedded, azure-language or candidate; default: the present one"
    comparing.add_argument("--analyzer", help=about)
    comparing.add_argument("--json", action="store_true", help="as JSON")


async def list_(app: Container, given: argparse.Namespace) -> int:
    tools = [ToolResource.of(tool).shown() for tool in await app.tools.active()]
    columns = ["name", "aliases", "tickers", "discovery_date", "tool_id"]
    rows = [{**each, "aliases": ", ".join(each["aliases"]), "tickers": ", ".join(each["tickers"])} for each in tools]
    show(tools if given.json else rows, columns, as_json=given.json, none="There are no tools yet: see `tools apply`.")
    return 0


async def add(app: Container, given: argparse.Namespace) -> int:
    fields = {"name": given.name, "aliases": given.alias, "tickers": given.ticker, "keywords": given.keyword}
    tool, run = await app.tool_changes.add(new_tool({**fields, "excluded": given.exclude}))
    print(tool.tool_id)
    return await carried_out(app, run)


async def apply(app: Container, given: argparse.Namespace) -> int:
    report = await apply_yaml(app.tools, given.file.read_bytes())
    print(f"{len(report.added)} added, {len(report.changed)} changed, {len(report.known)} unchanged")
    for each in report.refused:
        say(f"line {each.line}: {each.name}: {each.reason}")
    code = 1 if report.refused else 0
    if report.searched_for:
        code |= await carried_out(app, await app.tool_changes.backfill(report.searched_for))
    return code


async def preview(app: Container, given: argparse.Namespace) -> int:
    tool = await app.tools.get(given.tool)
    found = await previewed(app.store, app.tools, app.watchlist, tool, _tried(tool, given), app.clock())
    if given.json:
        print(json.dumps(found.shown(), ensure_ascii=False, indent=2))
        return 0
    more = "" if found.complete else "; and more"
    looked_at = f"of {found.articles_looked_at} articles"
    print(f"{found.would_add} {looked_at} would be added, {found.would_remove} would be removed{more}")
    for sign, samples in (("+", found.added), ("-", found.removed)):
        for sample in samples:
            print(f"  {sign} {sample.timestamp}  {sample.headline}  {_matches(sample)}")
    for name, holder in found.taken_by.items():
        say(f"{name} already names the tool {holder}")
    return 1 if found.taken_by else 0


def _tried(tool: Tool, given: argparse.Namespace) -> ToolFields:
    """The change to try: the fields of --change, and the lists of the tool with what the options add."""
    lists = {
        "aliases": (tool.aliases, given.alias),
        "tickers": (tool.tickers, given.ticker),
        "keywords": (tool.keywords, given.keyword),
        "excluded": (tool.excluded, given.exclude),
    }
    return tool_change({**{name: [*has, *more] for name, (has, more) in lists.items() if more}, **given.change})


def _fields(text: str) -> dict[str, Any]:
    fields = json.loads(text)
    if not isinstance(fields, dict):
        raise argparse.ArgumentTypeError("must be a JSON object")
    return fields


def _matches(sample: Sample) -> str:
    """The names in the article, with their cues."""
    names = [f"{match.name} ({'; '.join(match.cues)})" if match.cues else match.name for match in sample.matches]
    return f"[{', '.join(dict.fromkeys(names))}]"


async def merge(app: Container, given: argparse.Namespace) -> int:
    is_signed = given.author is not None or given.reason is not None
    by = signed({"author": given.author, "reason": given.reason}) if is_signed else None
    return await carried_out(app, await app.tool_changes.merge(given.tool, given.into, by))


async def unmerge(app: Container, given: argparse.Namespace) -> int:
    by = signed({"author": given.author, "reason": given.reason})
    merge, run = await app.tool_changes.unmerge(given.tool, by)
    print(merge.merged_tool_id)
    if run is None:
        say("This merge was undone before.")
    return 0 if run is None else await carried_out(app, run)


async def references(app: Container, given: argparse.Namespace) -> int:
    tool = await app.tools.get(given.tool)
    options = {name: getattr(given, name) for name in ("role", "since", "until")}
    asked = Asked.of({name: value for name, value in options.items() if value is not None})
    found: list[dict[str, Any]] = []
    cursor, not_kept = None, dict[str, int]()
    while len(found) < given.limit:
        page = await app.references.page(tool, asked, min(given.limit - len(found), PAGE), cursor)
        found, cursor, not_kept = found + page.items, page.next, not_kept | page.not_kept
        for each in page.unreadable:
            say(f"cannot be read: {each}")
        if cursor is None:
            break
    columns = ["published_at", "role", "source", "title", "source_identifier"]
    rows = [{name: each[name] or "" for name in columns} for each in found]
    show(found if given.json else rows, columns, as_json=given.json, none="There are no such references.")
    for day, count in not_kept.items():
        say(f"{day}: up to {count} more were not kept")
    if cursor is not None:
        say("There are more: see --limit, --since and --until.")
    return 0


async def reanalyze(app: Container, given: argparse.Namespace) -> int:
    return await carried_out(app, await app.tool_changes.reanalyze(given.tool))


async def compare(app: Container, given: argparse.Namespace) -> int:
    run = await app.tool_changes.compare(given.tool, given.analyzer or app.analyzers.present_name)
    code = await carried_out(app, run)
    report = (await app.runs.get(run.run_id)).report or {}
    if given.json:
        print(json.dumps(report, ensure_ascii=False, indent=2))
    elif report:
        print("\n".join(comparison_lines(report)))
    return code


def comparison_lines(report: Mapping[str, Any]) -> Iterator[str]:
    """The report of a comparison as text."""
    averages = [report[when]["average_sentiment"] for when in ("before", "after")]
    yield f"{report['analyzer']} {report['analyzer_version']}"
    yield f"{report['changed']} of {report['compared']} mentions would change"
    yield "average sentiment {:+.4f} -> {:+.4f}".format(*averages)
    for before, row in report["labels"].items():
        counts = [f"{count} {after}" for after, count in row.items() if count]
        if counts:
            yield f"  {before} -> {', '.join(counts)}"
    left_out = [f"{count} {reason}" for reason, count in report["not_compared"].items() if count]
    if left_out:
        yield f"not compared: {', '.join(left_out)}"
    for sample in report["samples"]:
        before, after = [sample[when]["sentiment"] or "unscored" for when in ("before", "after")]
        yield f"  {before} -> {after}  {sample['headline']}"
