"""The stored tables of counts: a timeline's hours by day, and an hour's minutes."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import Any, cast

import pytest
from hypothesis import given
from hypothesis import strategies as st

from models.timeline import HourDocument, HourTable, Tally, Timeline, TimelineDocument, by_day, by_hour
from models.values import hour_key
from services.figures.tables import (
    KEPT,
    ZEROS,
    TimelineHours,
    hour_document,
    hours_of,
    minutes_of,
    recounts_of,
    timeline_document,
    total,
)
from tests import documents

NOW = datetime(2026, 2, 21, 20, 17, 31, tzinfo=UTC)
HOURS = st.builds(lambda back: hour_key(NOW - timedelta(hours=back)), st.integers(0, 24 * 33))
NUMBERS = st.tuples(*[st.integers(0, 3)] * 3, st.integers(-(10**6), 10**6)).map(list).filter(any)


def test_counts_are_kept_for_the_longest_window_the_hour_it_begins_in_and_a_day_to_spare() -> None:
    assert timedelta(days=32) == KEPT


def test_numbers_are_added_column_by_column() -> None:
    assert total([[1, 2, 3, -400], [10, 20, 30, 5000]]) == Tally(11, 22, 33, 4600)
    assert total([]) == Tally() == Tally(*ZEROS)


@given(st.dictionaries(HOURS, NUMBERS), st.dictionaries(HOURS, NUMBERS | st.just([0, 0, 0, 0])), HOURS, HOURS)
def test_the_hours_of_a_timeline_are_a_table_by_hour_that_is_stored_by_day(
    before: dict[str, list[int]], put: dict[str, list[int]], one: str, other: str
) -> None:
    hours, after = TimelineHours(by_day(before)), before | put
    for hour, numbers in put.items():
        hours.put(hour, numbers)
    assert [hours.numbers(hour) for hour in after] == list(after.values())
    since, until = sorted((one, other))
    between = [numbers for hour, numbers in after.items() if since < hour < until]
    assert hours.total(since, until) == [sum(column) for column in zip([0, 0, 0, 0], *between, strict=True)]
    with_mentions = {hour: numbers for hour, numbers in after.items() if any(numbers) and hour[:8] >= since[:8]}
    assert by_hour(hours.stored(since)) == with_mentions
    assert hours.stored(since) == by_day(with_mentions)


@pytest.mark.parametrize("stored", ["1", "", "1,2", ",".join("0" * 95), '"a"', "[1]"])
def test_a_text_that_is_no_day_is_refused(stored: str) -> None:
    with pytest.raises(ValueError, match=r"24 times four|trailing|value"):
        TimelineHours({"20260221": stored}).numbers("2026022103")


def test_a_timeline_is_read_by_day_or_as_it_was_once_stored_by_hour() -> None:
    hours = {"2026022119": [1, 0, 0, 5], "2026022120": [0, 2, 0, -7]}
    for stored in (by_day(hours), hours):
        document = cast("TimelineDocument", {"id": "TIMELINE", "entity_type": "DataProduct", "hours": stored})
        assert hours_of(document) == hours
        assert TimelineHours.of(document).stored("2026022100") == by_day(hours)
    assert hours_of(None) == {}
    assert TimelineHours.of(None).stored("2026022100") == {}


@pytest.mark.parametrize("wrong", [{"hours": "none"}, {"hours": None}, {"entity_type": "Tool"}])
def test_a_document_that_is_no_timeline_is_refused(wrong: dict[str, Any]) -> None:
    document = cast("TimelineDocument", documents.timeline().to_document() | wrong)
    for read in (hours_of, TimelineHours.of):
        with pytest.raises(ValueError, match="'TIMELINE' is no Timeline"):
            read(document)


def test_the_minutes_of_an_hour_are_read_as_they_were_stored() -> None:
    minutes = {"07": [1, 0, 0, 500_000], "59": [0, 1, 0, -3]}
    stored = hour_document("vscode", "2026022119", minutes, NOW)
    assert minutes_of(stored) == minutes
    assert minutes_of(None) == {}
    table = HourTable.from_document(stored)
    assert (table.id, table.tool_id, table.created_at) == ("HOUR:2026022119", "vscode", NOW)
    assert table.minutes == {"07": Tally(1, 0, 0, 500_000), "59": Tally(0, 1, 0, -3)}


@pytest.mark.parametrize("wrong", [{"minutes": []}, {"minutes": None}, {"entity_type": "DirtyHour"}])
def test_a_document_that_is_no_hour_table_is_refused(wrong: dict[str, Any]) -> None:
    document = cast("HourDocument", documents.hour_table().to_document() | wrong)
    with pytest.raises(ValueError, match="'HOUR:2026022120' is no HourTable"):
        minutes_of(document)


def test_a_recount_raises_the_count_of_the_timeline_and_names_the_latest_source() -> None:
    days = by_day({"2026022119": [1, 0, 0, 5]})
    first = timeline_document("vscode", None, days, {"source": "reuters"}, NOW)
    assert (first["hours"], first["ingestion_count"], first["created_at"]) == (days, 1, "2026-02-21T20:17:31Z")
    assert first["last_ingestion_source"] == "reuters"
    later = NOW + timedelta(minutes=15)
    second = timeline_document("vscode", first, {}, None, later)
    assert (second["hours"], second["ingestion_count"], second["created_at"]) == ({}, 2, first["created_at"])
    assert (second["last_ingestion_source"], second["last_ingestion_at"]) == ("reuters", "2026-02-21T20:32:31Z")
    assert second["updated_at"] == second["last_ingestion_at"]
    assert [recounts_of(each) for each in (None, first, second)] == [0, 1, 2]
    assert Timeline.from_document(second).ingestion_count == 2


def test_a_timeline_keeps_the_fields_of_a_later_version() -> None:
    before = cast("TimelineDocument", documents.timeline().to_document() | {"schema_version": "2", "later": 7})
    after = timeline_document("vscode", before, {}, {"source": None}, NOW)
    assert cast("dict[str, Any]", after)["later"] == 7
