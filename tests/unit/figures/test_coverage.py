"""Coverage: the share of a window in which feeds were fetched."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

from models.cache import Window
from models.coverage import CoveredHour
from services.articles.attempts import CoveredHours
from services.figures.coverage import READ_AGAIN_AFTER, Coverage, Shares, share
from services.store.containers import CATALOG
from services.store.sqlite import SqliteStore

NOW = datetime(2026, 2, 21, 20, 17, 31, tzinfo=UTC)
MADE = NOW - timedelta(days=40)


def test_a_share_is_of_the_windows_time() -> None:
    window = Window(NOW.replace(hour=18, minute=30, second=0), NOW.replace(hour=20, minute=30, second=0))
    assert share(frozenset(), window, MADE) == 0.0
    assert share(frozenset({"2026022118", "2026022119", "2026022120"}), window, MADE) == 1.0
    assert share(frozenset({"2026022119"}), window, MADE) == 0.5
    assert share(frozenset({"2026022118"}), window, MADE) == 0.25
    assert share(frozenset({"2026022120"}), window, MADE) == 0.25
    assert share(frozenset({"2026022117", "2026022121"}), window, MADE) == 0.0


def test_the_time_before_the_tool_was_created_is_not_covered() -> None:
    window = Window(NOW.replace(hour=18, minute=30, second=0), NOW.replace(hour=20, minute=30, second=0))
    hours = frozenset({"2026022118", "2026022119", "2026022120"})
    assert share(hours, window, NOW.replace(hour=19, minute=30, second=0)) == 0.5
    assert share(frozenset({"2026022120"}), window, NOW.replace(hour=20, minute=45, second=0)) == 0.0
    assert share(hours, window, NOW + timedelta(days=1)) == 0.0


def test_a_share_has_four_decimals() -> None:
    window = Window(NOW.replace(hour=17, second=0), NOW.replace(second=0))
    assert share(frozenset({"2026022118"}), window, MADE) == 0.3333
    assert share(frozenset({"2026022118", "2026022119"}), window, MADE) == 0.6667


def test_the_shares_of_all_periods_are_of_their_windows_at_one_time() -> None:
    shares = Shares(frozenset({"2026022119", "2026022120"}), NOW)
    assert shares.seconds["HOUR_1"] == (1771701420, 1771705020)
    assert [shares.of("HOUR_1", MADE), shares.of("HOUR_24", MADE)] == [1.0, round(77 / 1440, 4)]
    assert [shares.of("DAY_7", MADE), shares.of("DAY_30", MADE)] == [round(77 / 10_080, 4), round(77 / 43_200, 4)]
    # A tool that was created within one window only.
    assert shares.of("HOUR_24", NOW - timedelta(hours=2)) == round(77 / 1440, 4)
    assert shares.of("HOUR_1", NOW.replace(minute=2, second=0)) == 0.25
    assert shares.of("HOUR_1", MADE) == 1.0


async def test_an_hour_is_noted_once_and_counts_from_the_next_read(store: SqliteStore) -> None:
    assert timedelta(minutes=1) == READ_AGAIN_AFTER
    noting, reading = CoveredHours(store), Coverage(store)
    for minutes in (0, 1, 30):
        await noting.note(NOW - timedelta(minutes=60) + timedelta(minutes=minutes))
    assert await store.count(CATALOG.name, partition=CoveredHour.PARTITION) == 1
    shares = await reading.shares(NOW)
    assert shares.of("HOUR_1", MADE) == round(43 / 60, 4)
    await noting.note(NOW)
    assert (await reading.shares(NOW + timedelta(seconds=59))).of("HOUR_1", MADE) < 1
    later = await reading.shares(NOW + timedelta(seconds=60))
    assert later.of("HOUR_1", MADE) == 1.0
    assert later.of("HOUR_1", NOW) < 0.05
    assert later.of("HOUR_24", MADE) == round((60 + 18) / 1440, 4)


async def test_hours_that_were_noted_since_the_last_read_count_however_long_ago_that_was(store: SqliteStore) -> None:
    noting, reading = CoveredHours(store), Coverage(store)
    assert (await reading.shares(NOW)).of("HOUR_24", MADE) == 0.0
    for hours in (1, 2, 3):
        await noting.note(NOW + timedelta(hours=hours))
    assert (await reading.shares(NOW + timedelta(hours=9))).of("HOUR_24", MADE) == round(3 / 24, 4)


async def test_the_hours_of_the_longest_window_are_read(store: SqliteStore) -> None:
    noting = CoveredHours(store)
    for days in (29, 30, 32):
        await noting.note(NOW - timedelta(days=days))
    shares = await Coverage(store).shares(NOW)
    assert shares.of("DAY_30", MADE) == round((60 + 43) / 43_200, 4)


async def test_coverage_is_read_again_when_the_clock_was_set_back(store: SqliteStore) -> None:
    noting, reading = CoveredHours(store), Coverage(store)
    assert (await reading.shares(NOW)).of("HOUR_1", MADE) == 0.0
    before = NOW - timedelta(minutes=2)
    await noting.note(before)
    assert (await reading.shares(before)).of("HOUR_1", MADE) == round(15 / 60, 4)


def test_a_covered_hour_is_kept_a_day_longer_than_the_longest_window_needs() -> None:
    hour = CoveredHour.at(NOW)
    assert (hour.partition, hour.id) == ("COVERAGE", "2026022120")
    assert hour.ttl_timestamp == int((NOW + timedelta(days=32)).timestamp())
