"""The audit of the timer goes on in small steps from its checkpoint; what is in flight is no difference."""

from __future__ import annotations

import asyncio
import contextlib
from typing import Any

import pytest

from models.cache import PERIODS
from models.errors import Unavailable
from models.feed import FeedAttempt
from models.run import JobRun
from services.operations.audit import DOCUMENTS_IN_STEP
from services.operations.audit_health import judge_audit
from services.runs.driver import DELETE, MERGE
from services.store.containers import ARTICLES, CATALOG, FEEDS, MENTIONS, RUNS
from tests.failing_stores import Crash, hesitant, mortal
from tests.functional.articles.world import item
from tests.functional.audit.world import AuditWorld, is_article


async def test_a_round_in_steps_finds_what_a_round_at_once_finds(world: AuditWorld) -> None:
    await world.filled(feeds=4, entries=60)
    await world.damage(
        ARTICLES.name, lambda each: is_article(each) and each["headline"].startswith("Pebble"), status="x"
    )
    await world.damage(FEEDS.name, lambda each: each["id"] == "feed", total_articles_fetched=50)
    at_once = await world.differences()
    ended, steps = await world.stepped()
    assert ended.found == {"unreadable": 1, "feed_total_differs": 1}
    assert [(each.kind, each.subject) for each in ended.examples] == [(each.kind, each.subject) for each in at_once]
    assert 3 <= steps <= 2 * ended.checked / DOCUMENTS_IN_STEP


async def test_a_crash_between_two_steps_goes_on_and_counts_nothing_twice(world: AuditWorld) -> None:
    await world.filled(feeds=3, entries=40)
    await world.damage(ARTICLES.name, is_article, status="x")
    whole, _ = await world.stepped()
    for survived in range(3):
        for _ in range(200):
            with contextlib.suppress(Crash):
                await world.new_audit(mortal(world.store, survived)).step()
            ended = await world.new_audit().step()
            if ended is not None:
                break
        assert (ended and ended.found, ended and ended.checked) == (whole.found, whole.checked)


async def test_of_two_workers_that_make_the_same_step_one_counts(world: AuditWorld) -> None:
    await world.filled(feeds=3, entries=40)
    whole, _ = await world.stepped()
    for _ in range(200):
        ended = await asyncio.gather(world.new_audit().step(), world.new_audit().step())
        if any(ended):
            break
    assert {each.checked for each in ended if each is not None} == {whole.checked}


async def test_the_differences_of_the_last_round_degrade_until_a_sound_round_ends(world: AuditWorld) -> None:
    tools = await world.filled()
    await world.store.delete(CATALOG.name, tools[0].tool_id, "TIMELINE")
    await world.stepped()
    check = judge_audit(await world.audit.progress())
    assert (check.status, check.facts["differences"]["hour_differs"] > 0) == ("degraded", True)
    await world.differences(repair=True)
    await world.work()
    assert judge_audit(await world.audit.progress()).status == "healthy"
    await world.stepped()
    assert judge_audit(await world.audit.progress()).facts["differences"] == {}


async def test_a_write_between_the_two_readings_is_no_difference(world: AuditWorld) -> None:
    tools = await world.filled()
    lost = await world.lose(MENTIONS.name, lambda each: each["tool_id"] == tools[0].tool_id)

    async def comes_back() -> None:
        await world.store.upsert(MENTIONS.name, lost)

    world.pause = comes_back
    assert await world.differences() == []
    assert world.paused > 0


async def test_a_mention_whose_analysis_has_not_ended_is_in_flight(world: AuditWorld) -> None:
    """The worker of an analysis has written the mentions, and has not marked the hours dirty."""
    tools = await world.filled()
    mention = await world.one(MENTIONS.name, lambda each: each["tool_id"] == tools[0].tool_id)
    article = await world.store.read(ARTICLES.name, mention["id"], "article")
    assert article is not None
    await world.store.delete(MENTIONS.name, tools[0].tool_id, mention["id"])
    await world.store.create(MENTIONS.name, {**mention, "id": article["source_id"], "sentiment": "negative"})
    due = {**article, "analysis_due_since": article["updated_at"]}
    await world.store.upsert(ARTICLES.name, due)
    assert await world.differences() == []
    await world.store.upsert(ARTICLES.name, article)
    assert await world.kinds() == ["hour_differs"]


@pytest.mark.parametrize("workflow", [DELETE, MERGE])
async def test_while_a_workflow_is_open_its_mentions_are_in_flight(world: AuditWorld, workflow: str) -> None:
    tools = await world.filled()
    await world.lose(MENTIONS.name, lambda each: each["tool_id"] == tools[0].tool_id)
    now = world.clock.now
    run = JobRun(created_at=now, updated_at=now, run_id="w1", workflow_name=workflow, status="RUNNING", started_at=now)
    await world.store.create(RUNS.name, run.to_document())
    assert await world.differences() == []
    await world.store.upsert(RUNS.name, run.changed(now, status="SUCCEEDED", ended_at=now).to_document())
    assert await world.kinds() == ["hour_differs", "mention_missing"]


