"""The gaps of a feed, and how long a gap its rhythm explains."""

from __future__ import annotations

from datetime import datetime, timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from services.feeds.volume import (
    CHANCE,
    DAYS_KEPT,
    FEWEST_DAYS,
    MIN_FACTOR,
    MIN_GAP,
    gaps_after,
    longest_explained,
)
from tests.documents import NOW

DAY = timedelta(days=1)


def ago(**span: float) -> datetime:
    return NOW - timedelta(**span)


def test_the_constants() -> None:
    assert (0.01, 3.0, 33, timedelta(hours=6)) == (CHANCE, MIN_FACTOR, DAYS_KEPT, MIN_GAP)


def test_a_fetch_without_new_articles_changes_nothing() -> None:
    assert gaps_after((2.0,), ago(days=3), 0, [], ago(days=1), NOW) == ((2.0,), ago(days=3))


def test_the_first_fetch_tells_the_history_by_its_dates() -> None:
    published = [ago(days=9), ago(days=2), ago(days=5)]
    assert gaps_after((), None, 3, published, None, NOW) == ((96.0, 72.0), ago(days=2))


def test_a_first_fetch_without_dates_says_that_its_articles_appeared_now() -> None:
    assert gaps_after((), None, 3, [], None, NOW) == ((), NOW)
    assert gaps_after((), None, 3, [ago(days=2)], None, NOW) == ((), ago(days=2)), "the undated may be of any age"


def test_a_new_article_appeared_since_the_last_fetch_whatever_its_date() -> None:
    before, last = ago(hours=40), ago(hours=1)
    assert gaps_after((), before, 1, [ago(days=900)], last, NOW) == ((39.0,), last)
    assert gaps_after((), before, 1, [NOW + DAY], last, NOW) == ((40.0,), NOW)
    assert gaps_after((), before, 1, [], last, NOW) == ((40.0,), NOW)


def test_a_day_counts_with_its_longest_gap() -> None:
    noon = NOW.replace(hour=12)
    newest = noon - timedelta(hours=9)
    gaps, newest_now = gaps_after((14.0,), newest, 2, [noon - timedelta(hours=1), noon], newest, noon)
    assert (gaps, newest_now) == ((14.0,), noon)
    assert gaps_after((3.0,), newest, 1, [noon], newest, noon)[0] == (9.0,)
    assert gaps_after((3.0,), newest, 1, [noon + DAY], newest, noon + DAY)[0] == (3.0, 33.0)


def test_as_many_days_are_kept_as_the_rule_needs() -> None:
    published = [ago(days=number) for number in range(60)]
    gaps, newest = gaps_after((), None, 60, published, None, NOW)
    assert (len(gaps), newest) == (DAYS_KEPT, NOW)


@pytest.mark.parametrize(
    ("gaps", "hours"),
    [
        ((), None),
        ((24.0,) * 4, None),
        ((24.0,) * 5, 24 * 100 / 6),
        ((24.0,) * 9, 24 * 10),
        ((63.0, *(14.0,) * 32), 63 * 3),
        ((24.0,) * 33, 24 * 3),
        ((24.0,) * 32, 24 * 100 / 33),
        ((0.5,) * 33, 6),
    ],
)
def test_the_fewer_gaps_are_known_the_longer_a_gap_may_be(gaps: tuple[float, ...], hours: float | None) -> None:
    explained = longest_explained(gaps)
    assert explained == (None if hours is None else timedelta(hours=hours))


@given(st.lists(st.floats(0, 5000), min_size=FEWEST_DAYS, max_size=40))
def test_a_gap_as_long_as_a_known_one_is_always_explained(gaps: list[float]) -> None:
    explained = longest_explained(gaps)
    assert explained is not None
    assert explained >= timedelta(hours=max(gaps)) * MIN_FACTOR


@given(st.lists(st.integers(0, 400), max_size=30), st.integers(0, 30))
def test_gaps_are_never_negative_and_their_newest_never_goes_back(hours: list[int], cut: int) -> None:
    published = [ago(hours=each) for each in hours]
    gaps, newest = gaps_after((), None, len(hours[:cut]), published[:cut], None, NOW - DAY)
    after, later = gaps_after(gaps, newest, len(hours[cut:]), published[cut:], NOW - DAY, NOW)
    assert all(gap >= 0 for gap in after)
    assert newest is None or (later is not None and newest <= later <= NOW)
