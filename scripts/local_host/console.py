"""Log lines, filtered by host.json's logging.logLevel and by the level that a launcher gives: short and readable at a
terminal, one JSON object for each line elsewhere.

A text of the app that is a JSON object is shown by its fields. Lines that belong to no invocation are marked: Azure
drops them.
"""

from __future__ import annotations

import asyncio
import contextvars
import errno
import json
import logging
import os
import threading
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any, TextIO

from .settings import LEVELS, HostOptions

_COLOURS = {"warning": "33", "error": "31", "critical": "31;1", "debug": "2", "trace": "2"}
_SYSTEM = ("azure.functions", "azure_functions", "asyncio")
_SHORT = {"information": "info"}
_IN_FRONT = ("event", "message")


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
        self.is_terminal = out.isatty()
        self.is_of_launcher = False
        """Whether lines outside of invocations are those of the launcher, which opens the app's store: Azure has none,
        and drops none."""
        self._colour = self.is_terminal and not os.environ.get("NO_COLOR")
        self._lowest = LEVELS[0]
        self._is_routine: Callable[[Mapping[str, Any]], bool] = lambda fields: False
        self._due = False
        self._gone = False
        self._allowed: dict[tuple[str, str], bool] = {}

    def show(self, lowest: str, is_routine: Callable[[Mapping[str, Any]], bool]) -> None:
        """Shows lines of this level and above, of those that host.json lets through. A terminal shows routine lines at
        debug only."""
        self._lowest, self._is_routine = lowest, is_routine
        self._allowed.clear()

    def allows(self, category: str, level: str) -> bool:
        key = (category, level)
        if key not in self._allowed:
            is_shown = LEVELS.index(level) >= LEVELS.index(self._lowest)
            self._allowed[key] = is_shown and self._options.allows(category, level)
        return self._allowed[key]

    def log(self, level: str, category: str, fields: Mapping[str, Any], of_host: Mapping[str, Any] = {}) -> None:
        """`of_host` is about the line, such as its invocation: elsewhere than at a terminal it is shown too."""
        if self.is_terminal and level == "information" and self._is_routine(fields):
            level = "debug"
        if self.allows(category, level):
            now = datetime.now(UTC)
            if self.is_terminal:
                line = f"{now.astimezone():%H:%M:%S} {_SHORT.get(level, level):<7} {readable(fields)}"
                colour = _COLOURS.get(level)
                self._write(f"\x1b[{colour}m{line}\x1b[0m" if self._colour and colour else line)
            else:
                self._write(json_line(now, level, fields, of_host))

    def tell(self, text: str, level: str = "information") -> None:
        """A line of the host for the person who started it. It is shown whatever the lowest level is."""
        if self.is_terminal:
            self._write(text)
        else:
            self._write(json_line(datetime.now(UTC), level, {"message": text}))

    def _write(self, line: str) -> None:
        if self._gone:
            return
        try:
            self._out.write(line + "\n")
        except OSError as error:
            self._gone = error.errno != errno.ENOSPC  # there may be room later
        if not self._due and not self._loop.is_closed():
            self._due = True
            self._loop.call_soon_threadsafe(self.flush)

    def flush(self) -> None:
        """The host goes on if the reader of its output is gone."""
        self._due = False
        try:
            if not self._gone:
                self._out.flush()
        except OSError as error:
            self._gone = error.errno != errno.ENOSPC  # there may be room later


def fields_of(text: str) -> dict[str, Any]:
    """The fields of a text that is a JSON object; any other text is the field `message`."""
    if text.startswith("{"):
        try:
            found = json.loads(text)
        except ValueError:
            found = None
        if isinstance(found, dict):
            return found
    return {"message": text}


def readable(fields: Mapping[str, Any]) -> str:
    """`event name=value ...`, and below it a traceback."""
    words = [_printable(str(fields[name])) for name in _IN_FRONT if name in fields]
    words += [f"{name}={_value(value)}" for name, value in fields.items() if name not in (*_IN_FRONT, "traceback")]
    return "\n".join([" ".join(words), *([_printable(str(fields["traceback"]))] if fields.get("traceback") else [])])


def _value(value: Any) -> str:
    if isinstance(value, str) and value and not any(each.isspace() or each in '"=' for each in value):
        return _printable(value)
    return _printable(json.dumps(value, ensure_ascii=False, default=str))


def _printable(text: str) -> str:
    """Texts of others must not control the terminal."""
    return "".join(each if each.isprintable() or each in "\n\t" else ascii(each)[1:-1] for each in text)


def json_line(now: datetime, level: str, fields: Mapping[str, Any], of_host: Mapping[str, Any] = {}) -> str:
    """The app's fields win over those of the host."""
    time = f"{now:%Y-%m-%dT%H:%M:%S}.{now.microsecond // 1000:03}Z"
    return json.dumps({"time": time, "level": level, **of_host, **fields}, ensure_ascii=False, default=str)


class AppLog(logging.Handler):
    """The root logger's handler: the app's lines, with the invocation that they belong to."""

    def __init__(self, console: Console) -> None:
        super().__init__()
        self._console = console

    def emit(self, record: logging.LogRecord) -> None:
        level = _level(record.levelno)
        invocation = current.get()
        fields, of_host = fields_of(record.getMessage()), {"logger": record.name}
        if record.exc_info:
            fields["traceback"] = logging.Formatter().formatException(record.exc_info)
        if invocation is not None:
            category = f"Function.{invocation.function}.User"
            of_host |= {"function": invocation.function, "invocation": invocation.id}
        elif getattr(thread_local, "invocation_id", None) or record.name.startswith(_SYSTEM):
            category = f"Host.{record.name}"
        else:
            category = "Host.Function"
            if not self._console.is_of_launcher:
                of_host["note"] = "of no invocation: Azure drops this line"
        self._console.log(level, category, fields, of_host)


def _level(number: int) -> str:
    for floor, name in ((50, "critical"), (40, "error"), (30, "warning"), (20, "information"), (10, "debug")):
        if number >= floor:
            return name
    return "trace"
