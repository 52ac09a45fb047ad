"""Runs and attempts as they are written: by several workers, after a death, after the end; and as they are read."""

from __future__ import annotations

import asyncio
import contextlib
import itertools
from collections.abc import Sequence
from datetime import timedelta
from typing import Any

import pytest

from models.errors import ChangedMeanwhile, NotFound
from models.resources.runs import RunResource
from models.run import Attempt, IngestionBatch, JobRun
from models.values import parse_time
from services.store.containers import RUNS
from services.store.sqlite import SqliteStore
from services.work import rules
from services.work.rules import ingestion_summary as summary
from services.work.rules import with_attempts
from services.work.runs import LOST_AFTER, STUCK_AFTER, RunEngine
from tests.builders import Watch
from tests.documents import NOW, attempt, ingestion_batch, run
from tests.failing_stores import hesitant
from tests.functional.articles.counting import CountingStore
from tests.functional.articles.dying import Died, DyingStore
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


async def begun(engine: RunEngine) -> JobRun:
    return await engine.begin("run-1")


async def record(engine: RunEngine, *attempts: Attempt) -> JobRun:
    return await engine.record(await engine.get("run-1"), attempts)


async def test_a_run_is_accepted_found_and_withdrawn(engine: RunEngine, watch: Watch) -> None:
    run = await engine.accept("merge_tool", "tool", {"into": "other"})
    found = await engine.find(run.run_id)
    assert found == run
    assert (run.status, run.subject, run.started_at) == ("QUEUED", "tool", watch.now)
    await engine.withdraw(run.run_id)
    assert await engine.find(run.run_id) is None


async def test_many_runs_are_accepted_with_ids_of_their_own(engine: RunEngine, watch: Watch) -> None:
    await engine.accept_all([rules.queued("ingest_feeds", name, watch.now) for name in ("a", "b")])
    assert isinstance(await engine.find("b"), IngestionBatch)


async def test_a_run_is_begun_once_and_a_run_that_was_not_stored_is_stored(engine: RunEngine) -> None:
    first = await engine.begin("run-1", invocation_id="one")
    assert (type(first), first.status, first.invocation_id) == (IngestionBatch, "RUNNING", "one")
    assert await engine.begin("run-1", invocation_id="two") == first


async def test_of_workers_that_begin_a_run_at_once_one_begins_it(store: SqliteStore, watch: Watch) -> None:
    for seed in range(10):
        engines = [new_engine(hesitant(store, seed * 3 + number), watch) for number in range(3)]
        done = await asyncio.gather(
            *(each.begin(f"run-{seed}", invocation_id=str(n)) for n, each in enumerate(engines))
        )
        assert len({each.invocation_id for each in done}) == 1


async def test_attempts_are_recorded_in_their_run_and_read_back_without_those_that_cannot_be_read(
    engine: RunEngine, store: SqliteStore, watch: Watch
) -> None:
    run = await begun(engine)
    counting = CountingStore(store)
    run = await new_engine(counting, watch).record(run, [fetched(f"feed-{n:03}") for n in range(101)])
    assert counting.writes == 1
    assert await new_engine(counting, watch).record(run, []) == run
    assert counting.writes == 1
    document = await store.read(RUNS.name, "run-1", JobRun.ID)
    assert document is not None
    document["attempts"][0]["status"] = "ODD"
    await store.upsert(RUNS.name, document)
    await record(engine, fetched("feed-001", is_well=False))
    listed = await engine.listed_attempts("run-1")
    assert listed.unreadable == ("feed-000",)
    found = {each.subject: each.status for each in await engine.attempts("run-1")}
    assert len(found) == len(listed.items) == 100
    assert found["feed-001"] == "FAILED"


async def test_attempts_of_a_run_that_is_gone_are_not_recorded(engine: RunEngine) -> None:
    run = await begun(engine)
    await engine.withdraw(run.run_id)
    await engine.record(run, [fetched("a")])
    assert await engine.find("run-1") is None


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


