"""Runs and attempts as they are written: by several workers, after a death, after the end; and as they are read."""

from __future__ import annotations

import asyncio
import itertools
from datetime import timedelta
from typing import Any

import pytest

from models.errors import NotFound
from models.resources.runs import RunResource
from models.run import Attempt, IngestionBatch, JobRun
from models.values import parse_time
from services.store.containers import RUNS
from services.store.sqlite import SqliteStore
from services.work.listing import history
from services.work.rules import ingestion_summary as summary
from services.work.rules import with_attempts
from services.work.runs import LEASE, RunEngine
from tests.builders import Watch
from tests.documents import NOW, attempt, ingestion_batch
from tests.failing_stores import hesitant
from tests.functional.articles.counting import CountingStore
from tests.unit.conftest import Put


@pytest.fixture
def engine(store: SqliteStore, watch: Watch) -> RunEngine:
    return new_engine(store, watch)


def new_engine(store: Any, watch: Watch) -> RunEngine:
    numbers = itertools.count(1)
    return RunEngine(store, watch, lambda: f"run-{next(numbers)}")


def fetched(feed: str, *, is_well: bool = True, number: int = 1, **fields: Any) -> Attempt:
    status = {"status": "SUCCEEDED"} if is_well else {"status": "FAILED", "error_type": "timeout"}
    return attempt(run_id="run-1", subject=feed, attempt_no=number, **status, **fields)


async def begun(engine: RunEngine, run_id: str = "run-1", workflow: str = "ingest_feeds") -> JobRun:
    await engine.add([JobRun.queued(workflow, run_id, NOW, "all")])
    found = await engine.begin(run_id)
    assert found is not None
    return found.run


async def test_a_run_is_leased_to_one_invocation_until_a_redelivery_or_the_end_of_the_lease(
    engine: RunEngine, store: SqliteStore, watch: Watch
) -> None:
    run = await engine.accept("ingest_feeds")
    assert run.due_at == watch.now
    first = await engine.begin(run.run_id, invocation_id="one")
    assert first is not None
    assert (first.run.status, first.run.invocation_id, first.run.invocations) == ("RUNNING", "one", 1)
    assert (first.run.due_at, first.has_died) == (parse_time(watch.now + LEASE), False)
    assert await engine.begin(run.run_id) is None
    again, redelivered = await engine.begin(run.run_id, 2), await new_engine(store, watch).begin(run.run_id, 3)
    assert again is not None
    assert redelivered is not None
    assert (again.run.invocations, again.has_died) == (2, False), "this worker lives"
    assert (redelivered.run.invocations, redelivered.has_died) == (3, True)
    watch.advance(seconds=LEASE.total_seconds())
    announced_again = await engine.begin(run.run_id)
    assert announced_again is not None
    await engine.close_with(announced_again.run, [fetched("a")], summary)
    assert await engine.begin(run.run_id, 5) is None
    assert await engine.begin("gone") is None


async def test_of_invocations_that_begin_a_run_at_once_one_has_it(store: SqliteStore, watch: Watch) -> None:
    for seed in range(10):
        engines = [new_engine(hesitant(store, seed * 3 + number), watch) for number in range(3)]
        await engines[0].add([JobRun.queued("ingest_feeds", f"run-{seed}", NOW)])
        done = await asyncio.gather(*(each.begin(f"run-{seed}") for each in engines))
        assert len([each for each in done if each is not None]) == 1


async def test_a_run_that_is_handed_back_waits_for_another_message_with_its_attempts(
    engine: RunEngine, watch: Watch
) -> None:
    run = await begun(engine)
    await engine.hand_back(run, [fetched("a")], watch.now)
    watch.advance(seconds=5)
    waits = await engine.get("run-1")
    assert (waits.status, waits.due_at, waits.invocations) == ("QUEUED", run.running_since, 1)
    await engine.close_with(run, [fetched("late")], summary)
    again = await engine.begin("run-1")
    assert again is not None
    assert (again.has_died, again.run.invocations, again.run.running_since) == (False, 2, run.running_since)
    await engine.close_with(again.run, [fetched("b", is_well=False)], summary)
    ended = await engine.get("run-1")
    assert (ended.status, ended.progress, ended.duration_ms) == ("PARTIAL", 3, 5000)


async def test_attempts_are_read_back_without_those_that_cannot_be_read(
    engine: RunEngine, store: SqliteStore, watch: Watch
) -> None:
    await engine.close_with(await begun(engine), [fetched(f"feed-{n:03}") for n in range(101)], summary)
    document = await store.read(RUNS.name, "run-1", JobRun.ID)
    assert document is not None
    document["attempts"][0]["status"] = "ODD"
    await store.upsert(RUNS.name, document)
    listed = await engine.listed_attempts(await engine.get("run-1"))
    assert (listed.unreadable, len(listed.items)) == (("feed-000",), 100)


def test_an_attempt_is_restored_from_its_run() -> None:
    each = fetched("a", articles_found=3, status_code=200, duration_ms=5, started_at=NOW)
    corrected = fetched("b", is_well=False, number=2).changed(NOW + timedelta(minutes=1), error_message="slow")
    counts = dict.fromkeys(
        ("articles_found", "articles_new", "articles_stored", "articles_held", "articles_skipped"), 0
    )
    each = each.changed(NOW, **{**counts, "articles_found": 3, "collisions_detected": 0})
    corrected = corrected.changed(corrected.updated_at, **counts, collisions_detected=2)
    other = each.changed(NOW, task_name="let_in_held_batch")
    owner = ingestion_batch(run_id="run-1")
    for wanted in (each, corrected, other):
        assert Attempt.of_run(owner, wanted.in_run()) == wanted
    assert each.in_run() == {
        "subject": "a",
        "attempt_no": 1,
        "status": "SUCCEEDED",
        "started_at": "2026-02-21T20:00:00Z",
        "duration_ms": 5,
        "status_code": 200,
        "articles_found": 3,
    }


