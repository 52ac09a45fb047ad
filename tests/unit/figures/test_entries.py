"""The figures and the coverage of an entry; a process knows the highest generation that it has read."""

from __future__ import annotations

import json
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from models.cache import PERIODS, SentimentCacheEntry
from services.figures.coverage import Fetches, Shares
from services.figures.entries import Generations, ToolEntries, entry_documents
from services.figures.windows import Windows, edges_of
from services.ports import Document
from services.store.sqlite import SqliteStore
from tests import documents
from tests.unit.figures.mentions import a_mention, counted

NOW = datetime(2026, 2, 21, 20, 17, 31, tzinfo=UTC)
MADE = NOW - timedelta(days=40)


def _entries(*given: Any) -> ToolEntries:
    documents = entry_documents(*given)
    return {period: SentimentCacheEntry.from_document(each) for period, each in documents.items()}


def _mention(at: str, polarity: float | None, version: str = "1", **changes: Any) -> Document:
    return a_mention(datetime.fromisoformat(f"{at}:00Z"), polarity, analyzer_version=version, **changes)


def _windows(*mentions: Document) -> Windows:
    return Windows.summed(edges_of(NOW), counted(*mentions).days(), MADE, 9)


def test_entries_have_the_counts_of_their_windows_with_generation_and_recounts() -> None:
    windows = _windows(
        *[_mention("2026-02-21T10:00", 0.5, "2")] * 2,
        _mention("2026-02-21T10:30", -0.1, "2"),
        _mention("2026-02-15T10:00", 0.0),
        *[_mention("2026-02-15T10:00", None)] * 2,
        _mention("2026-02-21T20:17", 0.5, "2"),
        _mention("2026-02-21T20:18", 0.5, "3"),
    )
    fetches = Fetches()
    fetches.add({"day": "20260221", "feeds": {"reuters": [0b11 << 18, 0b10 << 18, 0b11 << 18]}})
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


_MENTIONS = {
    "none": [],
    "one without a story": [("2026-02-21T20:03", 0.4321, None, "afp")],
    "two stories": [("2026-02-21T20:03", 0.4321, "a", "afp"), ("2026-02-21T20:04", -0.02, "b", "dpa")],
    "crowded": [("2026-02-21T20:03", 0.5, f"story {number}", "afp") for number in range(2501)],
}


@pytest.mark.parametrize("said", _MENTIONS.values(), ids=_MENTIONS)
@pytest.mark.parametrize(
    "fetches", [{}, {"reuters": [0b11 << 18, 0b10 << 18, 0b11 << 18]}], ids=["coverage unknown", "coverage"]
)
@pytest.mark.parametrize("unscored", [0, 20])
def test_entries_are_stored_as_their_model_stores_them(
    said: list[tuple[str, float, str | None, str]], fetches: dict[str, list[int]], unscored: int
) -> None:
    mentions = [_mention(at, polarity, event_id=event, source=source) for at, polarity, event, source in said]
    windows = _windows(*mentions, *[_mention("2026-02-21T20:05", None)] * unscored)
    covered = Fetches()
    covered.add({"day": "20260221", "feeds": fetches})
    stored = entry_documents("vscode", MADE, 3, windows, Shares(covered, NOW), NOW)
    assert ("stories" in stored["DAY_7"]) is (len(said) < 2501)
    for each in stored.values():
        modelled = SentimentCacheEntry.from_document(each).to_document()
        assert json.dumps(modelled, sort_keys=True) == json.dumps(each, sort_keys=True)


def test_the_coverage_of_an_entry_begins_when_articles_are_searched_for_its_tool() -> None:
    fetches = Fetches()
    fetches.add({"day": "20260221", "feeds": {"reuters": [0b1111 << 17, 0b1001 << 17, 0b1111 << 17]}})
    shares, made = Shares(fetches, NOW), NOW - timedelta(minutes=3)
    windows = Windows.summed(edges_of(NOW), {}, made, 0)
    day = _entries("vscode", made, 0, windows, shares, NOW)["HOUR_24"]
    assert (day.coverage, day.backfilled, day.searched_since_ts) == (1.0, False, int(made.timestamp()))
    since = NOW - timedelta(hours=2)
    windows = Windows.summed(edges_of(NOW), {}, made, 0, since)
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