async def test_a_run_is_closed_with_what_its_attempts_add_up_to_to_the_millisecond(
    engine: RunEngine, watch: Watch
) -> None:
    watch.advance(milliseconds=990)
    await begun(engine)
    await record(engine, fetched("a", articles_found=3), fetched("b", is_well=False))
    watch.advance(milliseconds=20)
    closed = await engine.close("run-1", summary)
    assert isinstance(closed, IngestionBatch)
    assert (closed.status, closed.progress, closed.ended_at) == ("PARTIAL", 2, parse_time(watch.now))
    assert closed.metrics is not None
    assert closed.metrics.duration_ms == closed.duration_ms == 20


async def test_closing_again_changes_nothing_unless_there_are_other_attempts(
    engine: RunEngine, store: SqliteStore, watch: Watch
) -> None:
    await begun(engine)
    await record(engine, fetched("a"))
    closed = await engine.close("run-1", summary)
    assert closed is not None
    watch.advance(minutes=1)
    counting = CountingStore(store)
    assert await new_engine(counting, watch).close("run-1", summary) == closed
    assert counting.writes == 0
    await record(engine, fetched("b", is_well=False))
    again = await engine.close("run-1", summary)
    assert again is not None
    assert (again.status, again.progress, again.ended_at, again.duration_ms) == ("PARTIAL", 2, closed.ended_at, 0)
    await record(engine, fetched("b", number=2, started_at=watch.now))
    healed = await engine.close("run-1", summary)
    assert healed is not None
    assert healed.status == "SUCCEEDED"


async def test_workers_that_close_at_once_leave_what_all_of_them_did(store: SqliteStore, watch: Watch) -> None:
    for seed in range(20):
        run_id = f"run-{seed}"

        async def work(number: int, seed: int = seed, run_id: str = run_id) -> None:
            engine = new_engine(hesitant(store, seed * 3 + number), watch)
            run = await engine.begin(run_id)
            mine = fetched(f"feed-{number}", is_well=number > 0).changed(watch.now, run_id=run_id)
            await engine.record(run, [mine])
            await engine.close(run_id, summary)

        await asyncio.gather(*(work(number) for number in range(3)))
        run = await new_engine(store, watch).find(run_id)
        assert run is not None
        assert (run.status, run.progress) == ("PARTIAL", 3)


async def test_a_run_is_closed_with_its_last_attempts_in_one_write(
    engine: RunEngine, store: SqliteStore, watch: Watch
) -> None:
    run = await engine.record(await begun(engine), [fetched("a")])
    counting = CountingStore(store)
    closed = await new_engine(counting, watch).close_with(run, [fetched("b")], summary)
    assert closed is not None
    assert (counting.operations, counting.writes, closed.progress) == (1, 1, 2)
    assert [each.subject for each in await engine.attempts("run-1")] == ["a", "b"]
    assert isinstance(closed, IngestionBatch)
    assert closed.feeds == ("a", "b")


async def test_a_run_that_another_worker_wrote_is_closed_with_the_attempts_of_both(engine: RunEngine) -> None:
    run = await begun(engine)
    await engine.close_with(run, [fetched("a")], summary)
    closed = await engine.close_with(run, [fetched("b")], summary)
    assert closed is not None
    assert closed.progress == 2
    again = await engine.close_with(closed, [fetched("b", number=2)], lambda run, found: {})
    assert again is not None
    assert len(await engine.attempts("run-1")) == 3, "also if nothing but the attempts is new"


async def test_a_run_that_is_gone_is_not_closed(engine: RunEngine) -> None:
    assert await engine.close("gone", summary) is None


async def test_an_overdue_run_is_closed_with_its_reason_unless_a_worker_has_written_it(
    engine: RunEngine, watch: Watch
) -> None:
    def given_up(run: JobRun, attempts: Sequence[Attempt]) -> dict[str, Any]:
        return summary(run, attempts, given_up="its message was lost")

    queued = await engine.accept("ingest_feeds")
    running = await engine.begin("alive")
    await engine.save(running.changed(watch.now, progress=1))
    assert await engine.close_unless_changed(running, given_up) is None
    closed = await engine.close_unless_changed(queued, given_up)
    assert closed is not None
    assert (closed.status, closed.errors) == ("FAILED", ("its message was lost",))
    late = await engine.close(queued.run_id, summary)
    assert late is not None
    assert (late.status, late.errors) == ("SUCCEEDED", ()), "the message came after all, and its worker was done"


