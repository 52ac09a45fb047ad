"""An article that very many sources publish: it lists the first ones itself, and the others have observations only."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

import pytest

from models.article import Article, Observation
from models.run import PRIORITIZE, JobRun
from services.articles.reading import ArticleFilter, Articles, article_filter, article_words
from services.articles.sources import sources_of
from services.operations.export import Export
from services.store.containers import ARTICLES
from services.work.driver import page_after
from tests.builders import existing
from tests.functional.articles.dying import DyingStore
from tests.functional.articles.world import Item, World, item
from tests.functional.mentions.world import World as Analysing

TITLE = "Everybody publishes this story today"


def story(feed: str, **changes: Any) -> Item:
    return item(1, **{"title": TITLE, "guid": f"{feed}-1", "link": f"https://{feed}.example/1", **changes})


@pytest.fixture
def small(world: World) -> World:
    """A world in which an article lists two sources itself."""
    return World(world.store, world.clock, most_listed=2)


async def published_by(world: World, *feeds: str, **fields: Any) -> None:
    for feed in feeds:
        await world.add_feed(feed, [story(feed, text=f"{feed} says so.")], **fields)
        await world.poll(feed)


async def served(world: World) -> Article:
    articles = Articles(world.store, world.clock)
    return await sources_of(world.store, await articles.get((await world.article())["source_id"]))


async def listed(world: World, **given: str) -> list[str]:
    articles = Articles(world.store, world.clock)
    page = await articles.page(article_filter(given), 50, None)
    return [each.source_id for each in page.items]


async def test_a_further_source_writes_its_observation_and_not_the_article(small: World) -> None:
    await published_by(small, "a", "b", source_priority=1)
    await published_by(small, "c")
    before = await small.article()
    assert (before["sources"], before["has_further_sources"]) == (["a", "b"], True)
    await published_by(small, "d", "e")
    after = await small.article()
    assert after["_etag"] == before["_etag"]
    observed = [Observation.from_document(each) for each in await small.observations()]
    assert [each.source for each in observed] == ["a", "b", "c", "d", "e"]
    assert [each.article_timestamp is not None for each in observed] == [False, False, True, True, True]
    assert [each.created_article for each in observed] == [True, False, False, False, False]
    assert [(await small.feed(each)).total_articles_fetched for each in "abcde"] == [1] * 5
    runs = [each["metrics"] for each in await small.runs()]
    assert sum(each["articles_stored"] for each in runs) == 1
    assert sum(each["collisions_detected"] for each in runs) == 4


async def test_an_article_is_served_with_all_its_sources(small: World) -> None:
    await published_by(small, *"abcde", source_priority=3)
    article = await served(small)
    assert (article.sources, article.source_count) == (tuple("abcde"), 5)
    whole = World(small.store, small.clock, first_id=100)
    for each in "abcde":
        own = article.source_attribution[each]
        assert (own.article_id, own.url, own.original_headline) == (f"{each}-1", f"https://{each}.example/1", TITLE)
        assert (own.source_priority, own.crawl_timestamp, own.scraped_at) == (3, own.scraped_at, own.crawl_timestamp)
        assert own.added_by_run is not None
        assert own.added_by_run.startswith("run-")
    assert article.canonical.source == "e"
    shown = article.shown()
    assert (shown["source_count"], "has_further_sources" in shown) == (5, False)
    page = await Articles(whole.store, whole.clock).page(ArticleFilter(), 10, None)
    assert [(each.sources, each.source_count) for each in page.items] == [(("a", "b"), 5)]
    exported = await Export(whole.store, whole.clock).page("canonical", 10, None)
    assert [each["source_count"] for each in exported.items] == [5]


async def test_a_response_is_bounded_and_has_the_source_of_the_canonical_reading(
    small: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    await published_by(small, *"abcdefgh")
    await small.add_feed("z", [story("z")], source_priority=1)
    await small.poll("z")
    await published_by(small, "y")
    article = await served(small)
    assert article.canonical.source == "z"
    assert article.source_count == 10
    most = await sources_of(small.store, Article.from_document(await small.article()), most=4)
    assert len(most.sources) == 4
    assert {"a", "b", "z"} < set(most.sources)
    assert most.source_count == 10


async def test_articles_are_found_by_further_sources_with_every_filter(small: World) -> None:
    for feed in "abc":
        await small.add_feed(feed)
    for number in range(5):
        at = small.clock.now - timedelta(hours=number)
        for feed in "abc" if number != 3 else "c":
            title = f"Everybody publishes story number {number}"
            small.publish(
                feed, [item(number, title=title, guid=f"{feed}-{number}", published=at, tags=(f"tag{number % 2}",))]
            )
            await small.poll(feed)
    articles = Articles(small.store, small.clock)
    found: list[str] = []
    after = None
    while len(found) < 10:
        page = await articles.page(article_filter({"source": "c"}), 2, after)
        found += [each.source_id for each in page.items]
        after = page.next
        if after is None:
            break
    assert found == await listed(small)
    assert (len(found), len(await listed(small, source="a"))) == (5, 4)
    assert len(await listed(small, source="c", tag="tag1")) == 2
    since = (small.clock.now - timedelta(hours=2, minutes=40)).isoformat()
    assert 0 < len(await listed(small, source="c", since=since)) == len(await listed(small, since=since)) < 5
    for each in found:
        document = await existing(small.store, "articles", each, "article")
        words = article_words(Article.from_document(document))
        await small.store.upsert("articles", {**document, "words": words})
    assert len(await listed(small, source="c", text="NUMBER 4")) == 1
    assert await listed(small, source="c", text='"4 number"') == []
    assert await listed(small, source="nobody") == []


async def test_a_deleted_article_keeps_no_text_of_a_further_source(small: World) -> None:
    await published_by(small, *"abcd")
    deleted = (await small.article())["source_id"]
    await Articles(small.store, small.clock).delete(deleted)
    assert await small.observations() == []
    left = await small.all(ARTICLES.name)
    assert "says so" not in str(left)
    assert TITLE not in str(left)
    small.publish("d", [story("d", text="Once more.")])
    await small.poll("d")
    await published_by(small, "e")
    assert await small.observations() == []
    assert await listed(small, source="d") == []


class DeletedMeanwhile(DyingStore):
    """A store in which the article is deleted just before what was read of it is written."""

    def __init__(self, world: World, source_id: str) -> None:
        super().__init__(world.store)
        self._delete = Articles(world.store, world.clock).delete
        self._source_id = source_id

    async def _do(self, name: str, *arguments: Any, **options: Any) -> Any:
        if (name, arguments[0]) == ("batch_many", ARTICLES.name):
            await self._delete(self._source_id)
        return await super()._do(name, *arguments, **options)


async def test_an_edit_of_an_article_that_is_deleted_meanwhile_leaves_no_text(world: World) -> None:
    await world.add_feed("a", [item(1, text="before"), item(2)])
    await world.poll("a")
    deleted = next(each["source_id"] for each in await world.articles() if "Number 1" in each["headline"])
    world.clock.forward(days=1)
    world.publish("a", [item(1, text="after"), item(2)])
    await world.poll("a", world.new_worker(DeletedMeanwhile(world, deleted)))
    assert deleted not in {each["source_id"] for each in await world.observations()}
    tombstone = next(each for each in await world.articles() if each["source_id"] == deleted)
    assert (tombstone["headline"], tombstone.get("text_for_analysis")) == ("[deleted]", None)


async def test_an_observation_that_was_written_after_the_deletion_is_removed(small: World) -> None:
    """A worker reads the article, the article is deleted, the worker writes its observation."""
    await published_by(small, *"ab", source_priority=1)
    await published_by(small, "c")
    deleted = (await small.article())["source_id"]
    await small.add_feed("d", [story("d", text="d says so.")])
    await small.poll("d", small.new_worker(DeletedMeanwhile(small, deleted)))
    assert await small.observations() == []
    assert "d says so" not in str(await small.all(ARTICLES.name))
    assert (await small.feed("d")).total_articles_fetched == 1


async def reprioritized(world: World, feed_id: str, priority: int) -> None:
    """Changes the priority as the workflow does, page by page."""
    feed = await world.feed(feed_id)
    await world.store.upsert("feeds", feed.changed(world.clock.now, source_priority=priority).to_document())
    run = JobRun.queued("run-p", PRIORITIZE, world.clock.now, subject=feed_id)
    for _ in range(10):
        result = await Analysing(world.store, world.clock).worker.workflows.workflows[PRIORITIZE](run)
        assert result.failed == {}
        if result.checkpoint is None:
            return
        run = run.changed(world.clock.now, checkpoint=result.checkpoint)
    raise AssertionError(page_after(run))


async def test_a_changed_priority_reaches_articles_of_further_sources(small: World) -> None:
    await published_by(small, *"abcd", source_priority=5)
    assert (await small.article())["canonical"]["source"] == "d"
    await reprioritized(small, "c", 1)
    article = await small.article()
    assert (article["canonical"]["source"], article["text_for_analysis"]) == ("c", "c says so.")
    assert (await served(small)).source_attribution["c"].source_priority == 1
    # The reading goes back to that of another further source.
    await reprioritized(small, "c", 9)
    article = await small.article()
    assert (article["canonical"]["source"], article["text_for_analysis"]) == ("d", "d says so.")
    await reprioritized(small, "d", 8)
    assert (await small.article())["canonical"]["source"] == "b"
    await reprioritized(small, "b", 10)
    await reprioritized(small, "a", 10)
    assert (await small.article())["canonical"]["source"] == "d"
    await reprioritized(small, "d", 9)
    assert (await small.article())["canonical"]["source"] == "d"
    attribution = (await served(small)).source_attribution
    assert {key: each.source_priority for key, each in attribution.items()} == {"a": 10, "b": 10, "c": 9, "d": 9}


async def test_a_priority_that_was_changed_while_a_further_source_is_written_is_applied(small: World) -> None:
    await published_by(small, *"abc", source_priority=5)

    class ChangedMeanwhile(DyingStore):
        """The priority of `d` gets worse after its attempt has begun, when the workflow finds no article yet."""

        async def _do(self, name: str, *arguments: Any, **options: Any) -> Any:
            if (name, arguments[0]) == ("batch_many", ARTICLES.name) and not self.operations > 90:
                self.operations = 91
                document = await existing(small.store, "feeds", "d", "feed")
                await small.store.replace("feeds", {**document, "source_priority": 8}, document["_etag"])
            return await super()._do(name, *arguments, **options)

    await small.add_feed("d", [story("d", text="d says so.")], source_priority=1)
    await small.poll("d", small.new_worker(ChangedMeanwhile(small.store)))
    article = await small.article()
    assert (article["canonical"]["source"], article["text_for_analysis"]) == ("b", "b says so.")
    assert (await served(small)).source_attribution["d"].source_priority == 8
