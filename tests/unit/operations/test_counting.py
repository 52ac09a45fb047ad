"""Counts are added to stored documents in the background, and none is lost while the store is away."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from typing import Any, cast

import pytest

from models.errors import Unavailable
from models.operations import CacheTotals, IngestionTotals
from services.counting import AMOUNTS_AT_ONCE, FLUSHED_EVERY_SECONDS, Counts, CountWriter
from services.ports import Store
from tests.documents import NOW


class Sums:
    """A store that adds up increments; it is away for the next `away` of them, or after `away_after` of them."""

    def __init__(self) -> None:
        self.sums: Counter[str] = Counter()
        self.calls: list[int] = []
        self.away = 0
        self.away_after: int | None = None

    async def increment(self, container: str, seed: Mapping[str, Any], amounts: Mapping[str, int]) -> None:
        if self.away:
            self.away -= 1
            raise Unavailable("away")
        if len(self.calls) == self.away_after:
            raise Unavailable("away")
        self.calls.append(len(amounts))
        self.sums.update({f"{container}/{seed['id']}/{name}": number for name, number in amounts.items()})


def writer_of(store: Sums, *taken: list[Counts], every: float = 10.0) -> CountWriter:
    writer, waiting = CountWriter(cast("Store", store), every), list(taken)
    writer.register(lambda: waiting.pop(0) if waiting else [])
    return writer


def cache(**counts: int) -> Counts:
    return CacheTotals.at(NOW), Counter(counts)


def test_counts_are_flushed_every_ten_seconds_and_ten_at_once() -> None:
    assert (FLUSHED_EVERY_SECONDS, AMOUNTS_AT_ONCE) == (10.0, 10)


async def test_counts_of_several_documents_are_added_to_each() -> None:
    store = Sums()
    ingested = IngestionTotals.at(NOW), Counter(fetches=2)
    await writer_of(store, [cache(cache_hits=1), ingested, cache(cache_hits=2)]).flush()
    assert store.sums == {"catalog/cache/cache_hits": 3, "catalog/ingestion/fetches": 2}
    assert store.calls == [1, 1]


async def test_more_counts_than_an_increment_takes_are_added_by_several() -> None:
    store = Sums()
    await writer_of(store, [cache(**{f"field_{number}": 1 for number in range(23)})]).flush()
    assert store.calls == [10, 10, 3]
    assert store.sums.total() == 23


@pytest.mark.parametrize("calls", [0, 1, 2])
async def test_counts_that_cannot_be_stored_are_added_by_the_next_flush_and_none_twice(calls: int) -> None:
    store = Sums()
    writer = writer_of(store, [cache(**{f"field_{number}": 1 for number in range(23)})], [cache(field_1=5)])
    store.away_after = calls
    with pytest.raises(Unavailable):
        await writer.flush()
    store.away_after = None
    await writer.flush()
    assert store.sums.total() == 28
    assert store.sums["catalog/cache/field_1"] == 6


async def test_the_background_flushes_until_nothing_is_wanted_and_tries_again_after_a_failure() -> None:
    store = Sums()
    store.away = 2
    writer = writer_of(store, [cache(cache_hits=1)], every=0.001)
    writer.soon()
    flushing = writer._flushing
    assert flushing is not None
    await flushing
    assert store.sums == {"catalog/cache/cache_hits": 1}
    assert writer._flushing is None, "an idle worker has no task"
    await writer.close()


async def test_closing_flushes_and_does_not_fail_without_a_store() -> None:
    store = Sums()
    writer = writer_of(store, [cache(cache_hits=1)])
    writer.soon()
    await writer.close()
    assert store.sums == {"catalog/cache/cache_hits": 1}
    store.away = 1
    await writer_of(store, [cache(cache_hits=1)]).close()