async def test_a_run_of_batches_is_opened_under_way_since_its_caller_began(engine: RunEngine, watch: Watch) -> None:
    since = watch.now
    watch.advance(milliseconds=1500)
    run = await engine.open("refresh_cache", "all", {"tools": 3}, batches=2, invocation_id="call", since=since)
    assert await engine.find(run.run_id) == run
    assert (run.status, run.subject, run.parameters, run.batches) == ("RUNNING", "all", {"tools": 3}, 2)
    assert (run.invocation_id, run.began_ms) == ("call", int(since.timestamp() * 1000))


async def test_attempts_without_an_end_are_recorded_as_failed_when_the_run_is_closed(
    engine: RunEngine, watch: Watch
) -> None:
    run = await begun(engine)
    slow = await engine.start("run-1", "refresh", "0001")
    assert slow is not None
    watch.advance(minutes=14)
    closed = await engine.close_unless_changed(run, lambda run, attempts: {"progress": len(attempts)})
    assert closed is not None
    assert (closed.status, closed.progress) == ("FAILED", 1)
    (died,) = await engine.attempts("run-1")
    assert (died.status, died.error_type) == ("FAILED", "worker_died")
    assert not await engine.finish(rules.succeeded(slow, 1, watch.now)), "the run was closed without it"


async def test_an_attempt_that_ends_while_its_run_is_closed_is_counted(store: SqliteStore, watch: Watch) -> None:
    class EndsMeanwhile(DyingStore):
        async def query(self, container: str, query: Any) -> Any:
            page = await super().query(container, query)
            if self.operations == 1:
                assert await engine.finish(rules.succeeded(slow, 1, watch.now))
            return page

    engine = new_engine(store, watch)
    run = await begun(engine)
    started = await engine.start("run-1", "refresh", "0001")
    assert started is not None
    slow = started
    racing = new_engine(EndsMeanwhile(store, 1_000_000, "before"), watch)
    closed = await racing.close_unless_changed(run, lambda run, attempts: {})
    assert closed is not None
    assert closed.status == "SUCCEEDED"


async def test_a_run_that_has_ended_is_passed_to_its_summary_as_it_ended(engine: RunEngine) -> None:
    await begun(engine)
    await engine.close("run-1", lambda run, attempts: {"status": "PARTIAL", "errors": ("given up",)})
    await record(engine, fetched("a"))
    again = await engine.close("run-1", lambda run, attempts: {"status": run.status, "progress": len(attempts)})
    assert again is not None
    assert (again.status, again.errors, again.progress) == ("PARTIAL", ("given up",), 1)


async def test_a_run_is_saved_with_its_attempts_or_not_at_all(engine: RunEngine, watch: Watch) -> None:
    run = await begun(engine)
    page = rules.started("run-1", "page", "1", 1, watch.now)
    saved = await engine.save(run.changed(watch.now, checkpoint={"after": "x"}), [page])
    with pytest.raises(ChangedMeanwhile):
        await engine.save(run, [rules.worker_died(page, watch.now)])
    assert await engine.attempts("run-1") == [page]
    await engine.save(saved.changed(watch.now, progress=2))
    found = await engine.find("run-1")
    assert found is not None
    assert (found.checkpoint, found.progress) == ({"after": "x"}, 2)


async def test_a_task_is_started_until_it_has_succeeded(engine: RunEngine, watch: Watch) -> None:
    await begun(engine)
    first = await engine.start("run-1", "refresh", "0001")
    assert first is not None
    assert await engine.finish(rules.failed(first, ValueError(), 5, watch.now))
    second = await engine.start("run-1", "refresh", "0001")
    assert second is not None
    assert (first.attempt_no, second.attempt_no) == (1, 2)
    assert await engine.finish(rules.succeeded(second, 5, watch.now, tool_ids=("t",)))
    assert await engine.start("run-1", "refresh", "0001") is None
    other = await engine.start("run-1", "refresh", "0002")
    assert other is not None
    assert other.attempt_no == 1


