"""Reading stored articles and observations, and deleting an article.

An id is `dedup:{key}`, or the older `{source}:{article_id}`, which the locator aliases resolve.
"""

from __future__ import annotations

import dataclasses
import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any, Literal, get_args
from urllib.parse import unquote

from models.article import Article, CanonicalReading, SourceAttribution
from models.errors import ChangedMeanwhile, InvalidInput, NotFound, UnreadableDocument
from models.locator import LocatorAlias, locator_key
from models.observation import Observation
from models.states import ArticleStatus
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
    Page,
    Query,
    Replace,
    Store,
    Where,
    listed,
    query_all,
)
from services.store.containers import ARTICLES, LOCATORS, MENTIONS

Layer = Literal["canonical", "raw"]
LAYERS: tuple[Layer, ...] = get_args(Layer)
TEXT_SEARCHED_WITHIN = timedelta(days=7)
# Longer than feeds list an entry, so that a poll does not bring back what was deleted.
TOMBSTONE_KEPT = timedelta(days=365)
REDACTED = "[deleted]"
_SLASH = re.compile("%2f", re.IGNORECASE)
_LONGEST_WORDS = 200
_TRIES = 8
_PAGE = 500
_BATCH = 100


@dataclass(frozen=True, slots=True)
class ArticleFilter:
    """What all listed articles have in common; None does not matter. `since` is included, `until` is not."""

    sentiment: Sentiment | None = None
    status: ArticleStatus | None = None
    tag: str | None = None
    source: str | None = None
    since: datetime | None = None
    until: datetime | None = None
    text: str | None = None

    @classmethod
    def names(cls) -> tuple[str, ...]:
        return tuple(field.name for field in dataclasses.fields(cls))

    def query(self, limit: int, after: str | None) -> Query:
        """Newest first, on the order whose index fits best."""
        where = [Where("deleted_at", "missing")]
        where += [
            Where(field, "eq", value)
            for field, value in (("sentiment", self.sentiment), ("status", self.status))
            if value is not None
        ]
        where += [Where("tags", "contains", self.tag)] if self.tag is not None else []
        where += [Where("sources", "contains", self.source)] if self.source is not None else []
        where += [Where("timestamp", "ge", format_time(self.since))] if self.since is not None else []
        where += [Where("timestamp", "lt", format_time(self.until))] if self.until is not None else []
        where += [Where("headline", "text", self.text)] if self.text is not None else []
        order = "by_sentiment" if self.sentiment else "by_status" if self.status else "by_time"
        return Query(tuple(where), order=order, reverse=True, limit=limit, after=after)


def article_filter(said: Mapping[str, str], now: datetime) -> ArticleFilter:
    """Raises InvalidInput that names the field and what is allowed."""
    for field, allowed in (("sentiment", get_args(Sentiment)), ("status", get_args(ArticleStatus))):
        if field in said and said[field] not in allowed:
            raise InvalidInput(field, f"one of {', '.join(allowed)}")
    if "source" in said and not is_feed_id(said["source"]):
        raise InvalidInput("source", "a feed's id or the name of a news API")
    for field in ("tag", "text"):
        if field in said and not 1 <= len(said[field]) <= _LONGEST_WORDS:
            raise InvalidInput(field, f"1 to {_LONGEST_WORDS} characters")
    times = {field: _time(field, said[field]) for field in ("since", "until") if field in said}
    since, until = times.get("since"), times.get("until")
    if since and until and until <= since:
        raise InvalidInput("until", "a time after since")
    if "text" in said and (since is None or since < now - TEXT_SEARCHED_WITHIN):
        raise InvalidInput("since", f"needed with text, and within the last {TEXT_SEARCHED_WITHIN.days} days")
    return ArticleFilter(**{**said, **times})  # type: ignore[arg-type]


def _time(field: str, text: str) -> datetime:
    try:
        # A plus sign that nobody escaped arrives as a space.
        return parse_time(text.replace(" ", "+"))
    except ValueError as error:
        raise InvalidInput(field, str(error)) from None


