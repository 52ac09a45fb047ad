"""Ingestion over a Cosmos DB that drops, delays and repeats responses: nothing is lost, doubled or counted wrong."""

import asyncio
import random
from collections.abc import AsyncIterator, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime

import pytest

from models.errors import ToolpulseError
from services.store.cosmos import CosmosStore
from tests.contract.conftest import ensured
from tests.contract.cosmos_server import CosmosServer
from tests.contract.faulty_proxy import CUT_AFTER, CUT_BEFORE, LOST_ANSWER, Fault, FaultyProxy
from tests.functional.articles.world import Item, SettableClock, World, item

FEEDS = 6
ENTRIES = 8
SHARED = 3
ROUNDS = 3
MAX_DELIVERIES = 40
"""More than the queue's limit, which does not matter here."""
SHARE_OF_FAULTS = 0.25

FAULTS = (
    CUT_BEFORE,
    CUT_AFTER,
    LOST_ANSWER,
    Fault.answer(503),
    Fault.answer(429, retry_after_ms=5),
    Fault.answer(449),
    Fault.answer(408),
    Fault(forward=True, hold=0.02),
    Fault(forward=True, linger=0.05),
)


def entries(feed: int, round_number: int) -> list[Item]:
    """In each round a feed has ENTRIES new entries of its own, and SHARED with headlines of the next feed."""
    own = [_entry(feed, feed, number) for number in range(ENTRIES * round_number)]
    return own + [_entry(feed, (feed + 1) % FEEDS, number) for number in range(SHARED * round_number)]


def _entry(feed: int, first: int, number: int) -> Item:
    title = f"Event {number} of place {first} was seen by many"
    return item(number, title=title, link=f"https://{feed}.example/{first}/{number}", guid=f"{feed}:{first}:{number}")


@dataclass(frozen=True)
class FaultyWorld:
    """`world` reaches its store directly, the workers of `deliver` through `proxy`."""

    world: World
    stores: list[CosmosStore]
    proxy: FaultyProxy
    chance: random.Random

    async def deliver(self, messages: Sequence[str]) -> None:
        """Delivers each message, to a new worker every time, until it has been worked on without an error."""
        waiting = list(messages)
        for delivery in range(1, MAX_DELIVERIES + 1):
            if self.chance.random() < 0.2:
                self.world.clock.forward(minutes=4)  # leases expire
            self.proxy.script[:] = [self._fault() for _ in range(3_000)]
            workers = [self.world.new_worker(self.chance.choice(self.stores)) for _ in waiting]
            work = (worker.ingestion.ingest(each, delivery) for worker, each in zip(workers, waiting, strict=True))
            results = await asyncio.gather(*work, return_exceptions=True)
            unforeseen = [each for each in results if isinstance(each, BaseException)]
            assert all(isinstance(each, ToolpulseError) for each in unforeseen), unforeseen
            waiting = [
                each for each, result in zip(waiting, results, strict=True) if isinstance(result, ToolpulseError)
            ]
            self.world.clock.forward(seconds=30)
            if not waiting:
                self.proxy.script.clear()
                return
        raise AssertionError(f"{len(waiting)} messages never succeeded")

    def _fault(self) -> Fault:
        return self.chance.choice(FAULTS) if self.chance.random() < SHARE_OF_FAULTS else Fault()


@pytest.fixture(params=[1, 2])
async def faulty(
    request: pytest.FixtureRequest, proxy: FaultyProxy, cosmos: CosmosServer
) -> AsyncIterator[FaultyWorld]:
    clock = SettableClock(datetime.now(UTC).replace(microsecond=0))
    database = f"faulty-ingestion-{request.param}"
    direct = CosmosStore(cosmos.endpoint, database, clock, key=cosmos.key)
    await ensured(direct, cosmos.endpoint, database)
    stores = [CosmosStore(proxy.endpoint, database, clock, key=cosmos.key, budget_seconds=0.6) for _ in range(3)]
    yield FaultyWorld(World(direct, clock), stores, proxy, random.Random(request.param))
    proxy.script.clear()
    await asyncio.gather(*(store.close() for store in (direct, *stores)))


async def test_articles_are_stored_once_over_a_store_that_loses_responses(faulty: FaultyWorld) -> None:
    world, names = faulty.world, [f"feed-{feed}" for feed in range(FEEDS)]
    for name in names:
        await world.add_feed(name)
    for round_number in range(1, ROUNDS + 1):
        for feed, name in enumerate(names):
            world.publish(name, entries(feed, round_number))
        world.clock.forward(minutes=20)
        await faulty.deliver(await world.claimed(*names))
    world.clock.forward(hours=2)
    for name in names:
        await world.poll(name)

    articles, metrics = await world.articles(), [run["metrics"] for run in await world.runs()]
    assert len(articles) == FEEDS * ENTRIES * ROUNDS
    assert sum(len(each["sources"]) == 2 for each in articles) == FEEDS * SHARED * ROUNDS
    assert len(await world.observations()) == FEEDS * (ENTRIES + SHARED) * ROUNDS
    assert max([(await world.feed(name)).total_articles_fetched for name in names]) <= (ENTRIES + SHARED) * ROUNDS
    assert sum(each["articles_stored"] for each in metrics) <= len(articles)
