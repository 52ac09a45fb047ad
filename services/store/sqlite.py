"""The embedded store: one SQLite file, durable, shared by any number of tasks, threads and processes.

Here is what is read and written, and what of it is short enough for the event loop; sqlite_threads.py carries it out
there, or in threads. A housekeeping thread copies the log into the file (commits never do) and purges what has expired.

Durability is SQLite's own with a write-ahead log and synchronous=NORMAL: a killed process loses nothing that was
acknowledged; a machine that loses its power may lose about the last second, and never corrupts the file.
"""

from __future__ import annotations

import asyncio
import itertools
import secrets
import sqlite3
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import TypeVar

from models.errors import ChangedMeanwhile, Conflict
from services.ports import Clock, Document, Page, Query, Where
from services.store import rules, sqlite_rows, sqlite_sql
from services.store.containers import CONTAINERS
from services.store.sqlite_file import is_busy, transaction, translated
from services.store.sqlite_sql import READ_AT_ONCE
from services.store.sqlite_threads import MOST_CONNECTIONS, Threads

T = TypeVar("T")

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
        self._clock = clock
        self._threads = Threads(Path(path), clock, wait_seconds, purge_seconds)
        instance = secrets.token_hex(8)
        self._etags = (f"{instance}-{n:x}" for n in itertools.count())

    @property
    def connections(self) -> int:
        """At most."""
        return MOST_CONNECTIONS

    async def ensure_containers(self) -> None:
        """Makes the file, its tables and indexes, and whatever an older file lacks."""
        await self._threads.opened()

    async def read(self, container: str, partition: str, id: str) -> Document | None:
        rules.addressed(container, [(partition, id)])
        statement, now = _STATEMENTS[container].read, self._now()

        def work(connection: sqlite3.Connection) -> Document | None:
            row = connection.execute(statement, (partition, id, now)).fetchone()
            return None if row is None else sqlite_rows.document(*row)

        return await self._threads.read(work)

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

        return await self._threads.read(work, inline=len(keys) <= INLINE_DOCUMENTS)

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

        return await self._threads.read(work, inline=False)

    async def count(self, container: str, where: tuple[Where, ...] = (), partition: str | None = None) -> int:
        spec = rules.container_named(container)
        rules.plan(spec, Query(where=where, partition=partition))
        statement, parameters = sqlite_sql.count(spec, where, partition, self._now())

        def work(connection: sqlite3.Connection) -> int:
            return int(connection.execute(statement, parameters).fetchone()[0])

        return await self._threads.read(work, inline=False)

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
        batches = [await self._threads.write(partial(work, start=start), inline=inline) for start in starts]
        return [deleted for batch in batches for deleted in batch]

    async def ping(self) -> None:
        connection = await self._threads.opened()
        try:
            connection.execute("SELECT 1 FROM sqlite_master LIMIT 1").fetchone()
        except sqlite3.Error as error:
            if not is_busy(error):  # busy is alive
                raise translated(error) from error

    async def close(self) -> None:
        await self._threads.close()

    def _now(self) -> int:
        return int(self._clock().timestamp())

    async def _changed(self, statement: str, parameters: Sequence[object]) -> bool:
        """Whether the one row that a write is about was written."""

        def work(connection: sqlite3.Connection) -> bool:
            return connection.execute(statement, parameters).rowcount > 0

        return await self._threads.write(work, inline=True)

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
            await self._threads.write(partial(one, start=start), inline=inline)
            for start in range(0, len(documents), BATCH)
        ]


def _stored(prepared: rules.Prepared, etag: str, now: int) -> Document:
    return {**prepared.body, "_etag": etag, "_ts": now}
