"""Reads of a store that may miss the writes of the last moments, at half the price."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import cast

from services.ports import Document, Page, Query, Store, Where


@dataclass(frozen=True, slots=True)
class _StaleReads:
    store: Store

    async def read(self, container: str, partition: str, id: str) -> Document | None:
        (found,) = await self.store.read_many(container, [(partition, id)], may_be_stale=True)
        return found

    async def read_many(self, container: str, keys: Sequence[tuple[str, str]]) -> list[Document | None]:
        return await self.store.read_many(container, keys, may_be_stale=True)

    async def query(self, container: str, query: Query) -> Page:
        return await self.store.query(container, replace(query, may_be_stale=True))

    async def count(self, container: str, where: tuple[Where, ...] = (), partition: str | None = None) -> int:
        return await self.store.count(container, where, partition, may_be_stale=True)


def with_stale_reads(store: Store) -> Store:
    """The store, for reading only, with reads that may be stale."""
    return cast("Store", _StaleReads(store))
