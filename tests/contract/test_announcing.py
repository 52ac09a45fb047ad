"""Every change of mentions is counted by the messages that follow from it, on both stores, however senders and
refreshers interleave, and wherever they die.

Where a test does not move the clock, nothing becomes overdue: the messages alone must do.
"""

from __future__ import annotations

import asyncio
import itertools
import random
from collections.abc import Awaitable, Callable
from datetime import datetime, timedelta
from typing import cast

import pytest

from models.cache import PERIODS
from models.tool import Tool
from services.figures.entries import Generations
from services.mentions.due import OVERDUE, REFRESH_STAGE, RefreshMessage, dirty_hours_of
from services.ports import Store
from services.store.containers import CATALOG, MENTIONS, SENTIMENT_CACHE
from services.topology import REFRESH_TOOLS
from services.work.sweeping import Sweeper
from tests.builders import MemoryQueues, forgetful
from tests.contract.conftest import SettableClock
from tests.failing_stores import Interrupted
from tests.functional.figures.slow import far
from tests.functional.figures.world import Judgement, Process, a_tool, check_entry, stored_entry

SEEDS = {"sqlite": 60, "cosmos": 12}


class World:
    """Tools whose mentions change, in any number of processes with one queue."""

    def __init__(self, store: Store, clock: SettableClock) -> None:
        self.store = store
        self.clock = clock
        self.queues = MemoryQueues()
        self.process = self.new_process(store)
        self._numbers = itertools.count(1)

    def new_process(self, store: Store) -> Process:
        return Process(store, self.clock, queues=self.queues)

    async def tool(self) -> Tool:
        tool = a_tool(next(self._numbers), self.clock.now - timedelta(days=40))
        await self.store.create(CATALOG.name, tool.to_document())
        return tool

    async def say(self, process: Process, tool: Tool, published_at: datetime | None = None) -> None:
        """One more mention of the tool, written as the analysis does it."""
        judgement = Judgement(published_at or self.clock.now - timedelta(minutes=5), "positive")
        await process.analyse(tool.tool_id, f"article-{next(self._numbers)}", judgement)
        await process.announcer.announce(REFRESH_STAGE, [tool.tool_id])

    @property
    def waiting(self) -> list[str]:
        return self.queues.sent.setdefault(REFRESH_TOOLS, [])

    async def deliver(self, process: Process | None = None) -> int:
        """Works on the messages until none waits. How many there were."""
        number = 0
        while self.waiting:
            message = RefreshMessage.from_message(self.waiting.pop(0))
            await (process or self.process).cache.refresh.work(message)
            number += 1
        return number

    async def is_complete(self, tool: Tool) -> None:
        """The stored entries count every mention."""
        assert await dirty_hours_of(self.store, tool.tool_id) == []
        for period in PERIODS:
            entry = await stored_entry(self.store, tool.tool_id, period)
            assert entry is not None
            await check_entry(self.store, entry, self.clock.now)

    async def sweep(self, *, at_start: bool = False) -> int:
        return await Sweeper(self.store, self.queues, forgetful(self.queues), self.clock).sweep(
            REFRESH_STAGE, at_start=at_start
        )


@pytest.fixture
async def world(store: Store, clock: SettableClock) -> World:
    return World(store, clock)


@pytest.mark.parametrize("work", ["refresh", "read", "refresh of all"])
@pytest.mark.parametrize("is_refreshed", [False, True])
async def test_a_mention_that_is_written_at_any_operation_of_a_refresh_or_a_miss_is_counted(
    world: World, work: str, is_refreshed: bool
) -> None:
    """Also if another worker refreshes the tool in between: this one must not bring back older figures."""
    for k in itertools.count():
        tool = await world.tool()
        await world.say(world.process, tool)
        (message,) = world.waiting
        if work == "refresh":
            world.waiting.clear()

        async def meanwhile(tool: Tool = tool) -> None:
            await world.say(world.process, tool)
            if is_refreshed:
                await world.process.cache.refresh.refresh_tools([tool.tool_id])

        interrupted = Interrupted(world.store, k, meanwhile)
        cache = world.new_process(cast("Store", interrupted)).cache
        if work == "refresh":
            await cache.refresh.work(RefreshMessage.from_message(message))
        elif work == "read":
            await cache.reader.read(tool.tool_id, "HOUR_1")
        else:
            await cache.refresh.refresh_tools([tool.tool_id])
        await world.deliver()
        await world.is_complete(tool)
        if not interrupted.has_acted:
            break
    assert k > 6


async def test_a_tool_that_cannot_be_refreshed_holds_up_no_other_and_is_tried_again(world: World) -> None:
    bad, good = await world.tool(), await world.tool()
    key = Generations.key(bad.tool_id)
    await world.store.upsert(SENTIMENT_CACHE.name, {"tool_id": key[0], "id": key[1], "generation": "high"})
    for tool in (bad, good):
        await world.process.analyse(tool.tool_id, "article", Judgement(world.clock.now, "positive"))
    await world.process.announcer.announce(REFRESH_STAGE, [bad.tool_id, good.tool_id])
    assert await world.deliver() == 1, "it does not go round and round"
    await world.is_complete(good)
    await world.store.delete(SENTIMENT_CACHE.name, *key)
    world.clock.forward(int(OVERDUE.total_seconds()))
    assert await world.sweep() == 1
    await world.deliver()
    await world.is_complete(bad)


async def test_whatever_senders_and_refreshers_do_at_once_all_mentions_are_counted_in_the_end(
    kind: str, world: World
) -> None:
    """Two workers refresh, three write mentions of two tools. Now and then a message is delivered twice."""
    for seed in range(SEEDS[kind]):
        chance = random.Random(seed)
        tools = [await world.tool() for _ in range(2)]

        async def some_time(work: Callable[[], Awaitable[object]], chance: random.Random = chance) -> None:
            await asyncio.sleep(chance.uniform(0, 0.02))
            await work()

        async def refresh(chance: random.Random = chance) -> None:
            process = world.new_process(far(world.store, chance))
            for _ in range(6):
                await asyncio.sleep(chance.uniform(0, 0.01))
                if world.waiting:
                    message = world.waiting[0] if chance.random() < 0.2 else world.waiting.pop(0)
                    await process.cache.refresh.work(RefreshMessage.from_message(message))

        async def send(tools: list[Tool] = tools, chance: random.Random = chance) -> None:
            process = world.new_process(far(world.store, chance))
            for _ in range(4):
                await asyncio.sleep(chance.uniform(0, 0.01))
                await world.say(process, chance.choice(tools))

        await asyncio.gather(*(some_time(refresh) for _ in range(2)), *(some_time(send) for _ in range(3)))
        await world.deliver()
        for tool in tools:
            if await world.store.count(MENTIONS.name, (), tool.tool_id):
                await world.is_complete(tool)