async def test_a_feed_with_an_interrupted_attempt_and_its_run_are_in_flight(world: AuditWorld) -> None:
    await world.filled(feeds=1)
    run = await world.one(RUNS.name, lambda each: each.get("attempts"))
    metrics = {**run["metrics"], "articles_stored": 1}
    await world.store.upsert(RUNS.name, {**run, "metrics": metrics})
    attempt = FeedAttempt(run_id=run["run_id"], attempt_no=1, task_name="fetch_feed", started_at=world.clock.now)
    waiting = {"total_articles_fetched": 1, "interrupted_attempts": [attempt.model_dump(mode="json")]}
    await world.damage(FEEDS.name, lambda each: each["id"] == "feed", **waiting)
    assert await world.differences() == []
    await world.damage(FEEDS.name, lambda each: each["id"] == "feed", interrupted_attempts=[])
    assert await world.kinds() == ["feed_total_differs", "run_figures_differ"]


async def test_dirty_hours_are_in_flight(world: AuditWorld) -> None:
    await world.filled()
    world.publish(0, [*world.items(0, 6), item(500, title="Hexwharf has one more good day")])
    world.clock.forward(minutes=20)
    await world.ingestion.poll("feed-0")
    assert await world.differences() == []
    await world.analysis.handle(world.ingestion.worker.announced)
    assert await world.differences() == []
    await world.work()
    assert await world.differences() == []


@pytest.mark.parametrize("seconds", [0, 1, 3600])
async def test_a_feed_that_was_removed_and_added_again_has_its_own_total(world: AuditWorld, seconds: int) -> None:
    await world.filled(feeds=1)
    world.clock.forward(seconds=seconds)
    for name in ("feed", "seen"):
        await world.store.delete(FEEDS.name, "feed-0", name)
    await world.ingestion.add_feed("feed-0", world.items(0, 9))
    await world.ingestion.poll("feed-0")
    await world.work()
    assert await world.differences() == []


async def test_what_has_expired_is_no_difference(world: AuditWorld) -> None:
    """Articles expire after 30 days, aliases that were renewed, later observations and mentions after them."""
    await world.filled()
    for days in (10, 10, 9, 2, 10, 3):
        world.clock.forward(days=days)
        await world.ingest_all(2)
        await world.work()
        assert [each for each in await world.differences() if each.kind != "dangling_alias"] == [], days


@pytest.mark.parametrize("seed", range(4))
async def test_workers_at_work_cause_no_false_alarm(world: AuditWorld, seed: int) -> None:
    """Ingestion, analysis, refresh and deletion go on while rounds of the audit are made."""
    world = AuditWorld(hesitant(world.store, seed), world.clock)
    await world.filled(feeds=3, entries=20)
    stop = asyncio.Event()

    async def news() -> None:
        for number in range(8):
            world.clock.forward(minutes=5)
            for feed in range(3):
                fresh = [item(1000 * feed + 10 * number + each, title=f"Hexwharf {feed} {number} {each} is bad news")
                         for each in range(5)]  # fmt: skip
                world.publish(feed, [*world.items(feed, 20), *fresh])
            await asyncio.gather(*(world.ingestion.poll(f"feed-{feed}") for feed in range(3)))
            await world.work()
            gone = await world.one(MENTIONS.name, lambda each: each.get("removed_at") is None)
            await world.mentions.worker.delete(gone["id"])
        stop.set()

    async def breathe() -> None:
        for _ in range(20):
            await asyncio.sleep(0)

    world.pause = breathe
    found: list[Any] = []

    async def audits() -> None:
        while not stop.is_set():
            found.extend(await world.differences())

    async with asyncio.TaskGroup() as group:
        group.create_task(news())
        group.create_task(audits())
    assert found == []
    await world.work()
    assert await world.differences() == []
    for tool in await world.mentions.worker.catalog.active():
        for period in PERIODS:
            await world.figures.reader.read(tool.tool_id, period)
    assert await world.differences() == []


async def test_a_store_that_does_not_answer_loses_no_checkpoint(world: AuditWorld) -> None:
    await world.filled()
    await world.stepped()
    before = await world.audit.progress()

    class Down:
        def __getattr__(self, name: str) -> Any:
            async def fails(*arguments: Any, **named: Any) -> Any:
                raise Unavailable("the store did not answer")

            return fails

    with pytest.raises(Unavailable):
        await world.new_audit(Down()).step()
    assert await world.audit.progress() == before
