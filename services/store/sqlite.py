"""The embedded store: one durable SQLite file that any number of tasks, threads and processes share.

Durability is SQLite's own with a write-ahead log and synchronous=NORMAL: a killed process loses no write that returned;
a machine that loses its power may lose about the last second, and never corrupts the file.
"""

from __future__ import annotations

import itertools
import secrets
import sqlite3
from collections.abc import Sequence
from functools import partial
from pathlib import Path

import orjson

from services import deadline
from services.ports import BatchOutcome, Clock, Document, Page, Query, Where
from services.store import plans, rules, sqlite_sql
from services.store.batched import BatchedStore
from services.store.containers import Container
from services.store.sqlite_connection import MAX_CONNECTIONS, Threads
from services.store.sqlite_sql import STATEMENTS
from services.store.sqlite_writes import ABSENT, ANYTHING, PRESENT, Commits, Needs, Write

PURGE_BATCH = 500
INLINE_DOCUMENTS = 64  # reading so many takes as long as handing the work to a thread


class SqliteStore(BatchedStore):
    """The store on SQLite.

    See services.ports.Store. One event loop per store; any number of stores and processes per file.

    After `wait_seconds` of waiting for another writer's lock, a write raises Unavailable.
    """

    connections = MAX_CONNECTIONS
    """The most connections that this store opens."""

    def __init__(
        self, path: Path | str, clock: Clock, *, wait_seconds: float = 8.0, checkpoint_seconds: float = 1.0
    ) -> None:
        self._clock = clock
        self._threads = Threads(Path(path), clock, wait_seconds, checkpoint_seconds)
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
        statement, now = STATEMENTS[container].read_some, self._now()

        def work(connection: sqlite3.Connection) -> list[Document | None]:
            found: list[Document | None] = [None] * len(keys)
            for number, *row in connection.execute(statement, (orjson.dumps(keys), now)):
                found[number] = _document(*row)
            return found

        return await self._threads.read(work, inline=len(keys) <= INLINE_DOCUMENTS)

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

    async def write_batches(
        self, container: Container, batches: Sequence[tuple[str, Sequence[rules.Step]]]
    ) -> list[BatchOutcome]:
        now = self._now()
        writes = [[_write(partition, step, next(self._etags), now) for step in steps] for partition, steps in batches]
        failed = await self._commits.write(container.name, writes)
        return [
            [each.etag for each in done]
            if index is None
            else rules.failed_batch(container.name, partition, steps, index)
            for (partition, steps), done, index in zip(batches, writes, failed, strict=True)
        ]

    async def purge(self) -> None:
        now = self._now()
        for statements in STATEMENTS.values():
            expired = partial(_purge, statement=statements.purge, now=now)
            while await self._threads.write(expired, inline=False) == PURGE_BATCH and not deadline.is_near():
                pass

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


def _write(partition: str, step: rules.Step, etag: str, now: int) -> Write:
    needs: Needs = ANYTHING
    if step.etag is not None:
        needs = step.etag if step.etag.isascii() else ""  # no store returns another ETag, and SQLite refuses some
    elif step.kind != "upsert":
        needs = ABSENT if step.kind == "create" else PRESENT
    if step.prepared is None:
        return Write(partition, step.id, None, None, now, None, needs)
    return Write(partition, step.id, step.prepared.encoded, etag, now, step.prepared.expires, needs)


def _purge(connection: sqlite3.Connection, statement: str, now: int) -> int:
    """Deletes some rows, and returns how many: other writers come in between."""
    return connection.execute(statement, (now, PURGE_BATCH)).rowcount


def _document(body: str, etag: str, ts: int) -> Document:
    read: Document = orjson.loads(body)
    read["_etag"] = etag
    read["_ts"] = ts
    return read