class Articles:
    def __init__(self, store: Store, clock: Clock) -> None:
        self._store = store
        self._clock = clock

    async def page(self, wanted: ArticleFilter, limit: int, after: str | None) -> Listed[Article]:
        page = await self._store.query(ARTICLES.name, wanted.query(limit, after))
        return listed(page, Article.from_document, "source_id")

    async def get(self, article_id: str) -> Article:
        document = await self._find(article_id)
        article = Article.from_document(document) if document is not None else None
        if article is None or article.deleted_at is not None:
            raise _no_article(article_id)
        return article

    async def observations(self, article: Article) -> Listed[Observation]:
        """What each source said, day by day, in that order."""
        found = listed(Page(await self._observed(article.source_id)), Observation.from_document, "id")
        ordered = sorted(found.items, key=lambda each: (each.observed_day, each.scraped_at, each.source))
        return dataclasses.replace(found, items=ordered)

    async def source_id_of(self, article_id: str) -> str:
        """Also of a tombstone, and of what cannot be read."""
        document = await self._find(article_id)
        if document is None:
            raise _no_article(article_id)
        return str(document["source_id"])

    async def delete(self, article_id: str) -> None:
        """Leaves a tombstone without text, also of a document that cannot be read. Deleting again changes nothing;
        NotFound if the article never was. Its mentions go when it is analysed next: services/workflows/changes.py does
        both."""
        for _ in range(_TRIES):
            document = await self._find(article_id)
            if document is None:
                raise _no_article(article_id)
            source_id = document["source_id"]
            deletions: list[Operation] = [Delete(each["id"]) for each in await self._observed(source_id)]
            buried = await self._tombstone(document)
            first: list[Operation] = [Replace(buried.to_document(), document["_etag"])] if buried is not None else []
            operations = first + deletions
            try:
                for start in range(0, len(operations), _BATCH):
                    await self._store.batch(ARTICLES.name, source_id, operations[start : start + _BATCH])
            except ChangedMeanwhile:
                continue
            return
        raise ChangedMeanwhile(f"article {article_id} keeps changing: try again")

    async def export(self, layer: Layer, limit: int, after: str | None) -> Listed[dict[str, Any]]:
        """One page of everything there is in a layer, oldest first."""
        if layer == "raw":
            query = Query((_OBSERVATIONS,), order="by_observed_day", limit=limit, after=after)
            page = await self._store.query(ARTICLES.name, query)
            return listed(page, lambda document: Observation.from_document(document).shown(), "id")
        query = Query((Where("deleted_at", "missing"),), order="by_time", limit=limit, after=after)
        page = await self._store.query(ARTICLES.name, query)
        return listed(page, lambda document: Article.from_document(document).shown(), "source_id")

    async def _tombstone(self, document: Document) -> Article | None:
        """None if it is one."""
        try:
            article = Article.from_document(document)
        except UnreadableDocument as error:
            log_unreadable(error)
            source_id = document["source_id"]
            of_it = Where("id", "eq", source_id)
            mentions = await query_all(self._store, MENTIONS.name, Query((of_it,), limit=_PAGE))
            return bare_tombstone(source_id, [each["tool_id"] for each in mentions], self._clock())
        return tombstone(article, self._clock()) if article.deleted_at is None else None

    async def _observed(self, source_id: str) -> list[Document]:
        return await query_all(self._store, ARTICLES.name, Query((_OBSERVATIONS,), partition=source_id, limit=_PAGE))

    async def _find(self, article_id: str) -> Document | None:
        """A slash in an old id comes percent-encoded, since routes are matched before it is decoded; the rest of it is
        decoded by then, unless the id was encoded twice."""
        for spelling in dict.fromkeys((article_id, _SLASH.sub("/", article_id), unquote(article_id))):
            source_id = spelling if spelling.startswith("dedup:") else await self._resolved(spelling)
            if source_id is None or not _is_key(source_id):
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


_OBSERVATIONS = Where("entity_type", "eq", "Observation")


def _identities(article_id: str) -> list[str]:
    """An entry without an id of its own goes by its URL, and by its headline too if others share that."""
    try:
        return [f"provider_product_id:{article_id}", f"url:{normalize_url(article_id)}", f"url:{article_id}"]
    except ValueError:
        return [f"provider_product_id:{article_id}"]


def _is_key(source_id: str) -> bool:
    key = source_id.removeprefix("dedup:")
    return len(key) == 32 and all(character in "0123456789abcdef" for character in key)


def _no_article(article_id: str) -> NotFound:
    return NotFound(f"article: there is none with the id {article_id!r}")


def tombstone(article: Article, now: datetime) -> Article:
    """Known by its ids and URLs, and silent about what it said."""
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
    """Of an article that cannot be read: its id, and the tools whose mentions of it are to go. An article has a
    source, so this one has one that says what became of it."""
    nowhere = "https://deleted.invalid/"
    said = SourceAttribution(article_id=source_id, url=nowhere, crawl_timestamp=now, original_headline=REDACTED)
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
        source_attribution={"deleted": said},
        canonical=reading,
        tool_ids_ever_detected=tuple(sorted(set(mentioned_in))),
        deleted_at=now,
    )
