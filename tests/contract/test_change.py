"""Changing documents that others write at the same time. On every store."""

import asyncio
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import pytest

from services.ports import Create, Document, Operation, Replace, Store
from services.store.change import DELETE, Decided, change, change_many, change_together

NAME, PARTITION = "mentions", "t1"
WRITERS, CHANGES = 6, 3


def document(id: str, number: int) -> Document:
    return {"id": id, "tool_id": PARTITION, "number": number}


def plus_one(stored: Document | None, id: str = "a") -> Document:
    return document(id, 1 if stored is None else stored["number"] + 1)


async def number_of(store: Store, id: str) -> int | None:
    found = await store.read(NAME, PARTITION, id)
    return None if found is None else found["number"]


async def test_no_change_is_lost(store: Store, another: Callable[[], Store]) -> None:
    stores = [store, another()]

    async def writer(number: int) -> None:
        for _ in range(CHANGES):
            await change(stores[number % 2], NAME, PARTITION, "a", plus_one)

    await asyncio.gather(*(writer(number) for number in range(WRITERS)))
    assert await number_of(store, "a") == WRITERS * CHANGES


async def test_a_change_returns_what_is_stored(store: Store) -> None:
    assert await change(store, NAME, PARTITION, "a", lambda _: None) is None
    created = await change(store, NAME, PARTITION, "a", plus_one)
    assert created is not None
    assert created["number"] == 1
    left = await change(store, NAME, PARTITION, "a", lambda _: None)
    assert left == {**created, "_ts": left["_ts"] if left else None}
    await store.replace(NAME, document("a", 7), created["_etag"])
    changed = await change(store, NAME, PARTITION, "a", plus_one, known=created)  # which is outdated
    assert changed is not None
    assert changed["number"] == 8
    assert await change(store, NAME, PARTITION, "a", lambda _: DELETE) is None
    assert await number_of(store, "a") is None
    assert await change(store, NAME, PARTITION, "a", lambda _: DELETE) is None


@pytest.mark.parametrize("before", [None, 5])
async def test_a_change_is_decided_again_after_another_write(store: Store, before: int | None) -> None:
    if before is not None:
        await store.create(NAME, document("a", before))
    racing = Racing(store, document("a", 10))
    changed = await change(racing.store, NAME, PARTITION, "a", racing.decides(plus_one))
    assert changed is not None
    assert changed["number"] == 11


class Racing:
    """Another writer, which writes between the first decision and the write that follows from it."""

    def __init__(self, store: Store, late: Document) -> None:
        self.store: Any = self
        self._real = store
        self._late: Document | None = late
        self._decided = False

    def decides(self, decide: Callable[[Document | None], Decided]) -> Callable[[Document | None], Decided]:
        def decided(stored: Document | None) -> Decided:
            self._decided = True
            return decide(stored)

        return decided

    def __getattr__(self, name: str) -> Any:
        async def call(*args: Any, **kwargs: Any) -> Any:
            if self._decided and self._late is not None:
                late, self._late = self._late, None
                await self._real.upsert(NAME, late)
            return await getattr(self._real, name)(*args, **kwargs)

        return call


async def test_documents_of_a_partition_change_together(store: Store, another: Callable[[], Store]) -> None:
    stores = [store, another()]

    def both(found: Sequence[Document | None]) -> list[Operation]:
        return [written(plus_one(stored, name), stored) for name, stored in zip("ab", found, strict=True)]

    async def writer(number: int) -> None:
        for _ in range(CHANGES):
            assert len(await change_together(stores[number % 2], NAME, PARTITION, ["a", "b"], both)) == 2

    await asyncio.gather(*(writer(number) for number in range(WRITERS)))
    assert [await number_of(store, each) for each in "ab"] == [WRITERS * CHANGES] * 2
    assert await change_together(store, NAME, PARTITION, ["a"], lambda _: []) == []


def written(document: Mapping[str, Any], stored: Document | None) -> Operation:
    return Create(document) if stored is None else Replace(document, stored["_etag"])


async def test_of_many_documents_each_is_changed_once_by_each_writer(
    store: Store, another: Callable[[], Store]
) -> None:
    stores, keys = [store, another()], [(PARTITION, each) for each in "abc"]

    async def writer(number: int) -> None:
        for _ in range(CHANGES):
            found = await change_many(stores[number % 2], NAME, keys, lambda key, stored: plus_one(stored, key[1]))
            assert [each["id"] for each in found if each] == ["a", "b", "c"]

    await asyncio.gather(*(writer(number) for number in range(WRITERS)))
    assert [await number_of(store, each) for each in "abc"] == [WRITERS * CHANGES] * 3


async def test_many_documents_are_left_changed_or_deleted(store: Store) -> None:
    await store.write_many(NAME, [document(each, 1) for each in "ab"])
    decisions: dict[str, Any] = {"a": None, "b": DELETE, "c": document("c", 3)}
    found = await change_many(store, NAME, [(PARTITION, each) for each in "abc"], lambda key, _: decisions[key[1]])
    assert [None if each is None else each["number"] for each in found] == [1, None, 3]
    assert [await number_of(store, each) for each in "abc"] == [1, None, 3]
