"""The figures of an entry follow from the windows; a process knows the highest generation that it has read."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

from models.cache import PERIODS
from models.timeline import TimelineHours, by_day
from services.figures.counts import Windows, edges_of
from services.figures.coverage import Shares
from services.figures.entries import Generations, entries_of
from services.ports import Document
from services.store.sqlite import SqliteStore
from tests import documents

NOW = datetime(2026, 2, 21, 20, 17, 31, tzinfo=UTC)
MADE = NOW - timedelta(days=40)


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
