"""How many new articles a feed may bring in a day, by its history."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

import pytest

from models.feed import Feed
from services.feeds.volume import (
    FACTOR,
    FIRST_DAYS,
    MAX_PER_DAY,
    MEMORY,
    MIN_PER_DAY,
    is_implausible,
    limit_of,
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


def test_the_usual_day_settles_at_what_a_feed_brings() -> None:
    before = known(0.0, first_fetched_at=NOW, last_successful_fetch=NOW)
    for number in range(1, 120 * 4):
        now = NOW + number * DAY / 4
        before = before.changed(now, articles_per_day=usual_after(before, 30, now), last_successful_fetch=now)
    assert before.articles_per_day == pytest.approx(120, rel=0.03)


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
