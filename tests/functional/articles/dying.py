"""A store that dies at its k-th operation, as a process that is killed: before it, half-way through, or after."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Literal

from models.errors import ChangedMeanwhile, Conflict
from services.ports import Document, Operation, Page, Query, Store, Where

When = Literal["before", "halfway", "after"]


class Died(BaseException):
    """The process is gone."""


class DyingStore:
    """A Store. `operations` counts; from the k-th on nothing more happens."""

    def __init__(self, store: Store, k: int, when: When) -> None:
        self._store = store
        self._k = k
        self._when = when
        self.operations = 0

    @property
    def is_dead(self) -> bool:
        return self.operations >= self._k

    async def _do(self, name: str, *arguments: Any, half: tuple[Any, ...] | None = None) -> Any:
        if self.is_dead:
            raise Died
        self.operations += 1
        if not self.is_dead:
            return await getattr(self._store, name)(*arguments)
        if self._when == "after":
            await getattr(self._store, name)(*arguments)
        elif self._when == "halfway" and half is not None:
            await getattr(self._store, name)(*half)
        raise Died

    async def read(self, container: str, partition: str, id: str) -> Document | None:
        found: Document | None = await self._do("read", container, partition, id)
        return found

    async def read_many(
        self, container: str, keys: Sequence[tuple[str, str]], *, may_be_stale: bool = False
    ) -> list[Document | None]:
        found: list[Document | None] = await self._do("read_many", container, keys)
        return found

    async def create(self, container: str, document: Mapping[str, Any]) -> Document:
        stored: Document = await self._do("create", container, document)
        return stored

    async def upsert(self, container: str, document: Mapping[str, Any]) -> Document:
        stored: Document = await self._do("upsert", container, document)
        return stored

    async def replace(self, container: str, document: Mapping[str, Any], etag: str) -> Document:
        stored: Document = await self._do("replace", container, document, etag)
        return stored

    async def delete(self, container: str, partition: str, id: str, etag: str | None = None) -> bool:
        was_there: bool = await self._do("delete", container, partition, id, etag)
        return was_there

    async def query(self, container: str, query: Query) -> Page:
        page: Page = await self._do("query", container, query)
        return page

    async def count(
        self,
        container: str,
        where: tuple[Where, ...] = (),
        partition: str | None = None,
        *,
        may_be_stale: bool = False,
    ) -> int:
        count: int = await self._do("count", container, where, partition)
        return count

    async def batch(self, container: str, partition: str, operations: Sequence[Operation]) -> list[str | None]:
        etags: list[str | None] = await self._do("batch", container, partition, operations)
        return etags

    async def batch_many(
        self, container: str, batches: Sequence[tuple[str, Sequence[Operation]]]
    ) -> list[list[str | None] | Conflict | ChangedMeanwhile]:
        half = (container, batches[: (len(batches) + 1) // 2])
        done: list[list[str | None] | Conflict | ChangedMeanwhile]
        done = await self._do("batch_many", container, batches, half=half)
        return done

    async def create_many(self, container: str, documents: Sequence[Mapping[str, Any]]) -> list[bool]:
        half = (container, documents[: (len(documents) + 1) // 2])
        created: list[bool] = await self._do("create_many", container, documents, half=half)
        return created

    async def write_many(self, container: str, documents: Sequence[Mapping[str, Any]]) -> None:
        await self._do("write_many", container, documents, half=(container, documents[: (len(documents) + 1) // 2]))

    async def ping(self) -> None:
        await self._do("ping")

    async def close(self) -> None:
        """The caller closes the real store."""


class DiesSavingFeeds(DyingStore):
    """Dies after the articles and the attempt are stored."""

    def __init__(self, store: Store) -> None:
        super().__init__(store, 1_000_000_000, "before")

    async def batch(self, container: str, partition: str, operations: Sequence[Operation]) -> list[str | None]:
        if container == "feeds":
            self._k = self.operations
        return await super().batch(container, partition, operations)
