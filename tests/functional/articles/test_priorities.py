"""Priorities that are changed while a feed is fetched, or between its removal and its next registration."""

from services.feeds.registry import FeedRegistry
from services.fetch.outcome import FetchRequest, FetchResult
from tests.functional.articles.world import World, item


async def test_a_priority_that_is_changed_during_a_fetch_counts_for_its_articles(world: World) -> None:
    await world.add_feed("early", [item(1, text="early")], source_priority=5)
    await world.add_feed("late", [item(1, text="late"), item(2)])
    first = await world.poll("early")

    class Changing:
        async def fetch(self, request: FetchRequest) -> FetchResult:
            registry = FeedRegistry(world.store, world.clock)
            await registry.change("late", {"source_priority": 1})
            return await world.shelf.fetch(request)

    outcome = await world.poll("late", world.new_worker(shelf=Changing()))
    both, alone = await world.articles()
    assert (both["canonical"]["source"], both["canonical"]["source_priority"]) == ("late", 1)
    assert both["text_for_analysis"] == "late"
    assert alone["canonical"]["source_priority"] == 1
    assert set(outcome.article_ids) == {both["source_id"], alone["source_id"]}
    assert first.article_ids == (both["source_id"],)
    feed = await world.feed("late")
    assert (feed.source_priority, feed.total_articles_fetched) == (1, 2)