async def test_an_attempt_that_was_overtaken_counts_nothing(engine: RunEngine, watch: Watch) -> None:
    await begun(engine)
    slow = await engine.start("run-1", "refresh", "0001")
    watch.advance(seconds=1)
    quick = await engine.start("run-1", "refresh", "0001")
    assert slow is not None
    assert quick is not None
    assert await engine.finish(rules.succeeded(quick, 5, watch.now))
    assert not await engine.finish(rules.succeeded(slow, 5, watch.now))
    found = sorted(await engine.attempts("run-1"), key=lambda each: each.attempt_no)
    assert [(each.attempt_no, each.status, each.error_type) for each in found] == [
        (1, "FAILED", "worker_died"),
        (2, "SUCCEEDED", None),
    ]


async def test_of_workers_that_start_a_task_at_once_one_succeeds(store: SqliteStore, watch: Watch) -> None:
    for seed in range(20):
        run_id = f"run-{seed}"
        engines = [new_engine(hesitant(store, seed * 3 + number), watch) for number in range(3)]

        async def work(engine: RunEngine, run_id: str = run_id) -> bool:
            mine = await engine.start(run_id, "refresh", "0001")
            return mine is not None and await engine.finish(rules.succeeded(mine, 1, watch.now))

        assert sum(await asyncio.gather(*(work(each) for each in engines))) == 1
        attempts = await engines[0].attempts(run_id)
        assert sorted(each.attempt_no for each in attempts) == list(range(1, len(attempts) + 1))
        assert [each.status for each in attempts].count("SUCCEEDED") == 1
        assert "STARTED" not in {each.status for each in attempts}


@pytest.mark.parametrize("when", ["before", "after"])
async def test_a_run_whose_worker_dies_at_any_operation_adds_up_the_same(
    store: SqliteStore, watch: Watch, when: Any
) -> None:
    async def work(engine: RunEngine, run_id: str) -> None:
        begun = await engine.begin(run_id)
        await engine.record(begun, [fetched("a", articles_found=2).changed(watch.now, run_id=run_id)])
        mine = await engine.start(run_id, "refresh", "0001")
        if mine is not None:
            await engine.finish(rules.succeeded(mine, 1, watch.now, progress=3))
        await engine.close(run_id, summary)

    for k in itertools.count(1):
        dying = DyingStore(store, k, when)
        with contextlib.suppress(Died):
            await work(new_engine(dying, watch), f"run-{k}")
        await work(new_engine(store, watch), f"run-{k}")
        run = await new_engine(store, watch).find(f"run-{k}")
        assert isinstance(run, IngestionBatch)
        assert run.metrics is not None
        assert (run.status, run.progress, run.metrics.articles_fetched) == ("SUCCEEDED", 2, {"a": 2, "0001": 0})
        succeeded = [each for each in await new_engine(store, watch).attempts(run.run_id) if each.progress == 3]
        assert len(succeeded) == 1
        if not dying.is_dead:
            assert k > 8
            return


async def test_runs_are_overdue_when_their_message_was_lost_or_their_worker_died(
    engine: RunEngine, store: SqliteStore, watch: Watch
) -> None:
    queued, running, other = [await engine.accept("merge_tool") for _ in range(3)]
    await engine.begin(running.run_id)
    ended = await engine.begin(other.run_id)
    await engine.close(ended.run_id, lambda run, attempts: {})
    await engine.accept("reanalyze_tool")

    async def overdue() -> list[str]:
        return [each.run_id for each in await engine.overdue(["merge_tool"], watch.now)]

    watch.advance(seconds=LOST_AFTER.total_seconds() - 1)
    assert await overdue() == []
    watch.advance(seconds=1)
    assert await overdue() == [queued.run_id]
    watch.advance(seconds=(STUCK_AFTER - LOST_AFTER).total_seconds())
    assert await overdue() == [queued.run_id, running.run_id]
    broken = await store.read(RUNS.name, queued.run_id, JobRun.ID)
    assert broken is not None
    await store.upsert(RUNS.name, {**broken, "progress": "far"})
    assert await overdue() == [running.run_id], "a run that cannot be read hides no other"
    watch.advance(days=2)
    assert await overdue() == []
    assert (timedelta(minutes=5), timedelta(minutes=15)) == (LOST_AFTER, STUCK_AFTER)


