"""The preview of a change: the articles that would get or lose a mention, and why."""

from __future__ import annotations

from typing import Any

import pytest

from models.resources.tools import ToolPreview
from services.tools.catalog import tool_change
from tests.functional.mentions.world import World
from tests.functional.workflows.carried_out import articles_of_30_days


async def tried(world: World, tool: str, **change: Any) -> ToolPreview:
    previews = world.worker.services.workflows.previews
    return await previews.of_tool(await world.worker.catalog.get(tool), tool_change(change))


def counts(found: ToolPreview) -> tuple[int, int]:
    return found.would_add, found.would_remove


async def test_an_alias_adds_the_articles_of_30_days_that_do_not_mention_the_tool(world: World) -> None:
    tool = await world.tool("Quorvia", "Quo")
    articles = await articles_of_30_days(world)
    found = await tried(world, "Quorvia", aliases=["QRVDB", "Quo"])
    assert (*counts(found), found.articles_looked_at, found.complete, found.taken_by) == (2, 0, 4, True, {})
    assert [each.source_id for each in found.added] == [articles["new"], articles["old"]]
    assert [(each.name, each.kind, each.where) for each in found.added[0].matches] == [("Qrvdb", "ALIAS", "HEADLINE")]

    found = await tried(world, "Quorvia", aliases=["QRVDB"])
    assert counts(found) == (2, 1), "the list replaces the present one, as in a change"
    assert [each.source_id for each in found.removed] == [articles["lost"]]
    assert [each.name for each in found.removed[0].matches] == ["Quo"]
    assert set(await world.mentions(tool)) == {articles["known"], articles["lost"]}, "a preview changes nothing"
    assert (await world.worker.catalog.get("Quorvia")).aliases == ("Quo",)


@pytest.mark.parametrize(
    ("change", "expected"),
    [
        ({}, (0, 0)),
        ({"aliases": []}, (0, 0)),
        ({"keywords": ["qstore"]}, (1, 0)),
        ({"keywords": ["nothing"]}, (0, 0)),
        ({"tickers": ["QRVA"]}, (1, 0)),
        ({"excluded": ["Quorvia Street"]}, (0, 1)),
        ({"excluded": ["recipe"]}, (0, 1)),
        ({"name_rules": {"Quorvia": {"case_sensitive": True}}}, (0, 1)),
        ({"name_rules": {"Quorvia": {"context": ["street"]}}}, (0, 2)),
        ({"name": "Tarnwick"}, (1, 3)),
        ({"keywords": ["qstore"], "excluded": ["recipe"]}, (1, 1)),
        ({"status": "ACTIVE"}, (0, 0)),
        ({"status": "DEPRECATED", "aliases": ["Tarnwick"]}, (0, 0)),
    ],
)
async def test_each_field_of_detection_can_be_tried(
    world: World, change: dict[str, Any], expected: tuple[int, int]
) -> None:
    await world.tool("Quorvia")
    headlines = (
        "Quorvia recipe",
        "quorvia opens",
        "On Quorvia Street",
        "The qstore opens",
        "QRVA rises",
        "Tarnwick opens",
    )
    await world.delivered([await world.article(number, each) for number, each in enumerate(headlines, 1)])
    assert counts(await tried(world, "Quorvia", **change)) == expected


async def test_the_samples_of_an_ambiguous_name_have_its_cues(world: World) -> None:
    await world.tool("Quorvia")
    headlines = ("The Go team meets", "Go to the GitHub page")
    meant, _ = [await world.article(number, each) for number, each in enumerate(headlines, 1)]
    await world.delivered([meant])
    found = await tried(world, "Quorvia", aliases=["Go"])
    assert [each.source_id for each in found.added] == [meant]
    assert "determiner before and thing after" in found.added[0].matches[0].cues


async def test_articles_whose_analysis_is_due_count_only_if_the_change_concerns_them(world: World) -> None:
    await world.tool("Quorvia")
    await world.article(1, "Quorvia opens")
    due = await world.article(2, "Tarnwick opens")
    assert counts(await tried(world, "Quorvia", keywords=["nothing"])) == (0, 0)
    found = await tried(world, "Quorvia", aliases=["Tarnwick"])
    assert (counts(found), [each.source_id for each in found.added]) == ((1, 0), [due])
    assert counts(await tried(world, "Quorvia", excluded=["opens"])) == (0, 1)


async def test_an_article_that_is_not_about_the_tool_by_a_persons_verdict_is_not_added(world: World) -> None:
    tool = await world.tool("Quorvia")
    wrong = await world.article(1, "Quorvia opens")
    await world.delivered([wrong])
    await world.worker.correct(tool, wrong, "not_this_tool")
    assert await world.mentions(tool) == {}
    assert counts(await tried(world, "Quorvia", keywords=["opens"])) == (0, 0)
    await world.edit(wrong, "Quorvia opens again")
    assert counts(await tried(world, "Quorvia", excluded=["opens"])) == (0, 0), "nor removed, while its analysis is due"


async def test_a_muted_source_loses_its_articles(world: World) -> None:
    await world.tool("Quorvia")
    one = await world.article(1, "Quorvia opens")
    await world.delivered([one])
    (source,) = (await world.read(one)).sources
    found = await tried(world, "Quorvia", muted_sources=[source])
    assert (counts(found), [each.source_id for each in found.removed]) == ((0, 1), [one])
