"""`tools`: the catalog of tools, and the work that follows from a change of it."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Annotated, Any

import typer

from toolpulse.call import Call, content_of, without_nothing
from toolpulse.client import part
from toolpulse.declare import NoWait, Tool, command, group
from toolpulse.failures import FAILED
from toolpulse.made import a_list, a_run, an_act, an_item, json_object
from toolpulse.tables import average

tools = group("List and change tools; search, merge and score again.")

Changes = Annotated[str | None, typer.Option("--change", metavar="JSON", help="Other fields, as a JSON object.")]
YAML = "application/yaml"
_WHEN = ("before", "after")
_LISTS = ("aliases", "tickers", "keywords", "excluded", "muted_sources")


def add_to(app: typer.Typer) -> None:
    app.add_typer(tools, name="tools")


def _with_present(call: Call, path: str, given: dict[str, Any]) -> dict[str, Any]:
    """The change. What is given of a list is added to the list of the tool; --change replaces it."""
    changes = json_object("change", given.pop("change") or "{}")
    has = call.client.get(path.removesuffix("/preview")) if given.keys() & set(_LISTS) else {}
    lists = {name: [*has[name], *more] for name, more in given.items() if name in _LISTS}
    return {**given, **lists, **changes}


def _show_preview(call: Call, found: dict[str, Any]) -> None:
    more = "" if found["complete"] else "; and more"
    print(f"{found['would_add']} of {found['articles_looked_at']} articles would be added, "
          f"{found['would_remove']} would be removed{more}")  # fmt: skip
    for sign, samples in (("+", found["added"]), ("-", found["removed"])):
        for each in samples:
            call.out.line(f"  {sign} {each['timestamp']}  {each['headline']}  [{_matches(each)}]")
    for name, holder in found["taken_by"].items():
        call.out.say(f"{name} already names the tool {call.names.of_tool(holder)}")


def _matches(sample: Mapping[str, Any]) -> str:
    names = [f"{each['name']} ({'; '.join(each['cues'])})" if each.get("cues") else each["name"]
             for each in sample["matches"]]  # fmt: skip
    return ", ".join(dict.fromkeys(names))


a_list(
    tools, "list", "list_tools", ["name", "status", "aliases", "tickers", "discovery_date", "tool_id"], limit=0,
    none="There are no tools yet: see `toolpulse tools add NAME`.",
)  # fmt: skip
an_item(tools, "show", "get_tool")
a_list(
    tools, "merges", "list_merges", ["merged_name", "author", "made_at", "merged_tool_id"],
    none="No tool was merged into this one.",
)  # fmt: skip
a_list(tools, "names", "list_names", ["name_raw", "name_kind", "source", "created_at"])
a_list(
    tools, "references", "list_tool_references", ["published_at", "role", "source", "title", "source_identifier"],
    none="There are no such references.",
)  # fmt: skip
a_run(tools, "reanalyze", "reanalyze_tool")
an_act(
    tools, "add", "add_tool", arguments=["name"], prints="tool_id", waits=True,
    about="Add a tool, and search the articles of the last 30 days for it; prints its id.",
)  # fmt: skip
an_act(
    tools, "change", "change_tool", extra={"change": Changes}, before=_with_present, prints="tool_id", waits=True,
    about="Change a tool. Names, tickers, keywords and phrases are added to those that it has; --change replaces a "
    "list.",
)  # fmt: skip
an_act(
    tools, "preview", "preview_tool", extra={"change": Changes}, before=_with_present, show=_show_preview,
    failed=lambda found: bool(found["taken_by"]),
    about="List the articles of the last 30 days that a change would add or remove. Nothing changes.",
)  # fmt: skip
an_act(
    tools, "merge", "merge_tool", arguments=["into"], waits=True,
    show=lambda call, begun: call.out.say(begun["undo"]),
    about="Merge one tool into another, with its mentions.",
)  # fmt: skip


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
    if report and call.out.is_table:
        _show_comparison(call, report)
    else:
        call.out.item(report)
    return code


def _show_comparison(call: Call, report: Mapping[str, Any]) -> None:
    averages = [average(report[when], "{:+.4f}") for when in _WHEN]
    call.out.line(f"{report['analyzer']} {report['analyzer_version']}")
    call.out.line(f"{report['changed']} of {report['compared']} mentions would change")
    call.out.line(f"average sentiment {' -> '.join(averages)}")
    labels = [{"before": before, **row} for before, row in report["labels"].items()]
    call.out.section("labels before and after", labels, ["before", *report["labels"]])
    call.out.section("not compared", [report["not_compared"]], list(report["not_compared"]))
    samples = [
        {"headline": each["headline"], **{when: each[when]["sentiment"] or "unscored" for when in _WHEN}}
        for each in report["samples"]
    ]
    call.out.section("samples", samples, [*_WHEN, "headline"])
