"""Near the end of an invocation no feed is begun: those that are left are sent again, and no fetch is done twice."""

from __future__ import annotations

import asyncio

from models.run import IngestionBatch
from services import deadline
from services.articles.ingestion import IngestOutcome
from services.feeds.claims import IngestMessage
from services.ports import Document
from tests.functional.articles.counting import CountingStore
from tests.functional.articles.world import Page, World, item, rss

AT_ONCE = 10
"""The attempts at feeds of one host that a worker of the tests makes at once."""
FEEDS = AT_ONCE + 2


class Slow(CountingStore):
    """Takes long to read which entries a feed had, so that an invocation of two seconds is near its end."""

    async def read(self, container: str, partition: str, id: str) -> Document | None:
        if id == "seen":
            await asyncio.sleep(1.6)
        return await super().read(container, partition, id)


async def _began(world: World) -> tuple[IngestMessage, IngestOutcome, IngestMessage]:
    """A message for feeds without news, what its first delivery did until its time was over, and the message for the
    rest."""
    for number in range(FEEDS):
        url = f"https://crowd.example/{number}"
        await world.add_feed(f"feed-{number:02}", feed_url=url)
        world.shelf.pages[url] = Page(rss([item(number)]))
    (first,) = await world.worker.claims.claim_every(world.clock.now)
    await world.worker.ingestion.ingest(first)
    world.clock.forward(hours=1)
    world.shelf.asked.clear()
    for number in range(FEEDS):
        world.shelf.pages[f"https://crowd.example/{number}"] = Page(rss([item(number)], note="the same entries"))
    (whole,) = await world.worker.claims.claim_every(world.clock.now)
    worker = world.new_worker(Slow(world.store))
    with deadline.within(2.0):
        outcome = await worker.ingestion.ingest(whole)
    (rest,) = [IngestMessage.from_message(text) for text in worker.queues.sent["ingest-feeds"]]
    return whole, outcome, rest


async def _run(world: World, message: IngestMessage) -> IngestionBatch:
    run = await world.worker.engine.get(message.run_id)
    assert isinstance(run, IngestionBatch)
    return run


async def _check(world: World, message: IngestMessage) -> None:
    assert len(world.shelf.asked) == FEEDS
    for number in range(FEEDS):
        feed = await world.feed(f"feed-{number:02}")
        assert (feed.fetch_count, feed.total_articles_fetched, feed.lease) == (2, 1, None)
    run = await _run(world, message)
    assert (run.status, run.progress, len(run.attempts)) == ("SUCCEEDED", FEEDS, FEEDS)


async def test_feeds_that_are_not_begun_in_time_are_sent_again_in_the_same_run(world: World) -> None:
    whole, outcome, rest = await _began(world)
    assert rest.run_id == whole.run_id
    assert set(outcome.left) == {each.feed_id for each in rest.feeds}
    assert len(rest.feeds) == FEEDS - AT_ONCE
    assert len(world.shelf.asked) == AT_ONCE
    run = await _run(world, whole)
    assert (run.status, len(run.attempts)) == ("RUNNING", AT_ONCE)
    assert await world.worker.claims.claim_due(world.clock.now) == [], "the rest is claimed"
    await world.new_worker().ingestion.ingest(rest)
    await _check(world, whole)


async def test_the_rest_is_fetched_once_though_the_whole_message_is_delivered_again(world: World) -> None:
    whole, _, rest = await _began(world)
    await world.new_worker().ingestion.ingest(whole, 2)
    await world.new_worker().ingestion.ingest(rest)
    await _check(world, whole)


async def test_an_invocation_without_time_begins_nothing_and_loses_nothing(world: World) -> None:
    await world.add_feed("a", [item(1)])
    (batch,) = await world.claimed("a")
    with deadline.within(0.0):
        outcome = await world.worker.ingestion.ingest(batch)
    assert (outcome.left, world.shelf.asked) == (("a",), [])
    assert world.worker.queues.sent["ingest-feeds"] == [batch.to_message()]
    await world.worker.ingestion.ingest(batch)
    assert (await world.feed("a")).total_articles_fetched == 1
