"""Workers die: at a feed's document, so that the feed is disabled and the others are ingested; or for another reason,
so that no feed is disabled."""

from __future__ import annotations

import asyncio
import random
from collections import Counter
from collections.abc import Sequence

import pytest

from services.feeds.claims import INGESTION_STAGE
from services.feeds.registry import FeedRegistry
from services.fetch.outcome import FetchRequest, FetchResult
from services.topology import LAST_DELIVERY
from tests.builders import overdue_keys
from tests.functional.articles.dying import Died, DyingStore
from tests.functional.articles.world import Worker, World, item

FEEDS = 6
MAX_STARTS = 30


class Host:
    """Starts workers one after the other, and delivers the messages that the last one did not finish."""

    def __init__(self, world: World) -> None:
        self._world = world
        self.deliveries = Counter[str]()

    async def live(self, worker: Worker) -> None:
        world, deliveries = self._world, self.deliveries
        deliveries.update(dict.fromkeys((each.run_id for each in await worker.claims.claim_due(world.clock.now)), 0))
        deliveries.update(dict.fromkeys(await overdue_keys(world.store, INGESTION_STAGE, world.clock), 0))
        deliveries = self.deliveries = Counter({each: number + 1 for each, number in deliveries.items()})
        taken = [each for each, number in deliveries.items() if number <= LAST_DELIVERY]
        work = (worker.ingestion.ingest(each, deliveries[each]) for each in taken)
        ends = zip(taken, await asyncio.gather(*work, return_exceptions=True), strict=True)
        self.deliveries = Counter({each: deliveries[each] for each, end in ends if isinstance(end, Died)})


class Deadly(DyingStore):
    """The store and the fetcher of a worker, which dies at the documents of some feeds."""

    def __init__(self, world: World, feeds: tuple[str, ...]) -> None:
        super().__init__(world.store)
        self._shelf = world.shelf
        self._feeds = feeds

    async def fetch(self, request: FetchRequest) -> FetchResult:
        if any(f"/{name}." in request.url for name in self._feeds):
            self._k = self.operations
            raise Died
        return await self._shelf.fetch(request)


@pytest.mark.parametrize("deadly", [("f0",), pytest.param(("f2", "f4"), marks=pytest.mark.soak)])
async def test_a_deadly_feed_is_disabled_after_a_few_deaths_and_the_others_go_on(
    world: World, deadly: tuple[str, ...]
) -> None:
    names = [f"f{number}" for number in range(FEEDS)]
    for number, name in enumerate(names):
        await world.add_feed(name, [item(number)])
    host, deaths = Host(world), 0
    for _ in range(MAX_STARTS):
        mortal = Deadly(world, deadly)
        await host.live(world.new_worker(mortal, mortal))
        deaths += mortal.is_dead
        feeds = {name: await world.feed(name) for name in names}
        if not any(feeds[name].enabled for name in deadly):
            break
        world.clock.forward(minutes=4)
    assert {name for name in names if not feeds[name].enabled} == set(deadly)
    assert deaths == 3 + 3 * len(deadly), "three with other feeds at work, and three alone at each"
    for name in deadly:
        assert "3 workers in a row died" in (feeds[name].disabled_reason or "")
        assert feeds[name].probe_at is not None
        assert feeds[name].consecutive_errors == 1
    assert len(await world.articles()) == FEEDS - len(deadly)
    assert {feeds[name].consecutive_errors for name in names if name not in deadly} == {0}
    enabled = await FeedRegistry(world.store, world.clock).change(deadly[0], {"enabled": True})
    assert (enabled.enabled, enabled.consecutive_errors) == (True, 0)


class Killed(DyingStore):
    """The store, the fetcher and the sleep of a worker that is killed after so many seconds. A fetch takes `takes`."""

    def __init__(self, world: World, lives: float, takes: float) -> None:
        super().__init__(world.store)
        self._world, self._left, self._takes = world, lives, takes

    async def sleep(self, seconds: float) -> None:
        lived = min(seconds, self._left)
        self._left -= lived
        self._world.clock.forward(seconds=lived)
        if not self._left:
            self._k = self.operations
            raise Died

    async def fetch(self, request: FetchRequest) -> FetchResult:
        await self.sleep(self._takes)
        return await self._world.shelf.fetch(request)


STORMS = [(2, 7.0, [5.0] * 10), (40, 4.0, [random.Random(seed).uniform(0.5, 30) for seed in range(64)])]


@pytest.mark.parametrize(("feeds", "takes", "lives"), STORMS)
async def test_a_host_that_is_killed_again_and_again_disables_no_feed(
    world: World, feeds: int, takes: float, lives: Sequence[float]
) -> None:
    names, host = [f"f{number}" for number in range(feeds)], Host(world)
    for number, name in enumerate(names):
        await world.add_feed(name, [item(number)])
    host.deliveries.update(dict.fromkeys(await world.claimed(*names), 0))
    for seconds in lives:
        killed = Killed(world, seconds, takes)
        await host.live(world.new_worker(killed, killed, sleep=killed.sleep))
        world.clock.forward(seconds=2)
    world.clock.forward(minutes=7)
    await host.live(world.new_worker())
    assert {(await world.feed(name)).enabled for name in names} == {True}
    assert len(await world.articles()) == feeds
