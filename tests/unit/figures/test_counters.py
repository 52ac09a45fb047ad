"""The rates and buckets of the counters."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

import pytest

from models.cache import CacheCounters
from models.metrics import CacheTotals
from services.figures.counters import FLUSHED_EVERY_SECONDS, Counted, Counters, within_bounds
from services.store.containers import CATALOG
from services.store.sqlite import SqliteStore

NOW = datetime(2026, 2, 21, 20, 17, 31, tzinfo=UTC)


def test_the_hit_rate_is_a_share_of_hits_and_misses_with_three_decimals() -> None:
    assert Counted(hits=2, misses=1, stale=1, errors=9).hit_rate == 0.667
    assert Counted(hits=1, misses=0).hit_rate == 1.0
    assert Counted(errors=3).hit_rate == 0.0


def test_a_bucket_contains_the_shorter_reads_and_empty_ones_are_left_out() -> None:
    assert within_bounds([1, 2, 0, 4, 8]) == {
        "within_1_ms": 1,
        "within_5_ms": 3,
        "within_25_ms": 3,
        "within_100_ms": 7,
    }
    assert within_bounds([0, 0, 5, 0, 0]) == {"within_25_ms": 5, "within_100_ms": 5}
    assert within_bounds([0, 0, 0, 0, 9]) == {}


def test_counters_are_flushed_every_ten_seconds_and_kept_for_two_days() -> None:
    assert FLUSHED_EVERY_SECONDS == 10.0
    counters = CacheCounters.at(NOW)
    assert (counters.partition, counters.id) == ("metadata", "metadata:2026022120")
    assert counters.ttl_timestamp == int((NOW + timedelta(hours=48)).timestamp())


@pytest.mark.parametrize(
    ("milliseconds", "buckets"),
    [
        (0.5, [1, 1, 1, 1]),
        (1, [1, 1, 1, 1]),
        (1.1, [0, 1, 1, 1]),
        (25, [0, 0, 1, 1]),
        (100, [0, 0, 0, 1]),
        (101, [0] * 4),
    ],
)
async def test_a_read_counts_in_the_buckets_that_it_was_not_slower_than(
    store: SqliteStore, milliseconds: float, buckets: list[int]
) -> None:
    counters = Counters(store, lambda: NOW)
    counters.hit(milliseconds / 1000)
    await counters.close()
    totals = await store.read(CATALOG.name, CacheTotals.PARTITION, CacheTotals.ID)
    assert totals is not None
    assert [totals[f"within_{bound}_ms"] for bound in (1, 5, 25, 100)] == buckets
    assert totals["read_microseconds"] == int(milliseconds * 1000)
