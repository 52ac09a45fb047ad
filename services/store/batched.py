"""The writes that both stores have alike: each of them is a batch, and a store has one way to do batches."""

from __future__ import annotations

import asyncio
from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from typing import Any

from models.errors import ChangedMeanwhile
from services.ports import BatchOutcome, Create, Delete, Document, Operation, Replace, Upsert
from services.store import rules
from services.store.containers import Container

CHECKED_AT_ONCE = 64
"""The documents that are checked without a pause for other tasks. Checking them in a thread is no faster, since Python
runs one thread at a time."""


class BatchedStore(ABC):
    """A store that writes in batches only; see services.ports.Store for what its methods promise."""

    @abstractmethod
    async def write_batches(
        self, container: Container, batches: Sequence[tuple[str, Sequence[rules.Step]]]
    ) -> list[BatchOutcome]:
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
        return await self.write_batches(spec, checked)

    async def create_many(self, container: str, documents: Sequence[Mapping[str, Any]]) -> list[bool]:
        return [isinstance(each, list) for each in await self._each(container, [Create(each) for each in documents])]

    async def write_many(self, container: str, documents: Sequence[Mapping[str, Any]]) -> None:
        await self._each(container, [Upsert(each) for each in documents])

    async def _stored(self, container: str, operation: Create | Upsert | Replace) -> Document:
        """The document as the operation stored it."""
        (outcome,) = await self._each(container, [operation])
        if not isinstance(outcome, list):
            raise outcome
        own = {name: value for name, value in operation.document.items() if not name.startswith("_")}
        return {**own, "_etag": outcome[0]}

    async def _each(self, container: str, operations: Sequence[Create | Upsert | Replace]) -> list[BatchOutcome]:
        """Does each operation as a batch of its own. All are checked before one is done."""
        key = rules.container_named(container).partition_key
        return await self.batch_many(container, [(each.document.get(key, ""), [each]) for each in operations])
