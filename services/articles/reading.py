"""Reads stored articles and observations, and deletes articles.

An id is `dedup:{key}`, or the older `{source}:{article_id}`, which the locator aliases resolve.
"""

from __future__ import annotations

import dataclasses
import re
from collections.abc import Iterable, Mapping, Sequence
from datetime import datetime, timedelta
from typing import Any, Literal, get_args
from urllib.parse import unquote

from models.article import Article, CanonicalReading, SourceAttribution
from models.errors import ChangedMeanwhile, InvalidInput, NotFound, UnreadableDocument
from models.locator import LocatorAlias, locator_key
from models.observation import Observation
from models.states import ArticleStatus
from models.stored import StoredDocument
from models.values import Sentiment, format_time, parse_time, unix_seconds
from services.feeds.form import is_feed_id
from services.logs import log_unreadable
from services.parse.urls import normalize_url
from services.ports import (
    Clock,
    Delete,
    Document,
    Listed,
    Operation,
    Operator,
    Query,
    Replace,
    Store,
    Where,
    listed,
    listed_documents,
    query_all,
)
from services.store.containers import ARTICLES, LOCATORS, MENTIONS

Layer = Literal["canonical", "raw"]
LAYERS: tuple[Layer, ...] = get_args(Layer)
TEXT_SEARCHED_WITHIN = timedelta(days=7)
TOMBSTONE_KEPT = timedelta(days=365)
"""Longer than feeds list an entry, so that no poll brings back a deleted article."""
REDACTED = "[deleted]"
_SLASH = re.compile("%2f", re.IGNORECASE)
_SOURCE_ID = re.compile("dedup:[0-9a-f]{32}")
_LONGEST_FILTER = 200
_TRIES = 8
_PAGE = 500
_BATCH = 100


CONDITIONS: dict[str, tuple[str, Operator]] = {
    "sentiment": ("sentiment", "eq"),
    "status": ("status", "eq"),
    "tag": ("tags", "contains"),
    "source": ("sources", "contains"),
    "since": ("timestamp", "ge"),
    "until": ("timestamp", "lt"),
    "text": ("headline", "text"),
}
"""The filters of a list of articles, each with the field and the comparison."""

_OBSERVATIONS = Where("entity_type", "eq", "Observation")
_NOT_DELETED = Where("deleted_at", "missing")


def article_filter(given: Mapping[str, str], now: datetime) -> tuple[Where, ...]:
    """The conditions of the given filters. Raises InvalidInput with the field and the allowed values."""
    for field, allowed in (("sentiment", get_args(Sentiment)), ("status", get_args(ArticleStatus))):
        if field in given and given[field] not in allowed:
            raise InvalidInput(field, f"one of {', '.join(allowed)}")
    if "source" in given and not is_feed_id(given["source"]):
        raise InvalidInput("source", "a feed's id or the name of a news API")
    for field in ("tag", "text"):
        if field in given and not 1 <= len(given[field]) <= _LONGEST_FILTER:
            raise InvalidInput(field, f"1 to {_LONGEST_FILTER} characters")
    times = {field: _time(field, given[field]) for field in ("since", "until") if field in given}
    since, until = times.get("since"), times.get("until")
    if since and until and until <= since:
        raise InvalidInput("until", "a time after since")
    if "text" in given and (since is None or since < now - TEXT_SEARCHED_WITHIN):
        raise InvalidInput("since", f"needed with text, and within the last {TEXT_SEARCHED_WITHIN.days} days")
    values = {**given, **{field: format_time(time) for field, time in times.items()}}
    return tuple(Where(*CONDITIONS[name], value) for name, value in values.items())


def _time(field: str, text: str) -> datetime:
    try:
        # A plus sign that was not escaped arrives as a space.
        return parse_time(text.replace(" ", "+"))
    except ValueError as error:
        raise InvalidInput(field, str(error)) from None


