"""A feed after a fetch: schedule, validators, errors, claims. No feed affects another."""

import pytest

from models.run import IngestionBatch
from services.articles.poll import CHECKED_EVERY
from services.feeds.claims import INGESTION_STAGE
from services.feeds.form import changed_feed, feed_change
from services.feeds.hosts import OPENS_AFTER, Cooling, cooling_of
from services.fetch.outcome import FetchRequest, FetchResult, FetchStatus
from tests.builders import overdue_keys
from tests.functional.articles.world import Page, World, item


async def test_validators_that_lie_are_detected_and_not_trusted_again(world: World) -> None:
    await world.add_feed("a")
    for number in range(CHECKED_EVERY + 1):
        # The body changes all the time; its ETag never does.
        world.publish("a", [item(number)], etag='"always"')
        await world.poll("a")
    feed = await world.feed("a")
    assert not feed.validators_trusted
    await world.poll("a")
    assert world.shelf.asked[-1].etag is None
    assert (await world.feed("a")).total_articles_fetched == 3


async def test_what_fetches_show_of_their_hosts_is_stored_when_their_feeds_are_saved(world: World) -> None:
    await world.add_feed("a")
    host = "a.example"
    for _ in range(OPENS_AFTER):
        world.shelf.hosts.failed(host, 0.0, "timeout")
    world.shelf.pages["https://a.example/feed"] = Page(status=FetchStatus.TIMEOUT)
    await world.poll("a")
    hosts = await world.worker.hosts.listed()
    assert cooling_of(hosts, world.clock.now) == Cooling(closed=frozenset({host}))
    world.shelf.hosts.succeeded(host, 0.0)
    world.publish("a", [item(1)])
    await world.poll("a")
    assert cooling_of(await world.worker.hosts.listed(), world.clock.now) == Cooling()


async def test_one_bad_feed_does_not_keep_the_others_from_being_saved(world: World) -> None:
    for name in ("a", "b", "c"):
        await world.add_feed(name, [item(1)])
    batches = await world.claim_all()

    class Broken:
        async def fetch(self, request: FetchRequest) -> FetchResult:
            if request.url.startswith("https://b."):
                raise ZeroDivisionError
            return await world.shelf.fetch(request)

    (batch,) = batches
    worker = world.new_worker(shelf=Broken())
    with pytest.raises(ZeroDivisionError):
        await worker.ingestion.ingest(batch.run_id)
    assert [(await world.feed(name)).fetch_count for name in ("a", "b", "c")] == [1, 0, 1]
    for delivery in (2, 3, 4):
        with pytest.raises(ZeroDivisionError):
            await worker.ingestion.ingest(batch.run_id, delivery)
    # The last delivery records an error that people can see.
    await worker.ingestion.ingest(batch.run_id, 5)
    feed = await world.feed("b")
    assert (feed.last_error, feed.consecutive_errors) == ("ZeroDivisionError", 1)
    (run,) = [IngestionBatch.from_document(each) for each in await world.runs()]
    assert (run.status, run.errors) == ("PARTIAL", ("b: ZeroDivisionError",))
    assert run.metrics is not None
    assert run.metrics.articles_fetched == {"a": 1, "b": 0, "c": 1}


async def test_a_disabled_feed_is_not_fetched_though_its_message_waits(world: World) -> None:
    await world.add_feed("a", [item(1)])
    (batch,) = await world.claimed("a")
    before = await world.feed("a")
    changed = changed_feed(before, feed_change({"enabled": False}), world.clock.now)
    await world.store.replace("feeds", changed.to_document(), before.stored_etag or "")
    await world.worker.ingestion.ingest(batch)
    assert world.shelf.asked == []


async def test_a_claim_whose_message_was_lost_is_announced_again_and_the_feed_is_fetched_once(world: World) -> None:
    await world.add_feed("a", [item(1)])
    (lost,) = await world.claimed("a")
    world.clock.forward(minutes=2)
    assert await world.worker.claims.claim_due(world.clock.now) == []
    assert await overdue_keys(world.store, INGESTION_STAGE, world.clock) == [lost]
    for _ in range(2):
        await world.worker.ingestion.ingest(lost)
    assert (len(world.shelf.asked), (await world.feed("a")).fetch_count) == (1, 1)
    assert [each["status"] for each in await world.runs()] == ["SUCCEEDED"]
    assert await overdue_keys(world.store, INGESTION_STAGE, world.clock) == []


async def test_a_run_that_is_never_over_holds_its_feeds_for_an_hour(world: World) -> None:
    await world.add_feed("a", [item(1)])
    (lost,) = await world.worker.claims.claim_due(world.clock.now)
    world.clock.forward(minutes=59)
    assert await world.worker.claims.claim_due(world.clock.now) == []
    world.clock.forward(minutes=1)
    (run,) = await world.worker.claims.claim_due(world.clock.now)
    await world.worker.ingestion.ingest(run.run_id)
    await world.worker.ingestion.ingest(lost.run_id)
    assert (await world.feed("a")).fetch_count == 1
