"""Of the fetches that were expected, the share that succeeded: of relevant feeds, in the hours that were searched."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import UTC, datetime, timedelta

import pytest

from models.cache import PERIODS, Window
from models.feed import FetchDay
from services.figures.coverage import READ_AGAIN_AFTER, Coverage, Fetches, Shares
from services.store.containers import CATALOG
from services.store.sqlite import SqliteStore

NOW = datetime(2026, 2, 21, 20, 17, 31, tzinfo=UTC)
MADE = NOW - timedelta(days=40)
HOUR = timedelta(hours=1)
ALL_DAY = (1 << 24) - 1
WINDOWS = {period: Window.at(period, NOW) for period in PERIODS}


def fetches_of(**days: Mapping[str, tuple[int, ...]]) -> Fetches:
    fetches = Fetches()
    for day, feeds in days.items():
        attempted = {feed: bits if len(bits) == 3 else (*bits, bits[0]) for feed, bits in feeds.items()}
        fetches.add({"day": day.removeprefix("d"), "feeds": attempted})
    return fetches


def test_with_49_of_50_feeds_dead_coverage_is_a_fiftieth() -> None:
    feeds = {f"feed-{number}": (ALL_DAY, ALL_DAY if number == 0 else 0) for number in range(50)}
    shares = Shares(fetches_of(d20260221=feeds), NOW)
    for sources in (frozenset[str](), frozenset({"feed-0"})):
        assert shares.of(WINDOWS["HOUR_1"], MADE, sources) == shares.of(WINDOWS["HOUR_24"], MADE, sources) == 0.02


def test_feeds_that_brought_no_mentions_and_are_known_to_work_do_not_count() -> None:
    feeds = {"its": (0b11 << 19, 0b10 << 19), "other": (ALL_DAY, ALL_DAY - 2**20)}
    shares = Shares(fetches_of(d20260221=feeds), NOW)
    assert shares.of(WINDOWS["HOUR_24"], MADE, frozenset({"its"})) == 0.5
    assert shares.of(WINDOWS["HOUR_1"], MADE, frozenset()) == 0.5
    assert shares.of(WINDOWS["HOUR_24"], MADE, frozenset({"a feed that is gone"})) == round(21 / 23, 4)


def test_nothing_known_and_nothing_expected_is_null() -> None:
    assert Shares(Fetches(), NOW).of(WINDOWS["DAY_30"], MADE, frozenset()) is None
    shares = Shares(fetches_of(d20260210={"a": (ALL_DAY, ALL_DAY)}), NOW)
    assert shares.of(WINDOWS["HOUR_24"], MADE, frozenset({"a"})) is None
    assert shares.of(WINDOWS["DAY_30"], MADE, frozenset({"a"})) == 1.0


def test_a_time_without_any_fetch_is_null_and_one_with_failed_fetches_is_0() -> None:
    seven_to_eight = 0b11 << 19
    standstill = Shares(fetches_of(d20260221={"its": (ALL_DAY, ALL_DAY >> 6, ALL_DAY >> 6)}), NOW)
    assert standstill.of(WINDOWS["HOUR_1"], MADE, frozenset({"its"})) is None
    failed = Shares(fetches_of(d20260221={"its": (ALL_DAY, ALL_DAY >> 6, ALL_DAY >> 6 | seven_to_eight)}), NOW)
    assert failed.of(WINDOWS["HOUR_1"], MADE, frozenset({"its"})) == 0.0


def test_hours_without_a_fetch_are_missed_in_a_time_with_fetches() -> None:
    shares = Shares(fetches_of(d20260221={"its": (0b1111 << 17, 0b0011 << 17, 0b0011 << 17)}), NOW)
    assert shares.of(WINDOWS["HOUR_24"], MADE, frozenset({"its"})) == 0.5


def test_fetches_of_feeds_that_are_not_relevant_do_not_make_a_time_known() -> None:
    feeds = {"its": (ALL_DAY, ALL_DAY >> 6, ALL_DAY >> 6), "other": (ALL_DAY, ALL_DAY, ALL_DAY)}
    shares = Shares(fetches_of(d20260221=feeds), NOW)
    assert shares.of(WINDOWS["HOUR_1"], MADE, frozenset({"its"})) is None
    assert shares.of(WINDOWS["HOUR_1"], MADE, frozenset()) == 0.5


def test_hours_before_articles_were_searched_for_the_tool_do_not_count() -> None:
    shares = Shares(fetches_of(d20260221={"a": (ALL_DAY, 0b1 << 20)}), NOW)
    assert shares.of(WINDOWS["HOUR_24"], NOW - timedelta(minutes=1), frozenset()) == 1.0
    assert shares.of(WINDOWS["HOUR_24"], NOW - HOUR, frozenset()) == 0.5
    assert shares.of(WINDOWS["HOUR_24"], NOW + HOUR, frozenset()) is None


@pytest.mark.parametrize(
    ("start", "end", "share"),
    [
        (NOW - HOUR, NOW, 1.0),
        (NOW.replace(minute=0, second=0), NOW, None),
        (NOW - 2 * HOUR, NOW.replace(hour=19, minute=0, second=0), 0.0),
        (NOW - 2 * HOUR, NOW.replace(hour=19, minute=1, second=0), 0.5),
    ],
)
def test_an_hour_counts_as_a_whole_if_the_time_has_a_part_of_it(
    start: datetime, end: datetime, share: float | None
) -> None:
    assert fetches_of(d20260221={"a": (0b11 << 18, 0b10 << 18)}).share(start, end, None) == share


def test_shares_have_four_decimals() -> None:
    assert fetches_of(d20260221={"a": (0b111, 0b011)}).share(NOW - 24 * HOUR, NOW, {"a"}) == 0.6667


def test_days_that_are_read_again_add_their_bits() -> None:
    fetches = fetches_of(d20260221={"a": (0b1, 0)})
    assert fetches.share(NOW - 24 * HOUR, NOW, None) == 0.0
    fetches.add({"day": "20260221", "feeds": {"a": (0b1, 0b1, 0b1)}})
    assert fetches.share(NOW - 24 * HOUR, NOW, None) == 1.0


async def test_days_are_read_at_most_once_a_minute_and_then_from_yesterday_on(store: SqliteStore) -> None:
    assert timedelta(minutes=1) == READ_AGAIN_AFTER
    reading = Coverage(store)

    async def shares_at(moment: datetime) -> Shares:
        return Shares(await reading.fetches(moment), moment)

    assert (await shares_at(NOW)).of(WINDOWS["HOUR_24"], MADE, frozenset()) is None
    for day, bits in (("20260221", 1 << 20), ("20260220", 1 << 23)):
        document = FetchDay(created_at=NOW, day=day, feeds={"a": (bits, bits, bits)})
        await store.create(CATALOG.name, document.to_document())
    assert (await shares_at(NOW + timedelta(seconds=59))).of(WINDOWS["HOUR_24"], MADE, frozenset()) is None
    assert (await shares_at(NOW + timedelta(seconds=60))).of(WINDOWS["HOUR_24"], MADE, frozenset()) == 1.0
    assert (await shares_at(NOW - HOUR)).of(Window.at("HOUR_1", NOW - HOUR), MADE, frozenset()) is None
