"""`export`: writes a layer to a file, and later appends what was written or removed since.

The state file has the cursor and how far the file is complete: what a run wrote after that and did not record is cut
off, so that an interrupted export goes on where it was recorded last.
"""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import IO, Annotated, Any

import typer

from toolpulse.call import Call, complete, writable
from toolpulse.declare import command
from toolpulse.failures import FAILED, Failure
from toolpulse.output import progress

_RESTART = "use --restart to export everything again"


def add_to(app: typer.Typer) -> None:
    command(app, "export", layer="export_articles.layer", format_="export_articles.format")(export)


def export(
    call: Call,
    file: Annotated[Path, typer.Argument(help="The file to write or to continue.")],
    layer: Annotated[str, typer.Option(help="What to write.")] = "canonical",
    format_: Annotated[str, typer.Option("--format", help="How.")] = "ndjson",
    state: Annotated[
        Path | None, typer.Option(metavar="FILE", help="Where the cursor is kept; FILE.state if not given.")
    ] = None,
    restart: Annotated[bool, typer.Option("--restart", help="Export everything again, into a new file.")] = False,
) -> int:
    """Write a layer to a file, or append what changed since the last time."""
    path = writable(file)
    kept = _State(path, state or path.with_name(path.name + ".state"), layer, format_)
    cursor, position = (None, 0) if restart else kept.read()
    with path.open("r+b" if position else "wb") as out:
        out.truncate(position)
        out.seek(position)
        count, unreadable = _pages(call, kept, out, cursor)
    call.out.say(f"{count} records, in {path}; the next export continues from {kept.file}")
    if unreadable:
        call.out.say(f"{unreadable} documents cannot be read, and are left out")
    return FAILED if unreadable else 0


def _pages(call: Call, kept: _State, out: IO[bytes], cursor: str | None) -> tuple[int, int]:
    """Writes the pages, and records after each how far the file is complete."""
    is_first = cursor is None
    count = unreadable = 0
    with progress("records") as show:
        for page in call.client.exported("export", layer=kept.layer, format=kept.format, cursor=cursor):
            out.write(page.content)
            out.flush()
            os.fsync(out.fileno())
            count += records_in(page.content, kept.format, with_header=is_first)
            is_first, unreadable = False, unreadable + int(page.headers.get("X-Unreadable", 0))
            kept.write(page.headers.get("X-Next-Cursor") or page.headers["X-Resume-Cursor"], out.tell())
            show(count, None)
    return count, unreadable


def records_in(content: bytes, form: str, *, with_header: bool) -> int:
    """How many records a page has. A CSV record may have ends of lines in quotation marks."""
    if form == "ndjson":
        return content.count(b"\n")
    import csv
    import io

    return sum(1 for _ in csv.reader(io.StringIO(content.decode(), newline=""))) - int(with_header)


class _State:
    """The state file beside an export."""

    def __init__(self, path: Path, file: Path, layer: str, form: str) -> None:
        self._path = path
        self.file = file
        self.layer = layer
        self.format = form

    def read(self) -> tuple[str | None, int]:
        """The cursor, and the length of the file that is complete. Raises Failure if the export cannot be continued."""
        is_there = self._path.exists() and self._path.stat().st_size > 0
        if not is_there and not self.file.exists():
            return None, 0
        try:
            found: dict[str, Any] = json.loads(self.file.read_bytes())
            cursor, position = str(found["cursor"]), int(found["bytes"])
            named = (found["layer"], found["format"])
        except (OSError, ValueError, KeyError, TypeError):
            text = f"file: {self._path} exists, and {self.file} is not the state of its export"
            raise Failure(f"{text}; {_RESTART}") from None
        if named != (self.layer, self.format):
            raise Failure(f"--state: {self.file} is of an export of {named[0]} as {named[1]}; {_RESTART}")
        if not self._path.exists() or self._path.stat().st_size < position:
            raise Failure(f"file: {self._path} is shorter than {self.file} says; {_RESTART}")
        return cursor, position

    def write(self, cursor: str, position: int) -> None:
        with complete(self.file) as out:
            json.dump({"layer": self.layer, "format": self.format, "cursor": cursor, "bytes": position}, out)


def as_array(call: Call, layer: str, path: Path) -> int:
    """Writes the layer as one JSON array, and returns the number of items. The file appears when it is complete."""
    count = 0
    with complete(path) as file:
        for page in call.client.exported("export", layer=layer):
            for line in page.text.splitlines():
                if not json.loads(line).get("removed"):
                    file.write(("[\n" if count == 0 else ",\n") + line)
                    count += 1
        file.write("\n]\n" if count else "[]\n")
    return count
