"""Refreshes, misses, reanalyses and invalidations at once, on both stores: nothing of a past generation is served."""

from __future__ import annotations

import asyncio
import random
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field
from datetime import timedelta

from models.cache import PERIODS, Period
from models.errors import ChangedMeanwhile, Conflict
from models.tool import Tool
from models.values import Sentiment
from services.ports import Store
from services.store.containers import CATALOG
from tests.contract.conftest import SettableClock
from tests.functional.cache.slow import far
from tests.functional.cache.world import Process, Said, a_tool, check_entry, check_tables

ROUNDS = {"sqlite": 600, "cosmos": 25}
PERIOD_NAMES: list[Period] = list(PERIODS)
MEMORY_SECONDS = 2.0
LONGEST_WAIT = 0.006


@dataclass
class Race:
    """One tool and all that is done to it at once. `acknowledged` is the highest generation that each process has
    raised, `settled` the highest of all when the memory of the others ran out."""

    tool: Tool
    processes: list[Process]
    clock: SettableClock
    chance: random.Random
    acknowledged: dict[int, int] = field(default_factory=dict)
    settled: int = 0
    served: int = 0

    async def read(self, number: int) -> None:
        process = self.processes[number]
        before, at = self.settled, self.clock.now
        served = await process.cache.reader.read(self.tool.tool_id, self.chance.choice(PERIOD_NAMES))
        # No await between the answer and this: it is what the caller sees.
        generation = served.aggregate.entry.generation
        assert generation >= self.acknowledged.get(number, 0), "of a generation that this process had raised"
        if self.clock.now == at:
            assert generation >= before, "of a generation that was raised before this read, and memory had run out"
        self.served += 1

    async def refresh(self, number: int) -> None:
        await self.processes[number].cache.refresh.refresh_tools([self.tool.tool_id])

    async def say(self, number: int) -> None:
        """New, changed or gone: one of four articles, two of them in the same hour."""
        source = self.chance.randrange(4)
        sentiment: Sentiment | None = self.chance.choice(["positive", "negative", None])
        said = Said(self.clock.now - timedelta(minutes=40 * source), sentiment)
        for _ in range(20):
            try:
                await self.processes[number].settle(self.tool.tool_id, f"article-{source}", said)
            except (Conflict, ChangedMeanwhile):
                continue  # the message comes again
            return

    async def drop(self, number: int) -> None:
        process = self.processes[number]
        await process.cache.invalidation.drop(self.tool.tool_id)
        self._acknowledge(number)

    async def reanalyse(self, number: int) -> None:
        """Acknowledged when the generation is raised: the entries go later, by a message."""
        cache, tool_id = self.processes[number].cache, self.tool.tool_id
        await cache.recount.rebuild_tool(tool_id, self.clock())
        await cache.generations.raise_(tool_id)
        self._acknowledge(number)
        await cache.invalidation.invalidate_tool_cache(tool_id)

    async def some_time(self, actor: Callable[[int], Awaitable[None]]) -> None:
        """In some process, at some time while the others are at it."""
        number, seconds = self.chance.randrange(len(self.processes)), self.chance.uniform(0, LONGEST_WAIT)
        await asyncio.sleep(seconds)
        await actor(number)

    def _acknowledge(self, number: int) -> None:
        known = self.processes[number].cache.generations.known(self.tool.tool_id)
        self.acknowledged[number] = max(known, self.acknowledged.get(number, 0))

    def memory_ran_out(self) -> None:
        """What was acknowledged until now holds for every process."""
        self.clock.forward(int(MEMORY_SECONDS) + 1)
        self.settled = max(self.acknowledged.values(), default=0)


async def _race(race: Race) -> None:
    actors = [race.read, race.read, race.say, race.say, race.refresh, race.refresh, race.drop, race.reanalyse]
    for _ in range(2):
        chosen = race.chance.sample(actors, race.chance.randrange(3, 6))
        await asyncio.gather(*(race.some_time(actor) for actor in chosen))
        race.memory_ran_out()
        await asyncio.gather(*(race.read(number) for number in range(len(race.processes))))


async def test_thousands_of_interleavings_serve_no_generation_that_is_past_and_no_wrong_figure_for_long(
    kind: str, store: Store, clock: SettableClock
) -> None:
    plain = Process(store, clock)
    served = 0
    for seed in range(ROUNDS[kind]):
        chance = random.Random(seed)
        tool = a_tool(seed, clock.now - timedelta(days=40))
        await store.create(CATALOG.name, tool.to_document())
        await plain.settle(tool.tool_id, "article-3", Said(clock.now - timedelta(hours=3), "positive"))
        memory = [MEMORY_SECONDS, chance.choice([0.0, MEMORY_SECONDS])]
        processes = [Process(far(store, chance), clock, seconds) for seconds in memory]
        race = Race(tool, processes, clock, chance)
        await _race(race)
        await plain.cache.refresh.refresh_tools([tool.tool_id])
        await check_tables(store, tool.tool_id, clock.now)
        again = await plain.cache.reader.read(tool.tool_id, chance.choice(PERIOD_NAMES))
        await check_entry(store, again.aggregate.entry, clock.now)
        served += race.served
        for process in processes:
            await process.close()
    assert served > 3 * ROUNDS[kind]
    await plain.close()
