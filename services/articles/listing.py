"""Lists articles by filter, newest first.

An article does not list all its sources itself. The articles of one source are those that list it, and those with an
observation that names them as articles of a further source: two queries, whose results are merged.
"""

from __future__ import annotations

import hashlib
from collections import deque
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import get_args

from models.article import Article
from models.errors import InvalidInput
from models.states import ArticleStatus
from models.values import UNKNOWN_LANGUAGE, Sentiment, format_time
from services.articles.sources import with_source_counts
from services.articles.words import NO_SEARCH, TextSearch, accepts, text_search
from services.feeds.form import is_feed_id
from services.parse.language import primary_subtag
from services.ports import Document, Listed, Operator, Page, Query, Store, Where, listed
from services.store.containers import ARTICLES
from services.store.plans import decode_cursor, encode_cursor
from services.work.listing import asked_time

MOST_PAGES = 20
"""Pages that one list reads to find articles that meet the filters. It then ends early, with a cursor."""
_LONGEST_FILTER = 200

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
    """The given filters; a tool by its id. Raises InvalidInput with the field and the allowed values."""
    for field, allowed in (("sentiment", SAID), ("status", get_args(ArticleStatus))):
        if field in given and given[field] not in allowed:
            raise InvalidInput(field, f"one of {', '.join(allowed)}")
    if "source" in given and not is_feed_id(given["source"]):
        raise InvalidInput("source", "a feed's id or the name of a news API")
    language = given.get("language", UNKNOWN_LANGUAGE)
    if language != UNKNOWN_LANGUAGE and (not language or primary_subtag(language) != language):
        raise InvalidInput("language", "the primary subtag of a language, such as en, or und")
    for field in ("tag", "publisher"):
        if field in given and not 1 <= len(given[field]) <= _LONGEST_FILTER:
            raise InvalidInput(field, f"1 to {_LONGEST_FILTER} characters")
    times = {field: asked_time(field, given[field]) for field in ("since", "until") if field in given}
    since, until = times.get("since"), times.get("until")
    if since and until and until <= since:
        raise InvalidInput("until", "a time after since")
    search = text_search(given["text"]) if "text" in given else NO_SEARCH
    values = {**given, **{field: format_time(time) for field, time in times.items()}}
    values.pop("text", None)
    unscored = values.get("sentiment") == UNSCORED
    if unscored:
        del values["sentiment"]
    where = [Where(*CONDITIONS[name], value) for name, value in values.items()]
    where += [Where(*CONDITIONS["text"], word) for word in search.words]
    if unscored:  # an analysed article without a sentiment could not be scored
        where[:0] = [Where("sentiment", "missing"), Where("status", "eq", "analyzed")]
    return ArticleFilter(tuple(where), search)


async def articles_page(store: Store, by: ArticleFilter, limit: int, after: str | None) -> Listed[Article]:
    """The articles that meet all filters, newest first."""
    source = next((str(each.value) for each in by.where if each.field == "sources"), None)
    query = _query(by.where, limit)

    def accepted(article: Document) -> bool:
        return accepts(by.search, article)

    if source is None:
        page = await _page(store, replace(query, after=after), accepted)
    else:
        page = await _page_of_source(store, source, query, after, accepted)
    return await with_source_counts(store, listed(page, Article.from_document, "source_id"))


async def _page(store: Store, query: Query, accepted: Callable[[Document], bool]) -> Page:
    """One page of the articles that the query finds and that are accepted."""
    found: list[Document] = []
    for _ in range(MOST_PAGES):
        page = await store.query(ARTICLES.name, replace(query, limit=query.limit - len(found)))
        found += [each for each in page.items if accepted(each)]
        query = replace(query, after=page.next)
        if page.next is None or len(found) == query.limit:
            break
    return Page(found, query.after)


def _query(where: Sequence[Where], limit: int) -> Query:
    """The order decides which index the store uses: one of its own for lists by sentiment or status, else the one of
    all filters together."""
    fields = {each.field for each in where if each.op != "missing"} - {"timestamp"}
    order = {"sentiment": "by_sentiment", "status": "by_status"}.get(min(fields, default=""), "by_time")
    if not fields <= {"sentiment", "status"}:
        order = "by_time"
    return Query((NOT_DELETED, *where), order=order, reverse=True, limit=limit, may_be_stale=True)


Key = tuple[str, str]
"""The time and the id of an article: its place in a list."""


