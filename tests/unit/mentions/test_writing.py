"""How long articles waited for their analysis."""

from __future__ import annotations

from datetime import timedelta

from models.operations import AnalysisTotals
from services.mentions.writing import count_delays
from services.ports import Store
from services.store.counting import CountWriter
from tests.builders import NOON, Watch


async def test_delays_are_counted_in_the_buckets_of_all_bounds_that_they_do_not_exceed(store: Store) -> None:
    assert AnalysisTotals.BOUNDS_SECONDS == (1, 5, 15, 60, 300)
    counts = CountWriter(store)
    for waited in ((), (-3, 1, 2), (15, 16, 301)):
        count_delays(counts, Watch(), [NOON - timedelta(seconds=seconds) for seconds in waited])
    await counts.close()
    seed = AnalysisTotals.at(NOON)
    (stored,) = await store.read_many(seed.CONTAINER, [(seed.partition, seed.id)])
    expected = {
        "articles": 6,
        "seconds": 335,
        "within_1_s": 2,
        "within_5_s": 3,
        "within_15_s": 4,
        "within_60_s": 5,
        "within_300_s": 5,
    }
    assert stored is not None
    assert {name: stored[name] for name in expected} == expected
