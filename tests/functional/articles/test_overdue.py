"""Messages that were lost after a write are sent again, within limits."""

from contextlib import suppress

import pytest

from models.errors import Unavailable
from services.articles.quarantine import Quarantine
from services.container import STAGES
from services.feeds.claims import INGESTION_STAGE
from services.feeds.schedule import Budget, Policy
from services.mentions.due import ANALYSIS_STAGE
from services.operations.upkeep import ArchiveExpiry, Upkeep
from services.store.containers import ARTICLES
from services.topology import ANALYZE_ARTICLES
from services.work.announcing import Sweeper
from services.work.backlog import BacklogReader
from tests.builders import MemoryArchive, forgetful, overdue_keys
from tests.failing_stores import Crash, mortal
from tests.functional.articles.counting import CountingStore
from tests.functional.articles.test_floods import flooded, quarantine, quarantined_batch
from tests.functional.articles.world import World, analysed, item


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


def announced(world: World) -> list[str]:
    """The articles that were announced since."""
    return [
        each
        for message in world.worker.queues.sent.pop(ANALYZE_ARTICLES, [])
        for each in ANALYSIS_STAGE.keys_of(message)
    ]


async def test_an_article_whose_message_was_lost_is_announced_within_two_minutes_and_until_it_is_analysed(
    world: World,
) -> None:
    upkeep = upkeep_of(world)
    await world.add_feed("a", [item(1), item(2)])
    sent = sorted((await world.poll("a")).article_ids)
    assert await upkeep.announce_overdue() == 0
    rounds = []
    for _ in range(8):
        world.clock.forward(seconds=30)
        await upkeep.announce_overdue()
        rounds.append(sorted(announced(world)))
    assert rounds == [[], sent, [], sent, [], sent, [], sent]
    for article in await world.articles():
        await world.store.replace(ARTICLES.name, analysed(article), article["_etag"])
    world.clock.forward(hours=1)
    assert await upkeep.announce_overdue() == 0


async def test_articles_whose_messages_may_wait_are_not_announced_again_but_older_ones_are(world: World) -> None:
    """Also in a queue that is never empty."""
    upkeep, waiting = upkeep_of(world), world.worker.queues.waiting_since
    await world.add_feed("a", [item(1)])
    await world.add_feed("b", [item(2)])
    (lost,) = (await world.poll("a")).article_ids
    world.clock.forward(minutes=5)
    await world.poll("b")
    waiting[ANALYZE_ARTICLES] = world.clock.now
    world.clock.forward(minutes=10)
    assert (await upkeep.announce_overdue(), announced(world)) == (1, [lost])
    waiting[ANALYZE_ARTICLES] = world.clock.now
    assert await upkeep.announce_overdue() == 1, "the message of the second is lost too; that of the first waits"
    world.clock.forward(hours=1)
    assert await upkeep.announce_overdue() == 0, "both wait"


async def overdue_runs(world: World) -> list[str]:
    return await overdue_keys(world.store, INGESTION_STAGE, world.clock)


@pytest.mark.parametrize("writes", [0, 1, 2])
async def test_a_batch_whose_review_died_at_any_write_is_ingested_if_the_review_was_stored(
    world: World, writes: int
) -> None:
    """Nobody reviews it a second time."""
    quarantined = await flooded(world)
    dying = mortal(world.store, writes)
    review = Quarantine(dying, world.new_worker(dying).engine, world.clock)
    with suppress(Crash):
        await review.review(quarantined.quarantine_id, "new_articles", "Ann", "a new CMS")
    world.clock.forward(minutes=6)
    for run_id in await overdue_runs(world):
        await world.worker.ingestion.ingest(run_id)
    item = await quarantined_batch(world)
    assert (item.decision is not None, item.released_at is not None) == (writes == 2, writes == 2)
    assert await overdue_runs(world) == []


async def test_a_released_batch_that_cannot_be_ingested_for_long_is_announced_again(world: World) -> None:
    quarantined = await flooded(world)
    approved = (await quarantine(world).review(quarantined.quarantine_id, "new_articles", "Ann", "a new CMS")).run_id
    assert approved is not None
    for delivery in range(1, 6):
        with pytest.raises(Unavailable):
            await world.new_worker(CountingStore(world.store, fail_writes_from=3)).ingestion.ingest(approved, delivery)
        world.clock.forward(seconds=30)
    assert await overdue_runs(world) == []
    world.clock.forward(minutes=7)
    assert await overdue_runs(world) == [approved]
    await world.worker.ingestion.ingest(approved)
    assert await overdue_runs(world) == []
    assert (await quarantined_batch(world)).released_at is not None
