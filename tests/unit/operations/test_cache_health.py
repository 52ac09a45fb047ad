"""Which entries are stale or missing, and what makes the cache degraded."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from models.cache import PERIODS, CacheMetadata, entry_id, generation_id
from services.operations.health import Lack, judge_entries, lacks_of
from services.ports import Document
from tests.documents import TOOL_ID, cache_entry, cache_generation, cache_metadata, tool

NOW = datetime(2026, 2, 21, 20, 0, tzinfo=UTC)
TOOL = tool(tool_id=TOOL_ID)


def _entries(**changes: Any) -> dict[str, Document]:
    entries = {}
    for period, span in PERIODS.items():
        fields = {"period": period, "period_start_ts": int((NOW - span).timestamp()), **changes}
        entries[entry_id(TOOL_ID, period)] = cache_entry(**fields).to_document()
    return entries


def test_fresh_entries_of_the_tools_generation_lack_nothing() -> None:
    assert lacks_of([TOOL], _entries(), NOW) == []
    raised = {generation_id(TOOL_ID): cache_generation(generation=2).to_document()}
    assert lacks_of([TOOL], _entries(generation=2) | raised, NOW) == []


def test_entries_that_are_absent_unreadable_or_of_another_generation_are_missing() -> None:
    raised = {generation_id(TOOL_ID): cache_generation(generation=2).to_document()}
    unreadable = {key: {**entry, "total_mentions": 99} for key, entry in _entries().items()}
    for documents in ({}, unreadable, _entries(generation=1) | raised, _entries(generation=1)):
        lacks = lacks_of([TOOL], documents, NOW)
        assert [(lack["period"], lack["state"]) for lack in lacks] == [(period, "missing") for period in PERIODS]


def test_entries_older_than_half_an_hour_are_stale() -> None:
    assert lacks_of([TOOL], _entries(), NOW + timedelta(minutes=30)) == []
    lacks = lacks_of([TOOL], _entries(), NOW + timedelta(minutes=30, seconds=1))
    assert [lack["state"] for lack in lacks] == ["stale"] * 4
    assert lacks[0] == Lack(tool_id=TOOL_ID, tool=TOOL.primary_name, period="HOUR_1", state="stale")


@pytest.mark.parametrize(
    ("changes", "stale", "status", "detail"),
    [
        ({}, 0, "healthy", "refreshed in time"),
        ({}, 3, "degraded", "3 entries are stale"),
        ({"last_refresh_status": "PARTIAL", "last_refresh_run_id": "r"}, 3, "degraded", "see its run r"),
        ({"last_refresh_ts": 0}, 0, "degraded", "overdue"),
    ],
)
def test_the_cache_is_degraded_by_a_late_or_partial_refresh_or_stale_entries(
    changes: dict[str, Any], stale: int, status: str, detail: str
) -> None:
    metadata: CacheMetadata = cache_metadata(**changes)
    check = judge_entries(metadata, stale, NOW - timedelta(days=1), NOW)
    assert check.status == status
    assert detail in check.detail


def test_missing_entries_and_a_first_refresh_to_come_are_healthy() -> None:
    assert judge_entries(None, 0, NOW, NOW).status == "healthy"
