"""The writes that both stores have alike: each of them is a batch, and a store has one way to do batches."""

from __future__ import annotations

import asyncio
from abc import ABC, abstractmethod
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, NamedTuple

from models.errors import ChangedMeanwhile, Conflict
from services.ports import BatchOutcome, Create, Delete, Document, Operation, Replace, Upsert
from services.store import rules
from services.store.containers import Container

CHECKED_AT_ONCE = 64
"""The documents that are checked without a pause for other tasks. Checking them in a thread is no faster, since Python
runs one thread at a time."""


class Version(NamedTuple):
    """The version of a document that a batch has written."""

    etag: str
    ts: int


Written = list[Version | None] | Conflict | ChangedMeanwhile
"""The versions that a batch wrote, None for a Delete; or the error of a batch that failed."""


class BatchedStore(ABC):
    """A store that writes in batches only; see services.ports.Store for what its methods promise."""

    @abstractmethod
    async def write_batches(
        self, container: Container, batches: Sequence[tuple[str, Sequence[rules.Step]]]
    ) -> list[Written]:
        """Does each batch of (partition, steps), all or nothing. The steps have been checked."""

    @abstractmethod
    async def read(self, container: str, partition: str, id: str) -> Document | None: ...

    async def create(self, container: str, document: Mapping[str, Any]) -> Document:
        return await self._stored(container, Create(document))

    async def upsert(self, container: str, document: Mapping[str, Any]) -> Document:
        return await self._stored(container, Upsert(document))

    async def replace(self, container: str, document: Mapping[str, Any], etag: str) -> Document:
        return await self._stored(container, Replace(document, etag))

    async def delete(self, container: str, partition: str, id: str, etag: str | None = None) -> bool:
        try:
            await self.batch(container, partition, [Delete(id, etag)])
        except ChangedMeanwhile:
            # No ETag is used twice, so a read afterwards shows whether the document is gone or has changed.
            if etag is None or await self.read(container, partition, id) is None:
                return False
            raise
        return True

    async def batch(self, container: str, partition: str, operations: Sequence[Operation]) -> list[str | None]:
        (outcome,) = await self.batch_many(container, [(partition, operations)])
        if isinstance(outcome, list):
            return outcome
        raise outcome

    async def batch_many(
        self, container: str, batches: Sequence[tuple[str, Sequence[Operation]]]
    ) -> list[BatchOutcome]:
        spec, pause = rules.container_named(container), CHECKED_AT_ONCE
        checked = []
        for partition, operations in batches:
            checked.append((partition, rules.prepare_batch(spec, partition, operations)))
            pause -= len(operations)
            if pause <= 0:
                pause = CHECKED_AT_ONCE
                await asyncio.sleep(0)
        return [
            [each and each.etag for each in written] if isinstance(written, list) else written
            for written in await self.write_batches(spec, checked)
        ]

    async def create_many(self, container: str, documents: Sequence[Mapping[str, Any]]) -> list[bool]:
        return await self._each_written(container, map(Create, documents))

    async def write_many(self, container: str, documents: Sequence[Mapping[str, Any]]) -> None:
        await self._each_written(container, map(Upsert, documents))

    async def _stored(self, container: str, operation: Create | Upsert | Replace) -> Document:
        """The document as the operation stored it."""
        spec = rules.container_named(container)
        step = rules.step(spec, operation)
        assert step.prepared is not None
        (written,) = await self.write_batches(spec, [(step.prepared.partition, [step])])
        if not isinstance(written, list):
            raise written
        (version,) = written
        assert version is not None
        return {**step.prepared.body, "_etag": version.etag, "_ts": version.ts}

    async def _each_written(self, container: str, operations: Iterable[Create | Upsert]) -> list[bool]:
        """Whether each operation, as a batch of its own, was done. All are checked before one is done."""
        spec = rules.container_named(container)
        checked = []
        for number, operation in enumerate(operations, 1):
            step = rules.step(spec, operation)
            assert step.prepared is not None
            checked.append((step.prepared.partition, [step]))
            if number % CHECKED_AT_ONCE == 0:
                await asyncio.sleep(0)
        return [isinstance(written, list) for written in await self.write_batches(spec, checked)]
