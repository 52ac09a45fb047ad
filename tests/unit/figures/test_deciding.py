"""The pure parts: periods and windows, shares, tallies, and the text of metrics."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from models.cache import PERIODS
from models.errors import InvalidInput
from models.metrics import CacheTotals, IngestionTotals
from models.timeline import by_day, by_hour
from models.values import hour_key
from services.articles.reporting import totals_of
from services.feeds.coverage import Coverage, share
from services.figures.messages import RefreshMessage, refresh_messages
from services.figures.periods import Window, period_named, window_of
from services.figures.tables import Hours
from services.figures.windows import Windows, edges_of
from services.operations.metrics import of_cache, of_feeds, of_ingestion
from services.store.sqlite import SqliteStore
from tests.documents import attempt, feed

NOW = datetime(2026, 2, 21, 20, 17, 31, tzinfo=UTC)
MADE = NOW - timedelta(days=40)


def test_periods_go_by_either_name() -> None:
    assert [period_named(hours, None) for hours in ("1", "24", "168", "720")] == list(PERIODS)
    assert [period_named(None, period) for period in PERIODS] == list(PERIODS)
    assert period_named(None, None) == "HOUR_24"
    assert period_named("1", "HOUR_1") == "HOUR_1"
    for hours, period in (("0", None), ("", None), (None, "x"), ("1", "HOUR_24")):
        with pytest.raises(InvalidInput):
            period_named(hours, period)


def test_a_window_ends_with_the_last_whole_minute() -> None:
    window = window_of("HOUR_1", NOW)
    assert (window.start, window.end) == (NOW.replace(hour=19, second=0), NOW.replace(second=0))


def test_the_edges_are_the_hours_that_windows_begin_and_end_within() -> None:
    edges = edges_of(NOW)
    assert edges.hours == ["2026012220", "2026021420", "2026022020", "2026022119", "2026022120"]
    assert (edges.last, edges.first["DAY_7"]) == ("2026022120", "2026021420")
    assert edges_of(NOW.replace(minute=59)) == edges_of(NOW.replace(minute=0, second=0)) == edges


HOURS = st.builds(lambda back: hour_key(NOW - timedelta(hours=back)), st.integers(0, 24 * 33))
NUMBERS = st.tuples(*[st.integers(0, 3)] * 3, st.integers(-(10**6), 10**6)).map(list).filter(any)


@given(st.dictionaries(HOURS, NUMBERS), st.dictionaries(HOURS, NUMBERS | st.just([0, 0, 0, 0])), HOURS, HOURS)
def test_a_timelines_hours_are_a_table_by_hour_that_is_stored_by_day(
    before: dict[str, list[int]], put: dict[str, list[int]], one: str, other: str
) -> None:
    hours, after = Hours(by_day(before)), before | put
    for hour, numbers in put.items():
        hours.put(hour, numbers)
    assert [hours.numbers(hour) for hour in after] == list(after.values())
    since, until = sorted((one, other))
    between = [numbers for hour, numbers in after.items() if since < hour < until]
    assert hours.total(since, until) == [sum(column) for column in zip([0, 0, 0, 0], *between, strict=True)]
    said = {hour: numbers for hour, numbers in after.items() if any(numbers) and hour[:8] >= since[:8]}
    assert by_hour(hours.stored(since)) == said
    assert hours.stored(since) == by_day(said)


@pytest.mark.parametrize("stored", ["1", "", "1,2", ",".join("0" * 95), '"a"', "[1]"])
def test_what_is_no_day_of_a_timeline_is_refused(stored: str) -> None:
    with pytest.raises(ValueError, match=r"24 times four|trailing|value"):
        Hours({"20260221": stored}).numbers("2026022103")


def _counted(hours: dict[str, list[int]], minutes: dict[str, dict[str, list[int]]], now: datetime) -> dict[str, int]:
    windows = Windows.gathered(edges_of(now), Hours(by_day(hours)), minutes, MADE, 0)
    return {period: tally.total for period, tally in windows.tallies(now).items()}


def test_on_the_full_hour_whole_hours_are_all_that_counts() -> None:
    hours = {"2026022118": [9, 0, 0, 0], "2026022119": [1, 0, 0, 0], "2026022120": [5, 0, 0, 0]}
    minutes = {"2026022119": {"00": [1, 0, 0, 0]}, "2026022120": {"00": [5, 0, 0, 0]}}
    now = NOW.replace(minute=0)
    assert _counted(hours, minutes, now) == {"HOUR_1": 1, "HOUR_24": 10, "DAY_7": 10, "DAY_30": 10}


def test_within_an_hour_minutes_decide_at_both_edges() -> None:
    hours = {"2026022119": [3, 0, 0, 0], "2026022120": [3, 0, 0, 0], "2026022020": [2, 0, 0, 0]}
    minutes = {
        "2026022119": {"16": [1, 0, 0, 0], "17": [1, 0, 0, 0], "59": [1, 0, 0, 0]},
        "2026022120": {"00": [1, 0, 0, 0], "16": [1, 0, 0, 0], "17": [1, 0, 0, 0]},
        "2026022020": {"16": [1, 0, 0, 0], "18": [1, 0, 0, 0]},
    }
    assert _counted(hours, minutes, NOW) == {"HOUR_1": 4, "HOUR_24": 6, "DAY_7": 7, "DAY_30": 7}


def test_a_share_is_of_the_windows_time() -> None:
    window = Window(NOW.replace(hour=18, minute=30, second=0), NOW.replace(hour=20, minute=30, second=0))
    assert share(frozenset(), window, MADE) == 0.0
    assert share(frozenset({"2026022118", "2026022119", "2026022120"}), window, MADE) == 1.0
    assert share(frozenset({"2026022119"}), window, MADE) == 0.5
    assert share(frozenset({"2026022118"}), window, MADE) == 0.25
    since = NOW.replace(hour=19, minute=30, second=0)
    assert share(frozenset({"2026022118", "2026022119", "2026022120"}), window, since) == 0.5
    assert share(frozenset({"2026022120"}), window, NOW + timedelta(days=1)) == 0.0
    assert share(frozenset({"2026022120"}), window, NOW.replace(hour=20, minute=45, second=0)) == 0.0


async def test_hours_are_noted_once_and_count_for_tools_that_were_there(store: SqliteStore) -> None:
    noting, reading = Coverage(store), Coverage(store)
    for minutes in (0, 1, 30):
        await noting.note(NOW - timedelta(minutes=60) + timedelta(minutes=minutes))
    assert await store.count("catalog", partition="COVERAGE") == 1
    shares = await reading.shares(NOW)
    assert shares.of("HOUR_1", MADE) == round(43 / 60, 4)
    await noting.note(NOW)
    assert (await reading.shares(NOW + timedelta(seconds=59))).of("HOUR_1", MADE) < 1
    later = await reading.shares(NOW + timedelta(seconds=61))
    assert later.of("HOUR_1", MADE) == 1.0
    assert later.of("HOUR_1", NOW) < 0.05
    assert later.of("HOUR_24", MADE) == round((60 + 18) / 1440, 4)


async def test_hours_that_were_noted_since_the_last_look_count_however_long_ago_that_was(store: SqliteStore) -> None:
    noting, reading = Coverage(store), Coverage(store)
    assert (await reading.shares(NOW)).of("HOUR_24", MADE) == 0.0
    for hours in (1, 2, 3):
        await noting.note(NOW + timedelta(hours=hours))
    assert (await reading.shares(NOW + timedelta(hours=9))).of("HOUR_24", MADE) == round(3 / 24, 4)


async def test_coverage_is_looked_up_again_by_a_clock_that_was_put_back(store: SqliteStore) -> None:
    noting, reading = Coverage(store), Coverage(store)
    assert (await reading.shares(NOW)).of("HOUR_1", MADE) == 0.0
    before = NOW - timedelta(minutes=2)
    await noting.note(before)
    assert (await reading.shares(before)).of("HOUR_1", MADE) == round(15 / 60, 4)


def test_messages_are_read_as_they_are_written_and_nothing_else_is() -> None:
    for message in (RefreshMessage(("a", "b")), RefreshMessage(("a",), "run", "0001"), RefreshMessage(())):
        assert RefreshMessage.from_message(message.to_message()) == message
    assert [len(RefreshMessage.from_message(each).tool_ids) for each in refresh_messages(["x"] * 120)] == [50, 50, 20]
    for text in ("", "[]", "{}", '{"tool_ids": "a"}', '{"tool_ids": [1]}', '{"tool_ids": [], "run_id": "r"}'):
        with pytest.raises(InvalidInput):
            RefreshMessage.from_message(text)


def test_attempts_are_added_up_for_metrics() -> None:
    went_well = attempt(status="SUCCEEDED", duration_ms=700, articles_found=10, articles_new=4, articles_stored=3)
    failed = attempt(status="FAILED", error_type="timeout", duration_ms=10_500)
    assert totals_of([went_well, failed]) == {
        "articles_parsed": 10,
        "articles_inserted": 3,
        "articles_deduplicated": 7,
        "fetch_errors": 1,
        "fetches": 2,
        "fetch_milliseconds": 11_200,
        "within_1000_ms": 1,
        "within_5000_ms": 1,
        "within_10000_ms": 1,
    }
    assert totals_of([]) == {}


def test_metrics_are_lines_of_the_prometheus_format() -> None:
    totals = IngestionTotals.at(NOW).changed(NOW, fetches=3, fetch_milliseconds=1500, within_500_ms=2, fetch_errors=1)
    lines = list(of_ingestion(totals))
    assert lines[:3] == [
        "# HELP feed_fetch_duration_seconds Time to fetch each feed",
        "# TYPE feed_fetch_duration_seconds histogram",
        'feed_fetch_duration_seconds_bucket{le="0.5"} 2',
    ]
    assert 'feed_fetch_duration_seconds_bucket{le="+Inf"} 3' in lines
    assert "feed_fetch_duration_seconds_sum 1.5" in lines
    assert "feed_fetch_errors_total 1" in lines
    reads = list(of_cache(CacheTotals.at(NOW).changed(NOW, cache_hits=2, cache_misses=1, cache_stale=1)))
    assert {"cache_hits_total 2", "cache_misses_total 1", "cache_stale_total 1"} <= set(reads)
    due = feed(next_fetch_time=NOW, articles_per_hour=2.5, last_fetch_time=NOW - timedelta(minutes=5))
    assert [line for line in of_feeds([due], NOW) if not line.startswith("#")] == [
        "queue_size 1",
        'feed_velocity_articles_per_hour{feed_id="reuters-world"} 2.5',
        'average_refresh_interval_seconds{feed_id="reuters-world"} 300.0',
    ]
