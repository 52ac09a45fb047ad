"""Bulk writes of many callers in one transaction, which costs half of what a transaction for each caller does.

Calls that arrive while a transaction is written, or within a few turns of the event loop, share the next one. Each gets
its own results. Knows no SQL, and checks no documents: the caller has done so.
"""

from __future__ import annotations

import asyncio
import sqlite3
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import partial

from services.store.sqlite_file import transaction
from services.store.sqlite_threads import Threads
from services.store.sqlite_writes import Batch, write

INLINE_WRITES = 32  # half a millisecond, of which handing the work to a thread would be a fifth
DOCUMENTS_AT_ONCE = 2000  # hold the lock for 20 to 40 milliseconds, and write each page of the indexes once
QUIET_TURNS = 4
"""Turns of the event loop without a new call, after which the transaction begins: a caller that is at work on the loop
writes soon, and a turn of an idle loop takes 3 microseconds."""


@dataclass(slots=True, eq=False)
class _Call:
    """`result` gets, for each batch, None or the index of the write that failed."""

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
        """For each batch, None or the index of the first write that failed.

        Up to DOCUMENTS_AT_ONCE documents are one transaction. If it fails, every call in it raises its error.
        """
        failed: list[int | None] = []
        for portion in _portions(batches):
            failed += await self._write(container, portion)
        return failed

    async def _write(self, container: str, batches: Sequence[Batch]) -> list[int | None]:
        result: asyncio.Future[list[int | None]] = asyncio.get_running_loop().create_future()
        self._waiting.append(_Call(container, batches, sum(map(len, batches)), result))
        if self._committing is None:
            self._committing = asyncio.create_task(self._commit_all())
        return await result

    async def _commit_all(self) -> None:
        """Commits until no call waits."""
        try:
            while self._waiting:
                await self._gather()
                await self._commit(self._next())
        finally:
            self._committing = None
            for call in self._waiting:  # only if the event loop ends
                call.result.cancel()
            self._waiting.clear()

    async def _commit(self, calls: Sequence[_Call]) -> None:
        inline = sum(call.size for call in calls) <= INLINE_WRITES
        try:
            failed = await self._threads.write(partial(_write, calls=calls), inline=inline)
        except asyncio.CancelledError:
            for call in calls:
                call.result.cancel()
            raise
        except Exception as error:
            for call in calls:
                if not call.result.done():
                    call.result.set_exception(error)
        else:
            for call, each in zip(calls, failed, strict=True):
                if not call.result.done():  # its caller was cancelled meanwhile
                    call.result.set_result(each)

    async def _gather(self) -> None:
        """Waits for the calls that come soon."""
        quiet = 0
        while quiet < QUIET_TURNS:
            before = len(self._waiting)
            await asyncio.sleep(0)
            quiet = quiet + 1 if len(self._waiting) == before else 0

    def _next(self) -> list[_Call]:
        """The oldest calls that wait, as many as one transaction has room for. A cancelled call is dropped."""
        waiting = [call for call in self._waiting if not call.result.done()]
        count = size = 0
        for call in waiting:
            size += call.size
            if count and size > DOCUMENTS_AT_ONCE:
                break
            count += 1
        self._waiting = waiting[count:]
        return waiting[:count]


def _write(connection: sqlite3.Connection, calls: Sequence[_Call]) -> list[list[int | None]]:
    failed: dict[_Call, list[int | None]] = {}
    with transaction(connection):
        for container in {call.container: None for call in calls}:
            here = [call for call in calls if call.container == container]
            found = iter(write(connection, container, [batch for call in here for batch in call.batches]))
            for call in here:
                failed[call] = [next(found) for _ in call.batches]
    return [failed[call] for call in calls]


def _portions(batches: Sequence[Batch]) -> Iterator[Sequence[Batch]]:
    """The batches in portions of up to DOCUMENTS_AT_ONCE documents."""
    start = size = 0
    for number, batch in enumerate(batches):
        size += len(batch)
        if size > DOCUMENTS_AT_ONCE:
            yield batches[start:number]
            start, size = number, len(batch)
    if start < len(batches):
        yield batches[start:]
