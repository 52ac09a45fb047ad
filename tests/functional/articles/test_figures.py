"""No article is counted twice, where a worker dies, a message is delivered again, or a feed is added again."""

from __future__ import annotations

from contextlib import suppress

from services.feeds.claims import INGESTION_STAGE
from services.feeds.registry import FeedRegistry
from tests.builders import overdue_keys
from tests.functional.articles.dying import Died, DyingStore
from tests.functional.articles.world import World, item


async def test_a_message_that_is_sent_twice_leaves_the_figures_of_its_ended_run(world: World) -> None:
    await world.add_feed("feed", [item(1), item(2)])
    world.clock.forward(minutes=1)
    batch = await world.worker.claims.claim("feed", world.clock.now)
    await world.worker.ingestion.ingest(batch, 1)
    (before,) = await world.runs()
    world.clock.forward(minutes=1)
    await world.new_worker().ingestion.ingest(batch, 1)  # redriven, or sent twice: its count begins anew
    (after,) = await world.runs()
    assert after["metrics"] == before["metrics"]
    assert after["sources_queried"] == before["sources_queried"]


async def test_a_message_that_is_delivered_again_leaves_the_duration_of_its_ended_run(world: World) -> None:
    await world.add_feed("feed", [item(1)])
    world.clock.forward(minutes=1)
    batch = await world.worker.claims.claim("feed", world.clock.now)
    await world.worker.ingestion.ingest(batch, 1)
    (before,) = await world.runs()
    world.clock.forward(minutes=10)
    await world.new_worker().ingestion.ingest(batch, 2)
    (after,) = await world.runs()
    assert after["metrics"] == before["metrics"]


async def test_with_two_sources_in_one_second_the_headline_is_that_of_the_first_listed(world: World) -> None:
    same = {"title": "Number 1 is in the news again", "guid": None}
    await world.add_feed("zulu", [item(1, **same, link="https://zulu.example/1")])
    await world.add_feed(
        "alpha", [item(1, **{**same, "title": "NUMBER 1 is in the news again!"}, link="https://alpha.example/1")]
    )
    first, second = await world.claimed("zulu", "alpha")
    await world.worker.ingestion.ingest(first)
    await world.worker.ingestion.ingest(second)
    article = await world.article()
    assert article["sources"] == ["zulu", "alpha"]
    assert article["source_attribution"][article["sources"][0]]["original_headline"] == article["headline"]


async def test_runs_whose_workers_died_end_and_no_article_is_counted_twice(world: World) -> None:
    k = 0
    while True:
        k += 1
        name = f"feed-{k}"
        await world.add_feed(name, [item(1000 * k), item(1000 * k + 1)])
        batch = await world.worker.claims.claim(name, world.clock.now)
        dying = DyingStore(world.store, k, "after")
        with suppress(Died):
            await world.new_worker(dying).ingestion.ingest(batch)
        world.clock.forward(minutes=11)
        if (await world.feed(name)).fetch_count == 0:
            await world.poll(name, world.new_worker())
        if not dying.is_dead:
            break
    world.clock.forward(minutes=30)
    for run_id in await overdue_keys(world.store, INGESTION_STAGE, world.clock):
        await world.new_worker().ingestion.ingest(run_id)
    runs = await world.runs()
    assert {each["status"] for each in runs} <= {"SUCCEEDED", "PARTIAL", "FAILED"}
    assert sum(each["metrics"]["articles_stored"] for each in runs) <= 2 * k
    assert len(await world.articles()) == 2 * k
    assert k > 10


async def test_articles_of_a_feed_that_was_deleted_and_added_again_count_once(world: World) -> None:
    await world.add_feed("feed", [item(1), item(2)])
    await world.poll("feed")
    await FeedRegistry(world.store, world.clock).remove("feed")
    await world.add_feed("feed", [item(1), item(2)])
    await world.poll("feed")
    assert (await world.feed("feed")).total_articles_fetched == 0
    assert [each["metrics"]["articles_stored"] for each in await world.runs()] == [2, 0]
    assert len(await world.articles()) == 2


async def counted_by_runs(world: World) -> int:
    runs = [each["metrics"] for each in await world.runs() if each.get("metrics")]
    return sum(each["articles_stored"] + each["collisions_detected"] for each in runs)


async def test_a_feed_that_is_removed_and_added_again_counts_its_articles_once_in_the_runs(world: World) -> None:
    registry = FeedRegistry(world.store, world.clock)
    for life in range(3):
        await world.add_feed("feed", [item(1), item(2, text=f"Edited in life {life}.")])
        await world.poll("feed", world.new_worker())
        assert await counted_by_runs(world) == 2
        world.clock.forward(minutes=1)
        await registry.remove("feed")
    await world.add_feed("feed", [item(1), item(2), item(3)])
    await world.poll("feed", world.new_worker())
    assert await counted_by_runs(world) == 3
    assert (await world.feed("feed")).total_articles_fetched == 1
