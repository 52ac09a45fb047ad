"""Splits a link off an article, and takes it back.

The article keeps the pin (`split_links`): entries with such a link go to the article that it names, and no further
source joins by headline and day alone. First the observations are in the article that they go to, then they leave the
other one: doing it again after a crash, or after another worker wrote to one of the two, has the same result.
"""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass

from models.article import LISTED_SOURCES, Article, ArticleDocument
from models.errors import ChangedMeanwhile, Conflict, NotFound
from models.locator import locator_key
from models.values import format_time
from services.articles.identity import locator_identities
from services.articles.rebuilding import Parts, id_with_link, moved, with_link
from services.articles.sources import observations_of
from services.articles.tombstones import observation_tombstone
from services.parse.urls import link_of
from services.ports import Clock, Create, Document, Operation, Replace, Store, Upsert
from services.store.change import Key, change_many, until_unchanged
from services.store.containers import ARTICLES, LOCATORS

_BATCH = 100


@dataclass(frozen=True, slots=True)
class ArticleSplits:
    """Writes splits of articles. `most_listed`: how many sources an article lists itself."""

    store: Store
    clock: Clock
    most_listed: int = LISTED_SOURCES

    async def target(self, article_id: str, source: str) -> str:
        """The id of the article that the source becomes. Raises NotFound if the source is not in the article, and
        Conflict if its link does not tell it from the others."""
        left = await self._read(article_id)
        if left is None or left.article.get("deleted_at"):
            raise NotFound(f"article: there is none with the id {article_id!r}")
        known = left.attributions()
        if source not in known:
            raise NotFound(f"source: {source} is not in the article {article_id}")
        if len(known) == 1:
            raise Conflict(f"source: {source} is the only source of the article")
        link = link_of(known[source]["url"])
        to = id_with_link(left.article, link)
        if to == article_id or len(with_link(known, link)) == len(known):
            raise Conflict(f"source: the article has no other link than that of {source}")
        there = await self._read(to)
        if there is not None and there.article.get("deleted_at") and not _returned(there.article, article_id):
            raise Conflict(f"source: the article with the link of {source} was deleted")
        return to

    async def split(self, article_id: str, to: str, source: str) -> None:
        """Moves the source, with all that have its link, to the article `to`. Doing it again changes nothing."""

        async def once() -> None:
            left = await self._served(article_id)
            known = left.attributions()
            if source in known:
                await self._move(left, to, with_link(known, link_of(known[source]["url"])), is_split=True)
            elif to not in left.article.get("split_links", {}).values():
                raise NotFound(f"source: {source} is not in the article {article_id}")

        await until_unchanged(once, f"article {article_id}")
        await self._lead_locators(article_id, to)

    async def take_back(self, article_id: str, to: str) -> None:
        """Returns all sources of the article `to`. Doing it again changes nothing."""

        async def once() -> None:
            await self._served(article_id)
            left = await self._read(to)
            if left is None or (left.article.get("deleted_at") and not _returned(left.article, article_id)):
                raise NotFound(f"article: {to} was deleted or has expired")
            if not left.article.get("deleted_at"):
                await self._move(left, article_id, left.attributions().keys(), is_split=False)

        await until_unchanged(once, f"article {article_id}")
        await self._lead_locators(to, article_id)

    async def _move(self, left: Parts, to: str, leaving: Collection[str], *, is_split: bool) -> None:
        """Writes both articles. Raises ChangedMeanwhile if another worker wrote one of them: what was ingested
        meanwhile is to be moved too."""
        joined, time = await self._read(to), format_time(self.clock())
        if joined is not None and joined.article.get("deleted_at") and not _returned(joined.article, left.source_id):
            raise NotFound(f"article: {to} was deleted")
        after = moved(left, joined, to, leaving, time, self.most_listed, is_split=is_split)
        gone: list[Operation] = [
            Upsert(observation_tombstone(each, time)) for each in left.observations if each["source"] in leaving
        ]
        try:
            await self._write(joined, after.joined)
            await self._write(left, after.left, gone)
        except Conflict as error:
            raise ChangedMeanwhile(str(error)) from error

    async def _write(self, before: Parts | None, after: Parts, more: Collection[Operation] = ()) -> None:
        known = {each["id"]: each for each in before.observations} if before is not None else {}
        changed = [Upsert(each) for each in after.observations if each != known.get(each["id"])]
        article = Create(after.article) if before is None else Replace(after.article, before.article["_etag"])
        operations = [*changed, *more, article]
        for start in range(0, len(operations), _BATCH):
            part = operations[start : start + _BATCH]
            await self.store.batch(ARTICLES.name, after.article["source_id"], part)

    async def _lead_locators(self, left: str, joined: str) -> None:
        """Lets the locators of the entries that have moved lead to the article that they are in."""

        def led(key: Key, found: Document | None) -> Document | None:
            return {**found, "source_id": joined} if found is not None and found.get("source_id") == left else None

        names = {
            locator_key(each["source"], identity)
            for each in await observations_of(self.store, joined)
            for identity in locator_identities(each["article_id"])
        }
        await change_many(self.store, LOCATORS.name, [(each, each) for each in sorted(names)], led)

    async def _served(self, source_id: str) -> Parts:
        found = await self._read(source_id)
        if found is None or found.article.get("deleted_at"):
            raise NotFound(f"article: {source_id} was deleted or has expired")
        return found

    async def _read(self, source_id: str) -> Parts | None:
        found: Document | None = await self.store.read(ARTICLES.name, source_id, Article.ID)
        if found is None:
            return None
        return Parts(found, await observations_of(self.store, source_id))


def _returned(deleted: ArticleDocument, article_id: str) -> bool:
    """Whether the article is a tombstone since its sources returned to the other article, not since it was deleted."""
    return article_id in deleted.get("split_links", {}).values()
