"""Applying an alias to the articles of the last 30 days, wherever a worker dies."""

from __future__ import annotations

from datetime import timedelta

import pytest

from services.tools.form import tool_change
from services.work.driver import WORKFLOWS_STAGE
from services.work.runs import LEASE
from tests.builders import overdue_keys
from tests.functional.mentions.world import World
from tests.functional.workflows.carried_out import generation, status, until_done


@pytest.mark.parametrize("writes", [0, 1, 2, 3, 4, 5, 7, 9, 12, 99])
async def test_an_alias_is_applied_to_30_days_wherever_that_dies(world: World, writes: int) -> None:
    tool = await world.tool("Quorvia", "Quo")
    ages = {"new": 0, "known": 1, "old": 29, "too old": 31}
    articles = {
        name: await world.article(
            number,
            f"{'Quorvia' if name == 'known' else 'Qrvdb'} is good",
            timestamp=world.watch.now - timedelta(days=age),
        )
        for number, (name, age) in enumerate(ages.items(), 1)
    }
    lost = await world.article(9, "Quo is good")
    await world.delivered([*articles.values(), lost])
    change = tool_change({"aliases": ["QRVDB"]})
    changed, run = await world.worker.changes.change("Quorvia", change)
    assert run is not None
    assert changed.aliases == ("QRVDB",)
    result = await until_done(world, run, writes)
    assert (await status(world, run), result.changed_tools) == ("SUCCEEDED", (tool.tool_id,))
    assert set(await world.mentions(tool)) == {articles["new"], articles["known"], articles["old"]}
    assert await generation(world, tool) >= 1
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
    await world.dying(writes, lambda worker: worker.changes.change("Quorvia", change))
    world.watch.advance(seconds=LEASE.total_seconds() + 60)
    for run_id in await overdue_keys(world.store, WORKFLOWS_STAGE, world.watch):
        await world.worker.workflows.advance(run_id)
    is_changed = (await world.worker.catalog.get("Quorvia")).aliases == ("QRVDB",)
    assert (one in await world.mentions(tool)) == is_changed
