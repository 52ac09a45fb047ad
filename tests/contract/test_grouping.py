"""Grouping has the same results on both stores, also with several workers at once."""

from __future__ import annotations

import asyncio
import contextlib
import random

import pytest

from models.errors import ToolpulseError
from services.ports import Store
from services.stories.listing import State, story_filter
from services.stories.reading import Stories
from tests.contract.conftest import SettableClock
from tests.failing_stores import Crash, hesitant, mortal
from tests.functional.stories.test_grouping import some
from tests.functional.stories.world import ANY, LEAD, OTHER, OUTAGE, OUTAGE_LATER, World


@pytest.fixture
def world(store: Store, clock: SettableClock) -> World:
    return World(store, clock)


async def test_articles_are_grouped_edited_and_deleted(world: World) -> None:
    articles = await some(world)
    await world.group()
    await world.is_right()
    before = await world.together()
    await world.edit(articles[0], OTHER)
    await world.delivered([articles[0]])
    await world.group()
    await world.is_right()
    await world.edit(articles[0], OUTAGE)
    await world.delivered([articles[0]])
    await world.group()
    assert await world.together() == before
    await world.worker.delete(articles[0])
    await world.is_right()


@pytest.mark.parametrize("seed", range(4))
async def test_workers_that_analyse_group_and_delete_at_once_leave_what_one_worker_would(
    world: World, seed: int
) -> None:
    articles = await some(world)
    await world.group()
    chance = random.Random(seed)

    async def working(number: int) -> None:
        worker = world.new_worker(hesitant(world.store, 100 * seed + number))
        with contextlib.suppress(ToolpulseError):
            if number == 0:
                await world.edit(articles[1], OUTAGE_LATER)
                await worker.analysis.handle([articles[1]])
            elif number == 1:
                await worker.delete(articles[chance.randrange(2, 6)])
            elif number == 2:
                source_id = await world.article(55, OUTAGE, LEAD)
                await worker.analysis.handle([source_id])
            await worker.grouper.work(ANY)

    await asyncio.gather(*(working(number) for number in range(5)))
    await world.delivered([each.source_id for each in await world.living()])
    await world.group()
    await world.is_right()


async def test_a_worker_that_dies_at_any_write_is_repaired_by_the_next(world: World) -> None:
    articles = await some(world)
    for writes in range(60):
        await world.edit(articles[writes % 4], (OTHER, OUTAGE, OUTAGE_LATER)[writes % 3])
        await world.delivered([articles[writes % 4]])
        with contextlib.suppress(Crash):
            await world.new_worker(mortal(world.store, writes % 30)).grouper.work(ANY)
        world.watch.forward(seconds=121)
        await world.group()
        await world.is_right()


async def test_stories_are_listed_by_every_filter_at_once_and_one_is_read(world: World) -> None:
    articles = await some(world)
    tool = await world.worker.catalog.get("Hexwharf")
    await world.group()
    event = (await world.read(articles[0])).event_id or ""
    stories = Stories(world.store, world.worker.catalog, world.watch)
    given = {"tool": tool.tool_id, "source": "tiingo", "language": "en", "text": "outage deployments"}
    cases: list[tuple[int, State | None, list[str]]]
    cases = [(2, "open", [event]), (3, None, [event]), (9, None, []), (2, "closed", [])]
    for fewest, state, found in cases:
        page = await stories.page(story_filter(given, state, fewest, world.watch()), 10, None)
        assert [each["event_id"] for each in page.items] == found
    shown = await stories.get(event)
    assert articles[5] in [each["source_id"] for each in shown["members"]]
    world.watch.forward(seconds=74 * 3600)
    page = await stories.page(story_filter(given, "closed", 2, world.watch()), 10, None)
    assert [each["state"] for each in page.items] == ["closed"]
