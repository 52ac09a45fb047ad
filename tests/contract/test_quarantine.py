"""The review of a flood on every store: aliases are added once, races are settled, a preview writes nothing."""

import asyncio
from collections.abc import Callable
from datetime import UTC, datetime, timedelta

import pytest

from models.errors import ChangedMeanwhile, Conflict
from services.articles.quarantine import Quarantine
from services.ports import Store
from services.tools.catalog import Catalog
from services.tools.detector import Watchlist
from services.workflows.quarantine_preview import QuarantinePreviews
from tests.functional.articles.test_floods import quarantine, quarantined_batch
from tests.functional.articles.world import Item, SettableClock, World, item

MANY = 12


@pytest.fixture
async def world(store: Store) -> World:
    # A Cosmos server has a clock of its own.
    return World(store, SettableClock(datetime.now(UTC).replace(microsecond=0) - timedelta(days=2)))


async def flooded(world: World) -> str:
    """The id of a flood of known pages with two new ones."""
    at = world.clock.now - timedelta(hours=1)
    await world.add_feed("a", [item(number, published=at) for number in range(MANY)])
    await world.poll("a")
    world.clock.forward(days=1)
    world.publish("a", flood(at))
    await world.poll("a")
    return (await quarantined_batch(world)).quarantine_id


def flood(at: datetime) -> list[Item]:
    at += timedelta(days=1)
    return [item(number, guid=f"new-{number}", published=at) for number in range(MANY + 2)]


async def state(world: World) -> list[str]:
    return sorted(f"{each['source_id']} {each['_etag']}" for each in await world.articles())


async def test_a_release_under_new_ids_and_polls_at_the_same_time_count_nothing_twice(
    world: World, another: Callable[[], Store]
) -> None:
    at = world.clock.now - timedelta(hours=1)
    name = await flooded(world)
    before = await state(world)
    reviewed = await quarantine(world).review(name, "same_articles_new_ids", "Ann", "a new system")
    batch = reviewed.run_id
    assert batch is not None

    async def poll() -> None:
        for number in range(4):
            world.publish("a", [*flood(at)[number:], *flood(at)[:number]])
            await world.poll("a", world.new_worker(another()))

    async def release() -> None:
        worker = world.new_worker(another())
        for delivery in range(1, 20):
            try:
                await worker.ingestion.ingest(batch, delivery)
                return
            except ChangedMeanwhile:  # the feed is being fetched: the message is delivered again
                await asyncio.sleep(0.01)
        raise AssertionError("the feed was never free")

    await asyncio.gather(release(), poll())
    assert (await quarantined_batch(world)).released_at is not None
    after = await state(world)
    assert set(before) <= set(after)
    assert len(after) == MANY + 2
    assert (await world.feed("a")).total_articles_fetched == MANY + 2
    aliases = [each["source_id"] for each in await world.locators("LocatorAlias")]
    assert len(aliases) == 2 * MANY + 2


async def test_of_two_reviewers_at_once_one_decides(world: World, another: Callable[[], Store]) -> None:
    name = await flooded(world)
    reviews = [Quarantine(another(), world.worker.engine, world.clock) for _ in range(4)]
    decisions = ["same_articles_new_ids", "new_articles", "drop", "new_articles"]
    calls = [
        each.review(name, decision, f"Person {n}", "because")
        for n, (each, decision) in enumerate(zip(reviews, decisions, strict=True))
    ]
    results = await asyncio.gather(*calls, return_exceptions=True)
    assert sum(isinstance(each, Conflict) for each in results) == 3
    stored = await reviews[0].get(name)
    assert stored.decision == decisions[int((stored.reviewed_by or "")[-1])]


async def test_a_preview_is_what_happens_and_writes_nothing(world: World) -> None:
    name = await flooded(world)
    before = await state(world)
    watchlist = Watchlist(Catalog(world.store, world.clock, lambda: "x"), world.clock)
    preview = QuarantinePreviews(world.store, quarantine(world), watchlist, world.clock)
    effects = (await preview.of(name)).effects
    assert await state(world) == before
    same = effects["same_articles_new_ids"]
    assert (same.ids_added, same.new_articles) == (MANY, 2)
    assert effects["new_articles"].new_articles == MANY + 2
    reviewed = await quarantine(world).review(name, "new_articles", "Ann", "because")
    assert reviewed.run_id is not None
    await world.worker.ingestion.ingest(reviewed.run_id)
    assert len(await state(world)) == 2 * MANY + 2
