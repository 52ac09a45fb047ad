"""Calls of many feeds made as one: while the store is at work on a call, those that come are gathered for the next.

Sixty new entries are four batches of documents; thirty feeds at once are a hundred and twenty. One transaction for what
has gathered costs the embedded store half of what one for each does. Nothing waits for longer than it takes to see that
nobody else is coming, and each caller gets what it would have got alone: its own results, or its own error.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass, field
from typing import Any, Protocol

from models.errors import InvalidInput
from services.ports import Document

MOST = 2_000
"""Documents in one call."""


QUIET = 4
"""Turns of the event loop without another caller, after which nobody more is waited for."""


class Documents(Protocol):
    """The part of services.ports.Store that articles are written through."""

    async def read(self, container: str, partition: str, id: str) -> Document | None: ...

    async def delete(self, container: str, partition: str, id: str) -> bool: ...

    async def read_many(self, container: str, keys: Sequence[tuple[str, str]]) -> list[Document | None]: ...

    async def create_many(self, container: str, documents: Sequence[Document]) -> list[bool]: ...

    async def write_many(self, container: str, documents: Sequence[Document]) -> None: ...

    async def replace_many(self, container: str, changes: Sequence[tuple[Document, str]]) -> list[bool]: ...


@dataclass(slots=True)
class _Turn:
    """One caller's part, and where it waits for what comes of it."""

    items: Sequence[Any]
    result: asyncio.Future[list[Any]]


@dataclass(slots=True)
class _Line:
    """Those who wait for one kind of call."""

    waiting: list[_Turn] = field(default_factory=list)
    working: set[asyncio.Task[None] | None] = field(default_factory=set)


class Together:
    """Documents, for the feeds that one process works on. `at_once` is how many calls of a kind the store likes best:
    one where writers wait for each other, more where each document is a request of its own."""

    def __init__(self, store: Documents, *, at_once: int) -> None:
        self._store = store
        self._at_once = at_once
        self._lines: dict[tuple[str, str], _Line] = {}

    async def read(self, container: str, partition: str, id: str) -> Document | None:
        return await self._store.read(container, partition, id)

    async def delete(self, container: str, partition: str, id: str) -> bool:
        return await self._store.delete(container, partition, id)

    async def read_many(self, container: str, keys: Sequence[tuple[str, str]]) -> list[Document | None]:
        return await self._in_line("read_many", container, keys, self._store.read_many)

    async def create_many(self, container: str, documents: Sequence[Document]) -> list[bool]:
        return await self._in_line("create_many", container, documents, self._store.create_many)

    async def write_many(self, container: str, documents: Sequence[Document]) -> None:
        async def write(container: str, documents: Sequence[Document]) -> list[None]:
            await self._store.write_many(container, documents)
            return [None] * len(documents)

        await self._in_line("write_many", container, documents, write)

    async def replace_many(self, container: str, changes: Sequence[tuple[Document, str]]) -> list[bool]:
        return await self._in_line("replace_many", container, changes, self._store.replace_many)

    async def _in_line(
        self, kind: str, container: str, items: Sequence[Any], call: Callable[[str, Any], Awaitable[list[Any]]]
    ) -> list[Any]:
        line = self._lines.setdefault((kind, container), _Line())
        turn = _Turn(items, asyncio.get_running_loop().create_future())
        line.waiting.append(turn)
        if len(line.working) < self._at_once:
            line.working.add(asyncio.create_task(_serve(line, container, call)))
        return await turn.result


async def _serve(line: _Line, container: str, call: Callable[[str, Any], Awaitable[list[Any]]]) -> None:
    while True:
        await _gathered(line)
        turns = _next(line)
        if not turns:
            # At once, not when the task is through: whoever comes in between would find nobody at work.
            line.working.discard(asyncio.current_task())
            return
        try:
            results = await call(container, [item for turn in turns for item in turn.items])
        except InvalidInput as error:
            if len(turns) == 1:
                _fail(turns, error)
                continue
            for turn in turns:
                # A document that no store takes is its own feed's trouble.
                await _serve(_Line([turn]), container, call)
        except Exception as error:
            # Raised by everybody who waits for it.
            _fail(turns, error)
        else:
            _share(turns, results)


async def _gathered(line: _Line) -> None:
    """Waits while turns of the event loop bring callers: those who have work on the loop come soon."""
    quiet = 0
    while quiet < QUIET:
        before = len(line.waiting)
        await asyncio.sleep(0)
        quiet = quiet + 1 if len(line.waiting) == before else 0


def _next(line: _Line) -> list[_Turn]:
    """Whoever waits, as far as one call has room; one that is larger goes alone."""
    count = size = 0
    for turn in line.waiting:
        size += len(turn.items)
        if count and size > MOST:
            break
        count += 1
    turns, line.waiting = line.waiting[:count], line.waiting[count:]
    return turns


def _share(turns: Sequence[_Turn], results: Sequence[Any]) -> None:
    start = 0
    for turn in turns:
        end = start + len(turn.items)
        if not turn.result.done():  # else whoever waited for it has gone
            turn.result.set_result(list(results[start:end]))
        start = end


def _fail(turns: Sequence[_Turn], error: BaseException) -> None:
    for turn in turns:
        if not turn.result.done():
            turn.result.set_exception(error)
