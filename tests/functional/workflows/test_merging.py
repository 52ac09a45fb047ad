"""A merge comes to the same end wherever its worker dies, and whatever else happens meanwhile."""

from __future__ import annotations

import pytest

from models.errors import Conflict
from services.tools.catalog import tool_change
from tests.functional.mentions.world import World
from tests.functional.workflows.carried_out import break_mention, heal_mention


async def test_a_tool_whose_merge_is_under_way_is_merged_nowhere_else(world: World) -> None:
    one, other = await world.tool("Hexwharf"), await world.tool("Pebblegrid")
    await world.tool("Quorvia")
    leaving = one.changed(world.watch.now, merging_into=other.tool_id)
    await world.store.replace("catalog", leaving.to_document(), one.stored_etag or "")
    with pytest.raises(Conflict, match=f"'Hexwharf' is being merged into {other.tool_id}"):
        await world.worker.changes.merge("Hexwharf", "Quorvia")
    await world.run(await world.worker.changes.merge("Hexwharf", "Pebblegrid"))
    assert (await world.worker.catalog.get("Hexwharf")).tool_id == other.tool_id


async def test_a_merge_that_has_become_impossible_allows_another_one(world: World) -> None:
    one, other = await world.tool("Hexwharf"), await world.tool("Pebblegrid")
    third = await world.tool("Quorvia")
    run = await world.worker.changes.merge("Hexwharf", "Pebblegrid")
    leaving = one.changed(world.watch.now, merging_into=other.tool_id)
    await world.store.replace("catalog", leaving.to_document(), one.stored_etag or "")
    await world.worker.changes.change_tool("Pebblegrid", tool_change({"status": "DEPRECATED"}))
    assert (await world.run(run)).status == "FAILED"
    await world.run(await world.worker.changes.merge("Hexwharf", "Quorvia"))
    assert (await world.worker.catalog.get("Hexwharf")).tool_id == third.tool_id


async def test_a_merge_into_a_tool_that_is_merged_meanwhile_follows_it(world: World) -> None:
    await world.tool("Hexwharf")
    await world.tool("Pebblegrid")
    last = await world.tool("Quorvia")
    article = await world.article(1, "Hexwharf is good")
    await world.delivered([article])
    first = await world.worker.changes.merge("Hexwharf", "Pebblegrid")
    await world.run(await world.worker.changes.merge("Pebblegrid", "Quorvia"))
    assert (await world.run(first)).status == "SUCCEEDED"
    assert (await world.worker.catalog.get("Hexwharf")).tool_id == last.tool_id
    assert (await world.read(article)).detected_tool_ids == (last.tool_id,)


@pytest.mark.parametrize("whose", ["source", "target"])
async def test_a_merge_leaves_mentions_that_cannot_be_read_and_is_partial(world: World, whose: str) -> None:
    old, new = await world.tool("Hexwharf"), await world.tool("Pebblegrid")
    well, broken = [await world.article(number, "Hexwharf is good", "Pebblegrid too") for number in (1, 2)]
    await world.delivered([well, broken])
    tool = {"source": old, "target": new}[whose]
    await break_mention(world, tool, broken)
    ended = await world.run(await world.worker.changes.merge("Hexwharf", "Pebblegrid"))
    assert (ended.status, ended.metrics, ended.errors[0][:38]) == ("PARTIAL", {"mentions": 2, "failed": 1}, broken)
    await heal_mention(world, tool, broken)
    assert set(await world.mentions(old)) == {broken}
    assert set(await world.mentions(new)) == {well, broken}