async def test_a_run_is_closed_in_one_write_with_what_its_attempts_add_up_to_to_the_millisecond(
    engine: RunEngine, store: SqliteStore, watch: Watch
) -> None:
    watch.advance(milliseconds=990)
    run = await begun(engine)
    watch.advance(milliseconds=20)
    counting = CountingStore(store)
    attempts = [fetched("a", articles_found=3), fetched("b", is_well=False)]
    await new_engine(counting, watch).close_with(run, attempts, summary)
    assert (counting.operations, counting.writes) == (1, 1)
    closed = await engine.get("run-1")
    assert isinstance(closed, IngestionBatch)
    assert (closed.status, closed.progress, closed.ended_at) == ("PARTIAL", 2, parse_time(watch.now))
    assert closed.metrics is not None
    assert closed.metrics.duration_ms == closed.duration_ms == 20
    assert (closed.feeds, closed.due_at) == (("a", "b"), None)


async def test_a_run_that_another_worker_closed_gets_the_attempts_of_both(store: SqliteStore, watch: Watch) -> None:
    for seed in range(20):
        run = await begun(new_engine(store, watch), f"run-{seed}")
        mine = [
            fetched(f"feed-{n}", is_well=n > 0).changed(watch.now, run_id=run.run_id, ttl_timestamp=run.ttl_timestamp)
            for n in range(3)
        ]
        engines = [new_engine(hesitant(store, seed * 3 + number), watch) for number in range(3)]
        await asyncio.gather(
            *(engine.close_with(run, [each], summary) for engine, each in zip(engines, mine, strict=True))
        )
        closed = await engines[0].get(run.run_id)
        assert (closed.status, closed.progress) == ("PARTIAL", 3)


async def test_a_run_that_is_gone_is_not_closed(engine: RunEngine) -> None:
    run = await begun(engine)
    await engine.withdraw(run.run_id)
    await engine.close_with(run, [fetched("a")], summary)
    assert await engine.find("run-1") is None


async def test_a_run_that_was_not_written_for_a_time_is_overdue_until_it_has_ended(
    engine: RunEngine, watch: Watch
) -> None:
    await begun(engine, workflow="refresh_cache")
    assert await engine.overdue("refresh_cache", "all", timedelta(minutes=14)) == []
    watch.advance(minutes=14)
    (overdue,) = await engine.overdue("refresh_cache", "all", timedelta(minutes=14))
    await engine.save(overdue.ended("FAILED", watch.now))
    assert await engine.overdue("refresh_cache", "all", timedelta(0)) == []


async def test_a_run_has_its_attempts_in_order_and_a_batch_its_specified_names(engine: RunEngine, put: Put) -> None:
    await put(
        ingestion_batch(run_id="r"),
        attempt(run_id="r", subject="b", attempt_no=2, started_at=NOW + timedelta(seconds=5)),
        attempt(run_id="r", subject="b"),
        attempt(run_id="r", subject="a"),
        attempt(run_id="other"),
    )
    found = await engine.get("r")
    attempts = await engine.attempts(found)
    assert [(each.subject, each.attempt_no) for each in attempts] == [("a", 1), ("b", 1), ("b", 2)]
    fields = RunResource.of(found).shown()
    assert (fields["batch_id"], fields["completed_at"]) == ("r", "2026-02-21T20:00:02Z")
    assert fields["metrics"]["collision_rate"] == 0.2


def of(run_id: str, minute: int, *feeds: str) -> list[Attempt]:
    at = NOW + timedelta(minutes=minute)
    return [attempt(run_id=run_id, subject=feed, attempt_no=n, started_at=at) for n, feed in enumerate(feeds, 1)]


async def test_a_feeds_history_is_its_attempts_over_all_runs_newest_first(store: SqliteStore, put: Put) -> None:
    for n in range(5):
        each = ingestion_batch(run_id=f"r{n}", started_at=NOW + timedelta(minutes=n), ended_at=NOW + timedelta(hours=1))
        await put(with_attempts(each, of(f"r{n}", n, *(("a", "a") if n == 3 else ("a", "b")))))
    await put(ingestion_batch(run_id="waits", claimed={"a": ""}), ingestion_batch(run_id="other", feeds=("b",)))
    pages, after = [], None
    while True:
        page = await history(store, "a", 2, after)
        pages.append([(each.run_id, each.attempt_no) for each in page.items])
        after = page.next
        if after is None:
            break
    assert pages == [[("r4", 1)], [("r3", 2), ("r3", 1)], [("r2", 1), ("r1", 1)], [("r0", 1)]]
    assert [len((await history(store, "a", limit, None)).items) for limit in (1, 3, 10)] == [1, 3, 6]


@pytest.mark.parametrize("run_id", ["gone", "", "x" * 3000, "a/b"])
async def test_no_such_run_is_not_found(engine: RunEngine, run_id: str) -> None:
    with pytest.raises(NotFound):
        await engine.get(run_id)
