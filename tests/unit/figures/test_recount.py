"""The hours and tools that a recount counts together."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import Any

from models.timeline import WindowTables
from models.values import CLOCKS_DIFFER
from services.figures.recount import are_right, spans
from services.ports import Document

NOW = datetime(2026, 2, 21, 22, 30, tzinfo=UTC)


def test_consecutive_hours_are_counted_together() -> None:
    found = spans(["2026022122", "2026022123", "2026022200", "2026022202"])
    assert [(start.hour, (end - start) / timedelta(hours=1)) for start, end in found] == [(22, 3), (2, 1)]
    assert spans([]) == []


def _windows(stored_at: datetime, **others: Any) -> Document:
    tables = WindowTables(tool_id="t", created_at=NOW, updated_at=stored_at, hour="2026022122", recounts=1)
    return {**tables.to_document(), **others}


def test_counts_are_not_right_that_a_clock_ahead_stored() -> None:
    assert are_right(_windows(NOW - timedelta(days=400)), NOW)
    assert are_right(_windows(NOW + CLOCKS_DIFFER), NOW)
    assert not are_right(_windows(NOW + CLOCKS_DIFFER + timedelta(seconds=1)), NOW)


def test_unfinished_counts_are_not_right() -> None:
    assert not are_right(_windows(NOW, unfinished=True), NOW)
