"""Stored articles are announced to analysis at once, and after a crash when they are overdue."""

import asyncio
from collections.abc import Callable

import pytest

from models.errors import Unavailable
from services.articles.entries import PORTION
from services.fetch.outcome import FetchRequest, FetchResult
from tests.functional.articles.dying import Died, DiesSavingFeeds
from tests.functional.articles.world import Shelf, World, item


class Hanging:
    """A shelf on which one feed hangs until the test lets it answer."""

    def __init__(self, shelf: Shelf, feed_id: str) -> None:
        self._shelf = shelf
        self._hangs = feed_id
        self.answers = asyncio.Event()

    async def fetch(self, request: FetchRequest) -> FetchResult:
        if self._hangs in request.url:
            await self.answers.wait()
        return await self._shelf.fetch(request)


async def until(condition: Callable[[], bool]) -> None:
    async with asyncio.timeout(300):
        while not condition():  # noqa: ASYNC110 (another task makes it true)
            await asyncio.sleep(0.01)


async def all_in_one_message(world: World) -> str:
    (batch,) = await world.claim_all()
    return batch.run_id


async def ids(world: World) -> set[str]:
    return {each["source_id"] for each in await world.articles()}


async def test_a_hanging_feed_does_not_delay_the_articles_of_the_others(world: World) -> None:
    for name, number in (("hanging", 1), ("quick", 2), ("other", 3)):
        await world.add_feed(name, [item(number)])
    shelf = Hanging(world.shelf, "hanging")
    worker = world.new_worker(shelf=shelf)
    working = asyncio.create_task(worker.ingestion.ingest(await all_in_one_message(world)))
    await until(lambda: len(worker.announced) == 2)
    assert set(worker.announced) == await ids(world)
    shelf.answers.set()
    await working
    assert sorted(worker.announced) == sorted(await ids(world))


async def test_an_article_is_stored_before_it_is_announced_and_its_feed_saved_afterwards(world: World) -> None:
    await world.add_feed("a", [item(1)])
    worker = world.new_worker(DiesSavingFeeds(world.store))
    with pytest.raises(Died):
        await worker.ingestion.ingest(await all_in_one_message(world))
    assert set(worker.announced) == await ids(world) != set()


async def test_each_portion_of_a_poll_is_announced_after_the_portions_before_it(world: World) -> None:
    await world.add_feed("bulky", [item(number) for number in range(PORTION + 2)])
    worker = world.new_worker()
    await worker.ingestion.ingest(await all_in_one_message(world))
    assert worker.announced_before == [0, PORTION // 2 + 1]


async def test_an_article_that_could_not_be_announced_is_found_by_its_document(world: World) -> None:
    await world.add_feed("a", [item(1)])
    worker = world.new_worker()
    worker.announcing_fails = Unavailable("the queues did not answer")
    with pytest.raises(Unavailable):
        await worker.ingestion.ingest(await all_in_one_message(world))
    assert (worker.announced, len(await ids(world))) == ([], 1)
    assert (await world.article())["analysis_due_since"] is not None
