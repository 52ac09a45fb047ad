"""The hours and tools that a recount counts together."""

from __future__ import annotations

from datetime import timedelta

from services.figures.counts import ToolCounts
from services.figures.recount import portions, spans


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
