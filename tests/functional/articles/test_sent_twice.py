"""Two deliveries of one message at the same time do the work once, and the run has all figures."""

from __future__ import annotations

import asyncio
import random

import pytest

from services.fetch.outcome import FetchStatus
from tests.functional.articles.turns import Turns, TurnStore
from tests.functional.articles.world import World, item

FEEDS = ("a", "b", "c")


async def _worked_on_twice(world: World, seed: int) -> set[int]:
    """The workers that worked on the message."""
    for at, name in enumerate(FEEDS):
        await world.add_feed(name, [item(at * 2 + number) for number in range(2)])
    world.shelf.pages["https://b.example/feed"].status = FetchStatus.TIMEOUT if seed % 2 else FetchStatus.FETCHED
    (batch,) = await world.worker.claims.claim_every(world.clock.now)
    turns = Turns(random.Random(seed))
    workers = [world.new_worker(TurnStore(world.store, turns, worker)) for worker in range(2)]
    actors = [asyncio.ensure_future(each.ingestion.ingest(batch)) for each in workers]
    await turns.give_until_done(*actors)
    outcomes = [each.result() for each in actors]
    announced = {name for each in outcomes for name in each.article_ids}
    assert announced == {each["source_id"] for each in await world.articles()}
    return turns.takers


@pytest.mark.parametrize("seed", range(80))
async def test_however_two_deliveries_share_the_work_the_run_has_all_figures(world: World, seed: int) -> None:
    assert await _worked_on_twice(world, seed) == {0, 1}
    (run,) = await world.runs()
    fails = seed % 2
    assert run["status"] == ("PARTIAL" if fails else "SUCCEEDED")
    assert run["progress"] == 3
    assert run["sources_queried"] == list(FEEDS)
    assert run["metrics"]["articles_stored"] == len(await world.articles()) == (4 if fails else 6)
    assert len(run["errors"]) == fails
    for name in FEEDS:
        feed = await world.feed(name)
        failed = fails and name == "b"
        assert (feed.lease, feed.total_articles_fetched) == (None, 0 if failed else 2)
        assert (feed.fetch_count, feed.consecutive_errors) == ((0, 1) if failed else (1, 0))
