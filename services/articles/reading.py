"""Reads and lists stored articles and observations, finds them by words and phrases, and deletes articles.

An id is `dedup:{key}`, or the older `{source}:{article_id}`, which the locator aliases resolve.
"""

from __future__ import annotations

import dataclasses
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import get_args
from urllib.parse import unquote

from models.article import Article, Observation
from models.errors import InvalidInput, NotFound
from models.locator import LocatorAlias, locator_key
from models.values import UNKNOWN_LANGUAGE, Sentiment, format_time, is_source_key
from services.articles.identity import locator_identities
from services.articles.merge import observation_tombstone, tombstone
from services.articles.sources import observations_of, of_list
from services.parse.language import primary_subtag
from services.parse.text import words_of
from services.ports import (
    Clock,
    Document,
    Listed,
    Operation,
    Operator,
    Query,
    Replace,
    Store,
    Upsert,
    Where,
    filled_page,
    listed,
    listed_documents,
)
from services.store.change import until_unchanged
from services.store.containers import ARTICLES, LOCATORS
from services.work.listing import asked_span

LONGEST_SEARCH = 200
MAX_WORDS = 20
"""Words of a search: each is a condition of a query."""


@dataclass(frozen=True, slots=True)
class TextSearch:
    """What a text asks for: all `words` occur, and each of `phrases` as it is written."""

    words: tuple[str, ...] = ()
    phrases: tuple[tuple[str, ...], ...] = ()

    def accepts(self, article: Document) -> bool:
        """Whether each phrase is in one of the texts of a stored article that has all words."""
        if not self.phrases:
            return True
        canonical = article.get("canonical")
        shown = canonical.get("headline") if isinstance(canonical, dict) else None
        texts = (article.get("headline"), shown, article.get("text_for_analysis"))
        read = [words_of(text) for text in texts if isinstance(text, str)]
        return all(any(_has(words, phrase) for words in read) for phrase in self.phrases)


NO_SEARCH = TextSearch()


def article_words(article: Article) -> tuple[str, ...]:
    """The words of the article's headlines and of its canonical text, each once, sorted."""
    texts = (article.headline, article.canonical.headline, article.text_for_analysis or "")
    return all_words(texts)


def all_words(texts: Iterable[str]) -> tuple[str, ...]:
    return tuple(sorted({word for text in texts for word in words_of(text)}))


def text_search(text: str) -> TextSearch:
    """What is between quotation marks is a phrase. Raises InvalidInput for a text that has no word, or too many."""
    parts = text.replace("\u201c", '"').replace("\u201d", '"').split('"')
    words = dict.fromkeys(word for part in parts for word in words_of(part))
    if not 1 <= len(words) <= MAX_WORDS:
        raise InvalidInput("text", f"1 to {MAX_WORDS} words")
    # Before the first quotation mark and behind each second one are words; a last mark alone begins no phrase.
    quoted = (tuple(words_of(part)) for part in parts[1 : len(parts) - 1 : 2])
    return TextSearch(tuple(words), tuple(dict.fromkeys(phrase for phrase in quoted if len(phrase) > 1)))


def _has(words: Sequence[str], phrase: tuple[str, ...]) -> bool:
    """Whether the words of the phrase follow each other."""
    size = len(phrase)
    return any(tuple(words[start : start + size]) == phrase for start in range(len(words) - size + 1))


CONDITIONS: dict[str, tuple[str, Operator]] = {
    "sentiment": ("sentiment", "eq"),
    "status": ("status", "eq"),
    "tag": ("tags", "contains"),
    "tool": ("detected_tool_ids", "contains"),
    "source": ("sources", "contains"),
    "publisher": ("publisher_id", "eq"),
    "language": ("language", "eq"),
    "since": ("timestamp", "ge"),
    "until": ("timestamp", "lt"),
    "text": ("words", "contains"),
}
"""The filters of a list of articles, each with the field and the comparison; `text` with one for each word."""

UNSCORED = "unscored"
SAID = (*get_args(Sentiment), UNSCORED)
"""What a list of articles or mentions can be filtered by."""

NOT_DELETED = Where("deleted_at", "missing")


@dataclass(frozen=True, slots=True)
class ArticleFilter:
    """The conditions of a query; and the search whose phrases are looked for in the articles that it finds."""

    where: tuple[Where, ...] = ()
    search: TextSearch = NO_SEARCH


def article_filter(given: Mapping[str, str]) -> ArticleFilter:
    """The given filters, whose choices and lengths the endpoint has checked; a tool by its id. Raises InvalidInput with
    the field and the allowed values."""
    if "source" in given and not is_source_key(given["source"]):
        raise InvalidInput("source", "a feed's id or the name of a news API")
    language = given.get("language", UNKNOWN_LANGUAGE)
    if language != UNKNOWN_LANGUAGE and (not language or primary_subtag(language) != language):
        raise InvalidInput("language", "the primary subtag of a language, such as en, or und")
    since, until = asked_span(given)
    search = text_search(given["text"]) if "text" in given else NO_SEARCH
    times = {field: format_time(at) for field, at in (("since", since), ("until", until)) if at is not None}
    values = {**given, **times}
    values.pop("text", None)
    unscored = values.get("sentiment") == UNSCORED
    if unscored:
        del values["sentiment"]
    where = [Where(*CONDITIONS[name], value) for name, value in values.items()]
    where += [Where(*CONDITIONS["text"], word) for word in search.words]
    if unscored:  # an analysed article without a sentiment could not be scored
        where[:0] = [Where("sentiment", "missing"), Where("status", "eq", "analyzed")]
    return ArticleFilter(tuple(where), search)


def _query(where: Sequence[Where], limit: int) -> Query:
    """The order decides which index the store uses: one of its own for lists by sentiment or status, else the one of
    all filters together."""
    fields = {each.field for each in where if each.op != "missing"} - {"timestamp"}
    order = {"sentiment": "by_sentiment", "status": "by_status"}.get(min(fields, default=""), "by_time")
    if not fields <= {"sentiment", "status"}:
        order = "by_time"
    return Query((NOT_DELETED, *where), order=order, reverse=True, limit=limit, may_be_stale=True)


LAYERS = ("canonical", "raw")
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
        query = replace(_query(by.where, limit), after=after)
        page = await filled_page(self._store, ARTICLES.name, query, by.search.accepts)
        return of_list(listed(page, Article.from_document, "source_id"))

    async def get(self, article_id: str) -> Article:
        document = await self._find(article_id)
        article = Article.from_document(document) if document is not None else None
        if article is None or article.deleted_at is not None:
            raise _no_article(article_id)
        return article

    async def observations(self, article: Article) -> Listed[Observation]:
        """The observations of the article, at most MAX_SHOWN, by day."""
        documents = await observations_of(self._store, article.source_id, most_pages=1)
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
        next analysis deletes the mentions: services/workflows/changes.py does both. Raises UnreadableDocument."""

        async def once() -> None:
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

        await until_unchanged(once, f"article {article_id}")

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
        if not colon or not article_id or not is_source_key(source):
            return None
        for identity in locator_identities(article_id):
            key = locator_key(source, identity)
            document = await self._store.read(LOCATORS.name, key, key)
            if document is not None:
                return LocatorAlias.from_document(document).source_id
        return None


def _no_article(article_id: str) -> NotFound:
    return NotFound(f"article: there is none with the id {article_id!r}")
