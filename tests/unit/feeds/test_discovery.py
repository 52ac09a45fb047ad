"""The discovery delay: which articles count, the resolution of its histogram, and its quantiles."""

from __future__ import annotations

import random
from collections import Counter
from datetime import timedelta

import pytest

from services.feeds.discovery import LAST, bucket_of, delays, histogram_in, quantile, seconds_of
from tests.documents import NOW

LONG_AGO = NOW - timedelta(days=90)


@pytest.mark.parametrize(
    ("seconds", "bucket"), [(0, 0), (10, 0), (10.1, 1), (20, 4), (20.1, 5), (600, 24), (2_621_440, 72), (9e9, LAST)]
)
def test_a_bucket_ends_at_ten_seconds_times_a_power_of_the_fourth_root_of_two(seconds: float, bucket: int) -> None:
    assert bucket_of(seconds) == bucket


def test_the_middle_of_a_bucket_is_within_ten_percent_of_all_its_delays() -> None:
    for seconds in range(11, 2_600_000, 9_973):
        assert abs(seconds_of(bucket_of(seconds)) / seconds - 1) < 0.1


def test_articles_from_before_the_first_fetch_of_the_feed_do_not_count() -> None:
    published = [NOW - timedelta(minutes=5), NOW - timedelta(days=2), NOW - timedelta(days=200)]
    assert delays(published, None, NOW) == {}
    assert delays(published, NOW - timedelta(days=2), NOW) == {"delay_20": 1, f"delay_{bucket_of(172_800)}": 1}
    assert delays(published, NOW, NOW) == {}


def test_a_publication_after_the_fetch_is_no_negative_delay() -> None:
    assert delays([NOW + timedelta(seconds=30)], LONG_AGO, NOW) == {"delay_0": 1}


def test_the_histogram_is_read_from_among_the_other_counters() -> None:
    assert histogram_in({"requests": 4, "delay_12": 3, "delay_2": 1}) == {2: 1, 12: 3}


def test_quantiles_of_a_sum_are_those_of_all_articles_within_ten_percent() -> None:
    chance = random.Random(7)
    one = [chance.lognormvariate(6, 1.5) for _ in range(500)]
    other = [chance.lognormvariate(9, 0.5) for _ in range(100)]
    merged = Counter(map(bucket_of, one)) + Counter(map(bucket_of, other))
    together = sorted(one + other)
    for share in (0.5, 0.95):
        found = quantile(merged, share)
        assert found is not None
        assert abs(found / together[round(share * 600) - 1] - 1) < 0.1


def test_without_articles_there_is_no_quantile() -> None:
    assert quantile({}, 0.5) is None
    assert quantile({3: 1}, 0.95) == round(seconds_of(3), 1)
