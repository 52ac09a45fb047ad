"""What requests to each host cost is counted once, whatever is delivered again and wherever a worker dies."""

from __future__ import annotations

import asyncio
from datetime import timedelta

import pytest

from models.resources.host import HostWithDays
from services.feeds.fetch_days import FetchDays
from services.feeds.host_figures import HostFigures
from services.feeds.registry import FeedRegistry
from services.fetch.outcome import FetchStatus
from tests.functional.articles.counting import CountingStore
from tests.functional.articles.dying import Died, DyingStore, When
from tests.functional.articles.world import World, item

HOST = "feed.example"


async def figures(world: World, host: str = HOST) -> HostWithDays:
    await FetchDays(world.store, world.clock).work()
    return await HostFigures(world.store, world.clock).get(host)


async def test_requests_304_429_and_failures_of_a_feed_are_those_of_its_host(world: World) -> None:
    await world.add_feed("feed")
    world.publish("feed", [item(1)], etag='"1"')
    for _ in range(3):
        await world.poll("feed")
    limited = {"status_code": 429, "error": "429", "fingerprint": "429"}
    world.publish("feed", [], status=FetchStatus.RATE_LIMITED, fields=limited)
    await world.poll("feed")
    world.publish("feed", [], status=FetchStatus.TIMEOUT)
    await world.poll("feed")
    found = await figures(world)
    assert (found.requests, found.not_modified, found.not_modified_share) == (5, 2, 0.4)
    assert (found.rate_limited, found.failed) == (1, 2)
    assert found.bytes > 100


async def test_delays_are_those_of_articles_that_appear_after_the_first_fetch(world: World) -> None:
    now = world.clock.now
    old = [item(number, published=now - timedelta(days=number)) for number in range(1, 9)]
    await world.add_feed("feed", old)
    await world.poll("feed")
    assert (await figures(world)).discovery_delay.articles == 0
    world.clock.forward(minutes=30)
    seen = world.clock.now + timedelta(minutes=1)
    fresh = item(20, published=seen - timedelta(minutes=10))
    undated, future = item(21, published=None), item(22, published=seen + timedelta(days=3))
    late = item(23, published=now - timedelta(days=3))
    world.publish("feed", [*old, fresh, undated, future, late])
    await world.poll("feed")
    delay = (await figures(world)).discovery_delay
    assert delay.articles == 1
    assert delay.p95_seconds is not None
    assert abs(delay.p95_seconds / 600 - 1) < 0.1


async def test_a_message_that_is_delivered_again_counts_nothing_twice(world: World) -> None:
    await world.add_feed("feed", [item(1)])
    (batch,) = await world.worker.claims.claim_every(world.clock.now)
    for delivery in (1, 2, 3):
        await world.worker.ingestion.ingest(batch, delivery)
    assert (await figures(world)).requests == 1


@pytest.mark.parametrize("when", ["before", "after"])
async def test_wherever_a_worker_dies_the_attempt_that_saves_the_feed_counts_once(world: World, when: When) -> None:
    deaths = 0
    for k in range(1, 40):
        name = f"feed-{k}"
        await world.add_feed(name, [item(k)])
        (batch,) = await world.claimed(name)
        try:
            await world.new_worker(DyingStore(world.store, k, when)).ingestion.ingest(batch)
        except Died:
            deaths += 1
        await world.worker.ingestion.ingest(batch, 2)
        assert (await figures(world, f"{name}.example")).requests == 1
    assert 10 < deaths < 35


async def test_several_collectors_that_die_find_the_same(world: World) -> None:
    for number in range(6):
        await world.add_feed(f"feed-{number}", [item(number)])
        await world.poll(f"feed-{number}")
    for k in range(1, 9):
        with pytest.raises(Died):
            await FetchDays(DyingStore(world.store, k % 5 + 1, "before"), world.clock, feeds_at_once=2).work()
    await asyncio.gather(*(FetchDays(world.store, world.clock).work() for _ in range(3)))
    found = await HostFigures(world.store, world.clock).page(50)
    assert [(each.host, each.requests) for each in found.items] == [(f"feed-{n}.example", 1) for n in range(6)]


async def test_a_removed_feed_leaves_its_figures_and_one_that_is_added_again_adds_to_them(world: World) -> None:
    await world.add_feed("feed", [item(1)])
    await world.poll("feed")
    await FeedRegistry(world.store, world.clock).remove("feed")
    assert (await figures(world)).requests == 1
    world.clock.forward(minutes=1)
    await world.add_feed("feed", [item(1)])
    await world.poll("feed")
    assert (await figures(world)).requests == 2


async def test_what_is_counted_costs_no_operation_more_in_a_poll_and_nothing_when_nothing_changed(world: World) -> None:
    await world.add_feed("feed", [item(1)])
    await world.poll("feed")
    await FetchDays(world.store, world.clock).work()
    counting = CountingStore(world.store)
    await FetchDays(counting, world.clock).work()
    assert counting.writes == 0


async def test_days_follow_each_other(world: World) -> None:
    await world.add_feed("feed", [item(1)])
    for hours in (0, 24, 24):
        world.clock.forward(hours=hours)
        await world.poll("feed")
        await FetchDays(world.store, world.clock).work()
    found = await figures(world)
    assert [each.requests for each in found.by_day] == [1, 1, 1]
    assert len((await world.feed("feed")).traffic) == 2