async def test_a_message_is_sent_again_by_one_worker_after_the_earlier_ones_have_left_the_queue(
    engine: RunEngine, watch: Watch
) -> None:
    run = await engine.accept("merge_tool")
    watch.advance(seconds=LOST_AFTER.total_seconds() - 1)
    assert await engine.may_send_again([run], watch.now, None) == []
    watch.advance(seconds=1)
    assert await engine.may_send_again([run], watch.now, run.updated_at + timedelta(seconds=29)) == []
    (sent,) = await engine.may_send_again([run], watch.now, run.updated_at + timedelta(seconds=30))
    assert await engine.may_send_again([run], watch.now, None) == [], "another worker sent it"
    assert await engine.may_send_again([sent], watch.now, None) == []
    watch.advance(seconds=LOST_AFTER.total_seconds())
    assert [each.run_id for each in await engine.may_send_again([sent], watch.now, None)] == [run.run_id]


async def test_runs_are_listed_newest_first_without_their_attempts(engine: RunEngine, put: Put) -> None:
    for n in range(5):
        at = NOW + timedelta(minutes=n)
        await put(
            run(run_id=f"r{n}", started_at=at),
            *(attempt(run_id=f"r{n}", subject=f"f{m}", started_at=at) for m in range(3)),
        )
    first = await engine.page(3, None)
    rest = await engine.page(3, first.next)
    assert [each.run_id for each in first.items + rest.items] == ["r4", "r3", "r2", "r1", "r0"]
    assert rest.next is None


async def test_a_run_has_its_attempts_in_order_and_a_batch_its_specified_names(engine: RunEngine, put: Put) -> None:
    await put(
        ingestion_batch(run_id="r"),
        attempt(run_id="r", subject="b", attempt_no=2, started_at=NOW + timedelta(seconds=5)),
        attempt(run_id="r", subject="b"),
        attempt(run_id="r", subject="a"),
        attempt(run_id="other"),
    )
    found = await engine.get("r")
    attempts = await engine.attempts("r")
    assert [(each.subject, each.attempt_no) for each in attempts] == [("a", 1), ("b", 1), ("b", 2)]
    fields = RunResource.of(found).shown()
    assert (fields["batch_id"], fields["completed_at"]) == ("r", "2026-02-21T20:00:02Z")
    assert fields["metrics"]["collision_rate"] == 0.2


def of(run_id: str, minute: int, *feeds: str) -> list[Attempt]:
    at = NOW + timedelta(minutes=minute)
    return [attempt(run_id=run_id, subject=feed, attempt_no=n, started_at=at) for n, feed in enumerate(feeds, 1)]


async def test_a_feeds_history_is_its_attempts_over_all_runs_newest_first(engine: RunEngine, put: Put) -> None:
    for n in range(5):
        each = ingestion_batch(run_id=f"r{n}", started_at=NOW + timedelta(minutes=n), ended_at=NOW + timedelta(hours=1))
        await put(with_attempts(each, of(f"r{n}", n, *(("a", "a") if n == 3 else ("a", "b")))))
    await put(ingestion_batch(run_id="waits", claimed=("a",)), ingestion_batch(run_id="other", feeds=("b",)))
    pages, after = [], None
    while True:
        page = await engine.history("a", 2, after)
        pages.append([(each.run_id, each.attempt_no) for each in page.items])
        after = page.next
        if after is None:
            break
    assert pages == [[("r4", 1)], [("r3", 2), ("r3", 1)], [("r2", 1), ("r1", 1)], [("r0", 1)]]
    assert [len((await engine.history("a", limit, None)).items) for limit in (1, 3, 10)] == [1, 3, 6]


@pytest.mark.parametrize("run_id", ["gone", "", "x" * 3000, "a/b"])
async def test_no_such_run_is_not_found(engine: RunEngine, run_id: str) -> None:
    with pytest.raises(NotFound):
        await engine.get(run_id)
