"""Where a command's output goes: results to stdout as a table, JSON or CSV; notes, progress and errors to stderr."""

from __future__ import annotations

import json
import os
import shutil
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

from toolpulse.tables import Row, aligned, as_csv, cell, cell_at, printable, value_at

_STYLES = {
    "positive": "green", "SUCCEEDED": "green", "healthy": "green", "ok": "green", "OK": "green",
    "negative": "red", "FAILED": "red", "unhealthy": "red", "failing": "red", "error": "red",
    "degraded": "yellow", "PARTIAL": "yellow", "disabled": "yellow", "STALE": "yellow", "warning": "yellow",
}  # fmt: skip
"""Colours of values that say how something is."""


@dataclass(frozen=True, slots=True)
class Output:
    """`form` is `table`, `json` or `csv`."""

    form: str = "table"
    no_color: bool = False

    @property
    def is_table(self) -> bool:
        return self.form == "table"

    def rows(
        self, items: Sequence[Row], columns: Sequence[str], *, none: str, shown: Sequence[Row] | None = None
    ) -> None:
        """A list: `columns` of `shown` as a table, else every field of `items`."""
        if self.form == "json":
            self.json(list(items))
        elif self.form == "csv":
            _write(as_csv(items))
        elif items:
            self.table(items if shown is None else shown, columns)
        else:
            self.say(none)

    def table(self, rows: Sequence[Row], columns: Sequence[str]) -> None:
        for line in self.table_lines(rows, columns):
            print(line)

    def section(self, title: str, rows: Sequence[Row], columns: Sequence[str]) -> None:
        """A table below its title; nothing without rows."""
        if rows:
            print(f"\n{title}")
            self.table(rows, columns)

    def table_lines(self, rows: Sequence[Row], columns: Sequence[str]) -> list[str]:
        at_terminal = sys.stdout.isatty()
        lines = aligned(rows, columns, shutil.get_terminal_size().columns if at_terminal else None)
        return self._coloured(lines, rows, columns) if at_terminal and not self.without_color else lines

    def item(self, item: Mapping[str, Any], fields: Sequence[str] | None = None) -> None:
        """One resource: `fields` of it in lines, else all of them."""
        if self.form == "json":
            self.json(item)
        elif self.form == "csv":
            _write(as_csv([item]))
        else:
            names = [name for name in fields or item if name != "links"]
            known = [name for name in names if value_at(item, name) not in (None, "", [], {})]
            width = max((len(name) for name in known), default=0)
            for name in known:
                print(f"{name.ljust(width)}  {cell_at(item, name)}")

    def made(self, item: Mapping[str, Any], id_field: str) -> None:
        """What was made or changed: its id, else the whole resource."""
        if self.is_table:
            self.line(str(item[id_field]))
        else:
            self.item(item)

    def json(self, value: Any) -> None:
        print(json.dumps(value, ensure_ascii=False, indent=2))

    def line(self, text: str) -> None:
        """A result that is one word or sentence, such as an id: as it is in a table, else as a JSON text."""
        print(printable(text))

    def say(self, text: str) -> None:
        """A note for the person, which is no result."""
        print("\n".join(printable(each) for each in text.splitlines()), file=sys.stderr, flush=True)

    @property
    def without_color(self) -> bool:
        return self.no_color or bool(os.environ.get("NO_COLOR")) or os.environ.get("TERM") == "dumb"

    def _coloured(self, lines: list[str], rows: Sequence[Row], columns: Sequence[str]) -> list[str]:
        """Lines with heads in bold, and words that say how something is in colour."""
        from rich.console import Console
        from rich.text import Text

        console = Console(file=sys.stdout, highlight=False, soft_wrap=True)
        texts = [Text(line, style="bold" if n == 0 else "dim" if n == 1 else "") for n, line in enumerate(lines)]
        for text, row in zip(texts[2:], rows, strict=True):
            for word in {cell(value_at(row, column)) for column in columns} & _STYLES.keys():
                text.highlight_words([word], _STYLES[word])
        with console.capture() as captured:
            for text in texts:
                console.print(text)
        return captured.get().splitlines()


def _write(text: str) -> None:
    """Text whose ends of lines are as they are to be."""
    if hasattr(sys.stdout, "buffer"):
        sys.stdout.flush()
        sys.stdout.buffer.write(text.encode())
    else:
        sys.stdout.write(text)


@contextmanager
def progress(what: str) -> Iterator[Callable[[int, float | None], None]]:
    """Shows at a terminal how far long work is, with its rate and the time that is left. The function gets the count,
    and how much of the work is done, 0 to 1, if that is known."""
    if not sys.stderr.isatty():
        yield lambda _count, _share: None
        return
    from rich.console import Console
    from rich.progress import Progress, TaskProgressColumn, TextColumn, TimeRemainingColumn

    columns = (TextColumn("{task.completed:,.0f} " + what), TaskProgressColumn(show_speed=True), TimeRemainingColumn())
    with Progress(*columns, console=Console(stderr=True), transient=True) as shown:
        task = shown.add_task(what, total=None)
        yield lambda count, share: shown.update(task, completed=count, total=count / share if share else None)
