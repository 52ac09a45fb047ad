"""What is recorded of a refresh that ended."""

from __future__ import annotations

from collections.abc import AsyncIterator
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from models.cache import CacheMetadata, LastRefresh, is_mostly_unscored
from models.operations import CacheTotals
from models.run import Attempt, JobRun
from models.states import RunStatus
from models.values import unix_milliseconds
from services.figures.metadata import Counters, by_sentiment, last_refreshes, refresh_ended
from services.store.containers import CATALOG
from services.store.sqlite import SqliteStore
from tests import documents
from tests.builders import existing

NOW = datetime(2026, 2, 21, 20, 17, 31, tzinfo=UTC)


def batch(number: int, ended: datetime = NOW, **changes: Any) -> Attempt:
    fields = {"task_name": "refresh_tools", "subject": f"batch:{number:04}", "status": "SUCCEEDED"}
    return documents.attempt(**fields, ended_ms=unix_milliseconds(ended), error_type=None, **changes)


def run(status: RunStatus = "SUCCEEDED", run_id: str = "run-1", ended: datetime = NOW, **changes: Any) -> JobRun:
    """One that has ended."""
    times = {"began_ms": unix_milliseconds(NOW), "ended_ms": unix_milliseconds(ended), "ended_at": ended}
    return documents.run(run_id=run_id, status=status, **times, **changes)


@pytest.fixture
async def counters(store: SqliteStore) -> AsyncIterator[Counters]:
    counters = Counters(store, lambda: NOW)
    yield counters
    await counters.writer.close()


async def metadata_in(store: SqliteStore) -> CacheMetadata:
    found, _ = await last_refreshes(store)
    assert found is not None
    return found


async def last_in(store: SqliteStore) -> LastRefresh:
    _, last = await last_refreshes(store)
    assert last is not None
    return last


async def test_the_reasons_of_all_batches_are_listed_a_hundred_at_most_and_short(
    store: SqliteStore, counters: Counters
) -> None:
    batches = [
        batch(number, errors=tuple(f"tool-{number}-{each:02}: ValueError: {'x' * 300}" for each in range(30)))
        for number in range(4)
    ]
    await refresh_ended(store, counters, run("PARTIAL", errors=("why " * 100,) * 50), batches)
    last = await last_in(store)
    assert (last.run_id, last.status, last.ended_at) == ("run-1", "PARTIAL", NOW)
    assert (len(last.failed_tools), last.failed_tools_count) == (100, 120)
    assert min(last.failed_tools) == "tool-0-00"
    assert {len(why) for why in last.failed_tools.values()} == {200}
    assert (len(last.errors), {len(error) for error in last.errors}) == (50, {200})


@pytest.mark.parametrize(
    ("scored", "unscored", "mostly"), [(9, 10, True), (10, 10, False), (0, 9, False), (0, 10, True), (100, 0, False)]
)
def test_a_tool_is_mostly_unscored_with_more_unscored_than_scored_mentions_and_ten_of_them(
    scored: int, unscored: int, mostly: bool
) -> None:
    assert is_mostly_unscored(scored, unscored) == mostly


async def test_the_mentions_of_all_batches_are_added_and_their_unscored_tools_listed(
    store: SqliteStore, counters: Counters
) -> None:
    week = documents.cache_entry(unscored_mentions=4).to_document()
    counted = {name: week[f"{name}_count"] for name in ("positive", "negative", "neutral")}
    assert by_sentiment([week]) == {**counted, "unscored": 4}
    assert by_sentiment([]) == dict.fromkeys(("positive", "negative", "neutral", "unscored"), 0)
    names = [tuple(f"tool-{number}-{each:02}" for each in range(60)) for number in range(2)]
    batches = [batch(number, counts=by_sentiment([week]), unscored_tools=names[number]) for number in range(2)]
    await refresh_ended(store, counters, run(), [*batches, batch(2)])
    found = await metadata_in(store)
    assert found.mentions_7d == by_sentiment([week, week])
    assert (len(found.mostly_unscored_tools), found.mostly_unscored_count) == (100, 120)
    assert found.mostly_unscored_tools == tuple(sorted((*names[0], *names[1])))[:100]


async def test_the_duration_is_from_the_start_of_the_refresh_to_the_end_of_its_last_batch(
    store: SqliteStore, counters: Counters
) -> None:
    batches = [batch(1, NOW + timedelta(seconds=2)), batch(2, NOW + timedelta(seconds=1))]
    await refresh_ended(store, counters, run(ended=NOW + timedelta(minutes=15)), batches)
    found = await metadata_in(store)
    assert (found.last_refresh_duration_ms, found.last_refresh_at) == (2000, NOW + timedelta(seconds=2))


@pytest.mark.parametrize(
    ("milliseconds", "buckets"),
    [
        (0.5, [1, 1, 1, 1]),
        (1, [1, 1, 1, 1]),
        (1.1, [0, 1, 1, 1]),
        (25, [0, 0, 1, 1]),
        (100, [0, 0, 0, 1]),
        (101, [0] * 4),
    ],
)
async def test_a_read_counts_in_the_buckets_of_all_bounds_that_it_does_not_exceed(
    store: SqliteStore, milliseconds: float, buckets: list[int]
) -> None:
    counters = Counters(store, lambda: NOW)
    counters.read("HIT", milliseconds / 1000)
    await counters.writer.close()
    totals = await existing(store, CATALOG.name, CacheTotals.PARTITION, CacheTotals.ID)
    assert [totals.get(f"within_{bound}_ms", 0) for bound in (1, 5, 25, 100)] == buckets
    assert totals["read_microseconds"] == int(milliseconds * 1000)
