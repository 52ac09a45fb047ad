"""Feeds spend about the budget: the price of a fetch is corrected once a day, and every worker uses it."""

from datetime import timedelta

from models.feed import FetchPrice
from services.feeds.schedule import Budget, Policy
from services.store.containers import CATALOG
from tests.builders import existing
from tests.functional.articles.world import World
from tests.functional.mentions.world import World as Analysing


async def _factor(world: World) -> float:
    return (await Budget(world.store, Policy(), world.clock).policy()).price_factor


async def test_feeds_that_spend_too_much_make_fetches_dearer_once_a_day(world: World) -> None:
    budget = Budget(world.store, Policy(), world.clock)
    upkeep = Analysing(world.store, world.clock).worker.services.operations.upkeep
    for number in range(3):
        fetched = world.clock.now + timedelta(hours=25)
        await world.add_feed(f"feed-{number}", fetches_per_hour=14.0, last_successful_fetch=fetched)
    await world.add_feed("silent", fetches_per_hour=1000.0, last_successful_fetch=world.clock.now - timedelta(days=9))
    await upkeep.run()
    assert await _factor(world) == 1.0
    world.clock.forward(hours=25)
    for _ in range(3):
        await upkeep.run()
        world.clock.forward(minutes=5)
    assert await _factor(world) == 2.0
    stored = await existing(world.store, CATALOG.name, FetchPrice.PARTITION, FetchPrice.ID)
    assert stored["fetches_per_feed_hour"] == 14.0
    world.clock.forward(minutes=10)
    assert (await budget.policy()).price_factor == 2.0
