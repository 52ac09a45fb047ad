"""Signals have the same results on both stores, also with several workers at once and after crashes."""

from __future__ import annotations

import asyncio
import contextlib
import random

import pytest

from models.errors import ToolpulseError
from services.ports import Store
from services.signals.reading import Signals, signal_filter
from tests.contract.conftest import SettableClock
from tests.failing_stores import Crash, hesitant, mortal
from tests.functional.signals.test_signals import outage
from tests.functional.signals.world import World


@pytest.fixture
def world(store: Store, clock: SettableClock) -> World:
    return World(store, clock)


async def test_signals_are_made_updated_withdrawn_and_listed(world: World) -> None:
    tool = await world.tool("Hexwharf")
    articles = await outage(world)
    await world.grouped()
    signals = Signals(world.store, world.worker.catalog)
    for tool_id, kind, found in ((tool.tool_id, None, 1), (None, "NEW", 1), (None, "GROWING", 0), ("nobody", None, 0)):
        where = signal_filter({"since": "2020-01-01T00:00:00Z"}, kind, "active")  # type: ignore[arg-type]
        assert len((await signals.page(tool_id, where, 10, None)).items) == found
    for each in articles[:2]:
        await world.worker.delete(each)
        await world.decide()
    assert (await signals.page(None, signal_filter({}, None, "active"), 10, None)).items == []
    # The story had two ids: the second since its first article was deleted.
    assert len((await signals.page(None, signal_filter({}, None, "withdrawn"), 10, None)).items) == 2
    await world.all_is_decided()


async def test_the_first_of_its_kind_is_looked_up(world: World) -> None:
    tool = await world.tool("Hexwharf")
    await world.told(60 * 24 * 4, "blog", headline="Hexwharf opens an office in Lyon", text="Nothing else.")
    await outage(world)
    await world.grouped()
    assert (await world.signals(tool)).keys() == {"NEW", "FIRST_OF_ITS_KIND"}
    headline, text = "Registry of Hexwharf: an outage in Osaka", "Pulls of images from Osaka failed for hours."
    for number, outlet in enumerate(("eta", "theta")):
        await world.told(20 + number, outlet, "", headline, text)
    await world.grouped()
    assert [each.kind for each in await world.all_signals(tool)].count("FIRST_OF_ITS_KIND") == 1


@pytest.mark.parametrize("seed", range(3))
async def test_workers_that_change_stories_and_decide_at_once_leave_what_one_worker_would(
    world: World, seed: int
) -> None:
    tool = await world.tool("Hexwharf")
    articles = await outage(world)
    await world.group()
    event, chance = await world.event_of(articles[0]), random.Random(seed)

    async def working(number: int) -> None:
        store = hesitant(world.store, 100 * seed + number)
        with contextlib.suppress(ToolpulseError):
            if number == 0:
                await world.worker.delete(articles[chance.randrange(3)])
            elif number == 1:
                await world.worker.correct(tool, articles[1], "positive")
            for _ in range(3):
                await world.handler(store).handle([event], 2)

    await asyncio.gather(*(working(number) for number in range(4)))
    await world.group()
    await world.decide(also=[sorted(await world.marks())])
    await world.all_is_decided()
    assert (await world.signals(tool))["NEW"].after.articles == 2


async def test_a_worker_that_dies_at_any_write_is_repaired(world: World) -> None:
    tool = await world.tool("Hexwharf")
    articles = await outage(world)
    for writes in range(8):
        await world.edit(
            articles[writes % 3], f"Hexwharf outage, the {writes}th report of it: deployments of companies"
        )
        await world.delivered([articles[writes % 3]])
        await world.group()
        messages = world.messages()
        with contextlib.suppress(Crash, ToolpulseError):
            for message in messages:
                await world.handler(mortal(world.store, writes % 4)).handle(message, 1)
        await world.decide(also=[sorted(await world.marks())])
        await world.all_is_decided()
    assert await world.all_signals(tool)
