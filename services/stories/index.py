"""Finds stored articles that share a key with an article: by documents in `locators`, see keys.py.

What is read for an article are its keys, of each no more than the articles next to it, and the members that grouping.py
chooses among these: the costs do not grow with what is stored.
"""

from __future__ import annotations

import logging
from bisect import bisect_left
from collections.abc import Collection, Iterable, Mapping
from datetime import UTC, datetime

from models.article import Article, source_id
from models.errors import UnreadableDocument
from models.story import day_of, first_article
from services.logs import log_unreadable
from services.mentions.understanding import published_at
from services.ports import Document, Query, Store, Where, query_all
from services.store.containers import ARTICLES, LOCATORS, STORIES
from services.stories.documents import day_of_time, known
from services.stories.grouping import MOST_UNDER_KEY, SILENCE_MINUTES, Known, Place, around
from services.stories.keys import Entry, entries_of, ids_of, is_split, key_id, minute_of_split, splits_of
from services.stories.keys import place as place_of

log = logging.getLogger("toolpulse.stories")

_PAGE = 500
_PREFIX = source_id("")


def day_of_minute(minute: int) -> str:
    return day_of_time(datetime.fromtimestamp(minute * 60, UTC))


class StoredArticles:
    """The stored articles, for `replay`. Each document is read once: nobody else groups meanwhile.

    `keys` and `documents` have the documents of keys, by id, and the members, as they were read; None for one that does
    not exist.
    """

    def __init__(self, store: Store) -> None:
        self._store = store
        self.keys: dict[str, Document | None] = {}
        self.documents: dict[str, Document | None] = {}
        self._entries: dict[str, list[Entry]] = {}
        self._known: dict[str, Known | None] = {}
        self._days: dict[str, str] = {}

    async def prefetch(self, articles: Collection[Known]) -> None:
        """Reads in few requests what `near` and `named` need for these articles."""
        await self.read_keys({key: () for each in articles for key in each.signature.keys})
        names: dict[str, None] = {}
        for each in articles:
            near = await self.near(each.signature.keys, each.place, dict.fromkeys(each.signature.keys, MOST_UNDER_KEY))
            names |= dict.fromkeys(around(near, each.place)[0])
        await self.read_members({name: self._days[name] for name in names})

    async def near(self, keys: Collection[str], place: Place, most: Mapping[str, int]) -> dict[str, list[Place]]:
        await self.read_keys(dict.fromkeys(keys, ()))
        found: dict[str, list[Place]] = {}
        missing = dict.fromkeys(keys)
        while missing:
            wanted: list[tuple[str, str]] = []
            for key in missing:
                near = self._near(key, (place[0], place[1].removeprefix(_PREFIX)), most[key])
                if isinstance(near, str):
                    wanted.append((key_id(key), near))
                else:
                    found[key] = near
            await self._read_parts(wanted)
            missing = dict.fromkeys(key for key in missing if key not in found)
        for near in found.values():
            self._days |= {name: day_of_minute(minute) for minute, name in near if name not in self._days}
        return found

    def _near(self, key: str, entry: Entry, most: int) -> list[Place] | str:
        """At least `most` articles before the entry, and as many after it, if there are so many within the silence;
        else the id of a document that must be read first."""
        splits = splits_of(self.keys[key_id(key)])
        ids, at = ids_of(key, splits), place_of(splits, entry)
        first, last = entry[0] - SILENCE_MINUTES, entry[0] + SILENCE_MINUTES
        if ids[at] not in self.keys:
            return ids[at]
        found = self._entries_of(ids[at])
        before = bisect_left(found, entry)
        after = len(found) - before
        below = above = at
        while before < most and below > 0 and minute_of_split(splits[below - 1]) >= first:
            below -= 1
            if ids[below] not in self.keys:
                return ids[below]
            more = self._entries_of(ids[below])
            found, before = more + found, before + len(more)
        while after <= most and above < len(splits) and minute_of_split(splits[above]) <= last:
            above += 1
            if ids[above] not in self.keys:
                return ids[above]
            more = self._entries_of(ids[above])
            found, after = found + more, after + len(more)
        near = found[max(0, before - most) : before + most + 1]
        return [(minute, _PREFIX + name) for minute, name in near if first <= minute <= last]

    def _entries_of(self, name: str) -> list[Entry]:
        if name not in self._entries:
            self._entries[name] = entries_of(self.keys[name])
        return self._entries[name]

    async def named(self, source_ids: Collection[str]) -> Iterable[Known]:
        return await self._read(source_ids)

    async def members_of(self, event: str) -> list[Document]:
        """The stored members of a story."""
        query = Query((Where("event_id", "eq", event),), order="by_story", limit=_PAGE)
        found = await query_all(self._store, STORIES.name, query)
        return [each for each in found if each.get("entity_type") == "StoryMember" and not each.get("removed_at")]

    async def members(self, event_ids: Collection[str]) -> Iterable[Known]:
        documents = [each for event in event_ids for each in await self.members_of(event)]
        for each in documents:
            self.documents.setdefault(each["source_id"], each)
        return [found for each in documents if (found := self._as_known(each["source_id"])) is not None]

    async def read_keys(self, entries: Mapping[str, Iterable[Entry]]) -> None:
        """Reads the latest document of each key, and those in which these entries are."""
        await self._read_parts((key_id(key), key_id(key)) for key in entries)
        parts: list[tuple[str, str]] = []
        for key, each in entries.items():
            splits = splits_of(self.keys[key_id(key)])
            if splits:
                ids = ids_of(key, splits)
                parts += [(key_id(key), ids[place_of(splits, entry)]) for entry in each]
        await self._read_parts(parts)

    async def _read_parts(self, addresses: Iterable[tuple[str, str]]) -> None:
        missing = [each for each in dict.fromkeys(addresses) if each[1] not in self.keys]
        if missing:
            found = await self._store.read_many(LOCATORS.name, missing)
            self.keys.update((name, readable_key(each)) for (_, name), each in zip(missing, found, strict=True))

    async def read_members(self, days: Mapping[str, str]) -> None:
        """Reads the members of these articles, by the day of their publication."""
        missing = [name for name in days if name not in self.documents]
        if missing:
            found = await self._store.read_many(STORIES.name, [(days[name], name) for name in missing])
            self.documents.update(zip(missing, found, strict=True))

    async def _read(self, source_ids: Collection[str]) -> list[Known]:
        missing = [name for name in source_ids if name not in self.documents]
        unplaced = [name for name in missing if name not in self._days]
        if unplaced:
            await self._place(unplaced)
        await self.read_members({name: self._days[name] for name in missing if name in self._days})
        return [found for name in source_ids if (found := self._as_known(name)) is not None]

    async def _place(self, source_ids: Collection[str]) -> None:
        """Finds the days of these articles: most begin a story that an article which was read belongs to."""
        for document in list(self.documents.values()):
            event = (document or {}).get("event_id")
            if event is not None:
                self._days.setdefault(first_article(event), day_of(event))
        left = [name for name in source_ids if name not in self._days]
        for document in await self._store.read_many(ARTICLES.name, [(name, Article.ID) for name in left]):
            if document is not None:
                try:
                    article = Article.from_document(document)
                except UnreadableDocument as error:
                    log_unreadable(error)
                    continue
                self._days[article.source_id] = day_of_time(published_at(article))

    def _as_known(self, name: str) -> Known | None:
        if name not in self._known:
            document = self.documents.get(name)
            self._known[name] = None if document is None or document.get("removed_at") else readable_member(document)
        return self._known[name]


def readable_key(document: Document | None) -> Document | None:
    """A key that cannot be read names no article, and the next write replaces it."""
    if document is None:
        return None
    articles, splits = document.get("articles"), document.get("splits", [])
    if (
        isinstance(articles, dict)
        and isinstance(splits, list)
        and all(type(minute) is int for minute in articles.values())
        and all(map(is_split, splits))
    ):
        return document
    log_unreadable(
        UnreadableDocument("GroupingKey", f"{document.get('locator')} / {document['id']}", "articles, splits")
    )
    return {**document, "articles": {}, "splits": []}


def readable_member(document: Document) -> Known | None:
    """None for a member that cannot be read: the next analysis of its article replaces it."""
    try:
        return known(document)
    except (KeyError, TypeError, ValueError, AttributeError) as error:
        log_unreadable(UnreadableDocument("StoryMember", f"{document.get('day')} / {document.get('id')}", str(error)))
        return None
