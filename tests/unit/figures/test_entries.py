"""The figures of an entry: percentages, averages, age, and how they follow from the windows."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

import pytest

from models.cache import FRESH_FOR, PERIODS, CacheMetadata, SentimentCacheEntry, percentages
from models.errors import InvalidInput
from models.timeline import Tally, by_day
from services.feeds.coverage import Shares
from services.figures.entries import Generations, entries_of
from services.figures.tables import TimelineHours
from services.figures.windows import Windows, edges_of
from services.ports import Document
from services.store.sqlite import SqliteStore
from tests import documents
from tests.documents import cache_entry

NOW = datetime(2026, 2, 21, 20, 17, 31, tzinfo=UTC)
MADE = NOW - timedelta(days=40)


@pytest.mark.parametrize(
    ("counts", "shown"),
    [
        ((0, 0, 0), (0.0, 0.0, 0.0)),
        ((7, 0, 0), (100.0, 0.0, 0.0)),
        ((1, 1, 0), (50.0, 50.0, 0.0)),
        ((1, 1, 1), (33.4, 33.3, 33.3)),
        ((2, 2, 2), (33.4, 33.3, 33.3)),
        ((0, 1, 2), (0.0, 33.3, 66.7)),
        ((2, 1, 0), (66.7, 33.3, 0.0)),
        ((1, 2, 3), (16.7, 33.3, 50.0)),
        ((5, 1, 1), (71.4, 14.3, 14.3)),
        ((892, 534, 363), (49.9, 29.8, 20.3)),
        ((1, 1, 1998), (0.1, 0.0, 99.9)),
        ((1999, 1, 0), (100.0, 0.0, 0.0)),
    ],
)
def test_percentages_have_one_decimal_and_missing_tenths_go_to_the_largest_remainders(
    counts: tuple[int, int, int], shown: tuple[float, float, float]
) -> None:
    assert percentages(*counts) == shown
    assert sum(shown) == (pytest.approx(100) if sum(counts) else 0)


def test_the_average_is_the_mean_polarity_with_four_decimals() -> None:
    assert Tally(1, 1, 1, 1_000_000).average_sentiment == 0.3333
    assert Tally(0, 2, 1, -2_000_000).average_sentiment == -0.6667
    assert Tally(2, 0, 0, 2_000_000).average_sentiment == 1.0
    assert Tally(1, 1, 0, 0).average_sentiment == 0.0
    assert Tally().average_sentiment == 0.0


def test_a_polarity_counts_in_millionths() -> None:
    assert Tally.of("positive", 0.1234567) == Tally(1, 0, 0, 123_457)
    assert Tally.of("negative", -1) == Tally(0, 1, 0, -1_000_000)
    assert Tally.of("neutral", 0.0000004) == Tally(0, 0, 1, 0)
    assert Tally(1, 2, 3, 4).plus(Tally(10, 20, 30, -40)) == Tally(11, 22, 33, -36)
    assert Tally(1, 2, 3, 4).total == 6


def test_an_entry_is_stale_when_it_is_older_than_half_an_hour() -> None:
    assert timedelta(minutes=30) == FRESH_FOR
    entry = cache_entry(last_updated_ts=int(NOW.timestamp()))
    for seconds, age, stale in ((-5, 0, False), (0, 0, False), (1800, 1800, False), (1801, 1801, True)):
        later = NOW + timedelta(seconds=seconds)
        assert (entry.age_seconds(later), entry.is_stale(later)) == (age, stale)


def test_the_state_of_an_entry_follows_from_its_generation_then_its_age() -> None:
    entry = cache_entry(last_updated_ts=int(NOW.timestamp()), generation=2)
    later = NOW + timedelta(seconds=1801)
    assert [entry.state(at, generation) for at in (NOW, later) for generation in (2, 3)] == [
        "FRESH",
        "INVALIDATED",
        "STALE",
        "INVALIDATED",
    ]


def test_the_window_of_an_entry_follows_from_its_period_and_its_end() -> None:
    entry = cache_entry()
    assert entry.window.seconds == (entry.period_start_ts, entry.period_end_ts)


def test_entries_have_the_counts_of_their_windows_and_say_what_they_rest_on() -> None:
    hours = TimelineHours(by_day({"2026022110": [2, 1, 0, 900_000], "2026021510": [0, 0, 1, 0]}))
    minutes = {"2026022120": {"16": [1, 0, 0, 500_000], "17": [1, 0, 0, 500_000]}}
    windows = Windows.summed(edges_of(NOW), hours, minutes, MADE, 9)
    covered = frozenset(f"20260221{hour:02}" for hour in range(24))
    entries = entries_of("vscode", MADE, 3, windows, Shares(covered, NOW), NOW)
    assert list(entries) == list(PERIODS)
    assert [entry.total_mentions for entry in entries.values()] == [1, 4, 5, 5]
    day = entries["HOUR_24"]
    assert (day.positive_count, day.negative_count, day.neutral_count) == (3, 1, 0)
    assert (day.positive_percentage, day.negative_percentage, day.neutral_percentage) == (75.0, 25.0, 0.0)
    assert day.average_sentiment == 0.35
    assert (day.tool_id, day.generation, day.recounts) == ("vscode", 3, 9)
    assert (day.period_start_ts, day.period_end_ts, day.last_updated_ts) == (1771618620, 1771705020, 1771705051)
    assert day.coverage == round((20 + 17 / 60) / 24, 4)
    assert {entry.created_at for entry in entries.values()} == {NOW}


def test_the_coverage_of_an_entry_begins_when_its_tool_was_created() -> None:
    windows = Windows.summed(edges_of(NOW), TimelineHours({}), {}, MADE, 0)
    shares = Shares(frozenset({"2026022119", "2026022120"}), NOW)
    made = NOW.replace(minute=47, second=0) - timedelta(hours=1)
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


def test_the_hit_rate_is_a_share_of_all_reads_with_three_decimals() -> None:
    def rate(hits: int, misses: int) -> float:
        metadata: CacheMetadata = documents.cache_metadata(cache_hits_24h=hits, cache_misses_24h=misses)
        return metadata.cache_hit_rate

    assert [rate(2, 1), rate(1250, 45), rate(0, 3), rate(0, 0)] == [0.667, 0.965, 0.0, 0.0]


def test_an_entry_must_not_claim_to_be_of_the_future() -> None:
    entry = SentimentCacheEntry.from_document(cache_entry(last_updated_ts=int(NOW.timestamp())).to_document())
    entry.require_not_after(NOW)
    with pytest.raises(InvalidInput, match="last_updated_ts"):
        entry.require_not_after(NOW - timedelta(seconds=1))
