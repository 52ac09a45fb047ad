"""The hours and tools that a recount counts together."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import Any, cast

import pytest

from models.timeline import WindowsDocument, WindowTables
from models.values import CLOCKS_DIFFER
from services.figures.counts import ToolCounts
from services.figures.recount import are_right, portions, spans

NOW = datetime(2026, 2, 21, 22, 30, tzinfo=UTC)


def test_consecutive_hours_are_counted_together() -> None:
    found = spans(["2026022122", "2026022123", "2026022200", "2026022202"])
    assert [(start.hour, (end - start) / timedelta(hours=1)) for start, end in found] == [(22, 3), (2, 1)]
    assert spans([]) == []


def _of(hours: int) -> ToolCounts:
    return ToolCounts(f"tool with {hours} hours", [], None, ["2026022120"] * hours)


def test_at_most_500_hours_of_several_tools_are_counted_together() -> None:
    def sizes(*hours: int) -> list[list[int]]:
        return [[len(each.hours) for each in some] for some in portions([_of(number) for number in hours])]

    assert sizes(200, 300, 1) == [[200, 300], [1]]
    assert sizes(501, 0, 500) == [[501], [0, 500]]
    assert sizes(0, 0) == [[0, 0]]
    assert sizes() == []


def _windows(stored_at: datetime, **others: Any) -> WindowsDocument:
    tables = WindowTables(tool_id="t", created_at=NOW, updated_at=stored_at, hour="2026022122", recounts=1)
    return cast("WindowsDocument", {**tables.to_document(), "analyzers": {}, "breadth": {}, **others})


def test_counts_are_not_right_that_a_clock_ahead_stored() -> None:
    assert are_right(_windows(NOW - timedelta(days=400)), NOW)
    assert are_right(_windows(NOW + CLOCKS_DIFFER), NOW)
    assert not are_right(_windows(NOW + CLOCKS_DIFFER + timedelta(seconds=1)), NOW)


@pytest.mark.parametrize("lacks", ["analyzers", "breadth"])
def test_counts_of_an_earlier_version_are_not_right(lacks: str) -> None:
    windows = cast("dict[str, Any]", _windows(NOW))
    del windows[lacks]
    assert not are_right(cast("WindowsDocument", windows), NOW)


def test_unfinished_counts_are_not_right() -> None:
    assert not are_right(_windows(NOW, unfinished=True), NOW)
