"""Every workflow on real mentions: a worker that dies at any store operation leaves exact figures and attempts."""

from __future__ import annotations

import contextlib
import itertools
from collections.abc import Awaitable, Callable

import pytest

from models.run import JobRun
from models.story import LEASE
from models.tool import Tool
from services.work.runs import RunEngine
from tests.functional.articles.dying import Died, DyingStore, When
from tests.functional.figures.world import Process
from tests.functional.mentions.world import World
from tests.functional.workflows.counting_pages import check_attempts

pytestmark = pytest.mark.soak

Accept = Callable[[World, Tool, Tool, list[str]], Awaitable[JobRun]]


async def reanalysis(world: World, tool: Tool, other: Tool, articles: list[str]) -> JobRun:
    return await world.worker.changes.reanalyze(tool.tool_id)


async def backfill(world: World, tool: Tool, other: Tool, articles: list[str]) -> JobRun:
    await world.edit(articles[0], "Nothing")
    return await world.worker.changes.backfill([tool.tool_id])


async def merge(world: World, tool: Tool, other: Tool, articles: list[str]) -> JobRun:
    return await world.worker.changes.merge(tool.tool_id, other.tool_id)


async def deletion(world: World, tool: Tool, other: Tool, articles: list[str]) -> JobRun:
    return await world.worker.workflows.accept("delete_article", articles[0])


@pytest.mark.parametrize("when", ["before", "after"])
@pytest.mark.parametrize(
    ("accept", "pages", "counted"),
    [(reanalysis, 1, (3, 0)), (backfill, 1, (2, 0)), (merge, 2, (0, 3)), (deletion, 1, (2, 0))],
)
async def test_a_worker_that_dies_anywhere_leaves_exact_figures_and_an_attempt(
    world: World, accept: Accept, pages: int, counted: tuple[int, int], when: When
) -> None:
    numbers, elsewhere = itertools.count(1), Process(world.store, world.watch)
    for k in itertools.count(1):
        tool, other = await world.tool(f"Hexwharf{k}"), await world.tool(f"Pebblegrid{k}")
        articles = [await world.article(next(numbers), f"Hexwharf{k} is good") for _ in range(3)]
        await world.delivered(articles)
        await elsewhere.cache.refresh.refresh_tools([tool.tool_id, other.tool_id])
        world.analyzer.version = str(k)
        run = await accept(world, tool, other, articles)
        dying = DyingStore(world.store, k, when)
        with contextlib.suppress(Died):
            await world.new_worker(dying).workflows.advance(run.run_id)
        world.watch.advance(seconds=LEASE.total_seconds())  # a dead worker keeps its lease until then
        result = await world.worker.workflows.advance(run.run_id, 2)
        engine = RunEngine(world.store, world.watch, lambda: "")
        after = await engine.find(run.run_id)
        assert after is not None
        assert (after.status, after.metrics["failed"], after.errors) == ("SUCCEEDED", 0, ())
        attempts = await engine.attempts(run.run_id)
        check_attempts(attempts)
        assert len({each.subject for each in attempts}) == pages
        assert after.progress == sum(each.progress or 0 for each in attempts if each.status == "SUCCEEDED")
        assert (len(await world.mentions(tool)), len(await world.mentions(other))) == counted
        # Not a cached figure from before, though nothing has refreshed the tools.
        served = [await elsewhere.cache.reader.read(each.tool_id, "DAY_30") for each in (tool, other)]
        assert [each.entry.total_mentions for each in served] == [max(counted), counted[1]]
        for each in (tool, other):
            await world.is_counted(each)
        assert await world.worker.workflows.advance(run.run_id, 3) == result
        assert await engine.find(run.run_id) == after
        if not dying.is_dead:
            assert k > 8
            await elsewhere.close()
            return
        for article in articles:
            await world.store.delete("articles", article, "article")
