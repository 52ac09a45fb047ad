"""Each page of a workflow invalidates the figures that it changes: nobody waits for its end to see the right ones."""

from __future__ import annotations

from models.run import JobRun
from models.tool import Tool
from services.mentions.analyzers.port import Judgement
from services.work.driver import BACKFILL, MERGE, REANALYZE
from services.workflows.backfill import PAGE
from tests.functional.figures.world import Process
from tests.functional.mentions.world import Words, World


class Grumpy(Words):
    """Judges every text as negative."""

    def judged(self, text: str) -> Judgement:
        return Judgement("negative", 0.9, -0.5)


async def page(world: World, workflow: str, run: JobRun) -> JobRun:
    """The run after one page of it."""
    result = await world.new_worker().workflows.workflows[workflow].page(run)
    assert result.checkpoint is not None, "not the last page"
    return run.changed(world.watch.now, status="RUNNING", checkpoint=result.checkpoint)


async def test_each_page_of_a_workflow_invalidates_the_figures_that_it_changes(world: World) -> None:
    elsewhere = Process(world.store, world.watch)

    async def served(tool: Tool) -> tuple[int, int]:
        entry = (await elsewhere.cache.reader.read(tool.tool_id, "DAY_30")).entry
        return entry.positive_count, entry.negative_count

    for number in range(1, PAGE + 2):
        await world.article(number, "Hexwharf is good")
    tool, other = await world.tool("Hexwharf"), await world.tool("Pebblegrid")
    assert await served(tool) == (0, 0)
    run = await world.worker.changes.backfill([tool.tool_id])
    await page(world, BACKFILL, run)
    assert await served(tool) == (PAGE, 0)
    await world.run(run)
    assert await served(tool) == (PAGE + 1, 0)

    world.analyzer = Grumpy("2")
    await page(world, REANALYZE, await world.worker.changes.reanalyze(tool.tool_id))
    assert await served(tool) == (1, PAGE)

    run = await page(world, MERGE, await world.worker.changes.merge(tool.tool_id, other.tool_id))
    assert await served(other) == (0, 0)
    await page(world, MERGE, run)
    assert sum(await served(other)) == PAGE
    await elsewhere.close()
