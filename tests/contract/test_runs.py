"""Runs and attempts come out alike on both stores, by several workers at once and when answers are lost."""

from __future__ import annotations

import asyncio
import contextlib
import itertools
from collections.abc import Callable

import pytest

from models.errors import ChangedMeanwhile, Unavailable
from models.run import Attempt, IngestionBatch
from services.ports import Store
from services.topology import LAST_DELIVERY
from services.work import rules
from services.work.driver import WorkResult
from services.work.rules import ingestion_summary as summary
from services.work.runs import RunEngine
from tests.contract.conftest import SettableClock
from tests.documents import attempt
from tests.failing_stores import hesitant, unheard
from tests.functional.workflows.counting_pages import WORKFLOW, Office, check_attempts


def fetched(run_id: str, feed: str, clock: SettableClock) -> Attempt:
    times = {"created_at": clock.now, "updated_at": clock.now, "started_at": clock.now}
    return attempt(run_id=run_id, subject=feed, status="SUCCEEDED", articles_found=3, articles_stored=2, **times)


def engine_on(store: Store, clock: SettableClock) -> RunEngine:
    numbers = itertools.count(1)
    return RunEngine(store, clock, lambda: f"new-{next(numbers)}")


@pytest.mark.parametrize("seed", range(5))
async def test_workers_that_close_a_run_at_once_leave_what_all_of_them_did(
    store: Store, another: Callable[[], Store], clock: SettableClock, seed: int
) -> None:
    engine = engine_on(store, clock)
    await engine.add([rules.queued("ingest_feeds", "shared", clock.now)])
    begun = await engine.begin("shared")
    assert begun is not None

    async def work(number: int) -> None:
        mine = [fetched("shared", f"feed-{number}-{n}", clock) for n in range(60)]
        await engine_on(hesitant(another(), seed * 3 + number), clock).close_with(begun.run, mine, summary)

    await asyncio.gather(*(work(number) for number in range(3)))
    run = await engine.get("shared")
    assert isinstance(run, IngestionBatch)
    assert run.metrics is not None
    assert (run.status, run.progress, run.metrics.articles_stored) == ("SUCCEEDED", 180, 360)
    assert len(await engine.attempts("shared")) == 180


@pytest.mark.parametrize("seed", range(5))
async def test_a_run_of_pages_whose_message_came_twice_counts_each_page_once(
    store: Store, another: Callable[[], Store], clock: SettableClock, seed: int
) -> None:
    office = Office(store, clock)
    run = await office.engine.accept(WORKFLOW)
    workers = [office.worker(hesitant(another(), seed * 3 + number)) for number in range(3)]
    results = await asyncio.gather(*(each.advance(run.run_id, LAST_DELIVERY) for each in workers))
    after = await office.run(run.run_id)
    assert (after.status, after.progress, after.metrics["failed"]) == ("PARTIAL", 30, 3)
    check_attempts(await office.engine.attempts(run.run_id))
    assert WorkResult(changed_tools=("tool",)) in results


async def test_a_run_whose_responses_are_lost_counts_each_page_once(store: Store, clock: SettableClock) -> None:
    for lost in range(6):
        office = Office(store, clock)
        run = rules.queued(WORKFLOW, f"lost-{lost}", clock.now)
        await office.engine.add([run])
        with contextlib.suppress(Unavailable):
            await office.worker(unheard(store, lost)).advance(run.run_id)
        clock.forward(1)
        await office.worker().advance(run.run_id)
        after = await office.run(run.run_id)
        assert (after.status, after.progress, after.metrics["failed"]) == ("PARTIAL", 30, 3)
        check_attempts(await office.engine.attempts(run.run_id))


async def test_a_run_and_its_attempts_are_saved_together_or_not_at_all(store: Store, clock: SettableClock) -> None:
    engine = engine_on(store, clock)
    await engine.add([rules.queued("ingest_feeds", "one", clock.now)])
    run = await engine.get("one")
    saved = await engine.save(run.changed(clock.now, progress=1), [fetched("one", "a", clock)])
    with pytest.raises(ChangedMeanwhile):
        await engine.save(run.changed(clock.now, progress=9), [fetched("one", "b", clock)])
    assert [each.subject for each in await engine.attempts("one")] == ["a"]
    await engine.save(saved.changed(clock.now, progress=2), [fetched("one", "b", clock)])
    found = await engine.find("one")
    assert found is not None
    assert found.progress == 2
