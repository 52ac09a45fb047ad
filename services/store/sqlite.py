"""The embedded store: one SQLite file, durable, shared by any number of tasks, threads and processes.

A point read, and a single write when nobody holds the write lock, runs right on the event loop: it takes 10 to 50
microseconds and never an fsync, less than handing it to a thread would cost. Whatever may wait or take longer (a busy
lock, queries, batches) goes to threads. A housekeeping thread copies the log into the file (the commits of this
module never do) and purges what has expired.

Durability is SQLite's own with a write-ahead log and synchronous=NORMAL: a killed process loses nothing that was
acknowledged; a machine that loses its power may lose about the last second, and never corrupts the file.
"""

from __future__ import annotations

import asyncio
import itertools
import secrets
import sqlite3
import threading
import time
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from pathlib import Path
from typing import TypeVar

from models.errors import ChangedMeanwhile, Conflict, Unavailable
from services.ports import Clock, Document, Page, Query, Where
from services.store import rules, sqlite_rows, sqlite_sql
from services.store.containers import CONTAINERS
from services.store.sqlite_file import (
    CACHE_KIB,
    WRITER_CACHE_KIB,
    Housekeeper,
    is_busy,
    open_connection,
    open_file,
    transaction,
    translated,
)
from services.store.sqlite_sql import READ_AT_ONCE

T = TypeVar("T")
Work = Callable[[sqlite3.Connection], T]

READING_THREADS = 4
INLINE_DOCUMENTS = 64  # reading as many takes as long as handing them to a thread; the loop's turn is over with them
INLINE_WRITES = 32  # half a millisecond, of which handing them to a thread would be a fifth
BATCH = 2000  # takes the lock for 20 to 40 milliseconds, and writes each page of the indexes once

_STATEMENTS = {name: sqlite_sql.statements(container) for name, container in CONTAINERS.items()}


