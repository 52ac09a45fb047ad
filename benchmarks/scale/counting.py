"""A store that writes down what each operation would have been in Cosmos DB, and what it would have cost there.

Operations of many documents are that many requests, as in services/store/cosmos.py.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from benchmarks.scale import charges
from models.errors import ChangedMeanwhile, Conflict
from services.ports import Document, Page, Query, Store, Where
from services.store.containers import CONTAINERS


@dataclass(frozen=True, slots=True)
class Operation:
    """One request. `size` is what was read or written; `stored` by how much the container grew."""

    kind: str
    container: str
    partition: str
    size: int
    units: float
    stored: int = 0


def size_of(document: Document) -> int:
    own = {name: value for name, value in document.items() if not name.startswith("_")}
    return len(json.dumps(own, ensure_ascii=False, separators=(",", ":")).encode())


class CountingStore:
    """A Store on another, which must be one that no one else writes to."""

    def __init__(self, store: Store) -> None:
        self._store = store
        self.operations: list[Operation] = []

    def _note(self, kind: str, container: str, partition: str, size: int, units: float, stored: int = 0) -> None:
        self.operations.append(Operation(kind, container, partition, size, units, stored))

    async def read(self, container: str, partition: str, id: str) -> Document | None:
        found = await self._store.read(container, partition, id)
        self._note_read(container, partition, found)
        return found

    def _note_read(self, container: str, partition: str, found: Document | None) -> None:
        size = size_of(found) if found is not None else 0
        self._note("read", container, partition, size, charges.read(size))

    async def read_many(self, container: str, keys: Sequence[tuple[str, str]]) -> list[Document | None]:
        found = await self._store.read_many(container, keys)
        for (partition, _), document in zip(keys, found, strict=True):
            self._note_read(container, partition, document)
        return found

    async def create(self, container: str, document: Document) -> Document:
        try:
            stored = await self._store.create(container, document)
        except Conflict:
            self._note_read(container, self._key(container, document), document)
            raise
        self._note_create(container, document)
        return stored

    def _note_create(self, container: str, document: Document) -> None:
        size, terms = size_of(document), charges.terms(CONTAINERS[container], document)
        units = charges.create(size, len(terms))
        self._note("create", container, self._key(container, document), size, units, size)

    async def upsert(self, container: str, document: Document) -> Document:
        before = await self._held(container, document)
        stored = await self._store.upsert(container, document)
        self._note_over(container, before, document)
        return stored

    async def replace(self, container: str, document: Document, etag: str) -> Document:
        before = await self._held(container, document)
        try:
            stored = await self._store.replace(container, document, etag)
        except ChangedMeanwhile:
            self._note_read(container, self._key(container, document), before)
            raise
        self._note_over(container, before, document)
        return stored

    def _note_over(self, container: str, before: Document | None, after: Document, steps: int = 0) -> None:
        if before is None:
            self._note_create(container, after)
            return
        spec = CONTAINERS[container]
        old, new = size_of(before), size_of(after)
        then, now = charges.terms(spec, before), charges.terms(spec, after)
        units = charges.replace(old, new, (len(then - now) + len(now - then)) / 2) + charges.PATCH_STEP * steps
        self._note("patch" if steps else "replace", container, self._key(container, after), new, units, new - old)

    async def increment(self, container: str, seed: Document, amounts: Mapping[str, int | float]) -> None:
        before = await self._held(container, seed)
        await self._store.increment(container, seed, amounts)
        after = await self._held(container, seed)
        self._note_over(container, before, after or seed, len(amounts))

    async def delete(self, container: str, partition: str, id: str, etag: str | None = None) -> bool:
        before = await self._store.read(container, partition, id)
        deleted = await self._store.delete(container, partition, id, etag)
        self._note_delete(container, partition, before, deleted)
        return deleted

    def _note_delete(self, container: str, partition: str, before: Document | None, deleted: bool) -> None:
        self._note_read(container, partition, before)
        if before is not None and deleted:
            size, terms = size_of(before), charges.terms(CONTAINERS[container], before)
            self._note("delete", container, partition, size, charges.delete(size, len(terms)), -size)

    async def query(self, container: str, query: Query) -> Page:
        page = await self._store.query(container, query)
        sizes = [size_of(each) for each in page.items]
        self._note_query(container, query.partition, sum(sizes), charges.query(sizes))
        return page

    def _note_query(self, container: str, partition: str | None, size: int, units: float) -> None:
        kind = "query" if partition is not None else "scan"
        self._note(kind, container, partition or "*", size, units)

    async def count(self, container: str, where: tuple[Where, ...] = (), partition: str | None = None) -> int:
        counted = await self._store.count(container, where, partition)
        self._note_query(container, partition, 0, charges.count(counted))
        return counted

    async def create_many(self, container: str, documents: Sequence[Document]) -> list[bool]:
        created = await self._store.create_many(container, documents)
        for document, won in zip(documents, created, strict=True):
            if won:
                self._note_create(container, document)
            else:
                self._note_read(container, self._key(container, document), document)
        return created

    async def write_many(self, container: str, documents: Sequence[Document]) -> None:
        before = [await self._held(container, each) for each in documents]
        await self._store.write_many(container, documents)
        for was, document in zip(before, documents, strict=True):
            self._note_over(container, was, document)

    async def replace_many(self, container: str, changes: Sequence[tuple[Document, str]]) -> list[bool]:
        before = [await self._held(container, document) for document, _ in changes]
        replaced = await self._store.replace_many(container, changes)
        for was, (document, _), won in zip(before, changes, replaced, strict=True):
            if won:
                self._note_over(container, was, document)
        return replaced

    async def delete_many(self, container: str, deletions: Sequence[tuple[str, str, str]]) -> list[bool]:
        keys = [(partition, name) for partition, name, _ in deletions]
        before = await self._store.read_many(container, keys)
        deleted = await self._store.delete_many(container, deletions)
        for (partition, _), was, gone in zip(keys, before, deleted, strict=True):
            self._note_delete(container, partition, was, gone)
        return deleted

    async def ping(self) -> None:
        await self._store.ping()

    async def close(self) -> None:
        await self._store.close()

    async def _held(self, container: str, document: Document) -> Document | None:
        return await self._store.read(container, self._key(container, document), document["id"])

    def _key(self, container: str, document: Document) -> str:
        return str(document[CONTAINERS[container].partition_key])
