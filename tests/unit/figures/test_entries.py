"""The figures and the coverage of an entry; a process knows the highest generation that it has read."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

from models.cache import PERIODS, Window
from models.operations import CoveredHour
from models.tally import TimelineHours, by_day
from services.articles.attempts import CoveredHours
from services.figures.entries import READ_AGAIN_AFTER, Coverage, Generations, Shares, entries_of, share
from services.figures.windows import Windows, edges_of
from services.ports import Document
from services.store.containers import CATALOG
from services.store.sqlite import SqliteStore
from tests import documents

NOW = datetime(2026, 2, 21, 20, 17, 31, tzinfo=UTC)
MADE = NOW - timedelta(days=40)


def test_entries_have_the_counts_of_their_windows_with_generation_and_recounts() -> None:
    hours = TimelineHours(by_day({"2026022110": [2, 1, 0, 900_000], "2026021510": [0, 0, 1, 0, 2]}))
    hours.put("2026022110", hours.numbers("2026022110"), ["embedded/2"])
    hours.put("2026021510", hours.numbers("2026021510"), ["embedded/1"])
    minutes = {"2026022120": {"17": [1, 0, 0, 500_000], "18": [1, 0, 0, 500_000]}}
    analyzers = {"2026022120": {"embedded/2": [17, 17], "embedded/3": [18, 18]}}
    windows = Windows.summed(edges_of(NOW), hours, minutes, analyzers, MADE, 9)
    covered = frozenset(f"20260221{hour:02}" for hour in range(24))
    entries = entries_of("vscode", MADE, 3, windows, Shares(covered, NOW), NOW)
    assert list(entries) == list(PERIODS)
    assert [entry.total_mentions for entry in entries.values()] == [1, 4, 5, 5]
    assert [entry.unscored_mentions for entry in entries.values()] == [0, 0, 2, 2]
    assert [entry.analyzers for entry in entries.values()] == [
        ("embedded/2",),
        ("embedded/2",),
        ("embedded/1", "embedded/2"),
        ("embedded/1", "embedded/2"),
    ]
    day = entries["HOUR_24"]
    assert (day.positive_count, day.negative_count, day.neutral_count) == (3, 1, 0)
    assert (day.positive_percentage, day.negative_percentage, day.neutral_percentage) == (75.0, 25.0, 0.0)
    assert day.average_sentiment == 0.35
    assert (day.tool_id, day.generation, day.recounts) == ("vscode", 3, 9)
    assert (day.period_start_ts, day.period_end_ts, day.last_updated_ts) == (1771618680, 1771705080, 1771705051)
    assert day.coverage == round((20 + 18 / 60) / 24, 4)
    assert {entry.created_at for entry in entries.values()} == {NOW}


def test_the_coverage_of_an_entry_begins_when_its_tool_was_created() -> None:
    windows = Windows.summed(edges_of(NOW), TimelineHours({}), {}, {}, MADE, 0)
    shares = Shares(frozenset({"2026022119", "2026022120"}), NOW)
    made = NOW.replace(minute=48, second=0) - timedelta(hours=1)
    assert entries_of("vscode", made, 0, windows, shares, NOW)["HOUR_1"].coverage == 0.5
    assert entries_of("vscode", MADE, 0, windows, shares, NOW)["HOUR_1"].coverage == 1.0


def test_a_process_knows_the_highest_generation_that_it_has_read(store: SqliteStore) -> None:
    generations = Generations(store, lambda: NOW)

    def stored(generation: int) -> Document:
        return documents.cache_generation(generation=generation).to_document()

    tool_id = documents.TOOL_ID
    assert generations.known(tool_id) == 0
    assert [generations.learn(tool_id, each) for each in (None, stored(3), stored(2))] == [0, 3, 2]
    assert (generations.known(tool_id), generations.known("another")) == (3, 0)


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
    assert shares.seconds["HOUR_1"] == (1771701480, 1771705080)
    assert [shares.of("HOUR_1", MADE), shares.of("HOUR_24", MADE)] == [1.0, round(78 / 1440, 4)]
    assert [shares.of("DAY_7", MADE), shares.of("DAY_30", MADE)] == [round(78 / 10_080, 4), round(78 / 43_200, 4)]
    # A tool that was created within one window only.
    assert shares.of("HOUR_24", NOW - timedelta(hours=2)) == round(78 / 1440, 4)
    assert shares.of("HOUR_1", NOW.replace(minute=3, second=0)) == 0.25
    assert shares.of("HOUR_1", MADE) == 1.0


async def test_an_hour_is_noted_once_and_counts_from_the_next_read(store: SqliteStore) -> None:
    assert timedelta(minutes=1) == READ_AGAIN_AFTER
    noting, reading = CoveredHours(store), Coverage(store)
    for minutes in (0, 1, 30):
        await noting.note(NOW - timedelta(minutes=60) + timedelta(minutes=minutes))
    assert await store.count(CATALOG.name, partition=CoveredHour.PARTITION) == 1
    shares = await reading.shares(NOW)
    assert shares.of("HOUR_1", MADE) == round(42 / 60, 4)
    await noting.note(NOW)
    assert (await reading.shares(NOW + timedelta(seconds=59))).of("HOUR_1", MADE) < 1
    later = await reading.shares(NOW + timedelta(seconds=60))
    assert later.of("HOUR_1", MADE) == 1.0
    assert later.of("HOUR_1", NOW) < 0.05
    assert later.of("HOUR_24", MADE) == round((60 + 19) / 1440, 4)


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
    assert (await reading.shares(before)).of("HOUR_1", MADE) == round(16 / 60, 4)


def test_a_covered_hour_is_kept_a_day_longer_than_the_longest_window_needs() -> None:
    hour = CoveredHour.at(NOW)
    assert (hour.partition, hour.id) == ("COVERAGE", "2026022120")
    assert hour.ttl_timestamp == int((NOW + timedelta(days=32)).timestamp())
