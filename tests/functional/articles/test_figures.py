"""No article is counted twice, where a worker dies, a message is delivered again, or a feed is added again."""

from __future__ import annotations

from services.feeds.registry import FeedRegistry
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
