"""Two workers at once store one article with the readings of both, whichever is first. On every store."""

import asyncio
from collections.abc import Callable
from datetime import UTC, datetime

import pytest

from models.article import Article
from services.fetch.outcome import FetchRequest, FetchResult
from services.ports import Store
from tests.functional.articles.world import SettableClock, World, item


@pytest.fixture
async def world(store: Store) -> World:
    # A Cosmos server has a clock of its own.
    return World(store, SettableClock(datetime.now(UTC).replace(microsecond=0)))


async def test_two_sources_at_once_are_one_article_with_both(world: World, another: Callable[[], Store]) -> None:
    numbers = range(8)
    for feed in ("a", "b", "c"):
        titles = [f"Everybody has heard of number {number}" for number in numbers]
        items = [item(n, title=title, guid=f"{feed}-{n}") for n, title in zip(numbers, titles, strict=True)]
        await world.add_feed(feed, items)
    batches = await world.claimed("a", "b", "c")
    workers = [world.new_worker(another()) for _ in batches]
    outcomes = await asyncio.gather(
        *(worker.ingestion.ingest(batch) for worker, batch in zip(workers, batches, strict=True))
    )
    articles = [Article.from_document(each) for each in await world.articles()]
    assert len(articles) == len(numbers)
    assert all(set(each.sources) == {"a", "b", "c"} == set(each.source_attribution) for each in articles)
    assert all(each.canonical.source == "c" for each in articles)
    assert len(await world.observations()) == 3 * len(numbers)
    assert {name for outcome in outcomes for name in outcome.article_ids} == {each.source_id for each in articles}
    runs = [each["metrics"] for each in await world.runs()]
    assert sum(each["articles_stored"] for each in runs) == len(numbers)
    assert sum(each["collisions_detected"] for each in runs) == 2 * len(numbers)
    for feed in ("a", "b", "c"):
        assert (await world.feed(feed)).total_articles_fetched == len(numbers)


async def test_entries_without_ids_race_for_their_url(world: World, another: Callable[[], Store]) -> None:
    await world.add_feed("a", [item(1, guid=None, title="One title of the same page")])
    await world.add_feed("b", [item(1, guid=None, title="Another title of the same page")])
    batches = await world.claimed("a", "b")
    workers = [world.new_worker(another()) for _ in batches]
    await asyncio.gather(*(worker.ingestion.ingest(batch) for worker, batch in zip(workers, batches, strict=True)))
    assert sorted((await world.article())["sources"]) == ["a", "b"]


async def test_a_message_that_is_delivered_twice_at_once_is_done_once(
    world: World, another: Callable[[], Store]
) -> None:
    await world.add_feed("a", [item(1), item(2)])
    (batch,) = await world.claimed("a")
    workers = [world.worker, world.new_worker(another())]
    await asyncio.gather(*(worker.ingestion.ingest(batch) for worker in workers))
    feed = await world.feed("a")
    assert (feed.fetch_count, feed.total_articles_fetched) == (1, 2)
    (run,) = await world.runs()
    assert (run["status"], run["metrics"]["articles_stored"]) == ("SUCCEEDED", 2)


async def test_a_feed_that_two_workers_claim_at_once_is_saved_and_its_articles_are_stored_once(
    world: World, another: Callable[[], Store]
) -> None:
    names = [f"feed-{number}" for number in range(6)]
    for number, name in enumerate(names):
        await world.add_feed(name, [item(number)])
    workers = [world.worker, world.new_worker(another())]
    world.clock.forward(minutes=1)
    claimed = await asyncio.gather(*(worker.claims.claim_due(world.clock.now) for worker in workers))
    assert {name for batches in claimed for batch in batches for name in batch.claimed} == set(names)
    assert await world.new_worker().claims.claim_due(world.clock.now) == []
    work = [
        worker.ingestion.ingest(batch.run_id)
        for worker, batches in zip(workers, claimed, strict=True)
        for batch in batches
    ]
    await asyncio.gather(*work)
    for name in names:
        assert (await world.feed(name)).fetch_count == 1
    assert len(await world.articles()) == len(names)


async def test_a_worker_whose_lease_expired_does_no_harm_when_it_goes_on(
    world: World, another: Callable[[], Store]
) -> None:
    await world.add_feed("a", [item(1), item(2)])
    (batch,) = await world.claimed("a")
    fetch, waiting, let_go = world.shelf.fetch, asyncio.Event(), asyncio.Event()

    class SlowShelf:
        async def fetch(self, request: FetchRequest) -> FetchResult:
            result = await fetch(request)
            waiting.set()
            await let_go.wait()
            return result

    slow = world.new_worker(another(), SlowShelf())
    first = asyncio.create_task(slow.ingestion.ingest(batch))
    await waiting.wait()
    world.clock.forward(minutes=11)
    assert (await world.poll("a")).article_ids != ()
    let_go.set()
    await first
    feed = await world.feed("a")
    assert (feed.fetch_count, feed.total_articles_fetched) == (1, 2)
    assert len(await world.articles()) == 2
