"""Workers that take over from one that died, is slow, or has a fast clock; also of a disabled feed."""

from __future__ import annotations

import asyncio
import itertools
from typing import Any, cast

import pytest

from models.errors import Unavailable
from services.feeds.registry import FeedRegistry
from services.fetch.outcome import FetchRequest, FetchResult
from services.ports import Store
from services.store.containers import ARTICLES, FEEDS
from tests.failing_stores import Interrupted
from tests.functional.articles.dying import DyingStore
from tests.functional.articles.world import World, item


class Slow(DyingStore):
    """Waits for `goes_on` after it has read a feed's document, or before it writes the feed's articles."""

    def __init__(self, world: World, where: str) -> None:
        super().__init__(world.store)
        self._world = world
        self._where = where
        self.waits = asyncio.Event()
        self.goes_on = asyncio.Event()

    async def fetch(self, request: FetchRequest) -> FetchResult:
        result = await self._world.shelf.fetch(request)
        await self._wait_if("fetching")
        return result

    async def _do(self, name: str, *arguments: Any, **options: Any) -> Any:
        if (name, arguments[0]) == ("batch_many", ARTICLES.name):
            await self._wait_if("writing")
        return await super()._do(name, *arguments, **options)

    async def _wait_if(self, where: str) -> None:
        if where == self._where:
            self.waits.set()
            await self.goes_on.wait()


@pytest.mark.parametrize("where", ["fetching", "writing"])
async def test_a_worker_that_was_overtaken_does_not_undo_later_edits(world: World, where: str) -> None:
    await world.add_feed("a", [item(1)])
    await world.poll("a")
    world.publish("a", [item(1, text="Edited.")])
    (batch,) = await world.claimed("a")
    slow = Slow(world, where)
    overtaken = asyncio.ensure_future(world.new_worker(slow, slow).ingestion.ingest(batch))
    await slow.waits.wait()
    world.clock.forward(minutes=11)
    world.publish("a", [item(1, text="Edited again.")])
    await world.poll("a", world.new_worker())
    slow.goes_on.set()
    await overtaken
    assert (await world.article())["text_for_analysis"] == "Edited again."
    assert [each["text"] for each in await world.observations()] == ["Edited again."]


class Flapping(DyingStore):
    """A store that answers no save of a feed; nor any later request, if it `goes_down`."""

    is_up = True

    def __init__(self, store: Store, *, goes_down: bool) -> None:
        super().__init__(store)
        self._goes_down = goes_down

    async def _do(self, name: str, *arguments: Any, **options: Any) -> Any:
        is_save = (name, arguments[0]) == ("batch", FEEDS.name)
        self.is_up = self.is_up and not (is_save and self._goes_down)
        if is_save or not self.is_up:
            raise Unavailable("down")
        return await super()._do(name, *arguments, **options)


@pytest.mark.parametrize("goes_down", [False, True])
async def test_an_outage_of_the_store_counts_as_no_death_of_a_worker(world: World, goes_down: bool) -> None:
    await world.add_feed("a", [item(1)])
    (message,) = await world.claimed("a")
    store = Flapping(world.store, goes_down=goes_down)
    worker = world.new_worker(store)
    for delivery in range(1, 9):
        store.is_up = True
        with pytest.raises(Unavailable):
            await worker.ingestion.ingest(message, delivery)
        world.clock.forward(minutes=1)
    await world.new_worker().ingestion.ingest(message, 9)
    feed = await world.feed("a")
    assert (feed.enabled, feed.fetch_count, feed.consecutive_errors) == (True, 1, 0)


async def test_a_persons_change_at_any_operation_of_an_attempt_stays_and_so_does_what_the_attempt_saves(
    world: World,
) -> None:
    registry = FeedRegistry(world.store, world.clock)
    for number in itertools.count():
        name = f"feed{number}"
        await world.add_feed(name, [item(number)])
        (batch,) = await world.claimed(name)

        async def change(name: str = name) -> None:
            await registry.change(name, {"priority": 7.0})

        interrupted = Interrupted(world.store, number, change)
        await world.new_worker(cast("Store", interrupted)).ingestion.ingest(batch)
        if not interrupted.has_acted:
            break
        feed = await world.feed(name)
        assert (feed.priority_score, feed.total_articles_fetched) == (7.0, 1), number
    assert number > 10


class KeepsOneAnswer(DyingStore):
    """A person changes the feed before its first save, and the answer to its second one is lost."""

    def __init__(self, world: World) -> None:
        super().__init__(world.store)
        self._registry = FeedRegistry(world.store, world.clock)
        self._saves = 0

    async def _do(self, name: str, *arguments: Any, **options: Any) -> Any:
        is_save = (name, arguments[0]) == ("batch", FEEDS.name)
        self._saves += is_save
        if is_save and self._saves == 1:
            await self._registry.change("a", {"priority": 7.0})
        result = await super()._do(name, *arguments, **options)
        if is_save and self._saves == 2:
            raise Unavailable("the store did not answer")
        return result


async def test_a_save_after_a_persons_change_is_known_as_done_if_its_answer_is_lost(world: World) -> None:
    await world.add_feed("a", [item(1)])
    (run_id,) = await world.claimed("a")
    await world.new_worker(KeepsOneAnswer(world)).ingestion.ingest(run_id)
    assert [(each["status"], each["articles_stored"]) for each in await world.attempts()] == [("SUCCEEDED", 1)]
    assert (await world.feed("a")).priority_score == 7.0
