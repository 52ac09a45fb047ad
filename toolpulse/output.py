"""Where a command's output goes: results to stdout as a table, JSON or CSV; notes, progress and errors to stderr."""

from __future__ import annotations

import json
import os
import shutil
import sys
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, TextIO

from toolpulse.tables import Row, aligned, as_csv, cell, cell_at, duration, printable, value_at

_BETWEEN_REPORTS_SECONDS = 2.0
_AT_TERMINAL_SECONDS = 0.1
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
        at_terminal = _is_terminal(sys.stdout)
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


def _is_terminal(stream: TextIO) -> bool:
    return stream.isatty()


def _write(text: str) -> None:
    """Text whose ends of lines are as they are to be."""
    if isinstance(getattr(sys.stdout, "buffer", None), object) and hasattr(sys.stdout, "buffer"):
        sys.stdout.flush()
        sys.stdout.buffer.write(text.encode())
    else:
        sys.stdout.write(text)


class Progress:
    """How far long work is, with its rate and the time that is left: one line that changes at a terminal, else a line
    every two seconds. `share` is how much of the work is done, 0 to 1, if that is known."""

    def __init__(self, what: str, out: TextIO | None = None) -> None:
        self._what = what
        self._out = out or sys.stderr
        self._began = self._reported = time.monotonic()
        self._at_terminal = _is_terminal(self._out)
        self._is_shown = False

    def update(self, count: int, share: float | None = None) -> None:
        now = time.monotonic()
        if now - self._reported >= (_AT_TERMINAL_SECONDS if self._at_terminal else _BETWEEN_REPORTS_SECONDS):
            self._reported = now
            self._show(progress_line(self._what, count, now - self._began, share))

    def _show(self, line: str) -> None:
        if self._at_terminal:
            width = shutil.get_terminal_size().columns - 1
            print(f"\r\x1b[K{line[:width]}", end="", file=self._out, flush=True)
            self._is_shown = True
        else:
            print(line, file=self._out, flush=True)

    def close(self) -> None:
        if self._is_shown:
            print("\r\x1b[K", end="", file=self._out, flush=True)


def progress_line(what: str, count: int, seconds: float, share: float | None) -> str:
    """`12,000 records, 4,000 per second, about 30 s left`."""
    parts = [f"{count:,} {what}"]
    if seconds > 0 and count:
        parts.append(f"{count / seconds:,.0f} per second")
    if share is not None and 0 < share < 1:
        parts.append(f"about {duration(seconds / share - seconds)} left")
    return ", ".join(parts)
