"""Near the end of an invocation no feed is begun: those that are left are sent again, and no fetch is done twice."""

from __future__ import annotations

from typing import Any

from models.run import IngestionBatch
from services import deadline
from services.feeds.claims import INGESTION_STAGE
from services.store.containers import FEEDS as FEEDS_CONTAINER
from tests.functional.articles.counting import CountingStore
from tests.functional.articles.world import Page, World, item, rss

AT_ONCE = 10
"""The attempts at feeds of one host that a worker of the tests makes at once."""
FEEDS = AT_ONCE + 2


class Slow(CountingStore):
    """Once the first feed is saved, the time of the invocation is nearly over."""

    saved = False

    async def _do(self, name: str, *arguments: Any, **options: Any) -> Any:
        self.saved |= name == "batch" and arguments[0] == FEEDS_CONTAINER.name
        return await super()._do(name, *arguments, **options)

    def seconds(self) -> float:
        return 90.0 if self.saved else 0.0


async def _run(world: World, run_id: str) -> IngestionBatch:
    run = await world.worker.engine.get(run_id)
    assert isinstance(run, IngestionBatch)
    return run


async def test_feeds_that_are_not_begun_in_time_are_sent_again_in_the_same_run(world: World) -> None:
    for number in range(FEEDS):
        url = f"https://crowd.example/{number}"
        await world.add_feed(f"feed-{number:02}", feed_url=url)
        world.shelf.pages[url] = Page(rss([item(number)]))
    (whole,) = await world.claim_all()
    store = Slow(world.store)
    worker = world.new_worker(store)
    with deadline.within(100.0, clock=store.seconds):
        await worker.ingest(whole.run_id)
    assert worker.queues.sent["ingest-feeds"] == INGESTION_STAGE.messages([whole.run_id])
    run = await _run(world, whole.run_id)
    assert (run.status, 0 < len(run.attempts) < FEEDS) == ("QUEUED", True)
    assert await world.worker.claims.claim_due(world.clock.now) == [], "the rest is claimed"
    for _ in range(2):
        await world.new_worker().ingestion.ingest(whole.run_id)
    for number in range(FEEDS):
        feed = await world.feed(f"feed-{number:02}")
        assert (feed.fetch_count, feed.total_articles_fetched) == (1, 1)
    run = await _run(world, whole.run_id)
    assert (run.status, run.progress, len(run.attempts)) == ("SUCCEEDED", FEEDS, FEEDS)


async def test_an_invocation_without_time_begins_nothing_and_loses_nothing(world: World) -> None:
    await world.add_feed("a", [item(1)])
    (run_id,) = await world.claimed("a")
    with deadline.within(0.0):
        await world.worker.ingest(run_id)
    assert world.worker.queues.sent["ingest-feeds"][-1:] == INGESTION_STAGE.messages([run_id])
    assert world.shelf.asked == []
    await world.worker.ingestion.ingest(run_id)
    assert (await world.feed("a")).total_articles_fetched == 1
