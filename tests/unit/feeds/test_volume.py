"""How many new articles a feed may bring in a day."""

from __future__ import annotations

from datetime import timedelta

import pytest

from services.feeds.volume import NEW_PER_DAY, room_for_new, volume_of
from tests.documents import NOW, feed


def test_the_limit() -> None:
    assert NEW_PER_DAY == 20_000


def test_a_new_feed_may_bring_a_whole_document() -> None:
    assert (volume_of(feed(), NOW), room_for_new(feed(), NOW)) == (0, 20_000)


@pytest.mark.parametrize(
    ("since", "volume", "room"),
    [
        (timedelta(0), 19_000, 1_000),
        (timedelta(hours=6), 14_000, 6_000),
        (timedelta(days=1), 0, 20_000),
        (timedelta(days=400), 0, 20_000),
        (timedelta(hours=-6), 19_000, 1_000),
    ],
)
def test_the_volume_falls_by_the_limit_in_a_day(since: timedelta, volume: float, room: int) -> None:
    before = feed(daily_volume=19_000.0, last_fetch_time=NOW)
    assert (volume_of(before, NOW + since), room_for_new(before, NOW + since)) == (volume, room)


def test_there_is_never_less_than_no_room() -> None:
    assert room_for_new(feed(daily_volume=30_000.0, last_fetch_time=NOW), NOW) == 0
