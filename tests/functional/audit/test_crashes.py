"""A worker that dies at any write leaves no difference: what is not done is in flight, and done again it agrees."""

from __future__ import annotations

from collections.abc import Awaitable, Callable

import pytest

from models.errors import ToolpulseError
from services.ports import Query, Where
from services.store.containers import MENTIONS, RUNS
from tests.failing_stores import Crash, mortal
from tests.functional.articles.world import item
from tests.functional.audit.world import AuditWorld
from tests.functional.mentions.world import Worker

Act = Callable[[AuditWorld, Worker], Awaitable[None]]


async def analyse(world: AuditWorld, worker: Worker) -> None:
    await worker.analysis.handle(world.ingestion.worker.announced)


async def recount(world: AuditWorld, worker: Worker) -> None:
    await world.analysis.handle(world.ingestion.worker.announced)
    for tool in await world.mentions.worker.catalog.active():
        await worker.recount.recount_tool(tool.tool_id, world.clock.now)


async def rebuild(world: AuditWorld, worker: Worker) -> None:
    for tool in await world.mentions.worker.catalog.active():
        await worker.recount.rebuild_tool(tool.tool_id, world.clock.now)


async def delete(world: AuditWorld, worker: Worker) -> None:
    mention = await world.one(MENTIONS.name, lambda each: each.get("removed_at") is None)
    await worker.delete(mention["id"])


async def merge(world: AuditWorld, worker: Worker) -> None:
    active = await world.mentions.worker.catalog.active()
    merged = max(tool.primary_name for tool in active if "Zeta" in tool.primary_name)
    run = await worker.changes.merge(merged, "Hexwharf")
    await worker.workflows.advance(run.run_id)


async def _finished(world: AuditWorld) -> None:
    """The messages of dead workers are delivered again."""
    open_ = (
        Where("status", "in", ("QUEUED", "RUNNING")),
        Where("workflow_name", "in", ("delete_article", "merge_tool")),
    )
    for run in (await world.store.query(RUNS.name, Query(open_))).items:
        await world.mentions.worker.workflows.advance(run["run_id"])
    await world.work()


@pytest.mark.parametrize("act", [analyse, recount, rebuild, delete, merge])
async def test_a_death_at_any_write_is_no_difference(world: AuditWorld, act: Act) -> None:
    await world.filled(feeds=1, entries=9)
    for survived in range(100):
        name = f"Zeta{survived:03}x"
        if act is merge:
            await world.mentions.tool(name)
        fresh = [item(1000 + survived, title=f"Hexwharf and Pebblegrid and {name} are bad {survived}")]
        edited = [item(0, title="Hexwharf number 0 is good news again", text=f"It is good for the time {survived}")]
        world.publish(0, [*fresh, *edited, *world.items(0, 9)[1:]])
        await world.ingestion.poll("feed-0")
        if act not in (analyse, recount):
            await world.work()
        worker = world.mentions.new_worker(mortal(world.store, survived))
        has_ended = False
        try:
            await act(world, worker)
            has_ended = True
        except (Crash, ToolpulseError):
            pass
        assert await world.differences() == [], f"after {survived} writes"
        await _finished(world)
        assert await world.differences() == [], f"when the work after {survived} writes was done again"
        if has_ended:
            break
    assert has_ended
    assert survived >= 2
    for tool in await world.mentions.worker.catalog.active():
        assert await world.served(tool) == await world.counting(tool)
