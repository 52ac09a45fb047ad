"""A feed at whose document workers die: it is disabled after a few deaths, and the other feeds are ingested."""

from __future__ import annotations

from collections import Counter
from contextlib import suppress

import pytest

from services.feeds.claims import INGESTION_STAGE
from services.feeds.registry import FeedRegistry
from services.fetch.outcome import FetchRequest, FetchResult
from services.topology import LAST_DELIVERY
from tests.builders import overdue_keys
from tests.functional.articles.dying import Died, DyingStore
from tests.functional.articles.world import World, item

FEEDS = 6
MAX_STARTS = 30


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
    deliveries, deaths = Counter[str](), 0
    for _ in range(MAX_STARTS):
        mortal, now = Deadly(world, deadly), world.clock.now
        worker = world.new_worker(mortal, mortal)
        deliveries.update(dict.fromkeys((each.run_id for each in await worker.claims.claim_due(now)), 0))
        deliveries.update(dict.fromkeys(await overdue_keys(world.store, INGESTION_STAGE, world.clock), 0))
        with suppress(Died):
            for run_id in list(deliveries):
                deliveries[run_id] += 1
                if deliveries[run_id] <= LAST_DELIVERY:
                    await worker.ingestion.ingest(run_id, deliveries[run_id])
                del deliveries[run_id]
        deaths += mortal.is_dead
        feeds = {name: await world.feed(name) for name in names}
        if not any(feeds[name].enabled for name in deadly):
            break
        world.clock.forward(minutes=4)
    assert {name for name in names if not feeds[name].enabled} == set(deadly)
    assert deaths == 5 * len(deadly), "of each, two with other feeds at work and three alone"
    for name in deadly:
        assert "3 workers in a row died" in (feeds[name].disabled_reason or "")
        assert feeds[name].consecutive_errors == 1
    assert len(await world.articles()) == FEEDS - len(deadly)
    assert {feeds[name].consecutive_errors for name in names if name not in deadly} == {0}
    enabled = await FeedRegistry(world.store, world.clock).change(deadly[0], {"enabled": True})
    assert (enabled.enabled, enabled.consecutive_errors) == (True, 0)