class _Listed:
    """The articles that a query lists, newest first, behind the place `last`. `start`: the cursor of the page that is
    read."""

    time_field = "timestamp"

    def __init__(self, store: Store, query: Query, start: str, last: Key, accepted: Callable[[Document], bool]) -> None:
        self._store = store
        self._query = query
        self._accepted = accepted
        self._last = last
        self._next: str | None = start
        self._pages = 0
        self.found: deque[tuple[Key, Document]] = deque()

    async def fill(self) -> None:
        """Reads on until something is found, or nothing is left, or enough pages are read."""
        while not self.found and self._next is not None and self._pages < MOST_PAGES:
            self._start, self._pages = self._next, self._pages + 1
            page = await self._store.query(ARTICLES.name, replace(self._query, after=self._start or None))
            self._next = page.next
            keyed = [((str(each[self.time_field]), str(each["source_id"])), each) for each in page.items]
            self.found.extend(
                await self._articles([each for each in keyed if not self._last[0] or each[0] < self._last])
            )

    async def _articles(self, keyed: list[tuple[Key, Document]]) -> list[tuple[Key, Document]]:
        return [(key, article) for key, article in keyed if self._accepted(article)]

    @property
    def is_at_end(self) -> bool:
        return not self.found and self._next is None

    @property
    def is_given_up(self) -> bool:
        return not self.found and self._next is not None

    @property
    def start(self) -> str:
        """Where the next page of the list begins to read."""
        return self._next if not self.found and self._next is not None else self._start


class _Named(_Listed):
    """The articles that observations of a further source name, as far as they meet `conditions`."""

    time_field = "article_timestamp"

    def __init__(
        self,
        store: Store,
        query: Query,
        start: str,
        last: Key,
        accepted: Callable[[Document], bool],
        conditions: Sequence[Where],
    ) -> None:
        super().__init__(store, query, start, last, accepted)
        self._conditions = conditions

    async def _articles(self, keyed: list[tuple[Key, Document]]) -> list[tuple[Key, Document]]:
        keys = [(source_id, Article.ID) for (_, source_id), _ in keyed]
        articles = await self._store.read_many(ARTICLES.name, keys) if keys else []
        found = [(key, article) for (key, _), article in zip(keyed, articles, strict=True) if article is not None]
        return await super()._articles([each for each in found if all(meets(each[1], one) for one in self._conditions)])


async def _page_of_source(
    store: Store, source: str, query: Query, after: str | None, accepted: Callable[[Document], bool]
) -> Page:
    """One page of the articles of a source. Its cursor has the cursors of both queries and the place of the last
    article."""
    fingerprint = hashlib.blake2b(repr(query.where).encode(), digest_size=8).hexdigest()
    values = decode_cursor(fingerprint, after, [False] * 4) if after is not None else ("", "", "", "")
    first, second, time, name = map(str, values)
    last: Key = (time, name)
    times = [replace(each, field="article_timestamp") for each in query.where if each.field == "timestamp"]
    where = (NOT_DELETED, Where("source", "eq", source), *times)
    of_further = Query(where, order="by_further_source", reverse=True, limit=query.limit, may_be_stale=True)
    others = [each for each in query.where if each.field != "sources"]
    both = (_Listed(store, query, first, last, accepted), _Named(store, of_further, second, last, accepted, others))
    items: list[Document] = []
    while len(items) < query.limit:
        for each in both:
            await each.fill()
        ready = [each for each in both if each.found]
        if not ready or any(each.is_given_up for each in both):
            break
        key, article = max(ready, key=lambda each: each.found[0][0]).found.popleft()
        if key != last:  # an article may list a source and have an observation that names it
            items.append(article)
        last = key
    if all(each.is_at_end for each in both):
        return Page(items)
    return Page(items, encode_cursor(fingerprint, [*(each.start for each in both), *last]))


def meets(document: Document, where: Where) -> bool:
    """Whether a document meets a condition of CONDITIONS, or is not deleted."""
    value, wanted = document.get(where.field), where.value
    match where.op:
        case "missing":
            return value is None
        case "eq":
            return bool(value == wanted)
        case "contains":
            return isinstance(value, list) and wanted in value
        case "ge":
            return isinstance(value, str) and isinstance(wanted, str) and value >= wanted
        case "lt":
            return isinstance(value, str) and isinstance(wanted, str) and value < wanted
    raise ValueError(f"articles are not filtered by {where.op}")
