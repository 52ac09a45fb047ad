"""Log lines as `func start` prints them, filtered by host.json's logging.logLevel.

Lines that belong to no invocation are shown with a mark: Azure drops them.
"""

from __future__ import annotations

import asyncio
import contextvars
import logging
import threading
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import TextIO

from .settings import HostOptions

_COLOURS = {"warning": "33", "error": "31", "critical": "31;1", "debug": "2", "trace": "2"}
_SYSTEM = ("azure.functions", "azure_functions", "asyncio")


@dataclass(frozen=True, slots=True)
class Invocation:
    """One run of a function."""

    id: str
    function: str


current: contextvars.ContextVar[Invocation | None] = contextvars.ContextVar("invocation", default=None)
thread_local = threading.local()
"""What the worker gives as context.thread_local_storage: a thread of the app's own sets invocation_id there."""


class Console:
    """Lines are flushed at the end of a turn of the event loop: one system call for many lines."""

    def __init__(self, options: HostOptions, out: TextIO, loop: asyncio.AbstractEventLoop) -> None:
        self._options = options
        self._out = out
        self._loop = loop
        self._colour = out.isatty()
        self._due = False
        self._gone = False
        self._allowed: dict[tuple[str, str], bool] = {}

    def allows(self, category: str, level: str) -> bool:
        key = (category, level)
        if key not in self._allowed:
            self._allowed[key] = self._options.allows(category, level)
        return self._allowed[key]

    def log(self, level: str, category: str, text: str) -> None:
        if not self.allows(category, level):
            return
        now = datetime.now(UTC)
        line = f"[{now:%Y-%m-%dT%H:%M:%S}.{now.microsecond // 1000:03}Z] {text}"
        colour = _COLOURS.get(level)
        self.print(f"\x1b[{colour}m{line}\x1b[0m" if self._colour and colour else line)

    def print(self, text: str = "") -> None:
        if self._gone:
            return
        try:
            self._out.write(text + "\n")
        except OSError:
            self._gone = True
        if not self._due and not self._loop.is_closed():
            self._due = True
            self._loop.call_soon_threadsafe(self.flush)

    def flush(self) -> None:
        """The host goes on if the reader of its output is gone."""
        self._due = False
        try:
            if not self._gone:
                self._out.flush()
        except OSError:
            self._gone = True


class AppLog(logging.Handler):
    """The root logger's handler: the app's lines, with the invocation that they belong to."""

    def __init__(self, console: Console) -> None:
        super().__init__()
        self._console = console

    def emit(self, record: logging.LogRecord) -> None:
        level = _level(record.levelno)
        name = record.name if record.name != "root" else ""
        text = f"{level}: {name + ': ' if name else ''}{self.format(record)}"
        invocation = current.get()
        if invocation is not None:
            self._console.log(level, f"Function.{invocation.function}.User", text)
        elif getattr(thread_local, "invocation_id", None) or record.name.startswith(_SYSTEM):
            self._console.log(level, f"Host.{record.name}", text)
        else:
            self._console.log(level, "Host.Function", f"{text}  [of no invocation: Azure drops this line]")


def _level(number: int) -> str:
    for floor, name in ((50, "critical"), (40, "error"), (30, "warning"), (20, "information"), (10, "debug")):
        if number >= floor:
            return name
    return "trace"
