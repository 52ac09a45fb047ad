"""Runs of pages: one message after the other, several workers at once, deaths, failures, and attempts at each page."""

from __future__ import annotations

import asyncio
import contextlib
import itertools
from datetime import timedelta

import pytest

from models.errors import Unavailable
from models.run import JobRun
from models.values import parse_time
from services.store.sqlite import SqliteStore
from services.topology import LAST_DELIVERY
from services.work.driver import (
    TIME_PER_MESSAGE,
    RunImpossible,
)
from services.work.runs import LEASE
from tests.builders import Watch
from tests.failing_stores import hesitant
from tests.functional.articles.dying import Died, DyingStore, When
from tests.functional.workflows.counting_pages import WORKFLOW, CountingPages, Office, check_attempts

DONE = ("tool",)
METRICS = {"articles": 30, "removed": 2, "failed": 3}
ERRORS = ("article-1: odd", "article-2: odd", "article-3: odd")


def is_done(run: JobRun) -> bool:
    return (run.status, run.progress, run.metrics, run.errors) == ("PARTIAL", 30, METRICS, ERRORS)


async def test_a_run_works_for_two_minutes_at_each_message_and_shows_how_far_it_is(
    store: SqliteStore, watch: Watch
) -> None:
    async def a_minute_passes(number: int) -> None:
        watch.advance(minutes=1)

    office = Office(store, watch, CountingPages(5, a_minute_passes))
    run = await office.engine.accept(WORKFLOW, "tool", into="other")
    shown: list[tuple[bool, int, str]] = []
    for message in range(3):
        result = await office.worker().advance(run.run_id, 1, f"call {message}")
        now = await office.run(run.run_id)
        shown.append((result is None, now.progress, now.status))
        assert now.invocation_id == f"call {message}"
    assert shown == [(True, 20, "RUNNING"), (True, 40, "RUNNING"), (False, 50, "PARTIAL")]
    assert (now.subject, now.parameters, now.duration_ms) == ("tool", {"into": "other"}, 5 * 60_000)
    check_attempts(await office.engine.attempts(run))
    assert timedelta(minutes=2) == TIME_PER_MESSAGE


@pytest.mark.parametrize("when", ["before", "after"])
async def test_a_run_whose_worker_dies_at_any_operation_counts_each_page_once(
    store: SqliteStore, watch: Watch, when: When
) -> None:
    office = Office(store, watch)
    for k in itertools.count(1):
        office.work = CountingPages()
        run = await office.engine.accept(WORKFLOW)
        dying = DyingStore(store, k, when)
        with contextlib.suppress(Died):
            await office.worker(dying).advance(run.run_id)
        assert await office.worker().advance(run.run_id, 2) == DONE
        after = await office.run(run.run_id)
        assert is_done(after), f"died {when} operation {k}"
        attempts = await office.engine.attempts(run)
        check_attempts(attempts)
        assert {each.subject for each in attempts} == {"page:0001", "page:0002", "page:0003"}
        assert len(office.work.done) <= 4, "at most the page under way was done twice"
        assert await office.worker().advance(run.run_id, 3) == DONE, "its messages are sent again"
        assert await office.run(run.run_id) == after
        if not dying.is_dead:
            assert k > 5
            return


async def test_a_page_that_fails_is_tried_to_the_fifth_delivery_and_then_the_run_failed(
    store: SqliteStore, watch: Watch
) -> None:
    async def fail_at_the_second(number: int) -> None:
        if number == 2:
            raise Unavailable("the analyzer did not answer")

    office = Office(store, watch, CountingPages(3, fail_at_the_second))
    run = await office.engine.accept(WORKFLOW)
    for delivery in range(1, LAST_DELIVERY + 1):
        assert (await office.run(run.run_id)).status == ("QUEUED" if delivery == 1 else "RUNNING")
        with pytest.raises(Unavailable):
            await office.worker().advance(run.run_id, delivery)
        after = await office.run(run.run_id)
        assert after.due_at == (parse_time(watch.now + LEASE) if delivery < LAST_DELIVERY else None)
    assert (after.status, after.progress) == ("FAILED", 10)
    assert after.errors == ("article-1: odd", "Unavailable: gave up after 5 deliveries")
    assert await office.tried(run.run_id) == [
        ("page:0001", 1, "SUCCEEDED", None),
        *(("page:0002", number, "FAILED", "Unavailable") for number in range(1, 6)),
    ]
    office.work.before = None
    watch.advance(hours=1)
    assert await office.worker().advance(run.run_id) == DONE, "its poison message was sent again"
    after = await office.run(run.run_id)
    assert is_done(after)
    assert (after.duration_ms, after.running_since) == (0, watch.now)


async def test_a_run_that_has_become_impossible_fails_at_once_with_its_reason(store: SqliteStore, watch: Watch) -> None:
    async def impossible(number: int) -> None:
        raise RunImpossible("tool: it is gone")

    office = Office(store, watch, CountingPages(3, impossible))
    run = await office.engine.accept(WORKFLOW)
    assert await office.worker().advance(run.run_id) == ()
    after = await office.run(run.run_id)
    assert (after.status, after.errors) == ("FAILED", ("tool: it is gone",))
    assert await office.tried(run.run_id) == [("page:0001", 1, "FAILED", "RunImpossible")]


async def test_an_overtaken_worker_stops_and_poisons_no_message(store: SqliteStore, watch: Watch) -> None:
    arrived, overtaken = asyncio.Event(), asyncio.Event()

    async def wait(number: int) -> None:
        arrived.set()
        await overtaken.wait()

    office = Office(store, watch, CountingPages(3, wait))
    run = await office.engine.accept(WORKFLOW)
    slow = asyncio.create_task(office.worker().advance(run.run_id))
    await arrived.wait()
    office.work.before = None
    assert await office.worker().advance(run.run_id) == DONE
    overtaken.set()
    assert await slow == ()
    assert is_done(await office.run(run.run_id))
    assert (await office.tried(run.run_id))[:2] == [
        ("page:0001", 1, "FAILED", "worker_died"),
        ("page:0001", 2, "SUCCEEDED", None),
    ]


async def test_a_run_whose_message_came_twice_is_done_by_one_and_counted_once(store: SqliteStore, watch: Watch) -> None:
    office = Office(store, watch)
    for seed in range(8):
        run = await office.engine.accept(WORKFLOW)
        workers = [office.worker(hesitant(store, seed * 3 + number)) for number in range(3)]
        results = await asyncio.gather(*(each.advance(run.run_id, LAST_DELIVERY) for each in workers))
        assert is_done(await office.run(run.run_id))
        check_attempts(await office.engine.attempts(run))
        assert DONE in results
        assert set(results) <= {DONE, ()}
