"""Finds the articles that an article is compared with: those that share most keys with it, by documents in `locators`.

A key stands for one of the most telling terms of an article (services/stories/signature.py). Its document names the
latest MAX_UNDER_KEY articles that have it, and an article is compared with MAX_COMPARED at most: so the cost of an
article does not grow with what is stored. A name under a key is a hint: the article may have been deleted or edited
since.
"""

from __future__ import annotations

import heapq
from collections import Counter
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from operator import attrgetter

from models.article import Article, source_id
from models.errors import Unavailable, UnreadableDocument
from models.story import KEY_KEPT, GroupingKey, day_of, first_article, key_id
from models.values import format_time, unix_seconds
from services.logs import log_unreadable
from services.mentions.understanding import published_at
from services.ports import Create, Document, Replace, Store, readable
from services.store.containers import ARTICLES, LOCATORS, STORIES
from services.stories.grouping import Known
from services.stories.members import day_of_time, known
from services.stories.similarity import WITHIN_MINUTES

MAX_UNDER_KEY = 100
"""The articles that a key names: the latest."""
MAX_COMPARED = 20
"""The articles that an article is compared with: those with most keys in common, then the nearest in time."""

_PREFIX = source_id("")


def nearest(article: Known, under: Mapping[str, Mapping[str, int]]) -> list[str]:
    """The articles that this one is compared with, from those under each of its keys: by id, with the minute of their
    publication. Pure."""
    minute, _ = article.place
    keys: Counter[str] = Counter()
    distance: dict[str, int] = {}
    for key in article.signature.keys:
        for name, other in under.get(key, {}).items():
            apart = abs(other - minute)
            if apart <= WITHIN_MINUTES and name != article.source_id:
                keys[name] += 1
                distance[name] = apart
    return heapq.nsmallest(MAX_COMPARED, keys, key=lambda name: (-keys[name], distance[name], name))


def nearest_of_all(due: Iterable[Known], under: dict[str, dict[str, int]]) -> dict[str, list[str]]:
    """The same for articles that are due together: each is compared with those that are decided before it. Their keys
    name them afterwards. Pure."""
    names: dict[str, list[str]] = {}
    for each in sorted(due, key=attrgetter("place")):
        names[each.source_id] = nearest(each, under)
        for key in each.signature.keys:
            under[key][each.source_id] = each.signature.minute
    return names


def latest(articles: Mapping[str, int]) -> dict[str, int]:
    """The articles that a key names, of all that have it. Pure."""
    return dict(sorted(articles.items(), key=lambda each: (each[1], each[0]))[-MAX_UNDER_KEY:])


@dataclass(slots=True)
class Candidates:
    """What is stored about articles that those of one batch are compared with. `names`: for each article of the batch;
    `decided`: these, the opening articles of their stories, and whomever people named. `keys`: the documents of the
    batch's keys, as they were read or written. The next batch under the same lease reads what is not known yet."""

    names: dict[str, list[str]] = field(default_factory=dict)
    decided: dict[str, Known] = field(default_factory=dict)
    keys: dict[str, Document | None] = field(default_factory=dict)

    async def read(self, store: Store, due: Sequence[Known], batch: Collection[str]) -> None:
        """Nothing of what is stored about articles of the `batch`, also deleted ones, is compared with."""
        wanted = list(dict.fromkeys(key for each in due for key in each.signature.keys))
        unread = [key for key in wanted if key not in self.keys]
        found = await store.read_many(LOCATORS.name, [(key_id(key), key_id(key)) for key in unread]) if unread else []
        self.keys |= zip(unread, found, strict=True)
        mine = set(batch)
        under = {key: _articles_of(self.keys[key], mine) for key in wanted}
        minutes = {name: minute for articles in under.values() for name, minute in articles.items()}
        self.names = nearest_of_all(due, under)
        self.decided = {name: each for name, each in self.decided.items() if name not in mine}
        near = {name for names in self.names.values() for name in names} - mine
        days = {name: day_of_time(datetime.fromtimestamp(minutes[name] * 60, UTC)) for name in near}
        await self._add(store, days)
        decisions = [self.decided[name].decision for name in near if name in self.decided]
        openings = {each.opening: each.event_id for each in decisions if each is not None}
        first = {name: day_of(event) for name, event in openings.items() if first_article(event) == name}
        await self._add(store, {name: day for name, day in first.items() if name not in mine})
        named = {name for each in due for name in each.constraints.partners} | openings.keys()
        await self._add(store, await days_of(store, named - mine - self.decided.keys()))

    async def _add(self, store: Store, days: Mapping[str, str]) -> None:
        unread = {name: day for name, day in days.items() if name not in self.decided}
        for name, document in (await read_members(store, unread)).items():
            member = readable(document, known)
            if member is not None and member.decision is not None:
                self.decided[name] = member

    async def write_keys(self, store: Store, due: Collection[Known], now: datetime) -> None:
        """Has each key of these articles name them. Raises Unavailable if another worker wrote one of the keys."""
        added: dict[str, dict[str, int]] = {}
        for each in due:
            for key in each.signature.keys:
                added.setdefault(key, {})[each.source_id] = each.signature.minute
        writes: dict[str, Create | Replace] = {}
        for key, articles in added.items():
            before = _articles_of(self.keys[key])
            after = latest(before | articles)
            if after != before:
                writes[key] = _write(key, self.keys[key], after, now)
        outcomes = await store.batch_many(LOCATORS.name, [(key_id(key), [write]) for key, write in writes.items()])
        for (key, write), outcome in zip(writes.items(), outcomes, strict=True):
            if isinstance(outcome, Exception):
                raise Unavailable("another worker groups articles", retry_after=1.0)
            self.keys[key] = {**write.document, "_etag": outcome[0]}


async def read_members(store: Store, days: Mapping[str, str]) -> dict[str, Document | None]:
    """The stored members of these articles, by the day of their publication."""
    found = await store.read_many(STORIES.name, [(day, name) for name, day in days.items()]) if days else []
    return dict(zip(days, found, strict=True))


async def days_of(store: Store, source_ids: Collection[str]) -> dict[str, str]:
    """The days of publication of those of these articles that are stored."""
    names = sorted(source_ids)
    found = await store.read_many(ARTICLES.name, [(name, Article.ID) for name in names]) if names else []
    articles = [article for each in found if (article := readable(each, Article.from_document)) is not None]
    return {each.source_id: day_of_time(published_at(each)) for each in articles}


def _articles_of(document: Document | None, but: Collection[str] = ()) -> dict[str, int]:
    """The articles that a key names, without some. A key that cannot be read names none, and the next write replaces
    it."""
    articles = {} if document is None else document.get("articles")
    if isinstance(articles, dict) and all(type(minute) is int for minute in articles.values()):
        return {name: minute for key, minute in articles.items() if (name := _PREFIX + key) not in but}
    assert document is not None, "there is a document that cannot be read"
    log_unreadable(UnreadableDocument("GroupingKey", document["id"], "articles"))
    return {}


def _write(key: str, before: Document | None, articles: Mapping[str, int], now: datetime) -> Create | Replace:
    named = {name.removeprefix(_PREFIX): minute for name, minute in articles.items()}
    if before is None:
        return Create(GroupingKey(created_at=now, key=key, articles=named).to_document())
    ttl, time = unix_seconds(now + KEY_KEPT), format_time(now)
    return Replace({**before, "articles": named, "ttl_timestamp": ttl, "updated_at": time}, before["_etag"])
