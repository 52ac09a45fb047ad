"""An article is deleted while an edit of it is ingested: neither layer has its text afterwards."""

from __future__ import annotations

from typing import Any

from services.articles.reading import Articles
from services.store.containers import ARTICLES
from tests.functional.articles.dying import DyingStore
from tests.functional.articles.turns import NEVER
from tests.functional.articles.world import World, item


class DeletedMeanwhile(DyingStore):
    """A store in which the article is deleted just before its edit is written."""

    def __init__(self, world: World, source_id: str) -> None:
        super().__init__(world.store, NEVER, "before")
        self._articles = Articles(world.store, world.clock)
        self._source_id = source_id

    async def _do(self, name: str, *arguments: Any, **options: Any) -> Any:
        if (name, arguments[0]) == ("batch_many", ARTICLES.name):
            await self._articles.delete(self._source_id)
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
