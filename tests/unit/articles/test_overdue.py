"""Which batches are sent again, and how often."""

from __future__ import annotations

from datetime import timedelta

import pytest

from services.articles.overdue import OverdueIngestion
from services.feeds.claims import IngestMessage
from services.store.sqlite import SqliteStore
from services.work.runs import RunEngine
from tests.builders import Watch
from tests.documents import NOW, attempt

SECOND, MINUTE, HOUR = timedelta(seconds=1), timedelta(minutes=1), timedelta(hours=1)


@pytest.fixture
def engine(store: SqliteStore, watch: Watch) -> RunEngine:
    return RunEngine(store, watch, lambda: "run1")


@pytest.fixture
def overdue(engine: RunEngine) -> OverdueIngestion:
    return OverdueIngestion(engine)


async def test_a_released_batch_is_sent_again_unless_messages_wait(
    overdue: OverdueIngestion, engine: RunEngine
) -> None:
    await engine.accept("ingest_feeds", "a", {"held": "BATCH:x"})
    later = NOW + timedelta(minutes=6)
    assert await overdue.runs(later, NOW - SECOND) == []
    assert await overdue.runs(later, NOW + MINUTE) == [IngestMessage("run1", quarantine_id="BATCH:x")]


async def test_a_run_without_an_end_is_closed_after_a_quarter_of_an_hour(
    overdue: OverdueIngestion, engine: RunEngine, watch: Watch
) -> None:
    await engine.accept("ingest_feeds", None, {"feeds": ["a"]})
    ends = []
    for minutes in (14, 15):
        watch.now = NOW + timedelta(minutes=minutes)
        assert await overdue.runs(watch.now) == []
        run = await engine.find("run1")
        assert run is not None
        ends.append((run.status, run.errors))
    assert ends == [("QUEUED", ()), ("FAILED", ("its message was lost or given up; its feeds are claimed anew",))]


async def test_feeds_of_a_run_without_a_record_of_them_have_an_attempt_whose_worker_died(
    overdue: OverdueIngestion, engine: RunEngine, watch: Watch
) -> None:
    begun = await engine.begin("run1", feeds=("a", "b"))
    recorded = attempt(run_id="run1", subject="a", task_name="fetch_feed", status="SUCCEEDED", articles_new=1)
    await engine.record(begun, [recorded])
    watch.now = NOW + timedelta(minutes=16)
    await overdue.runs(watch.now)
    run, attempts = await engine.find("run1"), await engine.attempts("run1")
    assert run is not None
    assert run.status == "PARTIAL"
    assert {each.subject: (each.status, each.error_type) for each in attempts} == {
        "a": ("SUCCEEDED", None),
        "b": ("FAILED", "worker_died"),
    }
