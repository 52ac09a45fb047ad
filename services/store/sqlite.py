"""The embedded store: one durable SQLite file that any number of tasks, threads and processes share.

This module implements the port. sqlite_threads.py runs its work on the event loop or in threads, sqlite_commits.py
gathers bulk writes into transactions.

Durability is SQLite's own with a write-ahead log and synchronous=NORMAL: a killed process loses no write that returned;
a machine that loses its power may lose about the last second, and never corrupts the file.
"""

from __future__ import annotations

import asyncio
import itertools
import secrets
import sqlite3
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

from models.errors import ChangedMeanwhile, Conflict
from services.ports import BatchOutcome, Clock, Create, Document, Operation, Page, Query, Replace, Where
from services.store import batch_rules, plans, rules, sqlite_queries, sqlite_sql
from services.store.sqlite_commits import Commits
from services.store.sqlite_file import is_busy, translated
from services.store.sqlite_sql import STATEMENTS
from services.store.sqlite_threads import MOST_CONNECTIONS, Threads
from services.store.sqlite_writes import ABSENT, ANYTHING, PRESENT, Needs, Write, document_of, padded, version

INLINE_DOCUMENTS = 64  # reading as many takes as long as handing the work to a thread


class SqliteStore:
    """See services.ports.Store. One event loop per store; any number of stores and processes per file.

    `wait_seconds` is the longest wait for another writer's lock; after it, Unavailable.
    """

    def __init__(
        self, path: Path | str, clock: Clock, *, wait_seconds: float = 8.0, purge_seconds: float = 60.0
    ) -> None:
        self._clock = clock
        self._threads = Threads(Path(path), clock, wait_seconds, purge_seconds)
        self._commits = Commits(self._threads)
        instance = secrets.token_hex(8)
        self._etags = (f"{instance}-{n:x}" for n in itertools.count())

    @property
    def connections(self) -> int:
        """The most connections that this store opens."""
        return MOST_CONNECTIONS

    async def ensure_containers(self) -> None:
        """Creates the file, its tables and indexes, and adds what an older file lacks."""
        await self._threads.opened()

    async def read(self, container: str, partition: str, id: str) -> Document | None:
        rules.addressed(container, [(partition, id)])
        statement, now = STATEMENTS[container].read, self._now()

        def work(connection: sqlite3.Connection) -> Document | None:
            row = connection.execute(statement, (partition, id, now)).fetchone()
            return None if row is None else document_of(*row)

        return await self._threads.read(work)

    async def read_many(self, container: str, keys: Sequence[tuple[str, str]]) -> list[Document | None]:
        rules.addressed(container, keys)
        statements, now = STATEMENTS[container].read_some, self._now()

        def work(connection: sqlite3.Connection) -> list[Document | None]:
            found: list[Document | None] = []
            for some, size in padded(keys):
                documents: list[Document | None] = [None] * len(some)
                parameters = [part for key in some for part in key] + [None] * (2 * (size - len(some)))
                for place, *row in connection.execute(statements[size], (*parameters, now)):
                    documents[place] = document_of(*row)
                found += documents
            return found

        return await self._threads.read(work, inline=len(keys) <= INLINE_DOCUMENTS)

    async def create(self, container: str, document: Mapping[str, Any]) -> Document:
        prepared = rules.prepare(rules.container_named(container), document)
        now, etag = self._now(), next(self._etags)
        row = (prepared.partition, prepared.id, prepared.encoded, etag, now, prepared.expires)
        if not await self._changed(STATEMENTS[container].create, row):
            raise Conflict(f"{container}: {prepared.partition} / {prepared.id} is there already")
        return _stored(prepared, etag, now)

    async def upsert(self, container: str, document: Mapping[str, Any]) -> Document:
        prepared = rules.prepare(rules.container_named(container), document)
        now, etag = self._now(), next(self._etags)
        row = (prepared.partition, prepared.id, prepared.encoded, etag, now, prepared.expires)
        await self._changed(STATEMENTS[container].upsert, row)
        return _stored(prepared, etag, now)

    async def replace(self, container: str, document: Mapping[str, Any], etag: str) -> Document:
        prepared = rules.prepare(rules.container_named(container), document)
        now, new = self._now(), next(self._etags)
        row = (prepared.partition, prepared.id, prepared.encoded, new, now, prepared.expires, version(etag))
        if not await self._changed(STATEMENTS[container].replace, row):
            raise ChangedMeanwhile(f"{container}: {prepared.partition} / {prepared.id} has changed or is gone")
        return _stored(prepared, new, now)

    async def increment(self, container: str, seed: Mapping[str, Any], amounts: Mapping[str, int | float]) -> None:
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
        statements, key = STATEMENTS[container], (partition, id, self._now())
        if etag is None:
            return await self._changed(statements.delete, key)
        if await self._changed(statements.delete_if, (*key, version(etag))):
            return True
        # No ETag is used twice, so a read afterwards tells a document that is gone from one that has changed.
        if await self.read(container, partition, id) is None:
            return False
        raise ChangedMeanwhile(f"{container}: {partition} / {id} has changed")

    async def query(self, container: str, query: Query) -> Page:
        plan = plans.plan(rules.container_named(container), query)
        statement, parameters = sqlite_queries.select(plan, self._now())

        def work(connection: sqlite3.Connection) -> Page:
            return plan.page([document_of(*row) for row in connection.execute(statement, parameters)])

        return await self._threads.read(work, inline=False)

    async def count(self, container: str, where: tuple[Where, ...] = (), partition: str | None = None) -> int:
        spec = rules.container_named(container)
        plans.plan(spec, Query(where=where, partition=partition))
        statement, parameters = sqlite_queries.count(spec, where, partition, self._now())

        def work(connection: sqlite3.Connection) -> int:
            return int(connection.execute(statement, parameters).fetchone()[0])

        return await self._threads.read(work, inline=False)

    async def batch(self, container: str, partition: str, operations: Sequence[Operation]) -> list[str | None]:
        (outcome,) = await self.batch_many(container, [(partition, operations)])
        if isinstance(outcome, list):
            return outcome
        raise outcome

    async def batch_many(
        self, container: str, batches: Sequence[tuple[str, Sequence[Operation]]]
    ) -> list[BatchOutcome]:
        spec = rules.container_named(container)
        now, etag, number = self._now(), next(self._etags), 0
        checked: list[list[batch_rules.Step]] = []
        writes: list[list[Write]] = []
        for partition, operations in batches:
            steps = batch_rules.prepare(spec, partition, operations)
            checked.append(steps)
            writes.append([_write(partition, step, f"{etag}-{number + n:x}", now) for n, step in enumerate(steps)])
            before, number = number, number + len(steps)
            if before // INLINE_DOCUMENTS < number // INLINE_DOCUMENTS:
                await asyncio.sleep(0)  # not in a thread, which would only fetch each document to another core and back
        failed = await self._commits.write(container, writes)
        return [
            [each.etag for each in done] if index is None else batch_rules.failure(spec, partition, steps, index)
            for (partition, _), steps, done, index in zip(batches, checked, writes, failed, strict=True)
        ]

    async def create_many(self, container: str, documents: Sequence[Mapping[str, Any]]) -> list[bool]:
        return await self._written(container, documents, itertools.repeat(ABSENT))

    async def write_many(self, container: str, documents: Sequence[Mapping[str, Any]]) -> None:
        await self._written(container, documents, itertools.repeat(ANYTHING))

    async def ping(self) -> None:
        connection = await self._threads.opened()
        try:
            connection.execute("SELECT 1 FROM sqlite_master LIMIT 1").fetchone()
        except sqlite3.Error as error:
            if not is_busy(error):  # a busy store is alive
                raise translated(error) from error

    async def close(self) -> None:
        await self._threads.close()

    def _now(self) -> int:
        return int(self._clock().timestamp())

    async def _changed(self, statement: str, parameters: Sequence[object]) -> bool:
        """Whether the statement wrote its one row."""

        def work(connection: sqlite3.Connection) -> bool:
            return connection.execute(statement, parameters).rowcount > 0

        return await self._threads.write(work, inline=True)

    async def _written(
        self, container: str, documents: Sequence[Mapping[str, Any]], needs: Iterable[Needs]
    ) -> list[bool]:
        """Checks every document, then writes each as a batch of its own. Whether each was written."""
        spec, now, etag = rules.container_named(container), self._now(), next(self._etags)
        writes: list[tuple[Write]] = []
        for number, (document, needed) in enumerate(zip(documents, needs, strict=False)):
            if number and number % INLINE_DOCUMENTS == 0:
                await asyncio.sleep(0)  # not in a thread, which would only fetch each document to another core and back
            partition, name, _, encoded, expires = rules.prepare(spec, document)
            writes.append((Write(partition, name, encoded, f"{etag}-{number:x}", now, expires, needed),))
        return [index is None for index in await self._commits.write(container, writes)]


def _write(partition: str, step: batch_rules.Step, etag: str, now: int) -> Write:
    operation, name, prepared = step
    if prepared is None:
        return Write(partition, name, None, None, now, None, PRESENT if step.etag is None else version(step.etag))
    needs: Needs = ANYTHING
    if isinstance(operation, Create):
        needs = ABSENT
    elif isinstance(operation, Replace):
        needs = version(operation.etag)
    return Write(partition, name, prepared.encoded, etag, now, prepared.expires, needs)


def _stored(prepared: rules.Prepared, etag: str, now: int) -> Document:
    return {**prepared.body, "_etag": etag, "_ts": now}
