"""Feeds spend about the budget: the price of a fetch is corrected once a day, and every worker uses it."""

from datetime import timedelta

from models.feed import FetchPrice
from services.container import STAGES
from services.feeds.schedule import Budget, Policy
from services.mentions.due import ANALYSIS_STAGE
from services.operations.upkeep import ArchiveExpiry, Upkeep
from services.store.containers import CATALOG
from services.work.announcing import Sweeper
from services.work.backlog import BacklogReader
from tests.builders import MemoryArchive, existing, forgetful
from tests.functional.articles.world import World


def upkeep_of(world: World) -> Upkeep:
    """The upkeep of an app that only ingests."""
    worker = world.worker
    return Upkeep(
        worker.queues,
        world.store,
        world.clock,
        Sweeper(world.store, worker.queues, forgetful(worker.queues), world.clock),
        STAGES,
        BacklogReader(world.store, ANALYSIS_STAGE),
        Budget(world.store, Policy(), world.clock),
        ArchiveExpiry(world.store, MemoryArchive(), world.clock),
    )


async def _factor(world: World) -> float:
    return (await Budget(world.store, Policy(), world.clock).policy()).price_factor


async def test_feeds_that_spend_too_much_make_fetches_dearer_once_a_day(world: World) -> None:
    budget = Budget(world.store, Policy(), world.clock)
    upkeep = upkeep_of(world)
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
