"""How long articles waited for their analysis."""

from __future__ import annotations

from datetime import timedelta

from models.operations import AnalysisTotals
from services.mentions.writing import Delays
from tests.builders import NOON, Watch


def test_delays_are_counted_in_the_buckets_of_all_bounds_that_they_do_not_exceed() -> None:
    asked: list[int] = []
    delays = Delays(Watch(), lambda: asked.append(1))
    assert AnalysisTotals.BOUNDS_SECONDS == (1, 5, 15, 60, 300)
    delays.analyzed([])
    assert (asked, list(delays.take())) == ([], [])
    delays.analyzed([NOON - timedelta(seconds=seconds) for seconds in (-3, 1, 2, 15, 16, 301)])
    ((seed, counts),) = delays.take()
    assert isinstance(seed, AnalysisTotals)
    assert counts == {
        "articles": 6,
        "seconds": 335,
        "within_1_s": 2,
        "within_5_s": 3,
        "within_15_s": 4,
        "within_60_s": 5,
        "within_300_s": 5,
    }
    assert asked == [1]
    assert list(delays.take()) == []
