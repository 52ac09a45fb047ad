"""A store that records the requests that each operation would be in Cosmos DB, and what they would cost.

An operation on many documents is as many requests, as in services/store/cosmos.py.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from benchmarks.scale import charges
from benchmarks.scale.charges import size_of
from models.errors import ChangedMeanwhile, Conflict
from services.ports import Create, Delete, Document, Page, Query, Store, Where
from services.ports import Operation as Step
from services.store.containers import CONTAINERS
from services.store.cosmos import MANY, READ_AT_ONCE


@dataclass(frozen=True, slots=True)
class Operation:
    """One request. `size` is the number of bytes read or written, `stored` by how many bytes the container grew."""

    kind: str
    container: str
    partition: str
    size: int
    units: float
    stored: int = 0


class CountingStore:
    """A store over another one, `uncounted`."""

    def __init__(self, store: Store) -> None:
        self.uncounted = store
        self.operations: list[Operation] = []

    def _note(self, kind: str, container: str, partition: str, size: int, units: float, stored: int = 0) -> None:
        self.operations.append(Operation(kind, container, partition, size, units, stored))

    async def read(self, container: str, partition: str, id: str) -> Document | None:
        found = await self.uncounted.read(container, partition, id)
        self._note_read(container, partition, found)
        return found

    def _note_read(
        self, container: str, partition: str, found: Mapping[str, Any] | None, *, weak: bool = False
    ) -> None:
        size = size_of(found) if found is not None else 0
        self._note("read", container, partition, size, charges.read(size, weak=weak))

    async def read_many(
        self, container: str, keys: Sequence[tuple[str, str]], *, may_be_stale: bool = False
    ) -> list[Document | None]:
        found = await self.uncounted.read_many(container, keys, may_be_stale=may_be_stale)
        if len(keys) < MANY:
            for (partition, _), document in zip(keys, found, strict=True):
                self._note_read(container, partition, document, weak=may_be_stale)
            return found
        for start in range(0, len(keys), READ_AT_ONCE):
            sizes = [size_of(each) for each in found[start : start + READ_AT_ONCE] if each is not None]
            self._note("query", container, "*", sum(sizes), charges.query(sizes, weak=may_be_stale))
        return found

    async def create(self, container: str, document: Mapping[str, Any]) -> Document:
        try:
            stored = await self.uncounted.create(container, document)
        except Conflict:
            self._note_read(container, self._key(container, document), document)
            raise
        self._note_create(container, document)
        return stored

    def _note_create(self, container: str, document: Mapping[str, Any]) -> None:
        size, terms = size_of(document), charges.terms(CONTAINERS[container], document)
        units = charges.create(size, len(terms))
        self._note("create", container, self._key(container, document), size, units, size)

    async def upsert(self, container: str, document: Mapping[str, Any]) -> Document:
        before = await self._held(container, document)
        stored = await self.uncounted.upsert(container, document)
        self._note_over(container, before, document)
        return stored

    async def replace(self, container: str, document: Mapping[str, Any], etag: str) -> Document:
        before = await self._held(container, document)
        try:
            stored = await self.uncounted.replace(container, document, etag)
        except ChangedMeanwhile:
            self._note_read(container, self._key(container, document), before)
            raise
        self._note_over(container, before, document)
        return stored

    def _note_over(self, container: str, before: Document | None, after: Mapping[str, Any]) -> None:
        if before is None:
            self._note_create(container, after)
            return
        spec = CONTAINERS[container]
        old, new = size_of(before), size_of(after)
        then, now = charges.terms(spec, before), charges.terms(spec, after)
        units = charges.replace(old, new, (len(then - now) + len(now - then)) / 2)
        self._note("replace", container, self._key(container, after), new, units, new - old)

    async def delete(self, container: str, partition: str, id: str, etag: str | None = None) -> bool:
        before = await self.uncounted.read(container, partition, id)
        deleted = await self.uncounted.delete(container, partition, id, etag)
        if deleted:
            self._note_delete(container, partition, before)
        else:
            self._note_read(container, partition, before)
        return deleted

    def _note_delete(self, container: str, partition: str, before: Document | None) -> None:
        if before is not None:
            size, terms = size_of(before), charges.terms(CONTAINERS[container], before)
            self._note("delete", container, partition, size, charges.delete(size, len(terms)), -size)

    async def query(self, container: str, query: Query) -> Page:
        page = await self.uncounted.query(container, query)
        sizes = [size_of(each) for each in page.items]
        self._note_query(container, query.partition, sum(sizes), charges.query(sizes, weak=query.may_be_stale))
        return page

    def _note_query(self, container: str, partition: str | None, size: int, units: float) -> None:
        kind = "query" if partition is not None else "scan"
        self._note(kind, container, partition or "*", size, units)

    async def count(
        self,
        container: str,
        where: tuple[Where, ...] = (),
        partition: str | None = None,
        *,
        may_be_stale: bool = False,
    ) -> int:
        counted = await self.uncounted.count(container, where, partition)
        self._note_query(container, partition, 0, charges.count(counted, weak=may_be_stale))
        return counted

    async def batch(self, container: str, partition: str, operations: Sequence[Step]) -> list[str | None]:
        (done,) = await self.batch_many(container, [(partition, operations)])
        if isinstance(done, list):
            return done
        raise done

    async def batch_many(
        self, container: str, batches: Sequence[tuple[str, Sequence[Step]]]
    ) -> list[list[str | None] | Conflict | ChangedMeanwhile]:
        """Operations are charged as the requests that they stand for; a batch that failed, as a read."""
        keys = [[(each, _id(step)) for step in steps] for each, steps in batches]
        before = [await self.uncounted.read_many(container, each) for each in keys]
        done = await self.uncounted.batch_many(container, batches)
        for (partition, steps), was, outcome in zip(batches, before, done, strict=True):
            if isinstance(outcome, list):
                for step, held in zip(steps, was, strict=True):
                    self._note_step(container, partition, step, held)
            else:
                self._note_read(container, partition, was[outcome.operation or 0])
        return done

    def _note_step(self, container: str, partition: str, step: Step, before: Document | None) -> None:
        if isinstance(step, Delete):
            self._note_delete(container, partition, before)
        elif isinstance(step, Create):
            self._note_create(container, step.document)
        else:
            self._note_over(container, before, step.document)

    async def create_many(self, container: str, documents: Sequence[Mapping[str, Any]]) -> list[bool]:
        created = await self.uncounted.create_many(container, documents)
        for document, won in zip(documents, created, strict=True):
            if won:
                self._note_create(container, document)
            else:
                self._note_read(container, self._key(container, document), document)
        return created

    async def write_many(self, container: str, documents: Sequence[Mapping[str, Any]]) -> None:
        before = [await self._held(container, each) for each in documents]
        await self.uncounted.write_many(container, documents)
        for was, document in zip(before, documents, strict=True):
            self._note_over(container, was, document)

    async def purge(self) -> None:
        await self.uncounted.purge()

    async def ping(self) -> None:
        await self.uncounted.ping()

    async def close(self) -> None:
        await self.uncounted.close()

    async def _held(self, container: str, document: Mapping[str, Any]) -> Document | None:
        return await self.uncounted.read(container, self._key(container, document), document["id"])

    def _key(self, container: str, document: Mapping[str, Any]) -> str:
        return str(document[CONTAINERS[container].partition_key])


def _id(step: Step) -> str:
    return step.id if isinstance(step, Delete) else str(step.document["id"])
