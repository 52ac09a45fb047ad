"""Refreshes, misses, reanalyses and invalidations at once, on both stores: nothing of a past generation is served.

What is counted as an interleaving is a schedule: four to six actors, drawn at random, each in one of two processes
and from a moment drawn at random on, at one tool, until all are done and memory has run out. A world is one tool's life
of four schedules, whose figures are counted by brute force at its end. There are 768 schedules on the embedded store
and 320 on Cosmos, in parts that run side by side. Seeds say who takes part, where and when; the order within is the
machine's, so each run has others.
"""

from __future__ import annotations

import asyncio
import random
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field
from datetime import timedelta

import pytest

from models.cache import PERIODS, Period
from models.errors import ChangedMeanwhile, Conflict
from models.tool import Tool
from services.ports import Store
from services.store.containers import CATALOG
from tests.contract.conftest import SettableClock
from tests.failing_stores import hesitant
from tests.functional.figures.world import Judgement, Process, Said, a_tool, check_entry, check_tables

pytestmark = pytest.mark.soak

PARTS = 8
WORLDS = {"sqlite": 24, "cosmos": 10}
SCHEDULES = 4
AT_ONCE = 8
PERIOD_NAMES: list[Period] = list(PERIODS)
MEMORY_SECONDS = 2.0
LONGEST_WAITS = (0.0, 0.006, 0.03)


@dataclass
class Race:
    """One tool and all that is done to it at once. `acknowledged` is the highest generation that each process has
    raised, `settled` the highest of all when the memory of the others ran out, `crossed` how many reads there were
    during which the generation was raised."""

    tool: Tool
    period: Period
    processes: list[Process]
    clock: SettableClock
    chance: random.Random
    acknowledged: dict[int, int] = field(default_factory=dict)
    settled: int = 0
    crossed: int = 0

    async def read(self, number: int) -> None:
        process = self.processes[number]
        before = sum(self.acknowledged.values())
        served = await process.cache.reader.read(self.tool.tool_id, self.period)
        # No await between the answer and this: it is what the caller sees.
        generation = served.entry.generation
        assert generation >= self.acknowledged.get(number, 0), "of a generation that this process had raised"
        assert generation >= self.settled, "of a generation that was raised before this read, and memory had run out"
        self.crossed += sum(self.acknowledged.values()) > before

    async def refresh(self, number: int) -> None:
        await self.processes[number].cache.refresh.refresh_tools([self.tool.tool_id])

    async def say(self, number: int) -> None:
        """New, changed or gone: one of four articles, two of them in the same hour."""
        source = self.chance.randrange(4)
        sentiment: Said | None = self.chance.choice(["positive", "negative", "unscored", None])
        version = self.chance.choice(["1", "2"])
        judgement = Judgement(self.clock.now - timedelta(minutes=40 * source), sentiment, version)
        for _ in range(20):
            try:
                await self.processes[number].analyse(self.tool.tool_id, f"article-{source}", judgement)
            except (Conflict, ChangedMeanwhile):
                continue  # the message comes again
            return

    async def drop(self, number: int) -> None:
        process = self.processes[number]
        await process.cache.generations.raise_(self.tool.tool_id)
        self._acknowledge(number)

    async def reanalyse(self, number: int) -> None:
        """Acknowledged when the generation is raised; it is raised again by a message."""
        cache, tool_id = self.processes[number].cache, self.tool.tool_id
        await cache.recount.rebuild_tool(tool_id, self.clock())
        await cache.generations.raise_(tool_id)
        self._acknowledge(number)
        await cache.generations.raise_(tool_id)

    async def some_time(self, actor: Callable[[int], Awaitable[None]], longest: float) -> None:
        """In some process, at some time while the others are at it."""
        number, seconds = self.chance.randrange(len(self.processes)), self.chance.uniform(0, longest)
        await asyncio.sleep(seconds)
        await actor(number)

    def _acknowledge(self, number: int) -> None:
        known = self.processes[number].cache.generations.known(self.tool.tool_id)
        self.acknowledged[number] = max(known, self.acknowledged.get(number, 0))

    def memory_ran_out(self) -> None:
        """What was acknowledged until now holds for every process."""
        self.clock.forward(int(MEMORY_SECONDS) + 1)
        self.settled = max(self.acknowledged.values(), default=0)

    async def schedule(self) -> None:
        actors = [
            self.read,
            self.read,
            self.read,
            self.say,
            self.say,
            self.refresh,
            self.refresh,
            self.drop,
            self.reanalyse,
        ]
        chosen = self.chance.sample(actors, self.chance.randrange(4, 7))
        longest = self.chance.choice(LONGEST_WAITS)
        await asyncio.gather(*(self.some_time(actor, longest) for actor in chosen))
        self.memory_ran_out()
        await asyncio.gather(*(self.read(number) for number in range(len(self.processes))))


async def _world(seed: int, store: Store) -> int:
    """How many reads crossed a raised generation."""
    chance, clock = random.Random(seed), SettableClock()
    plain = Process(store, clock)
    tool = a_tool(seed, clock.now - timedelta(days=40))
    await store.create(CATALOG.name, tool.to_document())
    await plain.analyse(tool.tool_id, "article-3", Judgement(clock.now - timedelta(hours=3), "positive"))
    memory = [MEMORY_SECONDS, chance.choice([0.0, MEMORY_SECONDS])]
    processes = [Process(hesitant(store, chance.randrange(10**6)), clock, seconds) for seconds in memory]
    race = Race(tool, chance.choice(PERIOD_NAMES), processes, clock, chance)
    for _ in range(SCHEDULES):
        await race.schedule()
    await plain.cache.refresh.refresh_tools([tool.tool_id])
    await check_tables(store, tool.tool_id, clock.now)
    again = await plain.cache.reader.read(tool.tool_id, chance.choice(PERIOD_NAMES))
    await check_entry(store, again.entry, clock.now)
    for process in (*processes, plain):
        await process.close()
    return race.crossed


@pytest.mark.parametrize("part", range(PARTS))
async def test_no_interleaving_serves_an_older_generation_or_a_wrong_figure_for_long(
    part: int, kind: str, store: Store
) -> None:
    seeds = iter(range(part * WORLDS[kind], (part + 1) * WORLDS[kind]))

    async def some_worlds() -> int:
        return sum([await _world(seed, store) for seed in seeds])

    async with asyncio.TaskGroup() as group:
        rows = [group.create_task(some_worlds()) for _ in range(AT_ONCE)]
    assert sum(row.result() for row in rows) > 0, "no read was under way while a generation was raised"
