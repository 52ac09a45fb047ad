"""`export` writes a layer to a file, and later appends what was written or removed since.

The state file has the cursor and how far the file is complete: what a run wrote after that and did not record is cut
off, so that an interrupted export goes on where it was recorded last.
"""

from __future__ import annotations

import argparse
import json
import os
import time
from pathlib import Path
from typing import IO, Any

from scripts.commands.form import Group
from scripts.commands.printed import say
from services.container import Container
from services.operations.export import LAYERS, Exported
from services.operations.export_csv import csv_lines

_PAGE = 500
_SECONDS_BETWEEN_REPORTS = 2.0
FORMATS = ("ndjson", "csv")


def add_to(commands: Group) -> None:
    """Declares the commands of this module."""
    exporting = commands.command(
        "export", export, "write a layer to a file, or append what changed since the last time"
    )
    exporting.add_argument("file", type=Path)
    exporting.add_argument("--layer", choices=LAYERS, default="canonical")
    exporting.add_argument("--format", choices=FORMATS, default="ndjson")
    exporting.add_argument("--state", type=Path, metavar="FILE", help="default: the name of the file and .state")
    exporting.add_argument("--restart", action="store_true", help="export everything again, into a new file")


async def export(app: Container, given: argparse.Namespace) -> int:
    path: Path = given.file
    state_file: Path = given.state or path.with_name(path.name + ".state")
    (cursor, position), refused = _state(path, state_file, given)
    if refused is not None:
        say(refused)
        return 1
    with path.open("r+b" if position else "wb") as file:
        file.truncate(position)
        file.seek(position)
        count, unreadable = await _pages(app, given, file, state_file, cursor)
    say(f"{count} records, in {path}; the next export continues from {state_file}")
    if unreadable:
        say(f"{unreadable} documents cannot be read, and are left out")
    return 1 if unreadable else 0


async def _pages(
    app: Container, given: argparse.Namespace, file: IO[bytes], state_file: Path, cursor: str | None
) -> tuple[int, int]:
    began = reported = time.perf_counter()
    count = unreadable = 0
    while True:
        page = await app.export.page(given.layer, _PAGE, cursor)
        file.write(_lines(given, page, is_first=cursor is None))
        file.flush()
        os.fsync(file.fileno())
        count, unreadable = count + len(page.items), unreadable + page.unreadable
        cursor = page.next or page.resume
        _save(state_file, given, cursor, file.tell())
        now = time.perf_counter()
        if page.next is None:
            return count, unreadable
        if now - reported >= _SECONDS_BETWEEN_REPORTS:
            reported = now
            say(f"{count} records, {count / (now - began):,.0f} per second")


def _lines(given: argparse.Namespace, page: Exported, *, is_first: bool) -> bytes:
    if given.format == "csv":
        return csv_lines(given.layer, page.items, with_header=is_first).encode()
    lines = (json.dumps(item, ensure_ascii=False, separators=(",", ":")) + "\n" for item in page.items)
    return "".join(lines).encode()


def _state(path: Path, state_file: Path, given: argparse.Namespace) -> tuple[tuple[str | None, int], str | None]:
    """The cursor and the length of the complete file; or why the export cannot be continued."""
    if path.is_dir() or not path.absolute().parent.is_dir():
        return (None, 0), f"file: must be in an existing folder, not {path}"
    is_there = path.exists() and path.stat().st_size > 0
    if given.restart or not (is_there or state_file.exists()):
        return (None, 0), None
    try:
        state: dict[str, Any] = json.loads(state_file.read_bytes())
        place, named = (str(state["cursor"]), int(state["bytes"])), (state["layer"], state["format"])
    except (OSError, ValueError, KeyError, TypeError):
        why = f"file: {path} exists, and {state_file} is not the state of its export"
        return (None, 0), f"{why}; use --restart to export everything again"
    reason = None
    if named != (given.layer, given.format):
        reason = f"--state: {state_file} is of an export of {named[0]} as {named[1]}"
    elif not path.exists() or path.stat().st_size < place[1]:
        reason = f"file: {path} is shorter than {state_file} says"
    return place, reason and f"{reason}; use --restart to export everything again"


def _save(state_file: Path, given: argparse.Namespace, cursor: str, position: int) -> None:
    unfinished = state_file.with_name(state_file.name + ".part")
    state = {"layer": given.layer, "format": given.format, "cursor": cursor, "bytes": position}
    unfinished.write_text(json.dumps(state), encoding="utf-8")
    unfinished.replace(state_file)
