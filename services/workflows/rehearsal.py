"""A store in which work is done for a look at its outcome: it reads what is stored, and keeps its own writes.

Every document that is read is copied into a scratch store, and all writes go there. So the work runs as it would, and
nothing is stored.
"""

from __future__ import annotations

import tempfile
from collections.abc import AsyncIterator, Iterable, Mapping, Sequence
from contextlib import asynccontextmanager
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from services.ports import (
    BatchOutcome,
    Clock,
    Delete,
    Document,
    Operation,
    Page,
    Query,
    QueueDepth,
    Store,
    Where,
    query_all,
)
from services.store.containers import CONTAINERS

if TYPE_CHECKING:
    from services.store.sqlite import SqliteStore

Key = tuple[str, str, str]
"""Container, partition and id."""
_AT_ONCE = 500


@asynccontextmanager
async def rehearsal(store: Store, clock: Clock) -> AsyncIterator[Rehearsal]:
    """A rehearsal on this store. Its writes are gone afterwards."""
    from services.store.sqlite import SqliteStore  # not at a cold start with another store

    with tempfile.TemporaryDirectory(prefix="toolpulse-") as folder:
        scratch = SqliteStore(Path(folder) / "scratch.db", clock)
        await scratch.ensure_containers()
        try:
            yield Rehearsal(store, scratch)
        finally:
            await scratch.close()


class Rehearsal:
    """The Store port. Two writers on one rehearsal see each other's writes."""

    def __init__(self, store: Store, scratch: SqliteStore) -> None:
        self._store = store
        self._scratch = scratch
        self._copied: set[Key] = set()
        self.before: dict[Key, Document | None] = {}
        """The documents as they are stored, by key, as far as they were read."""

    async def read(self, container: str, partition: str, id: str) -> Document | None:
        return (await self.read_many(container, [(partition, id)]))[0]

    async def read_many(
        self, container: str, keys: Sequence[tuple[str, str]], *, may_be_stale: bool = False
    ) -> list[Document | None]:
        await self._copy(container, keys)
        return await self._scratch.read_many(container, keys)

    async def create(self, container: str, document: Mapping[str, Any]) -> Document:
        await self._copy(container, [_key(container, document)])
        return await self._scratch.create(container, document)

    async def upsert(self, container: str, document: Mapping[str, Any]) -> Document:
        await self._copy(container, [_key(container, document)])
        return await self._scratch.upsert(container, document)

    async def replace(self, container: str, document: Mapping[str, Any], etag: str) -> Document:
        await self._copy(container, [_key(container, document)])
        return await self._scratch.replace(container, document, etag)

    async def increment(self, container: str, seed: Mapping[str, Any], amounts: Mapping[str, int | float]) -> None:
        await self._copy(container, [_key(container, seed)])
        await self._scratch.increment(container, seed, amounts)

    async def delete(self, container: str, partition: str, id: str, etag: str | None = None) -> bool:
        await self._copy(container, [(partition, id)])
        return await self._scratch.delete(container, partition, id, etag)

    async def query(self, container: str, query: Query) -> Page:
        if query.after is None:
            await self._copy_found(container, replace(query, limit=_AT_ONCE))
        return await self._scratch.query(container, query)

    async def count(
        self,
        container: str,
        where: tuple[Where, ...] = (),
        partition: str | None = None,
        *,
        may_be_stale: bool = False,
    ) -> int:
        await self._copy_found(container, Query(where, partition, limit=_AT_ONCE))
        return await self._scratch.count(container, where, partition)

    async def batch(self, container: str, partition: str, operations: Sequence[Operation]) -> list[str | None]:
        await self._copy(container, _keys_of(container, partition, operations))
        return await self._scratch.batch(container, partition, operations)

    async def batch_many(
        self, container: str, batches: Sequence[tuple[str, Sequence[Operation]]]
    ) -> list[BatchOutcome]:
        await self._copy(container, [key for each in batches for key in _keys_of(container, *each)])
        return await self._scratch.batch_many(container, batches)

    async def create_many(self, container: str, documents: Sequence[Mapping[str, Any]]) -> list[bool]:
        await self._copy(container, [_key(container, each) for each in documents])
        return await self._scratch.create_many(container, documents)

    async def write_many(self, container: str, documents: Sequence[Mapping[str, Any]]) -> None:
        await self._copy(container, [_key(container, each) for each in documents])
        await self._scratch.write_many(container, documents)

    async def ping(self) -> None:
        await self._store.ping()

    async def close(self) -> None:
        await self._scratch.close()

    async def written(self, container: str) -> list[tuple[Document | None, Document | None]]:
        """The documents of the container that were changed: as they are stored, and as they would be."""
        keys = [key[1:] for key in self._copied if key[0] == container]
        after = await self._scratch.read_many(container, keys)
        both = ((self.before[(container, *key)], document) for key, document in zip(keys, after, strict=True))
        return [pair for pair in both if _content(pair[0]) != _content(pair[1])]

    async def _copy(self, container: str, keys: Iterable[tuple[str, str]]) -> None:
        missing = [key for key in dict.fromkeys(keys) if (container, *key) not in self._copied]
        if not missing:
            return
        found = await self._store.read_many(container, missing)
        await self._keep(container, dict(zip(missing, found, strict=True)))

    async def _copy_found(self, container: str, query: Query) -> None:
        found = await query_all(self._store, container, query)
        by_key = {_key(container, each): each for each in found}
        await self._keep(container, {k: each for k, each in by_key.items() if (container, *k) not in self._copied})

    async def _keep(self, container: str, documents: Mapping[tuple[str, str], Document | None]) -> None:
        self.before.update({(container, *key): document for key, document in documents.items()})
        self._copied.update((container, *key) for key in documents)
        there = [document for document in documents.values() if document is not None]
        if there:
            await self._scratch.write_many(container, there)


class SilentQueues:
    """The Queues port of a rehearsal: nothing is sent."""

    async def send(self, name: str, messages: Sequence[str], *, delay_seconds: float = 0) -> None:
        pass

    async def oldest(self, name: str) -> None:
        return None

    async def depths(self, names: Sequence[str]) -> list[QueueDepth]:
        return [QueueDepth(name, 0, 0) for name in names]

    async def peek_poison(self, name: str, limit: int) -> list[str]:
        return []

    async def redrive(self, name: str, limit: int) -> int:
        return 0

    async def close(self) -> None:
        pass


def _key(container: str, document: Mapping[str, Any]) -> tuple[str, str]:
    return str(document[CONTAINERS[container].partition_key]), str(document["id"])


def _keys_of(container: str, partition: str, operations: Sequence[Operation]) -> list[tuple[str, str]]:
    return [(partition, each.id if isinstance(each, Delete) else str(each.document["id"])) for each in operations]


def _content(document: Document | None) -> Document | None:
    return None if document is None else {name: value for name, value in document.items() if name[:1] != "_"}
