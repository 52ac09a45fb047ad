"""Documents that cannot be read stop no other article, and the documents of the grouping are written anew."""

from __future__ import annotations

import random
from typing import Any

import pytest

from services.ports import Query, query_all
from services.store.containers import ARTICLES, CONTAINERS, LOCATORS, STORIES
from tests.functional.stories.test_grouping import some
from tests.functional.stories.world import ANY, LEAD, OTHER, OUTAGE_TOO, RELEASE, World

GARBAGE: tuple[Any, ...] = (None, "x", 5, [], {}, {"x": "y"}, ["a"], True)
KINDS = {"GroupingKey", "Story", "StoryMember", "Article"}
NEEDED = {"id", "day", "locator", "source_id"}


async def damage(world: World, container: str, chance: random.Random) -> None:
    """Writes nonsense into, or removes, one field of some documents."""
    found = await query_all(world.store, container, Query(limit=500))
    documents = [each for each in found if each.get("entity_type") in KINDS]
    for each in chance.sample(documents, 4):
        name = chance.choice([name for name in each if name not in NEEDED and not name.startswith("_")])
        damaged = {**each, name: chance.choice(GARBAGE)}
        if name in (*CONTAINERS[container].sort_fields, "ttl_timestamp") or chance.random() < 0.3:
            del damaged[name]
        await world.store.upsert(container, damaged)


@pytest.mark.parametrize("container", [LOCATORS.name, STORIES.name, ARTICLES.name])
@pytest.mark.parametrize("seed", range(3))
async def test_a_damaged_document_keeps_no_other_article_from_its_story(
    world: World, container: str, seed: int
) -> None:
    articles = await some(world)
    await world.group()
    await damage(world, container, random.Random(seed))
    new = [await world.analysed(30, OUTAGE_TOO, LEAD), await world.analysed(20, RELEASE)]
    if container != ARTICLES.name:
        for each in articles[:3]:
            await world.edit(each, OTHER)
        await world.delivered(articles[:3])
    for _ in range(6):
        await world.worker.grouper.handle(ANY)
        world.watch.advance(minutes=20)
    assert not {*new} & {*await world.due()}
    assert all([(await world.read(each)).event_id for each in new])
