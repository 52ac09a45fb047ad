"""The buckets of the durations of reads."""

from __future__ import annotations

from datetime import UTC, datetime

import pytest

from models.operations import CacheTotals
from services.figures.counters import Counters
from services.store.containers import CATALOG
from services.store.sqlite import SqliteStore

NOW = datetime(2026, 2, 21, 20, 17, 31, tzinfo=UTC)


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
async def test_a_read_counts_in_the_buckets_of_all_bounds_that_it_does_not_exceed(
    store: SqliteStore, milliseconds: float, buckets: list[int]
) -> None:
    counters = Counters(store, lambda: NOW)
    counters.read("HIT", milliseconds / 1000)
    await counters.close()
    totals = await store.read(CATALOG.name, CacheTotals.PARTITION, CacheTotals.ID)
    assert totals is not None
    assert [totals.get(f"within_{bound}_ms", 0) for bound in (1, 5, 25, 100)] == buckets
    assert totals["read_microseconds"] == int(milliseconds * 1000)
