"""The registry of feeds: adding, changing, listing and removing them, so that no two feeds have one address.

An address (a normalized URL) is claimed by a document of its own before its feed is written. After a crash between
these two writes, the next caller that adds the address writes the feed.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from datetime import timedelta
from typing import Annotated, Any, Literal, get_args

from pydantic import AfterValidator, Field

from models.errors import ChangedMeanwhile, Conflict, InvalidInput, NotFound
from models.feed import Feed, FeedAddress, FeedSeen, FeedVerdict, address_key, host_of_address, words_of_name
from models.request import FeedId, Request, each_once
from models.values import Flag, is_over
from services.feeds.form import Tag, changed_feed, is_feed_id
from services.parse.urls import normalize_url
from services.ports import (
    Clock,
    Delete,
    Document,
    Listed,
    Operation,
    Page,
    Query,
    Store,
    Where,
    listed,
    listed_documents,
    query_all,
)
from services.store.change import until_unchanged
from services.store.containers import FEEDS

ONLY_FEEDS = Where("entity_type", "eq", "Feed")

Sort = Literal["id", "name", "next_fetch", "last_success", "verdict"]
SORTS: tuple[Sort, ...] = get_args(Sort)

MAX_WORDS_ASKED = 10
MAX_IDS = 500
_LONGEST_TEXT = 200
_ORDERS: Mapping[Sort, tuple[str, str]] = {
    "name": ("by_name", "name_key"),
    "next_fetch": ("by_next_fetch", "next_fetch_time"),
    "last_success": ("by_last_success", "last_successful_fetch"),
    "verdict": ("by_verdict", "verdict"),
}
_WITHOUT = "without:"
"""Begins the cursors into the feeds that lack the value by which the list is sorted. They come last."""


def _host(text: str) -> str:
    host = host_of_address(f"https://{text.strip().lower()}")
    if not host or len(text) > _LONGEST_TEXT or any(each in text.strip() for each in "/?#@ "):
        raise ValueError("the name of a host, such as example.com; with its port, if that is not the usual one")
    return host


def _words(text: str) -> str:
    if len(text) > _LONGEST_TEXT or not 1 <= len(words_of_name(text)) <= MAX_WORDS_ASKED:
        raise ValueError(f"1 to {MAX_WORDS_ASKED} words of the name, at most {_LONGEST_TEXT} characters")
    return text


class FeedQuery(Request):
    """Which feeds: all of these conditions hold."""

    verdict: FeedVerdict = Field(default="ok", description="Feeds in this condition.", examples=["ok"])
    tag: Tag = Field(default="", description="Feeds with this tag.", examples=["Python"])
    host: Annotated[str, AfterValidator(_host), Field(json_schema_extra={"format": "host"})] = Field(
        default="",
        description="Feeds that are fetched from this host; with its port, if that is not the usual one.",
        examples=["example.com"],
    )
    enabled: Flag = Field(default=True, description="Feeds that are fetched, or feeds that are not.")
    text: Annotated[str, AfterValidator(_words), Field(json_schema_extra={"format": "words"})] = Field(
        default="",
        description=f"Feeds whose `source_name` or `title` has all these words, in any case, 1 to {MAX_WORDS_ASKED}.",
        examples=["Python"],
    )
    ids: Annotated[tuple[FeedId, ...], Field(min_length=1, max_length=MAX_IDS), AfterValidator(each_once)] = Field(
        default=(), description="These feeds."
    )


@dataclass(frozen=True, slots=True)
class FeedFilter:
    """Which feeds. `ids`: none but these; None means any."""

    where: tuple[Where, ...] = (ONLY_FEEDS,)
    ids: tuple[str, ...] | None = None


@dataclass(frozen=True, slots=True)
class Sorting:
    """An order of feeds."""

    by: Sort = "id"
    reverse: bool = False


EVERY_FEED = FeedFilter()
BY_ID = Sorting()


def feed_filter(fields: Mapping[str, Any]) -> FeedFilter:
    """The filter with the fields of FeedQuery. Raises InvalidInput that names the field and what is allowed."""
    given = FeedQuery.checked(fields).given()
    found = [ONLY_FEEDS]
    found += [Where(name, "eq", given[name]) for name in ("verdict", "enabled", "host") if name in given]
    if "tag" in given:
        found.append(Where("tags", "contains", given["tag"]))
    found += [Where("words", "contains", word) for word in words_of_name(given.get("text", ""))]
    return FeedFilter(tuple(found), given.get("ids"))


def accepts(by: FeedFilter, document: Document) -> bool:
    """Whether a stored feed meets the filter, as the store decides it."""
    is_named = by.ids is None or document["feed_id"] in by.ids
    return is_named and all(each.is_met_by(document) for each in by.where)


async def feeds_page(
    store: Store, by: FeedFilter, sorting: Sorting, limit: int, after: str | None = None
) -> Listed[Feed]:
    """One page of feeds. `by` has no ids. Feeds without the value that the list is sorted by come last, by id."""
    query = Query(by.where, reverse=sorting.reverse, limit=limit, may_be_stale=True)
    if sorting.by == "id":
        return _listed(await store.query(FEEDS.name, replace(query, order=_order_by_id(by), after=after)))
    order, field = _ORDERS[sorting.by]
    without = replace(query, where=(*by.where, Where(field, "missing")), reverse=False)
    if after is not None and after.startswith(_WITHOUT):
        return await _without(store, replace(without, after=after.removeprefix(_WITHOUT) or None))
    page = _listed(await store.query(FEEDS.name, replace(query, order=order, after=after)))
    if page.next is not None:
        return page
    rest = await _without(store, replace(without, limit=max(1, limit - len(page.items) - len(page.unreadable))))
    if len(page.items) + len(page.unreadable) >= limit:
        return replace(page, next=_WITHOUT if rest.items or rest.unreadable else None)
    return Listed([*page.items, *rest.items], rest.next, (*page.unreadable, *rest.unreadable))


def _order_by_id(by: FeedFilter) -> str | None:
    """An order whose first field the filter fixes is an order by id, and its index finds just these feeds."""
    fixed = {each.field for each in by.where if each.op == "eq"}
    return next((order for order, field in (("by_host", "host"), ("by_verdict", "verdict")) if field in fixed), None)


async def _without(store: Store, query: Query) -> Listed[Feed]:
    page = _listed(await store.query(FEEDS.name, query))
    return replace(page, next=_WITHOUT + page.next if page.next is not None else None)


def _listed(page: Page) -> Listed[Feed]:
    return listed(page, Feed.from_document, "feed_id")


async def feeds_of(store: Store, by: FeedFilter, limit: int, after: str | None = None) -> Listed[Feed]:
    """The feeds that meet the filter, by id: exactly as they are stored now. With `ids`, all of them at once."""
    if by.ids is not None:
        found = await store.read_many(FEEDS.name, [(each, Feed.ID) for each in by.ids])
        wanted = [each for each in found if each is not None and accepts(by, each)]
        return listed_documents(wanted, Feed.from_document, "feed_id")
    return _listed(await store.query(FEEDS.name, Query(by.where, order=_order_by_id(by), limit=limit, after=after)))


_ENABLED = Where("enabled", "eq", True)
_AT_ONCE = 16
_ASKED_AT_ONCE = 100
_PAGE = 500
_MOVE_TAKES = timedelta(minutes=1)
"""A change of URL claims the new address, then writes the feed. Only an older claim is treated as left by a crash."""


@dataclass(frozen=True, slots=True)
class Added:
    """The feed at the wanted address, and whether this call added it."""

    feed: Feed
    is_new: bool


class FeedRegistry:
    """Adds, changes and removes feeds.

    `credential` reads the setting that a feed names, and raises InvalidInput if it is missing or malformed: whoever
    adds the feed learns it at once. Without it, the names of settings are not checked.
    """

    def __init__(self, store: Store, clock: Clock, credential: Callable[[str], object] | None = None) -> None:
        self._store = store
        self._clock = clock
        self._credential = credential

    async def get(self, feed_id: str) -> Feed:
        feed = await self._find(feed_id) if is_feed_id(feed_id) else None
        if feed is None:
            raise NotFound(f"feed: there is none with the id {feed_id!r}")
        return feed

    async def registered(self, url: str) -> str | None:
        """The id of the enabled feed that is fetched from this URL, or was redirected there; None without one.

        A disabled feed does not count: if a second feed were disabled as its duplicate, neither would be fetched.
        """
        try:
            normalized = normalize_url(url)
        except ValueError:
            return None
        feed = (await self._at([normalized])).get(normalized)
        if feed is not None and feed.enabled:
            return feed.feed_id
        moved = (await self._moved_to([url], _ENABLED)).get(url)
        return moved.feed_id if moved else None

    async def page(
        self, limit: int, after: str | None = None, by: FeedFilter = EVERY_FEED, sorting: Sorting = BY_ID
    ) -> Listed[Feed]:
        """One page of the feeds that meet the filter; by id, an order that does not change while feeds are fetched,
        unless `sorting` says otherwise."""
        return await feeds_page(self._store, by, sorting, limit, after)

    async def every(self) -> list[Feed]:
        """All feeds that can be read, by id."""
        documents = await query_all(self._store, FEEDS.name, Query((ONLY_FEEDS,), limit=_PAGE))
        return listed_documents(documents, Feed.from_document, "feed_id").items

    async def add(self, new: Feed) -> Added:
        """The known feed at the address of `new`, as it is; else `new`, stored.

        Raises Conflict if another feed has its id, and InvalidInput if its credential cannot be read.
        """
        (result,) = await self.add_all([new])
        if not isinstance(result, Added):
            raise result
        return result

    async def add_all(self, wanted: Sequence[Feed]) -> list[Added | Conflict | InvalidInput]:
        """Adds each feed as `add` does, with a result for each. A feed that is refused does not stop the others."""
        gate = asyncio.Semaphore(_AT_ONCE)
        pairs = [(normalize_url(new.feed_url), new) for new in wanted]
        known = await self._at({address for address, _ in pairs})
        moved = await self._moved_to([new.feed_url for address, new in pairs if address not in known])

        async def one(address: str, new: Feed) -> Added | Conflict | InvalidInput:
            there = known.get(address) or moved.get(new.feed_url)
            if there is not None:
                return Added(there, is_new=False)
            async with gate:
                try:
                    self._check_credential(new)
                    return await self._add(address, new)
                except (Conflict, InvalidInput) as refused:
                    return refused

        return list(await asyncio.gather(*(one(*each) for each in pairs)))

    async def change(self, feed_id: str, change: Mapping[str, Any]) -> Feed:
        """The feed with a change that `feed_change` returned. Raises Conflict if another feed has that URL, and
        InvalidInput if its new credential cannot be read."""
        return (await self.change_by(feed_id, lambda _: change))[1]

    async def change_by(self, feed_id: str, change_of: Callable[[Feed], Mapping[str, Any]]) -> tuple[Feed, Feed]:
        """The feed before and after the change that `change_of` returns for it, as `change` does it. Both are the same
        object if nothing changed."""

        async def once() -> tuple[Feed, Feed]:
            before = await self.get(feed_id)
            after = changed_feed(before, change_of(before), max(self._clock(), before.updated_at))
            if after is before:
                return before, before
            if after.credential != before.credential:
                self._check_credential(after)
            old, new = normalize_url(before.feed_url), normalize_url(after.feed_url)
            if new != old:
                await self._claim_for(new, feed_id)
            stored = await self._store.replace(FEEDS.name, after.to_document(), before.stored_etag or "")
            if new != old:
                await self._release(old, feed_id)
            return before, Feed.from_document(stored)

        return await until_unchanged(once, f"feed {feed_id}")

    async def remove(self, feed_id: str) -> None:
        """Removes the feed; its articles stay. Raises NotFound."""

        async def once() -> None:
            feed = await self.get(feed_id)
            if feed.is_of_news_api:
                raise Conflict(
                    f"feed: {feed_id} comes with its token; disable it, or remove the token from the settings"
                )
            # The address first: a caller that adds it meanwhile gets a new feed, not the one that is being removed.
            await self._release(normalize_url(feed.feed_url), feed_id)
            seen = await self._store.read(FEEDS.name, feed_id, FeedSeen.ID)
            # `seen` is only ever written together with the feed, so the feed's ETag guards both.
            both: list[Operation] = [Delete(Feed.ID, feed.stored_etag)]
            both += [Delete(FeedSeen.ID)] if seen is not None else []
            await self._store.batch(FEEDS.name, feed_id, both)

        await until_unchanged(once, f"feed {feed_id}")

    def _check_credential(self, feed: Feed) -> None:
        if feed.credential is not None and self._credential is not None:
            self._credential(feed.credential)

    async def _find(self, feed_id: str) -> Feed | None:
        document = await self._store.read(FEEDS.name, feed_id, Feed.ID)
        return Feed.from_document(document) if document else None

    async def _at(self, addresses: Iterable[str]) -> dict[str, Feed]:
        """The feeds that are registered under these addresses."""
        keys = {address: (address_key(address), FeedAddress.ID) for address in addresses}
        claims = await self._store.read_many(FEEDS.name, list(keys.values()))
        holders = {address: found["holder"] for address, found in zip(keys, claims, strict=True) if found}
        feeds = await self._store.read_many(FEEDS.name, [(holder, Feed.ID) for holder in holders.values()])
        return {
            address: Feed.from_document(feed)
            for address, feed in zip(holders, feeds, strict=True)
            if feed and normalize_url(feed["feed_url"]) == address
        }

    async def _moved_to(self, urls: Sequence[str], *which: Where) -> dict[str, Feed]:
        """The feeds that were redirected to these URLs, or whose page named them, by URL.

        Of two feeds at one URL, the feed with the lower id.
        """
        found: dict[str, Feed] = {}
        for start in range(0, len(urls), _ASKED_AT_ONCE):
            there = Where("redirect_url", "in", urls[start : start + _ASKED_AT_ONCE])
            page = await self._store.query(FEEDS.name, Query((ONLY_FEEDS, there, *which), limit=_ASKED_AT_ONCE))
            for document in sorted(page.items, key=lambda each: str(each["feed_id"])):
                found.setdefault(document["redirect_url"], Feed.from_document(document))
        return found

    async def _add(self, url: str, new: Feed) -> Added:
        async def once() -> Added:
            address = await self._claimed(url, new.feed_id)
            feed = await self._find(address.holder)
            if feed is None:
                wanted = new.changed(self._clock(), feed_id=address.holder).to_document()
                return Added(Feed.from_document(await self._created(wanted)), is_new=True)
            if normalize_url(feed.feed_url) == url:
                return Added(feed, is_new=False)
            if feed.feed_id == new.feed_id:
                await self._release(url, new.feed_id)
                raise Conflict(f"feed_id: {new.feed_id} is the feed at {feed.feed_url}; give another")
            await self._take_over(address, new.feed_id)
            return await once()

        return await until_unchanged(once, f"url: {url}")

    async def _created(self, document: Document) -> Document:
        """The document, stored. Raises ChangedMeanwhile if another caller was first."""
        try:
            return await self._store.create(FEEDS.name, document)
        except Conflict as error:
            raise ChangedMeanwhile(str(error)) from error

    async def _claimed(self, url: str, feed_id: str) -> FeedAddress:
        """The claim of the address: a stored one, else a new one for this feed."""
        now = self._clock()
        claim = FeedAddress(created_at=now, updated_at=now, url=url, holder=feed_id)
        found = await self._store.read(FEEDS.name, claim.partition, FeedAddress.ID)
        return FeedAddress.from_document(found or await self._created(claim.to_document()))

    async def _claim_for(self, url: str, feed_id: str) -> None:
        """Claims the address for this feed. Raises Conflict if another feed is there."""

        async def once() -> None:
            address = await self._claimed(url, feed_id)
            if address.holder == feed_id:
                return
            holder = await self._find(address.holder)
            if holder is not None and normalize_url(holder.feed_url) == url:
                raise Conflict(f"url: the feed {address.holder} has this URL already")
            await self._take_over(address, feed_id)

        await until_unchanged(once, f"url: {url}")

    async def _take_over(self, address: FeedAddress, feed_id: str) -> None:
        """Claims the address for this feed from a feed that has another URL. Raises ChangedMeanwhile if the claim
        changes meanwhile."""
        now = self._clock()
        if not is_over(address.updated_at + _MOVE_TAKES, now, _MOVE_TAKES):
            raise Conflict(f"url: the feed {address.holder} is moving there just now")
        taken = address.changed(now, holder=feed_id).to_document()
        await self._store.replace(FEEDS.name, taken, address.stored_etag or "")

    async def _release(self, url: str, feed_id: str) -> None:
        found = await self._store.read(FEEDS.name, address_key(url), FeedAddress.ID)
        if found is None or found["holder"] != feed_id:
            return
        with suppress(ChangedMeanwhile):
            await self._store.delete(FEEDS.name, address_key(url), FeedAddress.ID, found["_etag"])
