"""Bulk writes of the embedded store: each batch all or nothing, the batches of many callers in one transaction.

One transaction for many callers costs half of what a transaction for each caller costs. Calls that arrive while a
transaction is written, or within a few turns of the event loop, share the next one. Each gets its own results. The
callers have checked the documents.
"""

from __future__ import annotations

import asyncio
import sqlite3
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any, NamedTuple

import orjson

from services.store.sqlite_connection import Threads, transaction
from services.store.sqlite_sql import ANY_VERSION, STATEMENTS

Needs = str | int | None
ANYTHING = -1
ABSENT = None
PRESENT = ANY_VERSION

INLINE_WRITES = 32  # half a millisecond of work: handing it to a thread would add a fifth
QUIET_TURNS = 4
"""Turns of the event loop without a new call, after which the transaction begins. A task that is at work on the loop
may write within these turns; a turn of an idle loop takes 3 microseconds."""


class Write(NamedTuple):
    """One row to write, or to delete if `body` is None. It fails unless the stored row is as it `needs`: ANYTHING,
    ABSENT, PRESENT, or the row with that ETag. An expired row is absent."""

    partition: str
    id: str
    body: bytes | None
    etag: str | None
    ts: int
    expires: int | None
    needs: Needs


Batch = Sequence[Write]
"""One or more writes, each of another row."""
Failed = list[int | None]
"""For each batch, None or the index of the first write that failed."""


@dataclass(slots=True, eq=False)
class _Call:
    """A call that waits for its batches."""

    container: str
    batches: Sequence[Batch]
    result: asyncio.Future[Failed]


class Commits:
    """The bulk writes of one store."""

    def __init__(self, threads: Threads) -> None:
        self._threads = threads
        self._waiting: list[_Call] = []
        self._committing: asyncio.Task[None] | None = None

    async def write(self, container: str, batches: Sequence[Batch]) -> Failed:
        """If the transaction fails, every call in it raises the error."""
        if not batches:
            return []
        result: asyncio.Future[Failed] = asyncio.get_running_loop().create_future()
        self._waiting.append(_Call(container, batches, result))
        if self._committing is None:
            self._committing = asyncio.create_task(self._commit_all())
        return await result

    async def _commit_all(self) -> None:
        """Commits until no call waits."""
        try:
            while self._waiting:
                await self._gather()
                calls, self._waiting = [call for call in self._waiting if not call.result.done()], []  # not cancelled
                await self._commit(calls)
        finally:
            self._committing = None
            for call in self._waiting:  # only if the event loop ends
                call.result.cancel()
            self._waiting.clear()

    async def _gather(self) -> None:
        """Waits for the calls that come soon."""
        quiet = 0
        while quiet < QUIET_TURNS:
            before = len(self._waiting)
            await asyncio.sleep(0)
            quiet = quiet + 1 if len(self._waiting) == before else 0

    async def _commit(self, calls: Sequence[_Call]) -> None:
        inline = sum(len(batch) for call in calls for batch in call.batches) <= INLINE_WRITES
        try:
            failed = await self._threads.write(partial(_write_calls, calls=calls), inline=inline)
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


def _write_calls(connection: sqlite3.Connection, calls: Sequence[_Call]) -> list[Failed]:
    failed: dict[_Call, Failed] = {}
    with transaction(connection):
        for container in {call.container: None for call in calls}:
            here = [call for call in calls if call.container == container]
            found = iter(_write_batches(connection, container, [batch for call in here for batch in call.batches]))
            for call in here:
                failed[call] = [next(found) for _ in call.batches]
    return [failed[call] for call in calls]


def _write_batches(connection: sqlite3.Connection, container: str, batches: Sequence[Batch]) -> Failed:
    """Writes the batches as if one after the other."""
    failed: Failed = [None] * len(batches)
    for run in _runs(batches):
        _check(connection, container, batches, run, failed)
        done = [each for number in run if failed[number] is None for each in batches[number]]
        upserts = [each[:6] for each in done if each.body is not None]
        _upsert(connection, STATEMENTS[container].upserts, upserts)
        if deletes := [each[:2] for each in done if each.body is None]:
            connection.execute(STATEMENTS[container].deletes, (orjson.dumps(deletes),))
    return failed


def _runs(batches: Sequence[Batch]) -> Iterator[range]:
    """Runs of batches without a common row, so that a run can be checked as a whole and then written."""
    if len({each[:2] for batch in batches for each in batch}) == sum(map(len, batches)):
        yield range(len(batches))
        return
    start, touched = 0, set[tuple[str, ...]]()
    for number, batch in enumerate(batches):
        keys = {each[:2] for each in batch}
        if not touched.isdisjoint(keys):
            yield range(start, number)
            start, touched = number, set()
        touched |= keys
    yield range(start, len(batches))


def _check(
    connection: sqlite3.Connection, container: str, batches: Sequence[Batch], run: range, failed: Failed
) -> None:
    """Sets in `failed`, for each batch of the run, the index of the first write that would fail."""
    conditional = [(n, index) for n in run for index, each in enumerate(batches[n]) if each.needs != ANYTHING]
    if not conditional:
        return
    writes = [batches[n][index] for n, index in conditional]
    needs = orjson.dumps([(each.partition, each.id, each.needs) for each in writes])
    (unmet,) = connection.execute(STATEMENTS[container].unmet, (needs, max(each.ts for each in writes))).fetchone()
    for position in () if unmet is None else unmet.split(","):
        number, index = conditional[int(position)]
        before = failed[number]
        failed[number] = index if before is None else min(index, before)


def _upsert(connection: sqlite3.Connection, statements: Mapping[int, str], rows: Sequence[tuple[Any, ...]]) -> None:
    """Writes all rows, in as few full statements as possible, the largest first."""
    start = 0
    for size, statement in statements.items():
        while len(rows) - start >= size:
            connection.execute(statement, [value for row in rows[start : start + size] for value in row])
            start += size
