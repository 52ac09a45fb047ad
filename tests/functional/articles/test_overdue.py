"""Released batches whose reviews or workers died are ingested all the same."""

from contextlib import suppress

import pytest

from models.errors import Unavailable
from services.articles.quarantine import Quarantine
from services.feeds.claims import INGESTION_STAGE
from tests.builders import overdue_keys
from tests.failing_stores import Crash, mortal
from tests.functional.articles.counting import CountingStore
from tests.functional.articles.test_floods import flooded, quarantine, quarantined_batch
from tests.functional.articles.world import World


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
