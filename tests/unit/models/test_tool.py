"""What a tool and its names must be, and under which keys they are stored."""

from __future__ import annotations

from typing import Any

import pytest

from tests.documents import TOOL_ID, tool

OTHER = "00000000-0000-4000-8000-000000000000"


@pytest.mark.parametrize(
    ("changes", "problem"),
    [
        ({"status": "MERGED"}, "merged_into must name another tool"),
        ({"merged_into": OTHER}, "merged_into must name another tool"),
        ({"status": "MERGED", "merged_into": TOOL_ID}, "merged_into must name another tool"),
        ({"merging_into": TOOL_ID}, "merging_into must name another tool"),
        ({"status": "MERGED", "merged_into": OTHER, "merging_into": OTHER}, "merging_into must name another tool"),
        ({"aliases": ("visual studio CODE",)}, "must each be another name"),
        ({"aliases": ()}, "name_rules must be for"),
    ],
)
def test_a_tool_with_impossible_fields_is_refused(changes: dict[str, Any], problem: str) -> None:
    with pytest.raises(ValueError, match=problem):
        tool(**changes)
