"""A message that was sent twice is worked on twice at once: the work is done once, and the run's record says all of it.

Two workers take turns at the store, operation by operation, in an order that is drawn: what is written between any two
operations of the one is met.
"""

from __future__ import annotations

import asyncio
import random
from collections import deque
from typing import Any

import pytest

from services.ingest.fetching.outcome import FetchStatus
from services.ports import Store
from tests.functional.ingest.dying import DyingStore
from tests.functional.ingest.world import World, item

FEEDS = ("a", "b", "c")
STEPS_TO_THE_NEXT_OPERATION = 40


class Turns:
    """Who asks the store next. `order` is who did."""

    def __init__(self, chance: random.Random) -> None:
        self._chance = chance
        self._waiting: dict[int, deque[asyncio.Event]] = {}
        self._has_run = asyncio.Event()
        self.order: list[int] = []

    async def take(self, who: int, work: Any) -> Any:
        turn = asyncio.Event()
        self._waiting.setdefault(who, deque()).append(turn)
        await turn.wait()
        self.order.append(who)
        try:
            return await work()
        finally:
            self._has_run.set()

    async def give_until_done(self, *actors: asyncio.Future[Any]) -> None:
        while not all(each.done() for each in actors):
            for _ in range(STEPS_TO_THE_NEXT_OPERATION):
                await asyncio.sleep(0)
            ready = sorted(who for who, turns in self._waiting.items() if turns)
            if not ready:
                await asyncio.sleep(0.001)
                continue
            self._has_run.clear()
            self._waiting[self._chance.choice(ready)].popleft().set()
            await self._has_run.wait()


class TurnStore(DyingStore):
    def __init__(self, store: Store, turns: Turns, who: int) -> None:
        super().__init__(store, 1_000_000_000, "before")
        self._turns = turns
        self._who = who

    async def _do(self, name: str, *arguments: Any, half: tuple[Any, ...] | None = None) -> Any:
        return await self._turns.take(self._who, lambda: super(TurnStore, self)._do(name, *arguments, half=half))


async def _worked_on_twice(world: World, seed: int) -> set[int]:
    """Who worked on it."""
    for at, name in enumerate(FEEDS):
        await world.add_feed(name, [item(at * 2 + number) for number in range(2)])
    world.shelf.pages["https://b.example/feed"].status = FetchStatus.TIMEOUT if seed % 2 else FetchStatus.FETCHED
    (batch,) = await world.worker.claims.claim_every(world.clock.now)
    turns = Turns(random.Random(seed))
    workers = [world.new_worker(TurnStore(world.store, turns, who)) for who in range(2)]
    actors = [asyncio.ensure_future(each.ingestion.ingest(batch)) for each in workers]
    await turns.give_until_done(*actors)
    outcomes = [each.result() for each in actors]
    assert {name for each in outcomes for name in each.article_ids} == {
        each["source_id"] for each in await world.articles()
    }
    return set(turns.order)


@pytest.mark.parametrize("seed", range(60))
async def test_however_two_deliveries_share_the_work_the_run_says_all_of_it(world: World, seed: int) -> None:
    assert await _worked_on_twice(world, seed) == {0, 1}
    (run,) = await world.runs()
    fails = seed % 2
    assert run["status"] == ("PARTIAL" if fails else "SUCCEEDED")
    assert run["progress"] == 3
    assert run["sources_queried"] == list(FEEDS)
    assert run["metrics"]["articles_stored"] == len(await world.articles()) == (4 if fails else 6)
    assert len(run["errors"]) == fails
    for name in FEEDS:
        feed = await world.feed(name)
        failed = fails and name == "b"
        assert (feed.claim_id, feed.total_articles_fetched) == (None, 0 if failed else 2)
        assert (feed.fetch_count, feed.consecutive_errors) == ((0, 1) if failed else (1, 0))
