"""The embedded store: one durable SQLite file that any number of tasks, threads and processes share.

Durability is SQLite's own with a write-ahead log and synchronous=NORMAL: a killed process loses no write that returned;
a machine that loses its power may lose about the last second, and never corrupts the file.
"""

from __future__ import annotations

import asyncio
import itertools
import secrets
import sqlite3
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import orjson

from models.errors import ChangedMeanwhile
from services.ports import BatchOutcome, Clock, Document, Operation, Page, Query, Where
from services.store import plans, rules, sqlite_sql
from services.store.sqlite_connection import MAX_CONNECTIONS, Threads
from services.store.sqlite_sql import STATEMENTS
from services.store.sqlite_writes import ABSENT, ANYTHING, PRESENT, Commits, Needs, Write, padded

INLINE_DOCUMENTS = 64  # reading so many takes as long as handing the work to a thread


class SqliteStore:
    """The store on SQLite.

    See services.ports.Store. One event loop per store; any number of stores and processes per file.

    After `wait_seconds` of waiting for another writer's lock, a write raises Unavailable.
    """

    connections = MAX_CONNECTIONS
    """The most connections that this store opens."""

    def __init__(
        self, path: Path | str, clock: Clock, *, wait_seconds: float = 8.0, purge_seconds: float = 60.0
    ) -> None:
        self._clock = clock
        self._threads = Threads(Path(path), clock, wait_seconds, purge_seconds)
        self._commits = Commits(self._threads)
        instance = secrets.token_hex(8)
        self._etags = (f"{instance}-{n:x}" for n in itertools.count())

    async def ensure_containers(self) -> None:
        """Creates the file, its tables and indexes, and adds what an older file lacks."""
        await self._threads.opened()

    async def read(self, container: str, partition: str, id: str) -> Document | None:
        rules.check_addresses(container, [(partition, id)])
        statement, now = STATEMENTS[container].read, self._now()

        def work(connection: sqlite3.Connection) -> Document | None:
            row = connection.execute(statement, (partition, id, now)).fetchone()
            return None if row is None else _document(*row)

        return await self._threads.read(work)

    async def read_many(
        self, container: str, keys: Sequence[tuple[str, str]], *, may_be_stale: bool = False
    ) -> list[Document | None]:
        rules.check_addresses(container, keys)
        if not keys:
            return []
        statements, now = STATEMENTS[container].read_some, self._now()

        def work(connection: sqlite3.Connection) -> list[Document | None]:
            found: list[Document | None] = []
            for some, size in padded(keys):
                documents: list[Document | None] = [None] * len(some)
                parameters = [part for key in some for part in key] + [None] * (2 * (size - len(some)))
                for number, *row in connection.execute(statements[size], (*parameters, now)):
                    documents[number] = _document(*row)
                found += documents
            return found

        return await self._threads.read(work, inline=len(keys) <= INLINE_DOCUMENTS)

    async def create(self, container: str, document: Mapping[str, Any]) -> Document:
        prepared = rules.prepare(rules.container_named(container), document)
        stored = await self._stored(STATEMENTS[container].create, prepared)
        if stored is None:
            raise rules.exists(container, prepared.partition, prepared.id)
        return stored

    async def upsert(self, container: str, document: Mapping[str, Any]) -> Document:
        prepared = rules.prepare(rules.container_named(container), document)
        stored = await self._stored(STATEMENTS[container].upsert, prepared)
        assert stored is not None
        return stored

    async def replace(self, container: str, document: Mapping[str, Any], etag: str) -> Document:
        prepared = rules.prepare(rules.container_named(container), document)
        stored = await self._stored(STATEMENTS[container].replace, prepared, _comparable(etag))
        if stored is None:
            raise rules.changed(container, prepared.partition, prepared.id)
        return stored

    async def increment(self, container: str, seed: Mapping[str, Any], amounts: Mapping[str, int | float]) -> None:
        spec = rules.container_named(container)
        prepared = rules.prepare(spec, seed)
        rules.check_amounts(spec, amounts)
        first = prepared._replace(encoded=rules.encoded(rules.counted(prepared, amounts)))
        statement = sqlite_sql.increment(spec, tuple(amounts))
        if await self._stored(statement, first, *amounts.values()) is None:
            raise rules.not_a_number(" or ".join(amounts))

    async def delete(self, container: str, partition: str, id: str, etag: str | None = None) -> bool:
        rules.check_addresses(container, [(partition, id)])
        wanted = None if etag is None else _comparable(etag)
        if await self._changed(STATEMENTS[container].delete, (partition, id, self._now(), wanted)):
            return True
        # No ETag is used twice, so a read afterwards shows whether the document is gone or has changed.
        if etag is None or await self.read(container, partition, id) is None:
            return False
        raise ChangedMeanwhile(f"{container}: {partition} / {id} has changed")

    async def query(self, container: str, query: Query) -> Page:
        plan = plans.plan(rules.container_named(container), query)
        statement, values = sqlite_sql.select(plan, self._now())

        def work(connection: sqlite3.Connection) -> Page:
            return plan.page([_document(*row) for row in connection.execute(statement, values)])

        return await self._threads.read(work, inline=False)

    async def count(
        self,
        container: str,
        where: tuple[Where, ...] = (),
        partition: str | None = None,
        *,
        may_be_stale: bool = False,
    ) -> int:
        plan = plans.plan(rules.container_named(container), Query(where, partition))
        statement, values = sqlite_sql.count(plan, self._now())

        def work(connection: sqlite3.Connection) -> int:
            return int(connection.execute(statement, values).fetchone()[0])

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
        checked: list[list[rules.Step]] = []
        writes: list[list[Write]] = []
        for partition, operations in batches:
            steps = rules.prepare_batch(spec, partition, operations)
            checked.append(steps)
            writes.append([_write(partition, step, f"{etag}-{number + n:x}", now) for n, step in enumerate(steps)])
            before, number = number, number + len(steps)
            if before // INLINE_DOCUMENTS < number // INLINE_DOCUMENTS:
                await _yield_to_the_loop()
        failed = await self._commits.write(container, writes)
        return [
            [each.etag for each in done] if index is None else rules.failed_batch(container, partition, steps, index)
            for (partition, _), steps, done, index in zip(batches, checked, writes, failed, strict=True)
        ]

    async def create_many(self, container: str, documents: Sequence[Mapping[str, Any]]) -> list[bool]:
        return await self._each_written(container, documents, ABSENT)

    async def write_many(self, container: str, documents: Sequence[Mapping[str, Any]]) -> None:
        await self._each_written(container, documents, ANYTHING)

    def last_write(self) -> object:
        """See services.ports.LastWrite."""
        return self._threads.last_write()

    async def ping(self) -> None:
        await self._threads.opened()
        self._threads.check()

    async def close(self) -> None:
        await self._threads.close()

    def _now(self) -> int:
        return int(self._clock().timestamp())

    async def _stored(self, statement: str, prepared: rules.Prepared, *more: object) -> Document | None:
        """The document as the statement stored it, or None if the statement wrote nothing."""
        now, etag = self._now(), next(self._etags)
        row = (prepared.partition, prepared.id, prepared.encoded, etag, now, prepared.expires)
        if not await self._changed(statement, (*row, *more)):
            return None
        return {**prepared.body, "_etag": etag, "_ts": now}

    async def _changed(self, statement: str, parameters: Sequence[object]) -> bool:
        """Whether the statement wrote its one row."""

        def work(connection: sqlite3.Connection) -> bool:
            return connection.execute(statement, parameters).rowcount > 0

        return await self._threads.write(work, inline=True)

    async def _each_written(self, container: str, documents: Sequence[Mapping[str, Any]], needs: Needs) -> list[bool]:
        """Checks every document, then writes each as a batch of its own. Returns whether each was written."""
        spec, now, etag = rules.container_named(container), self._now(), next(self._etags)
        writes: list[tuple[Write]] = []
        for number, document in enumerate(documents):
            if number and number % INLINE_DOCUMENTS == 0:
                await _yield_to_the_loop()
            partition, name, _, encoded, expires = rules.prepare(spec, document)
            writes.append((Write(partition, name, encoded, f"{etag}-{number:x}", now, expires, needs),))
        return [index is None for index in await self._commits.write(container, writes)]


async def _yield_to_the_loop() -> None:
    """Lets other tasks run between documents that are checked. Checking them in a thread is no faster, since Python
    runs one thread at a time."""
    await asyncio.sleep(0)


def _write(partition: str, step: rules.Step, etag: str, now: int) -> Write:
    needs: Needs = ANYTHING
    if step.etag is not None:
        needs = _comparable(step.etag)
    elif step.kind != "upsert":
        needs = ABSENT if step.kind == "create" else PRESENT
    if step.prepared is None:
        return Write(partition, step.id, None, None, now, None, needs)
    return Write(partition, step.id, step.prepared.encoded, etag, now, step.prepared.expires, needs)


def _comparable(etag: str) -> str:
    """The ETag as SQLite compares it. No store returns an ETag beyond ASCII, and SQLite refuses some such text."""
    rules.check_etag(etag)
    return etag if etag.isascii() else ""


def _document(body: str, etag: str, ts: int) -> Document:
    read: Document = orjson.loads(body)
    read["_etag"] = etag
    read["_ts"] = ts
    return read
