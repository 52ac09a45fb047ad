"""An article that several sources publish."""

from __future__ import annotations

from typing import Any

from models.run import PRIORITIZE, JobRun
from services.articles.reading import Articles
from services.store.containers import ARTICLES
from services.work.driver import page_after
from tests.builders import existing
from tests.functional.articles.dying import DyingStore
from tests.functional.articles.world import Item, World, item
from tests.functional.mentions.world import World as Analysing

TITLE = "Everybody publishes this story today"


def story(feed: str, **changes: Any) -> Item:
    return item(1, **{"title": TITLE, "guid": f"{feed}-1", "link": f"https://{feed}.example/1", **changes})


async def published_by(world: World, *feeds: str, **fields: Any) -> None:
    for feed in feeds:
        await world.add_feed(feed, [story(feed, text=f"{feed} says so.")], **fields)
        await world.poll(feed)


async def test_a_deleted_article_keeps_no_text_of_any_source(world: World) -> None:
    await published_by(world, *"abcd")
    deleted = (await world.article())["source_id"]
    await Articles(world.store, world.clock).delete(deleted)
    assert await world.observations() == []
    left = await world.all(ARTICLES.name)
    assert "says so" not in str(left)
    assert TITLE not in str(left)
    world.publish("d", [story("d", text="Once more.")])
    await world.poll("d")
    await published_by(world, "e")
    assert await world.observations() == []


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


async def test_a_changed_priority_changes_the_canonical_reading_and_its_text(world: World) -> None:
    await published_by(world, *"abcd", source_priority=5)
    assert (await world.article())["canonical"]["source"] == "d"
    await reprioritized(world, "c", 1)
    article = await world.article()
    assert (article["canonical"]["source"], article["text_for_analysis"]) == ("c", "c says so.")
    assert article["source_attribution"]["c"]["source_priority"] == 1
    await reprioritized(world, "c", 9)
    article = await world.article()
    assert (article["canonical"]["source"], article["text_for_analysis"]) == ("d", "d says so.")
    await reprioritized(world, "d", 8)
    assert (await world.article())["canonical"]["source"] == "b"
    await reprioritized(world, "b", 10)
    await reprioritized(world, "a", 10)
    assert (await world.article())["canonical"]["source"] == "d"
    await reprioritized(world, "d", 9)
    assert (await world.article())["canonical"]["source"] == "d"
    attribution = (await world.article())["source_attribution"]
    assert {key: each["source_priority"] for key, each in attribution.items()} == {"a": 10, "b": 10, "c": 9, "d": 9}


async def test_a_priority_that_was_changed_while_a_source_is_written_is_applied(world: World) -> None:
    await published_by(world, *"abc", source_priority=5)

    class ChangedMeanwhile(DyingStore):
        """The priority of `d` gets worse after its attempt has begun, when the workflow finds no article yet."""

        async def _do(self, name: str, *arguments: Any, **options: Any) -> Any:
            if (name, arguments[0]) == ("batch_many", ARTICLES.name) and not self.operations > 90:
                self.operations = 91
                document = await existing(world.store, "feeds", "d", "feed")
                await world.store.replace("feeds", {**document, "source_priority": 8}, document["_etag"])
            return await super()._do(name, *arguments, **options)

    await world.add_feed("d", [story("d", text="d says so.")], source_priority=1)
    await world.poll("d", world.new_worker(ChangedMeanwhile(world.store)))
    article = await world.article()
    assert (article["canonical"]["source"], article["text_for_analysis"]) == ("c", "c says so.")
    assert article["source_attribution"]["d"]["source_priority"] == 8
