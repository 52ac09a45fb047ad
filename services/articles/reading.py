"""Reads stored articles and observations, and deletes articles.

An id is `dedup:{key}`, or the older `{source}:{article_id}`, which the locator aliases resolve.
"""

from __future__ import annotations

import dataclasses
import re
from typing import Literal, get_args
from urllib.parse import unquote

from models.article import Article, Observation
from models.errors import NotFound
from models.locator import LocatorAlias, locator_key
from models.values import format_time
from services.articles.entry_documents import observation_tombstone, tombstone
from services.articles.identity import locator_identities
from services.articles.listing import ArticleFilter, articles_page
from services.articles.sources import (
    MAX_SHOWN,
    first_observations,
    observations_of,
    sources_of,
)
from services.feeds.form import is_feed_id
from services.ports import (
    Clock,
    Document,
    Listed,
    Operation,
    Replace,
    Store,
    Upsert,
    listed_documents,
)
from services.store.change import until_unchanged
from services.store.containers import ARTICLES, LOCATORS

Layer = Literal["canonical", "raw"]
LAYERS: tuple[Layer, ...] = get_args(Layer)
_SLASH = re.compile("%2f", re.IGNORECASE)
_SOURCE_ID = re.compile("dedup:[0-9a-f]{32}")
_BATCH = 100


class Articles:
    """Reads, lists and deletes articles."""

    def __init__(self, store: Store, clock: Clock) -> None:
        self._store = store
        self._clock = clock

    async def page(self, by: ArticleFilter, limit: int, after: str | None) -> Listed[Article]:
        """The articles that meet all filters, newest first."""
        return await articles_page(self._store, by, limit, after)

    async def get(self, article_id: str) -> Article:
        document = await self._find(article_id)
        article = Article.from_document(document) if document is not None else None
        if article is None or article.deleted_at is not None:
            raise _no_article(article_id)
        return article

    async def sources_of(self, article: Article) -> Article:
        """The article with the attributions of its sources, at most MAX_SHOWN, and their number."""
        return await sources_of(self._store, article)

    async def observations(self, article: Article) -> Listed[Observation]:
        """The observations of the article, at most MAX_SHOWN, by day."""
        documents = await first_observations(self._store, article.source_id, MAX_SHOWN)
        found = listed_documents(documents, Observation.from_document, "id")
        ordered = sorted(found.items, key=lambda each: (each.observed_day, each.scraped_at, each.source))
        return dataclasses.replace(found, items=ordered)

    async def source_id_of(self, article_id: str) -> str:
        """The `source_id` of any stored article, also of a tombstone. Raises UnreadableDocument."""
        document = await self._find(article_id)
        if document is None:
            raise _no_article(article_id)
        return Article.from_document(document).source_id

    async def delete(self, article_id: str) -> None:
        """Replaces the article and its observations by tombstones without text. Deleting again changes nothing. The
        next analysis deletes the mentions: services/workflows/changes.py does both. Raises UnreadableDocument.

        A further source may write its observation without reading the article again: so observations are read until
        none is left.
        """

        async def once() -> bool:
            document = await self._find(article_id)
            if document is None:
                raise _no_article(article_id)
            source_id, time = document["source_id"], format_time(self._clock())
            observations = await observations_of(self._store, source_id)
            operations: list[Operation] = [Upsert(observation_tombstone(each, time)) for each in observations]
            article = Article.from_document(document)
            if article.deleted_at is None:
                operations.insert(0, Replace(tombstone(article, self._clock()).to_document(), document["_etag"]))
            for start in range(0, len(operations), _BATCH):
                await self._store.batch(ARTICLES.name, source_id, operations[start : start + _BATCH])
            return not operations

        while not await until_unchanged(once, f"article {article_id}"):
            pass

    async def _find(self, article_id: str) -> Document | None:
        """The article with this id or old id. In an old id, a slash arrives percent-encoded, since routes are matched
        before it is decoded. The rest of the id is decoded by then, unless it was encoded twice."""
        for spelling in dict.fromkeys((article_id, _SLASH.sub("/", article_id), unquote(article_id))):
            source_id = spelling if spelling.startswith("dedup:") else await self._resolved(spelling)
            if source_id is None or not _SOURCE_ID.fullmatch(source_id):
                continue
            document = await self._store.read(ARTICLES.name, source_id, Article.ID)
            if document is not None:
                return document
        return None

    async def _resolved(self, old_id: str) -> str | None:
        source, colon, article_id = old_id.partition(":")
        if not colon or not article_id or not is_feed_id(source):
            return None
        for identity in locator_identities(article_id):
            key = locator_key(source, identity)
            document = await self._store.read(LOCATORS.name, key, key)
            if document is not None:
                return LocatorAlias.from_document(document).source_id
        return None


def _no_article(article_id: str) -> NotFound:
    return NotFound(f"article: there is none with the id {article_id!r}")
