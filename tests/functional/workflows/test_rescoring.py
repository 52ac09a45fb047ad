"""Backfills and reanalyses, wherever their worker dies, and what each page of a workflow invalidates."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import timedelta
from typing import Any

import pytest

from models.run import BACKFILL, MERGE, REANALYZE, JobRun
from models.tool import Tool
from services.store.containers import RUNS
from services.tools.catalog import tool_change
from services.work.driver import WORKFLOWS_STAGE
from services.work.runs import LEASE
from services.workflows.changes import PAGE
from tests.builders import overdue_keys
from tests.functional.figures.world import Process, generation_of
from tests.functional.mentions.world import World
from tests.functional.workflows.carried_out import articles_of_30_days, break_mention, heal_mention, status, until_done
from tests.functional.workflows.test_comparing import Grumpy
from tests.unit.workflows.test_backfill import HEADLINES, TAGS, TOOLS


async def test_a_reanalysis_in_which_mentions_failed_is_partial_and_names_them(world: World) -> None:
    tool = await world.tool("Quorvia")
    well, cursed, broken, expired = [await world.article(number, "Quorvia is good") for number in range(1, 5)]
    await world.delivered([well, cursed, broken, expired])
    await world.store.delete("articles", expired, "article")
    await world.edit(cursed, "Quorvia is cursed text")
    await break_mention(world, tool, broken)
    world.analyzer.version = "2"
    ended = await world.run(await world.worker.changes.reanalyze("Quorvia"))
    assert (ended.status, ended.progress, ended.metrics["rescored"], ended.metrics["failed"]) == ("PARTIAL", 4, 1, 2)
    assert [error.split(":")[1] for error in ended.errors] == [each.split(":")[1] for each in (cursed, broken)]
    assert await world.worker.workflows.advance(ended.run_id) == (tool.tool_id,)
    await heal_mention(world, tool, broken)
    await world.edit(cursed, "Quorvia is good")
    again = await world.run(await world.worker.changes.reanalyze("Quorvia"))
    assert (again.status, again.metrics["failed"], again.errors) == ("SUCCEEDED", 0, ())
    versions = {key: each.analyzer_version for key, each in (await world.mentions(tool)).items()}
    assert versions == {**dict.fromkeys((well, cursed, broken), "2"), expired: "1"}


@pytest.mark.parametrize("writes", [0, 1, 2, 3, 4, 5, 7, 9, 12, 99])
async def test_an_alias_is_applied_to_30_days_wherever_that_dies(world: World, writes: int) -> None:
    tool = await world.tool("Quorvia", "Quo")
    articles = await articles_of_30_days(world)
    change = tool_change({"aliases": ["QRVDB"]})
    changed, run = await world.worker.changes.change_tool("Quorvia", change)
    assert run is not None
    assert changed.aliases == ("QRVDB",)
    result = await until_done(world, run, writes)
    assert (await status(world, run), result) == ("SUCCEEDED", (tool.tool_id,))
    assert set(await world.mentions(tool)) == {articles["new"], articles["known"], articles["old"]}
    assert await generation_of(world.store, tool.tool_id) >= 1
    searched = (await world.worker.catalog.get("Quorvia")).searched_since
    assert searched is not None
    assert timedelta(days=30) <= world.watch.now - searched < timedelta(days=31)
    await world.is_counted(tool)


@pytest.mark.parametrize("writes", range(8))
async def test_a_change_whose_worker_dies_leaves_a_run_whose_message_is_sent_again(world: World, writes: int) -> None:
    tool = await world.tool("Quorvia")
    one = await world.article(1, "Qrvdb is good")
    await world.delivered([one])
    change = tool_change({"aliases": ["QRVDB"]})
    await world.dying(writes, lambda worker: worker.changes.change_tool("Quorvia", change))
    world.watch.advance(seconds=LEASE.total_seconds() + 60)
    for run_id in await overdue_keys(world.store, WORKFLOWS_STAGE, world.watch):
        await world.worker.workflows.advance(run_id)
    is_changed = (await world.worker.catalog.get("Quorvia")).aliases == ("QRVDB",)
    assert (one in await world.mentions(tool)) == is_changed


async def test_a_backfill_finds_what_reading_every_article_finds(world: World) -> None:
    made: list[dict[str, Any]] = [{"headline": headline} for headline in HEADLINES]
    made += [{"headline": f"Something of number {number}", "tags": (tag,)} for number, tag in enumerate(TAGS)]
    await world.delivered([await world.article(number, **each) for number, each in enumerate(made, 1)])
    await world.article(len(made) + 1, "Amazon is not analysed yet")
    tools = [await world.tool(name, **{"tickers": (), **fields}) for name, fields in TOOLS.items()]

    async def searched(checkpoint: Mapping[str, Any] | None = None) -> dict[str, set[str]]:
        for tool in tools:
            run = await world.worker.changes.backfill([tool.tool_id])
            await world.store.upsert(RUNS.name, run.changed(world.watch.now, checkpoint=checkpoint).to_document())
            await world.run(run)
        return {tool.primary_name: set(await world.mentions(tool)) for tool in tools}

    found = await searched()
    every_article: dict[str, Any] = {"places": [[]]}
    assert all(found.values())
    assert await searched(every_article) == found
    for name, alias in (("Node.js", "NodeJS"), ("Go", "Golang")):
        await world.worker.catalog.change(name, tool_change({"aliases": []}))
        assert alias in TOOLS[name]["aliases"]
    less = await searched()
    assert less != found
    assert await searched(every_article) == less


async def page(world: World, workflow: str, run: JobRun) -> JobRun:
    """The run after one page of it."""
    result = await world.new_worker().workflows.workflows[workflow](run)
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
