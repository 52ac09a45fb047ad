"""Counts are added to stored documents in the background, and none is lost while the store is away."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from typing import Any, cast

import pytest

from models.errors import Unavailable
from models.operations import CacheTotals, IngestionTotals
from services.ports import Document, Store
from services.store.counting import Counts, CountWriter
from tests.documents import NOW


class Sums:
    """A store of counts; it is away for the next `away` writes, or after `away_after` of them."""

    def __init__(self) -> None:
        self.stored: dict[str, Document] = {}
        self.writes = 0
        self.away = 0
        self.away_after: int | None = None

    async def read_many(
        self, container: str, keys: Sequence[tuple[str, str]], *, may_be_stale: bool = False
    ) -> list[Document | None]:
        return [self.stored.get(name) for _, name in keys]

    async def batch_many(self, container: str, batches: Sequence[tuple[str, Sequence[Any]]]) -> list[list[str]]:
        if self.away or self.writes == self.away_after:
            self.away = max(0, self.away - 1)
            raise Unavailable("away")
        self.writes += 1
        ((_, (operation,)),) = batches
        self.stored[operation.document["id"]] = {**operation.document, "_etag": str(self.writes)}
        return [[str(self.writes)]]

    @property
    def sums(self) -> dict[str, int]:
        return {
            f"{each['id']}/{name}": number
            for each in self.stored.values()
            for name, number in each.items()
            if isinstance(number, int) and number
        }


def writer_of(store: Sums, *taken: list[Counts], every: float = 10.0) -> CountWriter:
    writer, waiting = CountWriter(cast("Store", store), every), list(taken)
    writer.register(lambda: waiting.pop(0) if waiting else [])
    return writer


def cache(**counts: int) -> Counts:
    return CacheTotals.at(NOW), Counter(counts)


async def test_counts_of_several_documents_are_added_to_each() -> None:
    store = Sums()
    ingested = IngestionTotals.at(NOW), Counter(fetches=2)
    await writer_of(store, [cache(cache_hits=1), ingested, cache(cache_hits=2)]).flush()
    assert store.sums == {"cache/cache_hits": 3, "ingestion/fetches": 2}
    assert store.writes == 2


@pytest.mark.parametrize("writes", [0, 1])
async def test_counts_that_cannot_be_stored_are_added_by_the_next_flush_and_none_twice(writes: int) -> None:
    store = Sums()
    ingested = IngestionTotals.at(NOW), Counter(fetches=2)
    writer = writer_of(store, [cache(cache_hits=1), ingested], [cache(cache_hits=5)])
    store.away_after = writes
    with pytest.raises(Unavailable):
        await writer.flush()
    store.away_after = None
    await writer.flush()
    assert store.sums == {"cache/cache_hits": 6, "ingestion/fetches": 2}


async def test_the_background_flushes_until_nothing_is_wanted_and_tries_again_after_a_failure() -> None:
    store = Sums()
    store.away = 2
    writer = writer_of(store, [cache(cache_hits=1)], every=0.001)
    writer.soon()
    flushing = writer._flushing
    assert flushing is not None
    await flushing
    assert store.sums == {"cache/cache_hits": 1}
    assert writer._flushing is None, "an idle worker has no task"
    await writer.close()


async def test_closing_flushes_and_does_not_fail_without_a_store() -> None:
    store = Sums()
    writer = writer_of(store, [cache(cache_hits=1)])
    writer.soon()
    await writer.close()
    assert store.sums == {"cache/cache_hits": 1}
    store.away = 1
    await writer_of(store, [cache(cache_hits=1)]).close()
