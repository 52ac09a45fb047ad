"""Which entries lack, what `GET cache/health` reports, and that it reads no entry that is well."""

from __future__ import annotations

import contextlib
import sqlite3
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any

import pytest

from models.cache import PERIODS, SentimentCacheEntry
from models.resources.health import LackingEntry
from models.tool import Tool
from services.figures.metadata import Counters
from services.mentions.due import ANALYSIS_STAGE, DirtyTools
from services.operations import cache_health
from services.operations.cache_health import (
    MAX_LISTED,
    MAX_PAGES_SEARCHED,
    TOOLS_AT_ONCE,
    CacheHealth,
    lacks_of,
)
from services.operations.health import CacheFacts, judge_cache
from services.ports import Document, Query
from services.store import sqlite_sql
from services.store.containers import CATALOG, SENTIMENT_CACHE
from services.store.plans import plan
from services.store.sqlite import SqliteStore
from services.tools.catalog import Catalog
from services.work.backlog import BacklogReader
from tests.builders import Watch
from tests.documents import NOW, TOOL_ID, cache_entry, cache_generation, cache_metadata, last_refresh, tool
from tests.functional.articles.counting import CountingStore
from tests.functional.figures.world import a_tool

TOOL = tool(tool_id=TOOL_ID)


def entries_of(tool_id: str = TOOL_ID, **changes: Any) -> list[SentimentCacheEntry]:
    return [
        cache_entry(
            **{
                "tool_id": tool_id,
                "period": period,
                "period_start_ts": int((NOW - span).timestamp()),
                "period_end_ts": int(NOW.timestamp()),
                **changes,
            }
        )
        for period, span in PERIODS.items()
    ]


def documents_of(**changes: Any) -> list[Document | None]:
    return [entry.to_document() for entry in entries_of(**changes)]


def test_entries_of_the_tools_generation_are_there() -> None:
    assert lacks_of(TOOL, documents_of(), None) == []
    assert lacks_of(TOOL, documents_of(generation=2), cache_generation(generation=2).to_document()) == []


def test_entries_that_are_absent_unreadable_or_of_another_generation_are_missing() -> None:
    raised = cache_generation(generation=2).to_document()
    unreadable: list[Document | None] = [{**(each or {}), "total_mentions": 99} for each in documents_of()]
    absent: list[Document | None] = [None] * 4
    for documents, generation in (
        (absent, None),
        (unreadable, None),
        (documents_of(generation=1), raised),
        (documents_of(generation=1), None),
    ):
        lacks = lacks_of(TOOL, documents, generation)
        assert [(lack.period, lack.state) for lack in lacks] == [(period, "missing") for period in PERIODS]
    assert lacks[0] == LackingEntry(tool_id=TOOL_ID, tool=TOOL.primary_name, period="HOUR_1", state="missing")


@pytest.mark.parametrize(
    ("last", "stale", "status", "detail"),
    [
        (None, 0, "healthy", "refreshed in time"),
        (None, 3, "degraded", "3 entries are stale"),
        (last_refresh(), 3, "degraded", "the last refresh was PARTIAL"),
    ],
)
def test_the_cache_is_degraded_by_stale_entries_too(last: Any, stale: int, status: str, detail: str) -> None:
    check = judge_cache(CacheFacts(cache_metadata(), last, DirtyTools(0, None)), NOW, NOW, stale)
    assert check.status == status
    assert detail in check.detail


def test_the_bounds_are_those_of_the_documentation() -> None:
    assert (MAX_LISTED, TOOLS_AT_ONCE, MAX_PAGES_SEARCHED) == (100, 100, 10)


async def report_of(store: SqliteStore | CountingStore, now: datetime = NOW) -> dict[str, Any]:
    watch = Watch()
    watch.now = now
    catalog = Catalog(store, watch, lambda: TOOL_ID)
    health = CacheHealth(store, catalog, Counters(store, watch), BacklogReader(store, ANALYSIS_STAGE), watch, NOW)
    return await health.report()


async def with_tools(store: SqliteStore, number: int) -> list[Tool]:
    tools = [a_tool(n, NOW - timedelta(days=40, seconds=-n)) for n in range(number)]
    await store.write_many(CATALOG.name, [each.to_document() for each in tools])
    written = [entry.to_document() for each in tools for entry in entries_of(each.tool_id)]
    await store.write_many(SENTIMENT_CACHE.name, written)
    return tools


async def test_stale_and_missing_entries_are_counted_and_listed(store: SqliteStore) -> None:
    tools = await with_tools(store, 3)
    well = await report_of(store)
    assert (well["total_entries"], well["stale_count"], well["missing_count"], well["lacking"]) == (12, 0, 0, [])
    stale = entries_of(tools[0].tool_id, last_updated_ts=int(NOW.timestamp()) - 1801)[0]
    await store.upsert(SENTIMENT_CACHE.name, stale.to_document())
    await store.delete(SENTIMENT_CACHE.name, tools[1].tool_id, f"{tools[1].tool_id}:DAY_7")
    ill = await report_of(store)
    assert (ill["total_entries"], ill["stale_count"], ill["missing_count"]) == (11, 1, 1)
    assert [(each["tool_id"], each["period"], each["state"]) for each in ill["lacking"]] == [
        (tools[0].tool_id, "HOUR_1", "stale"),
        (tools[1].tool_id, "DAY_7", "missing"),
    ]
    assert (ill["status"], ill["detail"]) == ("degraded", "1 entries are stale")


async def test_at_most_a_hundred_entries_are_listed(store: SqliteStore) -> None:
    await with_tools(store, 40)
    report = await report_of(store, NOW + timedelta(minutes=31))
    assert (report["stale_count"], len(report["lacking"])) == (160, 100)


async def test_the_number_of_reads_does_not_depend_on_the_number_of_entries(store: SqliteStore) -> None:
    operations = []
    for number in (2, 40):
        await with_tools(store, number)
        counting = CountingStore(store)
        await report_of(counting)
        operations.append(counting.operations)
    assert operations[0] == operations[1]


async def test_why_tools_were_not_refreshed_is_shown(store: SqliteStore) -> None:
    await store.upsert(SENTIMENT_CACHE.name, cache_metadata().to_document())
    await store.upsert(SENTIMENT_CACHE.name, last_refresh(errors=("1 of 2 batches did not end in time",)).to_document())
    report = await report_of(store)
    assert (report["status"], report["failed_tools"], report["failed_tools_count"]) == (
        "degraded", {TOOL_ID: "ValueError"}, 1,
    )  # fmt: skip
    assert (report["last_run_id"], report["last_run_status"]) == ("run-1", "PARTIAL")
    assert report["last_run_ended_ts"] == report["last_refresh_ts"] == int(NOW.timestamp())
    assert report["last_run_errors"] == ["1 of 2 batches did not end in time"]
    assert [report[name] for name in ("pending_articles", "failed_articles", "complete")] == [0, 0, True]


async def test_the_embedded_store_counts_tools_by_an_index(store: SqliteStore, tmp_path: Path) -> None:
    await store.ensure_containers()
    statement, values = sqlite_sql.count(plan(CATALOG, Query(cache_health._ACTIVE_TOOLS)), 0)
    with contextlib.closing(sqlite3.connect(tmp_path / "toolpulse.db")) as connection:
        (step,) = connection.execute(f"EXPLAIN QUERY PLAN {statement}", dict(values)).fetchall()
    assert step[3].startswith("SEARCH catalog USING INDEX"), step
