"""`corrections`: what people say of mentions, sources and phrases; undoing it; and the labelled data that follows."""

from __future__ import annotations

import argparse
import json
import sys
from pathlib import Path
from typing import Any, TextIO

from models.correction import MENTION_VERDICTS
from models.resources.tools import Precision
from scripts.commands.form import Group
from scripts.commands.printed import say, show
from scripts.commands.runs import carried_out
from services.container import Container
from services.mentions.correction_form import STATES, new_correction, signed

_PAGE = 500


def add_to(corrections: Group) -> None:
    """Declares the commands of this module."""
    listing = corrections.command("list", list_, "list the corrections of a tool, and its measured precision")
    listing.add_argument("tool", help="id, name or alias")
    listing.add_argument("--state", choices=STATES)
    listing.add_argument("--json", action="store_true", help="as JSON")
    judging = corrections.command("judge", judge, "say what is right about the mention of a tool by an article")
    judging.add_argument("tool", help="id, name or alias")
    judging.add_argument("article", help="the id of the article")
    judging.add_argument("verdict", choices=MENTION_VERDICTS)
    muting = corrections.command("mute", mute, "let articles of a source no longer mention a tool")
    muting.add_argument("tool", help="id, name or alias")
    muting.add_argument("source", help="the id of the feed")
    excluding = corrections.command("exclude", exclude, "let a phrase with a name of a tool no longer mean the tool")
    excluding.add_argument("tool", help="id, name or alias")
    excluding.add_argument("phrase")
    undoing = corrections.command("undo", undo, "undo a correction")
    undoing.add_argument("tool", help="id, name or alias")
    undoing.add_argument("correction", help="the id of the correction: of a mention, the id of its article")
    for each in (judging, muting, excluding, undoing):
        each.add_argument("--author", required=True, help="who says so")
        each.add_argument("--reason")
    exporting = corrections.command("export", export, "write what people said of mentions as labelled data (NDJSON)")
    exporting.add_argument("file", type=Path, nargs="?", help="default: standard output")


async def list_(app: Container, given: argparse.Namespace) -> int:
    tool = await app.tools.get(given.tool)
    found: list[dict[str, Any]] = []
    after: str | None = None
    while True:
        page = await app.corrections.page(tool, given.state, _PAGE, after)
        found += [each.resource().shown() for each in page.items]
        after = page.next
        if after is None:
            break
    columns = ["correction_id", "verdict", "state", "author", "made_at", "headline"]
    rows = found if given.json else [{**each, "headline": each["headline"] or ""} for each in found]
    show(rows, columns, as_json=given.json, none="There are none.")
    measured = Precision.of(tool.reviews).shown()
    if not given.json and measured["reviewed"]:
        print(
            f"\nreviewed: {measured['reviewed']}, about the tool: {measured['about_tool']}, "
            f"with a sentiment: {measured['scored']}, with the right one: {measured['sentiment_right']}"
        )
    return 0


async def judge(app: Container, given: argparse.Namespace) -> int:
    return await _made(app, given, article=given.article, verdict=given.verdict)


async def mute(app: Container, given: argparse.Namespace) -> int:
    return await _made(app, given, source=given.source)


async def exclude(app: Container, given: argparse.Namespace) -> int:
    return await _made(app, given, phrase=given.phrase)


async def _made(app: Container, given: argparse.Namespace, **fields: str) -> int:
    wanted = new_correction({**fields, "author": given.author, "reason": given.reason})
    _, correction, run = await app.correction_changes.make(given.tool, wanted)
    print(correction.correction_id)
    return 0 if run is None else await carried_out(app, run)


async def undo(app: Container, given: argparse.Namespace) -> int:
    by = signed({"author": given.author, "reason": given.reason})
    _, _, run = await app.correction_changes.undo(given.tool, given.correction, by)
    return 0 if run is None else await carried_out(app, run)


async def export(app: Container, given: argparse.Namespace) -> int:
    """The file appears when it is complete."""
    if given.file is None:
        say(f"{await _write_labels(app, sys.stdout)} lines")
        return 0
    if given.file.is_dir() or not given.file.absolute().parent.is_dir():
        say(f"file: must be in an existing folder, not {given.file}")
        return 1
    unfinished = given.file.with_name(given.file.name + ".part")
    with unfinished.open("w", encoding="utf-8") as file:
        count = await _write_labels(app, file)
    unfinished.replace(given.file)
    say(f"{count} lines, in {given.file}")
    return 0


async def _write_labels(app: Container, file: TextIO) -> int:
    count, after = 0, None
    while True:
        page = await app.corrections.labels(_PAGE, after)
        for line in page.items:
            file.write(json.dumps(line, ensure_ascii=False, separators=(",", ":")) + "\n")
            count += 1
        after = page.next
        if after is None:
            return count
