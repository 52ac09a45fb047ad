"""`tools`: the catalog of tools, and the work that follows from a change of it."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Annotated, Any

import typer

from toolpulse.call import Call, content_of, without_nothing
from toolpulse.client import part
from toolpulse.declare import command, group
from toolpulse.failures import FAILED, WRONG_USAGE, Failure
from toolpulse.made import a_list, a_run, an_item
from toolpulse.options import MaybeAuthor, NoWait, Reason, Tool
from toolpulse.tables import average

tools = group("List and change tools; search, merge and score again.")

Aliases = Annotated[list[str] | None, typer.Option("--alias", help="Another name; repeatable.")]
Tickers = Annotated[list[str] | None, typer.Option("--ticker", help="A ticker; repeatable.")]
Keywords = Annotated[list[str] | None, typer.Option("--keyword", help="A word that also means the tool; repeatable.")]
Excluded = Annotated[list[str] | None, typer.Option("--exclude", help="A phrase that does not mean the tool; repeatable.")]  # fmt: skip  # noqa: E501
Changes = Annotated[str | None, typer.Option("--change", metavar="JSON", help="Other fields, as a JSON object.")]
YAML = "application/yaml"


def add_to(app: typer.Typer) -> None:
    app.add_typer(tools, name="tools")


a_list(
    tools, "list", "list_tools", ["name", "status", "aliases", "tickers", "discovery_date", "tool_id"], limit=0,
    none="There are no tools yet: see `toolpulse tools add NAME`.",
)  # fmt: skip
an_item(tools, "show", "get_tool")
a_list(
    tools, "merges", "list_merges", ["merged_name", "author", "made_at", "merged_tool_id"],
    none="No tool was merged into this one.",
)  # fmt: skip
a_list(
    tools, "references", "list_tool_references", ["published_at", "role", "source", "title", "source_identifier"],
    none="There are no such references.",
)  # fmt: skip
a_run(tools, "reanalyze", "reanalyze_tool")


@command(tools, "add")
def add(
    call: Call,
    name: Annotated[str, typer.Argument(help="The name by which the tool is known.")],
    alias: Aliases = None,
    ticker: Tickers = None,
    keyword: Keywords = None,
    exclude: Excluded = None,
    no_wait: NoWait = False,
) -> int:
    """Add a tool, and search the articles of the last 30 days for it; prints its id."""
    lists = without_nothing(aliases=alias, tickers=ticker, keywords=keyword, excluded=exclude)
    added = call.client.post("tools", {"name": name, **lists})
    call.out.made(added, "tool_id")
    return call.finished(added["run_id"], wait=not no_wait)


@command(tools, "change", status="ToolChange.status")
def change(
    call: Call,
    tool: Tool,
    name: Annotated[str | None, typer.Option(help="Another first name.")] = None,
    alias: Aliases = None,
    ticker: Tickers = None,
    keyword: Keywords = None,
    exclude: Excluded = None,
    status: Annotated[str | None, typer.Option()] = None,
    changes: Changes = None,
    no_wait: NoWait = False,
) -> int:
    """Change a tool. Names, tickers, keywords and phrases are added to those that it has; --change replaces a list."""
    fields = {**_object(changes), **without_nothing(name=name, status=status)}
    if not fields and not any((alias, ticker, keyword, exclude)):
        raise Failure("nothing to change: see `toolpulse tools change --help`", WRONG_USAGE)
    place = f"tools/{call.names.tool(tool)}"
    fields = {**_added(call, place, alias, ticker, keyword, exclude), **fields}
    changed = call.client.patch(place, fields)
    call.out.made(changed, "tool_id")
    return call.finished(changed.get("run_id"), wait=not no_wait)


@command(tools, "apply")
def apply(
    call: Call,
    file: Annotated[Path, typer.Argument(help="A YAML list of tools, such as config/tools.yaml.")],
    no_wait: NoWait = False,
) -> int:
    """Add and change tools to match a YAML list; those that it does not name stay."""
    return applied(call, "tools", content_of(file), wait=not no_wait)


def applied(call: Call, what: str, document: bytes, *, wait: bool) -> int:
    """Applies a YAML list of tools or feeds, reports it, and waits for the runs that follow."""
    report = call.client.upload(f"{what}/apply", document, YAML)
    code = reported(call, report)
    for run_id in report["runs"]:
        code = max(code, call.finished(run_id, wait=wait))
    return code


def reported(call: Call, report: Mapping[str, Any]) -> int:
    """Prints what a list changed, and each entry that was refused. The exit code."""
    if not call.out.is_table:
        call.out.item(report)
    else:
        changed = report.get("changed", ())
        print(f"{len(report['added'])} added, {len(changed)} changed, {len(report['known'])} unchanged")
        for sign, key in (("+", "added"), ("~", "changed")):
            for each in report.get(key, ()):
                id_ = each.get("feed_id") or each.get("tool_id")
                call.out.line(f"{sign} {id_}  {each.get('source_name') or each.get('name')}")
    for each in report["refused"]:
        names = dict.fromkeys(each.get(name) for name in ("name", "source_name", "url") if each.get(name))
        call.out.say(f"line {each['line']}: {' '.join(names)}: {each['reason']}")
    return FAILED if report["refused"] else 0


@command(tools, "preview")
def preview(
    call: Call,
    tool: Tool,
    alias: Aliases = None,
    ticker: Tickers = None,
    keyword: Keywords = None,
    exclude: Excluded = None,
    changes: Changes = None,
) -> int:
    """List the articles of the last 30 days that a change would add or remove. Nothing changes."""
    fields, place = _object(changes), f"tools/{call.names.tool(tool)}"
    fields = {**_added(call, place, alias, ticker, keyword, exclude), **fields}
    found = call.client.post(f"{place}/preview", fields)
    if not call.out.is_table:
        call.out.item(found)
        return 0
    more = "" if found["complete"] else "; and more"
    print(f"{found['would_add']} of {found['articles_looked_at']} articles would be added, "
          f"{found['would_remove']} would be removed{more}")  # fmt: skip
    for sign, samples in (("+", found["added"]), ("-", found["removed"])):
        for each in samples:
            call.out.line(f"  {sign} {each['timestamp']}  {each['headline']}  [{_matches(each)}]")
    for name, holder in found["taken_by"].items():
        call.out.say(f"{name} already names the tool {call.names.of_tool(holder)}")
    return FAILED if found["taken_by"] else 0


def _matches(sample: Mapping[str, Any]) -> str:
    names = [f"{each['name']} ({'; '.join(each['cues'])})" if each.get("cues") else each["name"]
             for each in sample["matches"]]  # fmt: skip
    return ", ".join(dict.fromkeys(names))


def _added(call: Call, place: str, *lists: list[str] | None) -> dict[str, Any]:
    """The lists of the tool with what the options add."""
    if not any(lists):
        return {}
    has = call.client.get(place)
    names = ("aliases", "tickers", "keywords", "excluded")
    return {name: [*has[name], *more] for name, more in zip(names, lists, strict=True) if more}


def _object(text: str | None) -> dict[str, Any]:
    try:
        fields = json.loads(text or "{}")
    except ValueError as error:
        raise Failure(f"--change: must be a JSON object ({error})", WRONG_USAGE) from None
    if not isinstance(fields, dict):
        raise Failure("--change: must be a JSON object", WRONG_USAGE)
    return fields


@command(tools, "merge")
def merge(
    call: Call,
    tool: Annotated[str, typer.Argument(help="The tool that is merged: name, alias or id.")],
    into: Annotated[str, typer.Argument(help="The tool that replaces it.")],
    author: MaybeAuthor = None,
    reason: Reason = None,
    no_wait: NoWait = False,
) -> int:
    """Merge one tool into another, with its mentions."""
    body = {"into": into, **without_nothing(author=author, reason=reason)}
    begun = call.client.post(f"tools/{call.names.tool(tool)}/merge", body)
    call.out.say(begun["undo"])
    return call.finished(begun["run_id"], wait=not no_wait)


@command(tools, "compare")
def compare(
    call: Call,
    tool: Tool,
    analyzer: Annotated[
        str | None, typer.Option(help="embedded, azure-language or candidate; default: the present one.")
    ] = None,
) -> int:
    """Report what another analyzer would change, without changing it."""
    body = {"apply": False, **without_nothing(analyzer=analyzer)}
    run_id = call.client.post(f"tools/{call.names.tool(tool)}/reanalyze", body)["run_id"]
    code = call.finished(run_id)
    report = call.client.get(f"runs/{part(run_id)}")["report"] or {}
    if not call.out.is_table:
        call.out.item(report)
    elif report:
        for line in comparison_lines(report):
            call.out.line(line)
    return code


def comparison_lines(report: Mapping[str, Any]) -> Iterator[str]:
    """The report of a comparison as text."""
    averages = [average(report[when], "{:+.4f}") for when in ("before", "after")]
    yield f"{report['analyzer']} {report['analyzer_version']}"
    yield f"{report['changed']} of {report['compared']} mentions would change"
    yield f"average sentiment {' -> '.join(averages)}"
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
