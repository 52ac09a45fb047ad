"""The audit of the timer goes on from its checkpoint; what is in flight is no difference."""

from __future__ import annotations

import asyncio
from typing import cast

import pytest

from models.cache import PERIODS
from models.operations import Audit as StoredAudit
from models.run import DELETE, MERGE, JobRun
from services.operations import audit
from services.operations.audit_rules import Difference
from services.operations.health import judge_audit
from services.ports import Store
from services.store.containers import ARTICLES, CATALOG, MENTIONS, RUNS
from tests.builders import existing
from tests.failing_stores import Interrupted, hesitant
from tests.functional.articles.world import item
from tests.functional.audit.world import AuditWorld, is_article


async def test_the_timer_finds_in_portions_what_a_round_at_once_finds_and_then_waits_for_a_week(
    world: AuditWorld, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(audit, "DOCUMENTS_IN_PORTION", 50)
    tools = await world.filled(feeds=4, entries=60)
    await world.damage(ARTICLES.name, lambda each: is_article(each) and each["headline"][:6] == "Pebble", status="x")
    await world.store.delete(CATALOG.name, tools[0].tool_id, "TIMELINE")
    assert sorted(each.kind for each in await world.differences()) == ["hour_differs", "unreadable"]
    world.clock.forward(days=6)
    assert await world.audit.weekly() is None
    assert (await world.one(CATALOG.name, lambda each: each["id"] == "audit")).get("present") is None
    world.clock.forward(days=-6, hours=-1)  # the round at once was made by a clock that was ahead
    ended, portions = await world.stepped()
    assert ended.found == {"unreadable": 1, "hour_differs": 1}
    assert portions > 3
    stored = StoredAudit.from_document(await world.one(CATALOG.name, lambda each: each["id"] == "audit"))
    assert judge_audit(stored).status == "degraded"
    world.clock.forward(days=8)
    await world.audit.weekly()
    assert (await world.one(CATALOG.name, lambda each: each["id"] == "audit"))["present"]["checked"] >= 50


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
    article = await existing(world.store, ARTICLES.name, mention["id"], "article")
    await world.store.delete(MENTIONS.name, tools[0].tool_id, mention["id"])
    await world.store.create(
        MENTIONS.name, {**mention, "id": article["source_id"], "sentiment": "negative", "polarity": -0.5}
    )
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
    run = JobRun(created_at=now, run_id="w1", workflow_name=workflow, status="RUNNING", started_at=now)
    await world.store.create(RUNS.name, run.to_document())
    assert await world.differences() == []
    await world.store.upsert(RUNS.name, run.changed(now, status="SUCCEEDED", ended_at=now).to_document())
    assert await world.kinds() == ["hour_differs", "mention_missing"]


async def test_a_workflow_that_ends_while_the_audit_reads_again_is_no_difference(world: AuditWorld) -> None:
    tools, now, calls = await world.filled(), world.clock.now, 0
    run = JobRun(created_at=now, run_id="w1", workflow_name=MERGE, status="RUNNING", started_at=now)
    ended = run.changed(now, status="SUCCEEDED", ended_at=now)
    lost = await world.one(MENTIONS.name, lambda each: each["tool_id"] == tools[0].tool_id)

    async def end() -> None:
        await world.store.upsert(MENTIONS.name, lost)
        await world.store.upsert(RUNS.name, ended.to_document())

    while True:
        await world.store.delete(MENTIONS.name, lost["tool_id"], lost["id"])
        await world.store.upsert(RUNS.name, run.to_document())
        ending = Interrupted(world.store, calls, end)
        world.audit = world.new_audit(cast("Store", ending))
        found = await world.differences()
        if not ending.has_acted:
            break
        assert found == [], f"it ended before call {calls}"
        calls += 1
    assert calls > 5


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


async def test_what_has_expired_is_no_difference(world: AuditWorld) -> None:
    """Articles expire after 30 days, aliases that were renewed, later observations and mentions after them."""
    await world.filled()
    for days in (10, 10, 9, 2, 10, 3):
        world.clock.forward(days=days)
        await world.ingest_all(2)
        await world.work()
        assert await world.differences() == [], days


@pytest.mark.parametrize("seed", range(2))
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
    found: list[Difference] = []

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
