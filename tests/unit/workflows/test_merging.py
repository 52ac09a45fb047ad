"""What the target of a merge gets: the source's names."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

import pytest

from models.tool import DETECTION_LISTS, NameRule
from tests.documents import NOW, tool

SLACK = "877eb2d8-661b-4643-ae62-cfc49e74c31e"
TEAMS = "0b0f8c8e-24d8-4c0e-8c0b-5f8d6c1f4a11"
OF_SOURCE, OF_TARGET = f"dedup:{1:032x}", f"dedup:{2:032x}"
LATER = NOW + timedelta(hours=1)


def test_the_target_gets_the_names_that_it_does_not_have_with_their_rules_and_the_lists_of_both() -> None:
    exact = NameRule(case_sensitive=True)
    lists = dict.fromkeys(DETECTION_LISTS, ("A", "B"))
    target = tool(tool_id=SLACK, primary_name="Slack", name_rules={}, aliases=("Slack HQ",), **lists)
    rules = {"Teams": exact, "SLACK hq": exact}
    theirs = dict.fromkeys(DETECTION_LISTS, ("B", "C"))
    source = tool(tool_id=TEAMS, primary_name="Teams", aliases=("SLACK hq", "MS Teams"), name_rules=rules, **theirs)
    merged = target.with_names_of(source, LATER)
    assert (merged.aliases, merged.name_rules) == (("Slack HQ", "Teams", "MS Teams"), {"Teams": exact})
    assert {field: getattr(merged, field) for field in DETECTION_LISTS} == dict.fromkeys(
        DETECTION_LISTS, ("A", "B", "C")
    )


@pytest.mark.parametrize(
    ("known", "found", "reference"),
    [(None, "2026-01-02", OF_SOURCE), ("2026-01-03", "2026-01-02", OF_SOURCE), ("2026-01-02", None, OF_TARGET)],
)
def test_the_earlier_first_article_stays(known: str | None, found: str | None, reference: str) -> None:
    plain: dict[str, Any] = {"aliases": (), "name_rules": {}}
    target = tool(tool_id=SLACK, primary_name="Slack", discovery_date=known, discovery_reference=OF_TARGET, **plain)
    source = tool(tool_id=TEAMS, primary_name="Teams", discovery_date=found, discovery_reference=OF_SOURCE, **plain)
    merged = target.with_names_of(source, LATER)
    assert merged.discovery_reference == reference
    assert merged.discovery_date == (found if reference == OF_SOURCE else known)
