"""The first article of a tool is one that is about the tool."""

from __future__ import annotations

import itertools
from datetime import timedelta

from models.run import JobRun
from models.tool import Tool
from services.runs.driver import CORRECT
from tests.functional.articles.dying import Died, DyingStore
from tests.functional.mentions.world import World


async def first_of(world: World, tool: Tool) -> str | None:
    """Checks that tool and roles agree on it."""
    stored = await world.worker.catalog.get(tool.tool_id)
    mentions = await world.mentions(tool)
    first = stored.discovery_reference
    assert [key for key, each in mentions.items() if each.role == "DISCOVERY"] == ([] if first is None else [first])
    day = None if first is None else mentions[first].published_at.date().isoformat()
    assert stored.discovery_date == day
    return first


async def test_an_article_that_is_not_about_the_tool_is_not_its_first(world: World) -> None:
    tool = await world.tool("Quorvia")
    now = world.watch.now
    late, early, middle = [
        await world.article(number, "Quorvia is good", timestamp=now - timedelta(hours=hours))
        for number, hours in ((1, 1), (2, 40), (3, 20))
    ]
    await world.delivered([late, early, middle])
    assert await first_of(world, tool) == early
    await world.worker.correct(tool, early, "not_this_tool")
    assert await first_of(world, tool) == middle
    await world.worker.correct(tool, late, "not_this_tool")
    assert await first_of(world, tool) == middle, "it was another one"
    await world.worker.correct(tool, middle, "not_this_tool")
    assert await first_of(world, tool) is None
    await world.worker.undo(tool, middle)
    assert await first_of(world, tool) == middle
    await world.worker.undo(tool, late)
    assert await first_of(world, tool) == middle
    await world.worker.undo(tool, early)
    assert await first_of(world, tool) == early
    await world.is_counted(tool)


async def test_a_worker_that_dies_anywhere_leaves_a_right_first_article(world: World) -> None:
    for k in itertools.count(1):
        tool = await world.tool(f"Quorvia{k}")
        early, late = [
            await world.article(
                k * 10 + number, f"Quorvia{k} is good", timestamp=world.watch.now - timedelta(hours=30 - number)
            )
            for number in (1, 2)
        ]
        await world.delivered([early, late])
        dying = DyingStore(world.store, k, "after")
        try:
            await world.new_worker(dying).correct(tool, early, "not_this_tool")
        except Died:
            runs = [
                each for each in (await world.store.query("runs", world.everything)).items if each["id"] == JobRun.ID
            ]
            for each in runs:
                if each["workflow_name"] == CORRECT and each["subject"] == tool.tool_id:
                    await world.worker.workflows.advance(each["run_id"], 2)
        expected = late if early not in await world.mentions(tool) else early
        assert await first_of(world, tool) == expected
        if not dying.is_dead:
            assert k > 20
            return
