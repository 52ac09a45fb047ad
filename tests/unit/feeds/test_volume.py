"""How many new articles a feed may bring in a day by its history, and how long a gap its rhythm explains."""

from __future__ import annotations

from datetime import datetime, timedelta
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from models.feed import Feed
from services.feeds.volume import (
    CHANCE,
    DAYS_KEPT,
    FACTOR,
    FEWEST_DAYS,
    FIRST_DAYS,
    MAX_PER_DAY,
    MEMORY,
    MIN_FACTOR,
    MIN_GAP,
    MIN_PER_DAY,
    gaps_after,
    is_implausible,
    limit_of,
    longest_explained,
    room_for_new,
    usual_after,
    volume_of,
)
from tests.documents import NOW, feed

DAY = timedelta(days=1)


def known(per_day: float | None = 5.0, **changes: Any) -> Feed:
    """A feed with history."""
    fields = {"first_fetched_at": NOW - 60 * DAY, "last_fetch_time": NOW, "last_successful_fetch": NOW}
    return feed(**{**fields, "articles_per_day": per_day, **changes})


def test_the_constants() -> None:
    assert (MAX_PER_DAY, MIN_PER_DAY, FACTOR, FIRST_DAYS, MEMORY) == (20_000, 1_000, 10.0, 3 * DAY, 28 * DAY)
    assert (0.01, 3.0, 33, timedelta(hours=6)) == (CHANCE, MIN_FACTOR, DAYS_KEPT, MIN_GAP)


@pytest.mark.parametrize(
    ("before", "limit"),
    [
        (feed(), 20_000),
        (known(None), 20_000),
        (known(0.0), 1_000),
        (known(5.0), 1_000),
        (known(100.0), 1_000),
        (known(100.1), 1_001),
        (known(1_999.0), 19_990),
        (known(2_001.0), 20_000),
        (known(5.0, first_fetched_at=NOW - FIRST_DAYS + timedelta(seconds=1)), 20_000),
        (known(5.0, first_fetched_at=NOW - FIRST_DAYS), 1_000),
        (known(5.0, daily_limit=30), 30),
        (feed(daily_limit=100_000), 100_000),
    ],
)
def test_the_limit_follows_from_the_usual_day_or_a_person(before: Feed, limit: int) -> None:
    assert limit_of(before, NOW) == limit


@pytest.mark.parametrize(
    ("since", "volume", "room"),
    [
        (timedelta(0), 900, 100),
        (timedelta(hours=6), 650, 350),
        (DAY, 0, 1_000),
        (400 * DAY, 0, 1_000),
        (timedelta(hours=-6), 900, 100),
    ],
)
def test_the_volume_falls_by_the_limit_in_a_day(since: timedelta, volume: float, room: int) -> None:
    before = known(daily_volume=900.0)
    assert (volume_of(before, NOW + since), room_for_new(before, NOW + since)) == (volume, room)


def test_a_new_feed_may_bring_a_whole_document_and_no_more_in_its_first_days() -> None:
    assert room_for_new(feed(), NOW) == 20_000
    young = known(first_fetched_at=NOW, daily_volume=20_000.0)
    assert [room_for_new(young, NOW + number * DAY) for number in (0, 1, 2)] == [0, 0, 0]
    assert room_for_new(young, NOW + 23 * DAY) == 1_000


def test_the_first_document_is_not_the_usual_day() -> None:
    assert usual_after(feed(), 20_000, NOW) == 0.0


def test_the_usual_day_is_an_average_of_four_weeks() -> None:
    assert usual_after(known(5.0), 0, NOW) == 5.0
    assert usual_after(known(0.0), 28, NOW + DAY) == 1.0
    assert usual_after(known(10.0), 0, NOW + 28 * DAY) == pytest.approx(3.6788)
    assert usual_after(known(10.0), 0, NOW - DAY) == 10.0


def test_the_usual_day_of_a_young_feed_is_that_of_the_days_it_is_known() -> None:
    young = known(0.0, first_fetched_at=NOW - 2 * DAY)
    assert usual_after(young, 40, NOW) == 20.0
    assert usual_after(known(0.0, first_fetched_at=NOW), 40, NOW) == 40.0


@pytest.mark.parametrize(
    ("before", "entries", "held"),
    [
        (feed(), 30_000, False),
        (known(), 1_000, False),
        (known(), 1_001, True),
        (known(daily_limit=20_000), 20_000, False),
    ],
)
def test_more_entries_than_a_days_limit_are_not_ingested_unseen(before: Feed, entries: int, held: bool) -> None:
    assert is_implausible(before, entries, NOW) == held


def ago(**span: float) -> datetime:
    return NOW - timedelta(**span)


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
