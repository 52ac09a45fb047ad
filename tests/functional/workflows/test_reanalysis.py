"""A reanalysis scores every mention anew, wherever its worker dies."""

from __future__ import annotations

import pytest

from tests.functional.mentions.world import World
from tests.functional.workflows.carried_out import break_mention, generation, heal_mention, status, until_done


@pytest.mark.parametrize("writes", [0, 1, 2, 3, 4, 5, 6, 99])
async def test_a_reanalysis_that_dies_anywhere_scores_every_mention_again(world: World, writes: int) -> None:
    tool = await world.tool("Quorvia")
    articles = [await world.article(number, "Quorvia is good") for number in range(1, 5)]
    await world.delivered(articles)
    await world.store.delete("articles", articles[3], "article")
    world.analyzer.version = "2"
    run = await world.worker.changes.reanalyze("Quorvia")
    result = await until_done(world, run, writes)
    assert (await status(world, run), result.changed_tools) == ("SUCCEEDED", (tool.tool_id,))
    versions = {source_id: each.analyzer_version for source_id, each in (await world.mentions(tool)).items()}
    assert versions == {**dict.fromkeys(articles[:3], "2"), articles[3]: "1"}
    assert await generation(world, tool) >= 1
    await world.is_counted(tool)


async def test_a_reanalysis_in_which_mentions_failed_is_partial_and_names_them(world: World) -> None:
    tool = await world.tool("Quorvia")
    well, cursed, broken = [await world.article(number, "Quorvia is good") for number in range(1, 4)]
    await world.delivered([well, cursed, broken])
    await world.edit(cursed, "Quorvia is cursed text")
    await break_mention(world, tool, broken)
    world.analyzer.version = "2"
    ended = await world.run(await world.worker.changes.reanalyze("Quorvia"))
    assert (ended.status, ended.progress, ended.metrics["rescored"], ended.metrics["failed"]) == ("PARTIAL", 3, 1, 2)
    assert [error.split(":")[1] for error in ended.errors] == [each.split(":")[1] for each in (cursed, broken)]
    assert (await world.worker.workflows.advance(ended.run_id)).changed_tools == (tool.tool_id,)
    await heal_mention(world, tool, broken)
    await world.edit(cursed, "Quorvia is good")
    again = await world.run(await world.worker.changes.reanalyze("Quorvia"))
    assert (again.status, again.metrics["failed"], again.errors) == ("SUCCEEDED", 0, ())
    assert {each.analyzer_version for each in (await world.mentions(tool)).values()} == {"2"}
