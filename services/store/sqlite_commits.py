"""Bulk writes of many callers committed in one transaction: one costs half of what one for each caller does.

Calls that arrive while the file is being written, or within a few turns of the event loop, are committed next, each
with its own results. Knows no SQL and checks no documents: a call that is refused must not get here.
"""

from __future__ import annotations

import asyncio
import sqlite3
from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial

from services.store.sqlite_file import transaction
from services.store.sqlite_threads import Threads
from services.store.sqlite_writes import Batch, write

INLINE_WRITES = 32  # half a millisecond, of which handing them to a thread would be a fifth
DOCUMENTS_AT_ONCE = 2000  # holds the lock for 20 to 40 milliseconds, and writes each page of the indexes once
QUIET_TURNS = 4
"""Turns of the event loop without another call, after which no more are waited for."""


@dataclass(slots=True, eq=False)
class _Call:
    """`result` has, for each batch, None or the index of the write that failed."""

    container: str
    batches: Sequence[Batch]
    size: int
    result: asyncio.Future[list[int | None]]


class Commits:
    """The bulk writes of one store."""

    def __init__(self, threads: Threads) -> None:
        self._threads = threads
        self._waiting: list[_Call] = []
        self._committing: asyncio.Task[None] | None = None

    async def write(self, container: str, batches: Sequence[Batch]) -> list[int | None]:
        """See sqlite_writes.write. At most DOCUMENTS_AT_ONCE documents are one transaction."""
        failed: list[int | None] = []
        for portion in _portions(batches):
            failed += await self._write(container, portion)
        return failed

    async def _write(self, container: str, batches: Sequence[Batch]) -> list[int | None]:
        result: asyncio.Future[list[int | None]] = asyncio.get_running_loop().create_future()
        self._waiting.append(_Call(container, batches, sum(map(len, batches)), result))
        if self._committing is None:
            self._committing = asyncio.create_task(self._commit())
        return await result

    async def _commit(self) -> None:
        """Until no call waits."""
        try:
            while self._waiting:
                await self._gather()
                calls = self._next()
                try:
                    inline = sum(call.size for call in calls) <= INLINE_WRITES
                    failed = await self._threads.write(partial(_written, calls=calls), inline=inline)
                except Exception as error:
                    # Nothing was written: each caller raises it.
                    _raise_to(calls, error)
                    continue
                except BaseException:
                    self._waiting += calls
                    raise
                for call, each in zip(calls, failed, strict=True):
                    if not call.result.done():  # else the caller was cancelled
                        call.result.set_result(each)
        finally:
            for call in self._waiting:  # none, unless the event loop ends
                call.result.cancel()
            self._waiting.clear()
            self._committing = None

    async def _gather(self) -> None:
        quiet = 0
        while quiet < QUIET_TURNS:
            before = len(self._waiting)
            await asyncio.sleep(0)
            quiet = quiet + 1 if len(self._waiting) == before else 0

    def _next(self) -> list[_Call]:
        """The calls that wait, as far as one transaction has room."""
        calls = [call for call in self._waiting if not call.result.done()]
        count = size = 0
        for call in calls:
            size += call.size
            if count and size > DOCUMENTS_AT_ONCE:
                break
            count += 1
        self._waiting = calls[count:]
        return calls[:count]


def _written(connection: sqlite3.Connection, calls: Sequence[_Call]) -> list[list[int | None]]:
    by_container: dict[str, list[_Call]] = {}
    for call in calls:
        by_container.setdefault(call.container, []).append(call)
    failed: dict[_Call, list[int | None]] = {}
    with transaction(connection):
        for container, some in by_container.items():
            found = write(connection, container, [batch for call in some for batch in call.batches])
            start = 0
            for call in some:
                failed[call] = found[start : start + len(call.batches)]
                start += len(call.batches)
    return [failed[call] for call in calls]


def _raise_to(calls: Sequence[_Call], error: Exception) -> None:
    for call in calls:
        if not call.result.done():
            call.result.set_exception(error)


def _portions(batches: Sequence[Batch]) -> list[Sequence[Batch]]:
    portions: list[Sequence[Batch]] = []
    start = size = 0
    for n, batch in enumerate(batches):
        size += len(batch)
        if size > DOCUMENTS_AT_ONCE:
            portions.append(batches[start:n])
            start, size = n, len(batch)
    return [*portions, batches[start:]] if start < len(batches) else portions
