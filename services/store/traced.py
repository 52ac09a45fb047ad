"""A store whose every call is a span, with the request units that it cost. Only if telemetry is on."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping, Sequence
from typing import Any, TypeVar

from services import telemetry
from services.ports import BatchOutcome, Document, Operation, Page, Query, Store, Where

T = TypeVar("T")


class TracedStore:
    """Passes each call on to `store`. `system` is its name in OpenTelemetry's conventions."""

    def __init__(self, store: Store, system: str) -> None:
        self._store = store
        self._system = system

    async def read(self, container: str, partition: str, id: str) -> Document | None:
        return await self._traced("read", container, lambda: self._store.read(container, partition, id))

    async def read_many(
        self, container: str, keys: Sequence[tuple[str, str]], *, may_be_stale: bool = False
    ) -> list[Document | None]:
        return await self._traced(
            "read_many", container, lambda: self._store.read_many(container, keys, may_be_stale=may_be_stale), len(keys)
        )

    async def create(self, container: str, document: Mapping[str, Any]) -> Document:
        return await self._traced("create", container, lambda: self._store.create(container, document))

    async def upsert(self, container: str, document: Mapping[str, Any]) -> Document:
        return await self._traced("upsert", container, lambda: self._store.upsert(container, document))

    async def replace(self, container: str, document: Mapping[str, Any], etag: str) -> Document:
        return await self._traced("replace", container, lambda: self._store.replace(container, document, etag))

    async def increment(self, container: str, seed: Mapping[str, Any], amounts: Mapping[str, int | float]) -> None:
        await self._traced("increment", container, lambda: self._store.increment(container, seed, amounts))

    async def delete(self, container: str, partition: str, id: str, etag: str | None = None) -> bool:
        return await self._traced("delete", container, lambda: self._store.delete(container, partition, id, etag))

    async def query(self, container: str, query: Query) -> Page:
        return await self._traced("query", container, lambda: self._store.query(container, query))

    async def count(
        self,
        container: str,
        where: tuple[Where, ...] = (),
        partition: str | None = None,
        *,
        may_be_stale: bool = False,
    ) -> int:
        return await self._traced(
            "count", container, lambda: self._store.count(container, where, partition, may_be_stale=may_be_stale)
        )

    async def batch(self, container: str, partition: str, operations: Sequence[Operation]) -> list[str | None]:
        return await self._traced(
            "batch", container, lambda: self._store.batch(container, partition, operations), len(operations)
        )

    async def batch_many(
        self, container: str, batches: Sequence[tuple[str, Sequence[Operation]]]
    ) -> list[BatchOutcome]:
        return await self._traced(
            "batch_many", container, lambda: self._store.batch_many(container, batches), len(batches)
        )

    async def create_many(self, container: str, documents: Sequence[Mapping[str, Any]]) -> list[bool]:
        return await self._traced(
            "create_many", container, lambda: self._store.create_many(container, documents), len(documents)
        )

    async def write_many(self, container: str, documents: Sequence[Mapping[str, Any]]) -> None:
        await self._traced(
            "write_many", container, lambda: self._store.write_many(container, documents), len(documents)
        )

    async def ping(self) -> None:
        await self._traced("ping", "", self._store.ping)

    async def close(self) -> None:
        await self._store.close()

    async def _traced(
        self, operation: str, container: str, call: Callable[[], Awaitable[T]], number: int | None = None
    ) -> T:
        attributes: dict[str, telemetry.Attribute] = {"db.system.name": self._system, "db.operation.name": operation}
        if container:
            attributes["db.collection.name"] = container
        if number is not None:
            attributes["db.operation.batch.size"] = number
        name = f"{operation} {container}".strip()
        with telemetry.span(name, kind="client", attributes=attributes) as span, telemetry.charged() as charges:
            try:
                return await call()
            finally:
                if charges:
                    span.set(telemetry.REQUEST_UNITS.name, round(sum(charges), 2))
