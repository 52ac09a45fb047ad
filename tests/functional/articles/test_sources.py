"""An article that several sources publish."""

from __future__ import annotations

from typing import Any

from models.run import PRIORITIZE, JobRun
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
