"""The figures and the coverage of an entry; a process knows the highest generation that it has read."""

from __future__ import annotations

import json
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from models.cache import PERIODS, SentimentCacheEntry
from models.tally import TimelineHours, by_day
from models.timeline import HourRows
from services.figures.coverage import Fetches, Shares
from services.figures.edges import edges_of
from services.figures.entries import Generations, ToolEntries, entry_documents
from services.figures.tool_breadth import ToolBreadth
from services.figures.windows import Windows
from services.ports import Document
from services.store.sqlite import SqliteStore
from tests import documents

NOW = datetime(2026, 2, 21, 20, 17, 31, tzinfo=UTC)
MADE = NOW - timedelta(days=40)


def _entries(*given: Any) -> ToolEntries:
    documents = entry_documents(*given)
    return {period: SentimentCacheEntry.from_document(each) for period, each in documents.items()}


def test_entries_have_the_counts_of_their_windows_with_generation_and_recounts() -> None:
    hours = TimelineHours(by_day({"2026022110": [2, 1, 0, 900_000], "2026021510": [0, 0, 1, 0, 2]}))
    hours.put("2026022110", hours.numbers("2026022110"), ["embedded/2"])
    hours.put("2026021510", hours.numbers("2026021510"), ["embedded/1"])
    minutes = {"2026022120": {"17": [1, 0, 0, 500_000], "18": [1, 0, 0, 500_000]}}
    analyzers = {"2026022120": {"embedded/2": [17, 17], "embedded/3": [18, 18]}}
    windows = Windows.summed(edges_of(NOW), hours, minutes, analyzers, MADE, 9)
    fetches = Fetches()
    fetches.add({"day": "20260221", "feeds": {"reuters": [0b11 << 18, 0b10 << 18]}})
    entries = _entries("vscode", MADE, 3, windows, Shares(fetches, NOW), NOW)
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
    assert (day.coverage, day.backfilled, day.searched_since_ts) == (0.5, False, int(MADE.timestamp()))
    assert {entry.created_at for entry in entries.values()} == {NOW}


def _rows(*rows: tuple[int, str, str, str, int]) -> HourRows:
    """Of minute, story, publisher, source and polarity."""
    found: HourRows = {}
    for minute, story, publisher, source, polarity in rows:
        found.setdefault(publisher, {}).setdefault(source, []).append([minute, story, 1, polarity, polarity**2])
    return found


_LAST = "2026022120"
_BREADTHS = {
    "none": {},
    "one mention without a story": {_LAST: _rows((3, "", "afp.com", "afp", 4321))},
    "two stories": {_LAST: _rows((3, "a", "afp.com", "afp", 4321), (4, "b", "dpa.com", "dpa", -200))},
    "crowded": {_LAST: None},
}


@pytest.mark.parametrize("rows", _BREADTHS.values(), ids=_BREADTHS)
@pytest.mark.parametrize("fetches", [{}, {"reuters": [0b11 << 18, 0b10 << 18]}], ids=["coverage unknown", "coverage"])
@pytest.mark.parametrize("unscored", [0, 20])
def test_entries_are_stored_as_their_model_stores_them(
    rows: dict[str, HourRows | None], fetches: dict[str, list[int]], unscored: int
) -> None:
    number = sum(len(each) for by_source in (rows[_LAST] or {}).values() for each in by_source.values()) if rows else 0
    minutes = {_LAST: {"03": [number, 0, 0, 4321 * number, unscored]}} if number or unscored else {}
    analyzers = {_LAST: {"embedded/2": [3, 3]}} if minutes else {}
    edges = edges_of(NOW)
    breadth = ToolBreadth.of_all("vscode", edges, rows, ()).carried_on()
    windows = Windows.summed(edges, TimelineHours({}), minutes, analyzers, MADE, 9, breadth)
    covered = Fetches()
    covered.add({"day": "20260221", "feeds": fetches})
    stored = entry_documents("vscode", MADE, 3, windows, Shares(covered, NOW), NOW)
    for each in stored.values():
        modelled = SentimentCacheEntry.from_document(each).to_document()
        assert json.dumps(modelled, sort_keys=True) == json.dumps(each, sort_keys=True)


def test_the_coverage_of_an_entry_begins_when_articles_are_searched_for_its_tool() -> None:
    fetches = Fetches()
    fetches.add({"day": "20260221", "feeds": {"reuters": [0b1111 << 17, 0b1001 << 17]}})
    shares, made = Shares(fetches, NOW), NOW - timedelta(minutes=3)
    windows = Windows.summed(edges_of(NOW), TimelineHours({}), {}, {}, made, 0)
    day = _entries("vscode", made, 0, windows, shares, NOW)["HOUR_24"]
    assert (day.coverage, day.backfilled, day.searched_since_ts) == (1.0, False, int(made.timestamp()))
    since = NOW - timedelta(hours=2)
    windows = Windows.summed(edges_of(NOW), TimelineHours({}), {}, {}, made, 0, None, since)
    day = _entries("vscode", made, 0, windows, shares, NOW)["HOUR_24"]
    assert (day.coverage, day.backfilled, day.searched_since_ts) == (0.3333, True, int(since.timestamp()))


def test_a_process_knows_the_highest_generation_that_it_has_read(store: SqliteStore) -> None:
    generations = Generations(store, lambda: NOW)

    def stored(generation: int) -> Document:
        return documents.cache_generation(generation=generation).to_document()

    tool_id = documents.TOOL_ID
    assert generations.known(tool_id) == 0
    assert [generations.learn(tool_id, each) for each in (None, stored(3), stored(2))] == [0, 3, 2]
    assert (generations.known(tool_id), generations.known("another")) == (3, 0)
