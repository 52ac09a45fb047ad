"""The fetches of each day are what the feeds say, whoever collects them, how often, and wherever a worker dies."""

from __future__ import annotations

import asyncio
from datetime import timedelta

import pytest

from models.feed import FetchDay
from services.feeds.fetch_hours import FetchDays
from services.fetch.outcome import FetchStatus
from services.figures.coverage import Coverage
from services.store.containers import CATALOG
from tests.functional.articles.dying import Died, DyingStore
from tests.functional.articles.world import World, item


async def share(world: World, hours: float = 1) -> float | None:
    now = world.clock.now
    return (await Coverage(world.store).fetches(now)).share(now - timedelta(hours=hours), now, None)


async def fetched(world: World) -> None:
    for batch in await world.claim_all():
        await world.worker.ingestion.ingest(batch.run_id)


async def test_a_feed_that_answers_304_covers_its_hour_and_a_dead_one_does_not(world: World) -> None:
    await world.add_feed("alive", [item(1)])
    await world.add_feed("dead", [item(2)])
    world.publish("alive", [item(1)], etag='"1"')
    await fetched(world)
    world.publish("dead", [], status=FetchStatus.TIMEOUT)
    collecting = FetchDays(world.store, world.clock)
    for _ in range(3):
        world.clock.forward(hours=1)
        await fetched(world)
        assert await collecting.work() == 2
    assert await share(world, hours=2) == 0.5
    await collecting.work()
    assert await share(world, hours=2) == 0.5


async def test_what_is_collected_by_several_workers_or_after_a_death_is_the_same(world: World) -> None:
    for number in range(5):
        await world.add_feed(f"feed-{number}", [item(number)])
    await fetched(world)
    for k in range(1, 5):
        with pytest.raises(Died):
            await FetchDays(DyingStore(world.store, k, "before"), world.clock, feeds_at_once=2).work()
    workers = [FetchDays(world.store, world.clock, feeds_at_once=2) for _ in range(3)]
    for _ in range(4):
        await asyncio.gather(*(each.work() for each in workers))
    (document,) = [
        FetchDay.from_document(each)
        for each in [await world.store.read(CATALOG.name, FetchDay.PARTITION, f"{world.clock.now:%Y%m%d}")]
        if each is not None
    ]
    hour = 1 << world.clock.now.hour
    assert document.feeds == {f"feed-{number}": (hour, hour, hour) for number in range(5)}
