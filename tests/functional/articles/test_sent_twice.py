"""Two deliveries of one message at the same time."""

from __future__ import annotations

import asyncio
import random

import pytest

from tests.functional.articles.turns import Turns, TurnStore
from tests.functional.articles.world import World, item

FEEDS = ("a", "b", "c")


@pytest.mark.parametrize("second", [1, 2])
@pytest.mark.parametrize("seed", range(6))
async def test_however_two_deliveries_share_the_work_everything_is_stored_and_saved_once(
    world: World, seed: int, second: int
) -> None:
    """A message that was sent twice does nothing while the first is worked on; one that is delivered again takes the
    run over."""
    for at, name in enumerate(FEEDS):
        await world.add_feed(name, [item(at * 2 + number) for number in range(2)])
    (batch,) = await world.worker.claims.claim_every(world.clock.now)
    turns = Turns(random.Random(seed))
    workers = [world.new_worker(TurnStore(world.store, turns, worker)) for worker in range(2)]
    work = [
        asyncio.ensure_future(worker.ingestion.ingest(batch.run_id, delivery))
        for worker, delivery in zip(workers, (1, second), strict=True)
    ]
    await turns.give_until_done(*work)
    announced = {name for each in work for name in each.result().article_ids}
    articles = await world.articles()
    assert (len(articles), announced <= {each["source_id"] for each in articles}) == (6, True)
    assert [(await world.feed(name)).fetch_count for name in FEEDS] == [1, 1, 1]
    (run,) = await world.runs()
    assert (run["status"], run["progress"], run["sources_queried"]) == ("SUCCEEDED", 3, list(FEEDS))
    if second == 1:
        assert run["metrics"]["articles_stored"] == 6
