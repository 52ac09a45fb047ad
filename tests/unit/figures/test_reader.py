"""The aggregates that a process keeps in memory, and how an entry is shown."""

from __future__ import annotations

import json
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from services.figures.reader import MAX_KEPT, Aggregate, Completeness, Recent
from tests.documents import TOOL_ID, cache_entry

NOW = datetime(2026, 2, 21, 20, 0, tzinfo=UTC)
COMPLETE = Completeness(0, 0, True)


def _aggregate(generation: int = 0, **changes: Any) -> Aggregate:
    return Aggregate(cache_entry(generation=generation, **changes), "VS Code", "embedded/1", COMPLETE, NOW)


def test_what_was_read_is_kept_for_its_seconds_from_the_read_of_the_store() -> None:
    recent = Recent(2.0)
    recent.put("code", "found", NOW, None)
    assert recent.get("code", NOW + timedelta(seconds=1.9), 0) == "found"
    assert recent.get("vs code", NOW, 0) is None
    assert recent.get("code", NOW - timedelta(seconds=1), 0) is None, "the clock was set back"
    recent.put("code", "found", NOW, None)
    assert recent.get("code", NOW + timedelta(seconds=2), 0) is None
    assert recent.get("code", NOW, 0) is None, "what was too old is gone"


def test_what_a_write_may_change_is_kept_until_the_next_write_only() -> None:
    recent = Recent(2.0)
    recent.put("complete", "found", NOW, 1)
    recent.put("incomplete", "found", NOW, None)
    assert recent.get("complete", NOW, 1) == "found"
    assert recent.get("complete", NOW, 2) is None
    assert recent.get("incomplete", NOW, 2) == "found"
    recent.put("complete", "found", NOW, 1)
    assert recent.get("complete", NOW, 2) is None, "it was read before the write"


def test_with_zero_seconds_nothing_is_kept() -> None:
    recent = Recent(0.0)
    recent.put("code", "found", NOW, None)
    assert recent.kept == {}


def test_nothing_is_kept_beyond_its_end() -> None:
    recent, end = Recent(3600.0), NOW + timedelta(minutes=30)
    recent.put("code", "found", NOW, None, end)
    assert recent.get("code", end - timedelta(seconds=1), 0) == "found"
    assert recent.get("code", end, 0) is None


def test_the_oldest_is_dropped_when_there_are_too_many() -> None:
    assert MAX_KEPT == 20_000
    recent = Recent(2.0)
    for number in range(MAX_KEPT + 1):
        recent.put(number, "found", NOW, None)
    assert [number for number in (0, 1, MAX_KEPT) if recent.get(number, NOW, 0) is not None] == [1, MAX_KEPT]


def test_an_entry_is_shown_with_its_id_its_tools_name_and_whether_it_is_stale() -> None:
    aggregate = _aggregate(coverage=0.25)
    shown = aggregate.resource.shown()
    assert (shown["id"], shown["tool"], shown["is_stale"]) == (f"{TOOL_ID}:HOUR_24", "VS Code", False)
    assert (shown["coverage"], "generation" in shown) == (0.25, False)
    full = aggregate.in_view("full", NOW + timedelta(seconds=1801)).resource.shown()
    assert (full["generation"], full["recounts"], full["is_stale"]) == (0, 0, True)


@pytest.mark.parametrize(
    ("analyzers", "offered"),
    [((), False), (("embedded/1",), False), (("embedded/2",), True), (("embedded/1", "embedded/2"), True)],
)
def test_a_reanalysis_is_offered_if_another_analyzer_judged_a_counted_mention(
    analyzers: tuple[str, ...], offered: bool
) -> None:
    shown = _aggregate(analyzers=analyzers).resource.shown()
    assert (shown["analyzers"], shown["reanalysis_offered"]) == (list(analyzers), offered)


def test_the_etag_is_of_the_body() -> None:
    one, same, other = _aggregate(), _aggregate(), _aggregate(period="DAY_7")
    assert json.loads(one.body) == one.resource.shown()
    assert b'","' in one.body, "no spaces"
    assert one.etag == same.etag != other.etag
    assert (one.etag[0], one.etag[-1], len(one.etag)) == ('"', '"', 26)


def test_an_aggregate_in_memory_is_complete_only_if_it_was_so_when_it_was_read() -> None:
    complete = _aggregate()
    assert complete.with_completeness(COMPLETE, NOW) is complete
    pending = complete.with_completeness(Completeness(3, 1, False), NOW)
    shown = json.loads(pending.body)
    assert (shown["pending_articles"], shown["failed_articles"], shown["complete"]) == (3, 1, False)
    assert pending.etag != complete.etag, "a client that revalidates its copy learns of it"
    analysed = pending.with_completeness(COMPLETE, NOW)
    assert json.loads(analysed.body)["pending_articles"] == 0
    assert json.loads(analysed.body)["complete"] is False, "these figures were read before the articles were analysed"
