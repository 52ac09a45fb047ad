"""`corrections`: what people say of mentions, sources, phrases, articles and stories; undoing it; labelled data."""

from __future__ import annotations

import sys
from typing import Annotated, Any

import typer

from toolpulse.call import Call, complete, most
from toolpulse.completing import tools
from toolpulse.declare import Limit, MaybeFile, command, group
from toolpulse.made import an_act, an_item

corrections = group("Correct mentions, mute sources, exclude phrases; undo it; export what people said.")

_COUNTS = (("reviewed", "reviewed"), ("about_tool", "about the tool"), ("scored", "with a sentiment"),
           ("sentiment_right", "with the right one"))  # fmt: skip


def add_to(app: typer.Typer) -> None:
    app.add_typer(corrections, name="corrections")


for _name, _given, _about in (
    ("judge", ("article", "verdict"), "Say what is right about the mention of a tool by an article."),
    ("mute", ("source",), "Let articles of a source no longer mention a tool."),
    ("exclude", ("phrase",), "Let a phrase with a name of a tool no longer mean the tool."),
):
    an_act(
        corrections, _name, "make_correction", arguments=_given, without=["article", "source", "phrase", "verdict"],
        prints="correction_id", waits=True, about=_about,
    )  # fmt: skip


an_item(
    corrections, "show", "get_grouping_correction", of_tool=True,
    about="Show one correction: of a tool with --tool, else of articles or stories.",
)  # fmt: skip
an_act(
    corrections, "undo", "undo_grouping_correction", of_tool=True, prints="correction_id", waits=True,
    about="Undo a correction: of a tool with --tool, else of articles or stories.",
)  # fmt: skip


@command(corrections, "list", state="list_corrections.state")
def list_(
    call: Call,
    tool: Annotated[
        str | None,
        typer.Argument(
            metavar="[TOOL]", help="Without it, the corrections of articles and stories.", autocompletion=tools
        ),
    ] = None,
    state: Annotated[str | None, typer.Option(help="Only these.")] = None,
    limit: Limit = 0,
) -> None:
    """List the corrections of a tool with its measured precision, or those of articles and stories."""
    if tool is None:
        found = call.listed("corrections", most(limit), state=state, view=call.view)
        columns = ["made_at", "kind", "state", "author", "reason", "articles", "correction_id"]
        call.out.rows(found, columns, none="There are none.")
        return
    path, found, measured = f"tools/{call.names.tool(tool)}/corrections", [], None
    for page in call.client.pages(path, most(limit), state=state, view=call.view):
        found += page["items"]
        measured = measured or page.get("precision")
    columns = ["correction_id", "verdict", "state", "author", "made_at", "headline"]
    call.out.rows(found, columns, none="There are none.")
    if call.out.is_table and measured and measured["reviewed"]:
        print("\n" + ", ".join(f"{words}: {measured[name]}" for name, words in _COUNTS))


@command(corrections, "export")
def export(call: Call, file: MaybeFile = None) -> None:
    """Write what people said of mentions as labelled data (NDJSON). The file appears when it is complete."""
    if file is None:
        count = _written(call, sys.stdout)
        call.out.say(f"{count} lines")
        return
    with complete(file) as out:
        count = _written(call, out)
    call.out.say(f"{count} lines, in {file}")


def _written(call: Call, out: Any) -> int:
    """Writes page by page. Returns the number of lines."""
    count = 0
    for page in call.client.exported("export/corrections"):
        out.write(page.text)
        count += page.text.count("\n")
    return count
