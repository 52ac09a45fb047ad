"""Names, analysis and merging have the same results on both stores, also with several workers at once."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import Callable

import pytest

from models.errors import ToolpulseError
from models.tool import Tool
from services.mentions.listing import tool_articles
from services.ports import Store
from services.store.containers import CATALOG
from services.tools.form import new_tool
from tests.contract.conftest import SettableClock
from tests.failing_stores import hesitant
from tests.functional.mentions.world import Worker, World


@pytest.fixture
def world(store: Store, clock: SettableClock) -> World:
    return World(store, clock)


async def test_of_several_callers_that_want_one_name_at_once_one_gets_it(
    world: World, another: Callable[[], Store]
) -> None:
    async def one(number: int) -> str | None:
        catalog = world.new_worker(hesitant(world.store, number)).catalog
        with contextlib.suppress(ToolpulseError):
            return (await catalog.add(new_tool({"name": f"Tool {number}", "aliases": ["C#", "C++"]}))).tool_id
        return None

    winners = [each for each in await asyncio.gather(*(one(number) for number in range(6))) if each is not None]
    assert len(winners) == 1
    assert (await world.worker.catalog.get("c#")).tool_id == winners[0]
    assert [tool.tool_id for tool in await world.worker.catalog.active()] == winners


async def test_workers_that_analyse_and_merge_at_once_leave_one_mention_of_each_article(world: World) -> None:
    old, new = await world.tool("Hexwharf"), await world.tool("Pebblegrid")
    articles = [await world.article(number, "Hexwharf is good") for number in range(1, 7)]
    await world.delivered(articles[:3])

    async def analysing(worker: Worker, ids: list[str]) -> None:
        with contextlib.suppress(ToolpulseError):
            await worker.analysis.handle(ids)

    async def merging(worker: Worker) -> None:
        run = await worker.changes.merge("Hexwharf", "Pebblegrid")
        with contextlib.suppress(ToolpulseError):
            await worker.workflows.advance(run.run_id)
        await world.worker.workflows.advance(run.run_id)

    workers = [world.new_worker(hesitant(world.store, number)) for number in range(3)]
    await asyncio.gather(merging(workers[0]), analysing(workers[1], articles), analysing(workers[2], articles[::-1]))
    await world.edit(articles[0], "Nothing of note")
    await world.delivered(articles)
    assert await world.mentions(old) == {}
    assert set(await world.mentions(new)) == set(articles[1:])
    for tool in (old, new):
        await world.is_counted(tool)
    items = (await tool_articles(world.store, new.tool_id, 3, None)).items
    assert [each["source_id"] for each in items] == articles[1:4]


async def test_an_article_fails_alone_while_a_tool_of_its_own_cannot_be_read_and_loses_no_mention(world: World) -> None:
    one, other = await world.tool("Hexwharf"), await world.tool("Pebblegrid")
    of_both, of_other = await world.article(1, "Hexwharf and Pebblegrid"), await world.article(2, "Pebblegrid")
    deleted = await world.article(3, "Hexwharf")
    await world.delivered([of_both, of_other, deleted])
    stored = await world.store.read(CATALOG.name, one.tool_id, Tool.ID)
    assert stored is not None
    await world.store.upsert(CATALOG.name, {**stored, "aliases": "none"})
    await world.worker.catalog.announce()
    for each in (of_both, of_other):
        await world.edit(each, "Hexwharf and Pebblegrid are good")

    handled = await world.worker.analysis.handle([of_both, of_other])
    assert (handled.done, list(handled.failed)) == (1, [of_both])
    assert handled.failed[of_both].startswith("a tool that cannot be read")
    run = await world.run(await world.worker.changes.backfill([other.tool_id]))
    assert (run.status, run.metrics["failed"]) == ("SUCCEEDED", 0), "the other tool alone can be analysed"
    await world.worker.delete(deleted)
    assert set(await world.mentions(one)) == {of_both}
    assert {key: each.sentiment for key, each in (await world.mentions(other)).items()} == {
        of_both: "positive",
        of_other: "positive",
    }

    await world.store.upsert(CATALOG.name, {**stored, "updated_at": stored["updated_at"]})
    await world.worker.catalog.announce()
    world.watch.forward(seconds=30)
    await world.delivered([of_both])
    await world.run(await world.worker.changes.backfill([one.tool_id]))  # of_other was analysed without the tool
    for tool in (one, other):
        assert {key: each.sentiment for key, each in (await world.mentions(tool)).items()} == {
            of_both: "positive",
            of_other: "positive",
        }
        await world.is_counted(tool)
