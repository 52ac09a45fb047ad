"""The registry of feeds: adding, changing, listing and removing them, so that no two feeds have one address.

A feed stores the hash of its normalized URL, by which others find it.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Literal, get_args

from models.errors import Conflict, InvalidInput, NotFound
from models.feed import Feed, FeedSeen, words_of_name
from models.resources.feeds import FeedQuery
from models.values import is_source_key
from services.feeds.form import address_of, changed_feed
from services.ports import (
    Clock,
    Delete,
    Listed,
    Operation,
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

Sort = Literal["id", "name", "next_fetch", "last_success", "verdict", "errors"]
SORTS: tuple[Sort, ...] = get_args(Sort)

_ORDERS: Mapping[Sort, tuple[str, str]] = {
    "name": ("by_name", "name_key"),
    "next_fetch": ("by_next_fetch", "next_fetch_time"),
    "last_success": ("by_last_success", "last_successful_fetch"),
    "verdict": ("by_verdict", "verdict"),
    "errors": ("by_errors", "consecutive_errors"),
}
_WITHOUT = "without:"
"""Begins the cursors into the feeds that lack the value by which the list is sorted. They come last."""


@dataclass(frozen=True, slots=True)
class FeedFilter:
    """Which feeds. `ids`: none but these; None means any."""

    where: tuple[Where, ...]
    ids: tuple[str, ...] | None


def feed_filter(fields: Mapping[str, Any]) -> FeedFilter:
    """The filter with the fields of FeedQuery. Raises InvalidInput that names the field and what is allowed."""
    given = FeedQuery.checked(fields).given()
    found = [ONLY_FEEDS]
    found += [Where(name, "eq", given[name]) for name in ("verdict", "enabled", "host") if name in given]
    if "tag" in given:
        found.append(Where("tags", "contains", given["tag"]))
    found += [Where("words", "contains", word) for word in words_of_name(given.get("text", ""))]
    return FeedFilter(tuple(found), given.get("ids"))


def _order_by_id(by: FeedFilter) -> str | None:
    """An order whose first field the filter fixes is an order by id, and its index finds just these feeds."""
    fixed = {each.field for each in by.where if each.op == "eq"}
    return next((order for order, field in (("by_host", "host"), ("by_verdict", "verdict")) if field in fixed), None)


_ENABLED = Where("enabled", "eq", True)
_ASKED_AT_ONCE = 100


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
        # Callers of one process that add one address at once, in two spellings or under two ids, get one feed.
        self._at_addresses = asyncio.Lock()

    async def get(self, feed_id: str) -> Feed:
        document = await self._store.read(FEEDS.name, feed_id, Feed.ID) if is_source_key(feed_id) else None
        if document is None:
            raise NotFound(f"feed: there is none with the id {feed_id!r}")
        return Feed.from_document(document)

    async def registered(self, url: str) -> str | None:
        """The id of the enabled feed that is fetched from this URL, or was redirected there; None without one.

        A disabled feed does not count: if a second feed were disabled as its duplicate, neither would be fetched.
        """
        try:
            address = address_of(url)
        except ValueError:
            return None
        found = await self._by("address", [address], _ENABLED) or await self._by("redirect_url", [url], _ENABLED)
        return next((each.feed_id for each in found.values()), None)

    async def page(
        self, limit: int, after: str | None, by: FeedFilter, sort: Sort = "id", *, reverse: bool = False
    ) -> Listed[Feed]:
        """One page of the feeds that meet the filter, which has no ids: by id, an order that does not change while
        feeds are fetched, or as `sort` says. Feeds without the value that the list is sorted by come last, by id."""
        query = Query(by.where, reverse=reverse, limit=limit, may_be_stale=True)
        if sort == "id":
            return await self._page(replace(query, order=_order_by_id(by), after=after))
        order, field = _ORDERS[sort]
        without = replace(query, where=(*by.where, Where(field, "missing")), reverse=False)
        if after is not None and after.startswith(_WITHOUT):
            return await self._without(replace(without, after=after.removeprefix(_WITHOUT) or None))
        page = await self._page(replace(query, order=order, after=after))
        if page.next is not None:
            return page
        found = len(page.items) + len(page.unreadable)
        rest = await self._without(replace(without, limit=max(1, limit - found)))
        if found >= limit:
            return replace(page, next=_WITHOUT if rest.items or rest.unreadable else None)
        return Listed([*page.items, *rest.items], rest.next, (*page.unreadable, *rest.unreadable))

    async def _page(self, query: Query) -> Listed[Feed]:
        return listed(await self._store.query(FEEDS.name, query), Feed.from_document, "feed_id")

    async def _without(self, query: Query) -> Listed[Feed]:
        page = await self._page(query)
        return replace(page, next=_WITHOUT + page.next if page.next is not None else None)

    async def matching(self, by: FeedFilter, limit: int, after: str | None = None) -> Listed[Feed]:
        """The feeds that meet the filter, by id: exactly as they are stored now. With `ids`, all of them at once."""
        if by.ids is None:
            return await self._page(Query(by.where, order=_order_by_id(by), limit=limit, after=after))
        found = await self._store.read_many(FEEDS.name, [(each, Feed.ID) for each in by.ids])
        wanted = [each for each in found if each is not None and all(where.is_met_by(each) for where in by.where)]
        return listed_documents(wanted, Feed.from_document, "feed_id")

    async def every(self) -> list[Feed]:
        """All feeds that can be read, by id."""
        documents = await query_all(self._store, FEEDS.name, Query((ONLY_FEEDS,)))
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
        async with self._at_addresses:
            found = await self._by("address", {each.address for each in wanted})
            moved = await self._by("redirect_url", {each.feed_url for each in wanted if each.address not in found})
            results: list[Added | InvalidInput] = []
            new: list[Feed] = []
            for each in wanted:
                known = found.get(each.address) or moved.get(each.feed_url)
                if known is None:
                    try:
                        self._check_credential(each)
                    except InvalidInput as refused:
                        results.append(refused)
                        continue
                    new.append(each)
                    known = found[each.address] = each
                results.append(Added(known, is_new=known is each))
            created = await self._store.create_many(FEEDS.name, [each.to_document() for each in new]) if new else ()
            taken = {
                each.address: await self._with_id_of(each)
                for each, is_created in zip(new, created, strict=True)
                if not is_created
            }
        return [taken.get(each.feed.address, each) if isinstance(each, Added) else each for each in results]

    async def _with_id_of(self, new: Feed) -> Added | Conflict:
        """The feed that has the id of `new`: another caller has just added it, or it has another address."""
        there = await self.get(new.feed_id)
        if there.address == new.address:
            return Added(there, is_new=False)
        return Conflict(f"feed_id: {new.feed_id} is the feed at {there.feed_url}; give another")

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
            if after.address == before.address:
                return before, await self._replaced(before, after)
            async with self._at_addresses:
                for there in (await self._by("address", [after.address])).values():
                    if there.feed_id != feed_id:
                        raise Conflict(f"url: the feed {there.feed_id} has this URL already")
                return before, await self._replaced(before, after)

        return await until_unchanged(once, f"feed {feed_id}")

    async def _replaced(self, before: Feed, after: Feed) -> Feed:
        return Feed.from_document(await self._store.replace(FEEDS.name, after.to_document(), before.stored_etag or ""))

    async def remove(self, feed_id: str) -> None:
        """Removes the feed; its articles stay. Raises NotFound."""

        async def once() -> None:
            feed = await self.get(feed_id)
            if feed.is_of_news_api:
                raise Conflict(
                    f"feed: {feed_id} comes with its token; disable it, or remove the token from the settings"
                )
            seen = await self._store.read(FEEDS.name, feed_id, FeedSeen.ID)
            # `seen` is only ever written together with the feed, so the feed's ETag guards both.
            both: list[Operation] = [Delete(Feed.ID, feed.stored_etag)]
            both += [Delete(FeedSeen.ID)] if seen is not None else []
            await self._store.batch(FEEDS.name, feed_id, both)

        await until_unchanged(once, f"feed {feed_id}")

    def _check_credential(self, feed: Feed) -> None:
        if feed.credential is not None and self._credential is not None:
            self._credential(feed.credential)

    async def _by(self, field: str, values: Iterable[str], *which: Where) -> dict[str, Feed]:
        """The feeds that have one of these values, by value: of two feeds with one value, that with the lower id."""
        wanted, found = sorted(values), dict[str, Feed]()
        for start in range(0, len(wanted), _ASKED_AT_ONCE):
            has = Where(field, "in", wanted[start : start + _ASKED_AT_ONCE])
            for document in await query_all(self._store, FEEDS.name, Query((ONLY_FEEDS, has, *which))):
                found.setdefault(document[field], Feed.from_document(document))
        return found