class SqliteStore:
    """See services.ports.Store. One event loop per store; any number of stores and processes per file.

    `wait_seconds` is the budget for a write lock that somebody else holds; after it, Unavailable.
    """

    def __init__(
        self, path: Path | str, clock: Clock, *, wait_seconds: float = 8.0, purge_seconds: float = 60.0
    ) -> None:
        self._path = Path(path)
        self._clock = clock
        self._wait_seconds = wait_seconds
        self._purge_seconds = purge_seconds
        instance = secrets.token_hex(8)
        self._etags = (f"{instance}-{n:x}" for n in itertools.count())
        self._closed = False
        self._inline: sqlite3.Connection | None = None
        self._write_lock = threading.Lock()
        self._queued_writes = 0
        self._housekeeper: Housekeeper | None = None
        self._writer = ThreadPoolExecutor(1, "store-writer")
        self._readers = ThreadPoolExecutor(READING_THREADS, "store-reader")
        self._of_thread = threading.local()
        self._of_all_threads: list[sqlite3.Connection] = []

    @property
    def connections(self) -> int:
        """At most: inline, the writer's, the readers' and the housekeeper's."""
        return READING_THREADS + 3

    async def ensure_containers(self) -> None:
        """Makes the file, its tables and indexes, and whatever an older file lacks."""
        await self._opened()

    async def read(self, container: str, partition: str, id: str) -> Document | None:
        rules.addressed(container, [(partition, id)])
        statement, now = _STATEMENTS[container].read, self._now()

        def work(connection: sqlite3.Connection) -> Document | None:
            row = connection.execute(statement, (partition, id, now)).fetchone()
            return None if row is None else sqlite_rows.document(*row)

        return await self._read(work)

    async def read_many(self, container: str, keys: Sequence[tuple[str, str]]) -> list[Document | None]:
        rules.addressed(container, keys)
        statement, now = _STATEMENTS[container].read_some, self._now()

        def work(connection: sqlite3.Connection) -> list[Document | None]:
            found: list[Document | None] = [None] * len(keys)
            for start in range(0, len(keys), READ_AT_ONCE):
                some = [part for key in keys[start : start + READ_AT_ONCE] for part in key]
                padding = [None] * (2 * READ_AT_ONCE - len(some))
                for place, *row in connection.execute(statement, (*some, *padding, now)):
                    found[start + place] = sqlite_rows.document(*row)
            return found

        return await self._read(work, inline=len(keys) <= INLINE_DOCUMENTS)

    async def create(self, container: str, document: Document) -> Document:
        prepared = rules.prepare(rules.container_named(container), document)
        now, etag = self._now(), next(self._etags)
        row = (prepared.partition, prepared.id, prepared.encoded, etag, now, prepared.expires)
        if not await self._changed(_STATEMENTS[container].create[1], row):
            raise Conflict(f"{container}: {prepared.partition} / {prepared.id} is there already")
        return _stored(prepared, etag, now)

    async def upsert(self, container: str, document: Document) -> Document:
        prepared = rules.prepare(rules.container_named(container), document)
        now, etag = self._now(), next(self._etags)
        row = (prepared.partition, prepared.id, prepared.encoded, etag, now, prepared.expires)
        await self._changed(_STATEMENTS[container].upsert[1], row)
        return _stored(prepared, etag, now)

    async def replace(self, container: str, document: Document, etag: str) -> Document:
        prepared = rules.prepare(rules.container_named(container), document)
        now, new = self._now(), next(self._etags)
        row = (prepared.partition, prepared.id, prepared.encoded, new, now, prepared.expires, etag)
        if not await self._changed(_STATEMENTS[container].replace[1], row):
            raise ChangedMeanwhile(f"{container}: {prepared.partition} / {prepared.id} has changed or is gone")
        return _stored(prepared, new, now)

    async def increment(self, container: str, seed: Document, amounts: Mapping[str, int | float]) -> None:
        spec = rules.container_named(container)
        prepared = rules.prepare(spec, seed)
        rules.check_amounts(spec, amounts)
        first = rules.encoded(rules.counted(prepared, amounts))
        now, fields = self._now(), tuple(amounts)
        row = (prepared.partition, prepared.id, first, next(self._etags), now, prepared.expires)
        if not await self._changed(sqlite_sql.increment(spec, fields), (*row, now, *amounts.values(), now, now)):
            raise rules.not_a_number(" or ".join(fields))

    async def delete(self, container: str, partition: str, id: str, etag: str | None = None) -> bool:
        rules.addressed(container, [(partition, id)])
        statements, key = _STATEMENTS[container], (partition, id, self._now())
        if etag is None:
            return await self._changed(statements.delete, key)
        if await self._changed(statements.delete_if, (*key, etag)):
            return True
        # ETags never come back, so a look afterwards is enough to tell gone from different.
        if await self.read(container, partition, id) is None:
            return False
        raise ChangedMeanwhile(f"{container}: {partition} / {id} has changed")

    async def query(self, container: str, query: Query) -> Page:
        plan = rules.plan(rules.container_named(container), query)
        statement, parameters = sqlite_sql.select(plan, self._now())

        def work(connection: sqlite3.Connection) -> Page:
            return plan.page([sqlite_rows.document(*row) for row in connection.execute(statement, parameters)])

        return await self._read(work, inline=False)

    async def count(self, container: str, where: tuple[Where, ...] = (), partition: str | None = None) -> int:
        spec = rules.container_named(container)
        rules.plan(spec, Query(where=where, partition=partition))
        statement, parameters = sqlite_sql.count(spec, where, partition, self._now())

        def work(connection: sqlite3.Connection) -> int:
            return int(connection.execute(statement, parameters).fetchone()[0])

        return await self._read(work, inline=False)

    async def create_many(self, container: str, documents: Sequence[Document]) -> list[bool]:
        statements = _STATEMENTS[rules.container_named(container).name]

        def work(connection: sqlite3.Connection, rows: Sequence[sqlite_rows.Row], _: int) -> list[bool]:
            return sqlite_rows.won(connection, statements.create, statements.etag, rows)

        return [created for batch in await self._batches(container, documents, work) for created in batch]

    async def write_many(self, container: str, documents: Sequence[Document]) -> None:
        statements = _STATEMENTS[rules.container_named(container).name]

        def work(connection: sqlite3.Connection, rows: Sequence[sqlite_rows.Row], _: int) -> None:
            sqlite_rows.write(connection, statements.upsert, rows)

        await self._batches(container, documents, work)

    async def replace_many(self, container: str, changes: Sequence[tuple[Document, str]]) -> list[bool]:
        statements = _STATEMENTS[rules.container_named(container).name]

        def work(connection: sqlite3.Connection, rows: Sequence[sqlite_rows.Row], start: int) -> list[bool]:
            with_old = [(*row, old) for row, (_, old) in zip(rows, changes[start:], strict=False)]
            return sqlite_rows.won(connection, statements.replace, statements.etag, with_old)

        documents = [document for document, _ in changes]
        return [replaced for batch in await self._batches(container, documents, work) for replaced in batch]

    async def delete_many(self, container: str, deletions: Sequence[tuple[str, str, str]]) -> list[bool]:
        rules.addressed(container, [(partition, name) for partition, name, _ in deletions])
        statement, now = _STATEMENTS[container].delete_if, self._now()

        def work(connection: sqlite3.Connection, start: int) -> list[bool]:
            with transaction(connection):
                return [
                    connection.execute(statement, (partition, name, now, etag)).rowcount > 0
                    for partition, name, etag in deletions[start : start + BATCH]
                ]

        inline, starts = len(deletions) <= INLINE_WRITES, range(0, len(deletions), BATCH)
        batches = [await self._write(partial(work, start=start), inline=inline) for start in starts]
        return [deleted for batch in batches for deleted in batch]

    async def ping(self) -> None:
        connection = self._inline or await self._opened()
        try:
            connection.execute("SELECT 1 FROM sqlite_master LIMIT 1").fetchone()
        except sqlite3.Error as error:
            if not is_busy(error):  # busy is alive
                raise translated(error) from error

    async def close(self) -> None:
        if not self._closed:
            self._closed = True
            await asyncio.to_thread(self._close)

    def _close(self) -> None:
        for pool in (self._writer, self._readers):
            pool.shutdown(cancel_futures=True)
        if self._housekeeper is not None:
            self._housekeeper.stop()
        inline, self._inline = self._inline, None
        for connection in (*self._of_all_threads, inline):
            if connection is not None:
                connection.close()

    def _now(self) -> int:
        return int(self._clock().timestamp())

    async def _opened(self) -> sqlite3.Connection:
        while self._inline is None:
            await self._run(self._writer, self._open)
        return self._inline

    def _open(self) -> None:
        """Runs in the one writing thread, so that callers who come together, or are cancelled, open it once."""
        if self._inline is not None:
            return
        connection = open_file(self._path, self._wait_seconds)
        connection.execute("PRAGMA busy_timeout = 0")
        self._housekeeper = Housekeeper(self._path, self._clock, self._write_lock, self._purge_seconds)
        self._housekeeper.start()
        self._inline = connection

    async def _read(self, work: Work[T], *, inline: bool = True) -> T:
        connection = self._inline or await self._opened()
        if inline:
            try:
                return work(connection)
            except sqlite3.Error as error:
                if not is_busy(error):
                    raise translated(error) from error
        return await self._in_thread(self._readers, work)

    async def _changed(self, statement: str, parameters: Sequence[object]) -> bool:
        """Whether the one row that a write is about was written."""

        def work(connection: sqlite3.Connection) -> bool:
            return connection.execute(statement, parameters).rowcount > 0

        return await self._write(work, inline=True)

    async def _write(self, work: Work[T], *, inline: bool) -> T:
        connection = self._inline or await self._opened()
        # Whoever waits in the queue goes first: an inline write could overtake it for ever.
        if inline and not self._queued_writes and self._write_lock.acquire(blocking=False):
            try:
                return work(connection)
            except sqlite3.Error as error:
                if not is_busy(error):
                    raise translated(error) from error
            finally:
                self._write_lock.release()
                self._note_write()
        return await self._in_writer(work)

    async def _batches(
        self,
        container: str,
        documents: Sequence[Document],
        work: Callable[[sqlite3.Connection, Sequence[sqlite_rows.Row], int], T],
    ) -> list[T]:
        """Nothing is written before every document has been checked; then each batch is a transaction of its own.

        `work` is told which of the documents is the first of its batch.
        """
        spec, now, etag = rules.container_named(container), self._now(), next(self._etags)
        rows: list[sqlite_rows.Row] = []
        for number, document in enumerate(documents):
            if number and number % INLINE_DOCUMENTS == 0:
                await asyncio.sleep(0)  # a thread would only fetch each document to another core and back
            partition, name, _, encoded, expires = rules.prepare(spec, document)
            rows.append((partition, name, encoded, f"{etag}-{number:x}", now, expires))

        def one(connection: sqlite3.Connection, start: int) -> T:
            with transaction(connection):
                return work(connection, rows[start : start + BATCH], start)

        inline = len(documents) <= INLINE_WRITES
        return [
            await self._write(partial(one, start=start), inline=inline) for start in range(0, len(documents), BATCH)
        ]

    async def _in_writer(self, work: Work[T]) -> T:
        """Writes that had to wait go one after the other, so that they wait for other processes only."""
        deadline = time.monotonic() + self._wait_seconds

        def locked(connection: sqlite3.Connection) -> T:
            with self._write_lock:
                left = deadline - time.monotonic()
                if left <= 0:
                    raise Unavailable(f"the store was busy for {self._wait_seconds:g} seconds")
                connection.execute(f"PRAGMA busy_timeout = {int(left * 1000) + 1}")
                return work(connection)

        self._queued_writes += 1
        try:
            return await self._in_thread(self._writer, locked)
        finally:
            self._queued_writes -= 1
            self._note_write()

    def _note_write(self) -> None:
        if self._housekeeper is not None:
            self._housekeeper.note_write()

    async def _in_thread(self, pool: ThreadPoolExecutor, work: Work[T]) -> T:
        if self._inline is None:
            await self._opened()

        def run() -> T:
            connection = getattr(self._of_thread, "connection", None)
            if connection is None:
                cache_kib = WRITER_CACHE_KIB if pool is self._writer else CACHE_KIB
                connection = self._of_thread.connection = open_connection(self._path, self._wait_seconds, cache_kib)
                self._of_all_threads.append(connection)
            return work(connection)

        return await self._run(pool, run)

    async def _run(self, pool: ThreadPoolExecutor, job: Callable[[], T]) -> T:
        if self._closed:
            raise Unavailable("the store is closed")
        try:
            return await asyncio.get_running_loop().run_in_executor(pool, job)
        except sqlite3.Error as error:
            raise translated(error) from error
        except asyncio.CancelledError:
            task = asyncio.current_task()
            if self._closed and task is not None and not task.cancelling():
                raise Unavailable("the store is closed") from None  # closing took the job out of the queue
            raise


def _stored(prepared: rules.Prepared, etag: str, now: int) -> Document:
    return {**prepared.body, "_etag": etag, "_ts": now}