class Articles:
    def __init__(self, store: Store, clock: Clock) -> None:
        self._store = store
        self._clock = clock

    async def page(self, where: Sequence[Where], limit: int, after: str | None) -> Listed[Article]:
        """The articles that meet all conditions, newest first. The order decides which index the store uses."""
        fields = {each.field for each in where}
        order = "by_sentiment" if "sentiment" in fields else "by_status" if "status" in fields else "by_time"
        conditions = (_NOT_DELETED, *where)
        query = Query(conditions, order=order, reverse=True, limit=limit, after=after, may_be_stale=True)
        return listed(await self._store.query(ARTICLES.name, query), Article.from_document, "source_id")

    async def get(self, article_id: str) -> Article:
        document = await self._find(article_id)
        article = Article.from_document(document) if document is not None else None
        if article is None or article.deleted_at is not None:
            raise _no_article(article_id)
        return article

    async def observations(self, article: Article) -> Listed[Observation]:
        """The observations of the article, by day."""
        found = listed_documents(await self._observed(article.source_id), Observation.from_document, "id")
        ordered = sorted(found.items, key=lambda each: (each.observed_day, each.scraped_at, each.source))
        return dataclasses.replace(found, items=ordered)

    async def source_id_of(self, article_id: str) -> str:
        """The `source_id` of any stored article, also of a tombstone or a document that cannot be read."""
        document = await self._find(article_id)
        if document is None:
            raise _no_article(article_id)
        return str(document["source_id"])

    async def delete(self, article_id: str) -> None:
        """Replaces the article by a tombstone without text, also one that cannot be read, and deletes its observations.
        Deleting again changes nothing. The next analysis deletes the mentions: services/workflows/changes.py does both.
        """
        for _ in range(_TRIES):
            document = await self._find(article_id)
            if document is None:
                raise _no_article(article_id)
            source_id = document["source_id"]
            operations: list[Operation] = [Delete(each["id"]) for each in await self._observed(source_id)]
            article = await self._tombstone(document)
            if article is not None:
                operations.insert(0, Replace(article.to_document(), document["_etag"]))
            try:
                for start in range(0, len(operations), _BATCH):
                    await self._store.batch(ARTICLES.name, source_id, operations[start : start + _BATCH])
            except ChangedMeanwhile:
                continue
            return
        raise ChangedMeanwhile(f"article {article_id} keeps changing: try again")

    async def export(self, layer: Layer, limit: int, after: str | None) -> Listed[dict[str, Any]]:
        """One page of all documents of a layer, oldest first."""
        is_raw = layer == "raw"
        where, order = (_OBSERVATIONS, "by_observed_day") if is_raw else (_NOT_DELETED, "by_time")
        page = await self._store.query(ARTICLES.name, Query((where,), order=order, limit=limit, after=after))
        model: type[StoredDocument] = Observation if is_raw else Article
        return listed(page, lambda each: model.from_document(each).shown(), "id" if is_raw else "source_id")

    async def _tombstone(self, document: Document) -> Article | None:
        """The tombstone that replaces the article; None if the article is one already."""
        try:
            article = Article.from_document(document)
        except UnreadableDocument as error:
            log_unreadable(error)
            source_id = document["source_id"]
            query = Query((Where("id", "eq", source_id),), limit=_PAGE)
            mentions = await query_all(self._store, MENTIONS.name, query)
            return bare_tombstone(source_id, [each["tool_id"] for each in mentions], self._clock())
        return tombstone(article, self._clock()) if article.deleted_at is None else None

    async def _observed(self, source_id: str) -> list[Document]:
        return await query_all(self._store, ARTICLES.name, Query((_OBSERVATIONS,), partition=source_id, limit=_PAGE))

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
        for identity in _identities(article_id):
            key = locator_key(source, identity)
            document = await self._store.read(LOCATORS.name, key, key)
            if document is not None:
                return LocatorAlias.from_document(document).source_id
        return None


def _identities(article_id: str) -> list[str]:
    """The locator identities that an entry may have: its own id, or its URL, alone or with a hash of its headline."""
    try:
        return [f"provider_product_id:{article_id}", f"url:{normalize_url(article_id)}", f"url:{article_id}"]
    except ValueError:
        return [f"provider_product_id:{article_id}"]


def _no_article(article_id: str) -> NotFound:
    return NotFound(f"article: there is none with the id {article_id!r}")


def tombstone(article: Article, now: datetime) -> Article:
    """The article with its ids and URLs, and without headlines, tags and text."""
    attributions = {
        source: each.model_copy(update={"original_headline": REDACTED})
        for source, each in article.source_attribution.items()
    }
    return article.changed(
        now,
        deleted_at=now,
        headline=REDACTED,
        normalized_headline="deleted",
        source_attribution=attributions,
        canonical=article.canonical.model_copy(update={"headline": REDACTED}),
        tags=(),
        text_for_analysis=None,
        analysis_due_since=None,
        metadata=None,
        ttl_timestamp=unix_seconds(now + TOMBSTONE_KEPT),
    )


def bare_tombstone(source_id: str, mentioned_in: Iterable[str], now: datetime) -> Article:
    """The tombstone of an article that cannot be read: its id, and the tools whose mentions of it are to be deleted. An
    article must have a source, so its source is named `deleted`."""
    nowhere = "https://deleted.invalid/"
    own = SourceAttribution(article_id=source_id, url=nowhere, crawl_timestamp=now, original_headline=REDACTED)
    reading = CanonicalReading(
        source="deleted",
        observation_id="deleted",
        headline=REDACTED,
        url=nowhere,
        published_at=now,
        scraped_at=now,
        revision="deleted",
    )
    return Article(
        created_at=now,
        updated_at=now,
        ttl_timestamp=unix_seconds(now + TOMBSTONE_KEPT),
        dedup_key=source_id.removeprefix("dedup:"),
        timestamp=now,
        headline=REDACTED,
        normalized_headline="deleted",
        sources=("deleted",),
        source_attribution={"deleted": own},
        canonical=reading,
        tool_ids_ever_detected=tuple(sorted(set(mentioned_in))),
        deleted_at=now,
    )
