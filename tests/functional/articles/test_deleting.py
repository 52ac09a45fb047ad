"""An article is deleted while an edit of it comes in: its text is in neither layer afterwards."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, cast

import pytest

from services.articles.reading import Articles
from services.ports import Store
from services.store.containers import ARTICLES
from tests.functional.articles.dying import Died, DiesSavingFeeds
from tests.functional.articles.world import World, item


class DeletedMeanwhile:
    """A store in which the article goes just before its new observation comes."""

    def __init__(self, world: World, source_id: str) -> None:
        self._store = world.store
        self._articles = Articles(world.store, world.clock)
        self._source_id = source_id

    def __getattr__(self, name: str) -> Any:
        return getattr(self._store, name)

    async def create_many(self, container: str, documents: Sequence[Mapping[str, Any]]) -> list[bool]:
        if container == ARTICLES.name:
            await self._articles.delete(self._source_id)
        return await self._store.create_many(container, documents)


async def test_nothing_is_kept_that_is_said_of_an_article_that_is_deleted_meanwhile(world: World) -> None:
    await world.add_feed("a", [item(1, text="before"), item(2)])
    await world.poll("a")
    deleted = next(each["source_id"] for each in await world.articles() if "Number 1" in each["headline"])
    world.clock.forward(days=1)
    world.publish("a", [item(1, text="after"), item(2)])
    store = cast("Store", DeletedMeanwhile(world, deleted))
    await world.poll("a", world.new_worker(store))
    assert deleted not in {each["source_id"] for each in await world.observations()}


async def test_nothing_is_kept_that_is_said_again_of_it_after_a_worker_died(world: World) -> None:
    """The article itself stays as it is, so that no ETag tells; and what was said was said the day before."""
    await world.add_feed("a", [item(1), item(2)])
    (batch,) = await world.claimed("a")
    with pytest.raises(Died):
        await world.new_worker(DiesSavingFeeds(world.store)).ingestion.ingest(batch)
    deleted = (await world.articles())[0]["source_id"]
    world.clock.forward(days=1)
    store = cast("Store", DeletedMeanwhile(world, deleted))
    await world.new_worker(store).ingestion.ingest(batch, 2)
    assert [each["source_id"] == deleted for each in await world.observations()] == [False]


async def test_what_is_left_of_it_by_a_worker_that_died_is_not_exported(world: World) -> None:
    await world.add_feed("a", [item(1, text="before"), item(2)])
    await world.poll("a")
    articles = Articles(world.store, world.clock)
    deleted = next(each["source_id"] for each in await world.articles() if "Number 1" in each["headline"])
    (left,) = [each for each in await world.observations() if each["source_id"] == deleted]
    await articles.delete(deleted)
    await world.store.create(ARTICLES.name, left)
    for layer in ("canonical", "raw"):
        page = await articles.export(layer, 10, None)
        assert [each["source_id"] == deleted for each in page.items] == [False]
    await articles.delete(deleted)
    assert deleted not in {each["source_id"] for each in await world.observations()}
