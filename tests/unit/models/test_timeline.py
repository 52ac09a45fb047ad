"""The documents of a tool's counts."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from uuid import NAMESPACE_URL, uuid5

import pytest
from pydantic import TypeAdapter

from models.tally import CheckedTally
from models.timeline import DirtyHour, Timeline, WindowTables
from models.values import format_time

NOW = datetime(2026, 2, 21, 20, 17, 31, tzinfo=UTC)


def test_a_timeline_has_a_stable_product_id_and_begins_without_recounts() -> None:
    timeline = Timeline(created_at=NOW, tool_id="vscode")
    assert timeline.ingestion_count == 0
    assert timeline.to_document()["data_product_id"] == str(uuid5(NAMESPACE_URL, "toolpulse:timeline:vscode"))


def test_dirty_hours_and_windows_are_kept_for_32_days() -> None:
    dirty = DirtyHour.of("vscode", NOW - timedelta(hours=3), NOW)
    windows = WindowTables(created_at=NOW, tool_id="vscode", hour="2026022120")
    until = int((NOW + timedelta(days=32)).timestamp())
    assert [each.ttl_timestamp for each in (dirty, windows)] == [until] * 2
    assert (dirty.id, dirty.hour, dirty.to_document()["marked_at"]) == (
        "DIRTY:2026022117",
        "2026022117",
        format_time(NOW),
    )
    assert (windows.id, windows.recounts, windows.made_at) == ("WINDOWS", 0, None)


def test_the_polarity_of_a_tally_is_an_integer_within_one_per_mention() -> None:
    for wrong in ((1, 0, 0, "5"), (1, 0, 0, 1_000_001), (0, 0, 0, 1)):
        with pytest.raises(ValueError, match=r"polarit|integer"):
            TypeAdapter(CheckedTally).validate_python(wrong)
