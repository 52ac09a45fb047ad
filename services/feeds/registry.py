"""The feeds that are watched: adding, changing and removing them, each address held by one feed only.

Fetching is not done here. An address is claimed (create) before its feed is written; a claim that a crash left behind
is completed by whoever adds that address next.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import timedelta
from typing import Any

from models.errors import ChangedMeanwhile, Conflict, NotFound
from models.feed import Feed, FeedSeen
from models.feed_address import FeedAddress, address_key
from services.feeds.form import NewFeed, changed_feed, is_feed_id
from services.parse.urls import normalize_url
from services.ports import Clock, Document, Listed, Query, Store, Where, listed
from services.store.containers import FEEDS

ONLY_FEEDS = Where("entity_type", "eq", "Feed")
_ENABLED = Where("enabled", "eq", True)
_TRIES = 8
_AT_ONCE = 16
_ASKED_AT_ONCE = 100
_PAGE = 500
# A change of URL claims the new address, then writes the feed; within this time it is not taken for a crashed one.
_CLAIM_SETTLES = timedelta(minutes=1)


@dataclass(frozen=True, slots=True)
class Added:
    """The feed that has the wanted address now, and whether it is new."""

    feed: Feed
    is_new: bool


class FeedRegistry:
    def __init__(self, store: Store, clock: Clock) -> None:
        self._store = store
        self._clock = clock

    async def get(self, feed_id: str) -> Feed:
        feed = await self._find(feed_id) if is_feed_id(feed_id) else None
        if feed is None:
            raise NotFound(f"feed: there is none with the id {feed_id!r}")
        return feed

    async def registered(self, url: str) -> str | None:
        """The id of the feed that is fetched from this URL, or moved there, if there is one.

        One that is disabled stands for nobody: whoever ended for its sake would leave nobody to be fetched.
        """
        try:
            normalized = normalize_url(url)
        except ValueError:
            return None
        address = await self._store.read(FEEDS.name, address_key(normalized), FeedAddress.ID)
        feed = await self._find(address["holder"]) if address else None
        if feed is not None and feed.enabled and normalize_url(feed.feed_url) == normalized:
            return feed.feed_id
        moved = (await self._moved_to([url], _ENABLED)).get(url)
        return moved.feed_id if moved else None

    async def page(self, limit: int, after: str | None = None) -> Listed[Feed]:
        """One page by id, which stays put while feeds are fetched, and the cursor of the next."""
        page = await self._store.query(FEEDS.name, Query((ONLY_FEEDS,), limit=limit, after=after))
        return listed(page, Feed.from_document, "feed_id")

    async def every(self) -> AsyncIterator[Feed]:
        """All of them that can be read, by id."""
        after: str | None = None
        while True:
            page = await self.page(_PAGE, after)
            for feed in page.items:
                yield feed
            after = page.next
            if after is None:
                return

    async def add(self, new: NewFeed) -> Added:
        """The feed at that address: a known one as it is, else a new one.

        Raises Conflict if the id is another feed's.
        """
        (result,) = await self.add_all([new])
        if isinstance(result, Conflict):
            raise result
        return result

    async def add_all(self, wanted: Sequence[NewFeed]) -> list[Added | Conflict]:
        """What `add` would do with each, one after the other; one that conflicts does not stop the others."""
        gate = asyncio.Semaphore(_AT_ONCE)
        firsts: dict[str, NewFeed] = {}
        for new in wanted:
            firsts.setdefault(new.address, new)
        known = await self._at(firsts)
        moved = await self._moved_to([new.url for address, new in firsts.items() if address not in known])

        async def one(new: NewFeed) -> Added | Conflict:
            there = known.get(new.address) or moved.get(new.url)
            if there is not None:
                return Added(there, is_new=False)
            async with gate:
                try:
                    return await self._add(new)
                except Conflict as conflict:
                    return conflict

        results = dict(zip(firsts, await asyncio.gather(*(one(new) for new in firsts.values())), strict=True))
        return [results[new.address] if new is firsts[new.address] else _again(results[new.address]) for new in wanted]

    async def change(self, feed_id: str, change: Mapping[str, Any]) -> Feed:
        """The feed with `change`, which `feed_change` let through. Raises Conflict if another has that URL."""
        for _ in range(_TRIES):
            before = await self.get(feed_id)
            after = changed_feed(before, change, max(self._clock(), before.updated_at))
            if after is before:
                return before
            old, new = normalize_url(before.feed_url), normalize_url(after.feed_url)
            if new != old:
                await self._claim_for(new, feed_id)
            try:
                stored = await self._store.replace(FEEDS.name, after.to_document(), before.stored_etag or "")
            except ChangedMeanwhile:
                continue
            if new != old:
                await self._release(old, feed_id)
            return Feed.from_document(stored)
        raise ChangedMeanwhile(f"feed {feed_id} keeps changing: try again")

    async def remove(self, feed_id: str) -> None:
        """The feed is gone; its articles stay. Raises NotFound if it was not there."""
        feed = await self.get(feed_id)
        if feed.is_of_news_api:
            raise Conflict(f"feed: {feed_id} comes with its token; disable it, or take the token out of the settings")
        # The address first: whoever adds it meanwhile gets a feed of its own, not the one that is about to go.
        await self._release(normalize_url(feed.feed_url), feed_id)
        await self._store.delete(FEEDS.name, feed_id, Feed.ID)
        await self._store.delete(FEEDS.name, feed_id, FeedSeen.ID)

    async def _find(self, feed_id: str) -> Feed | None:
        document = await self._store.read(FEEDS.name, feed_id, Feed.ID)
        return Feed.from_document(document) if document else None

    async def _at(self, addresses: Iterable[str]) -> dict[str, Feed]:
        """The feeds that are registered under these addresses."""
        keys = {address: (address_key(address), FeedAddress.ID) for address in addresses}
        held = await self._store.read_many(FEEDS.name, list(keys.values()))
        holders = {address: found["holder"] for address, found in zip(keys, held, strict=True) if found}
        feeds = await self._store.read_many(FEEDS.name, [(holder, Feed.ID) for holder in holders.values()])
        return {
            address: Feed.from_document(feed)
            for address, feed in zip(holders, feeds, strict=True)
            if feed and normalize_url(feed["feed_url"]) == address
        }

    async def _moved_to(self, urls: Sequence[str], *which: Where) -> dict[str, Feed]:
        """The feeds that were redirected to one of these URLs, or whose page named it: they are these feeds already.

        Of two that were at the same moment, the one with the lower id, whoever asks.
        """
        found: dict[str, Feed] = {}
        for start in range(0, len(urls), _ASKED_AT_ONCE):
            there = Where("redirect_url", "in", urls[start : start + _ASKED_AT_ONCE])
            page = await self._store.query(FEEDS.name, Query((ONLY_FEEDS, there, *which), limit=_ASKED_AT_ONCE))
            for document in sorted(page.items, key=lambda each: str(each["feed_id"])):
                found.setdefault(document["redirect_url"], Feed.from_document(document))
        return found

    async def _add(self, new: NewFeed) -> Added:
        for _ in range(_TRIES):
            address = await self._claimed(new.address, new.feed_id)
            feed = await self._find(address.holder)
            if feed is None:
                created = await self._create(new.feed(address.holder, self._clock()))
                if created is not None:
                    return Added(created, is_new=True)
            elif normalize_url(feed.feed_url) == new.address:
                return Added(feed, is_new=False)
            elif feed.feed_id == new.feed_id:
                await self._release(new.address, new.feed_id)
                raise Conflict(f"id: {new.feed_id} is the feed at {feed.feed_url}; give another")
            else:
                await self._take_over(address, new.feed_id)
        raise ChangedMeanwhile(f"url: {new.url} keeps changing hands: try again")

    async def _create(self, feed: Feed) -> Feed | None:
        try:
            return Feed.from_document(await self._store.create(FEEDS.name, feed.to_document()))
        except Conflict:
            return None

    async def _claimed(self, url: str, feed_id: str) -> FeedAddress:
        """Who holds the address, after an attempt to make it this feed's."""
        now = self._clock()
        wanted = FeedAddress(created_at=now, updated_at=now, url=url, holder=feed_id)
        while True:
            found = await self._store.read(FEEDS.name, wanted.partition, FeedAddress.ID)
            if found is not None:
                return FeedAddress.from_document(found)
            try:
                return FeedAddress.from_document(await self._store.create(FEEDS.name, wanted.to_document()))
            except Conflict:
                continue

    async def _claim_for(self, url: str, feed_id: str) -> None:
        """The address is this feed's, or Conflict."""
        for _ in range(_TRIES):
            address = await self._claimed(url, feed_id)
            if address.holder == feed_id:
                return
            holder = await self._find(address.holder)
            if holder is not None and normalize_url(holder.feed_url) == url:
                raise Conflict(f"url: is the feed {address.holder} already")
            await self._take_over(address, feed_id)
        raise ChangedMeanwhile(f"url: {url} keeps changing hands: try again")

    async def _take_over(self, address: FeedAddress, feed_id: str) -> None:
        """From a feed that turned out to be elsewhere. If somebody else was quicker, the next look tells."""
        now = self._clock()
        if now - address.updated_at < _CLAIM_SETTLES:
            raise Conflict(f"url: the feed {address.holder} is moving there just now")
        taken: Document = address.changed(now, holder=feed_id).to_document()
        try:
            await self._store.replace(FEEDS.name, taken, address.stored_etag or "")
        except ChangedMeanwhile:
            return

    async def _release(self, url: str, feed_id: str) -> None:
        found = await self._store.read(FEEDS.name, address_key(url), FeedAddress.ID)
        if found is None or found["holder"] != feed_id:
            return
        try:
            await self._store.delete(FEEDS.name, address_key(url), FeedAddress.ID, found["_etag"])
        except ChangedMeanwhile:
            return


def _again(result: Added | Conflict) -> Added | Conflict:
    return Added(result.feed, is_new=False) if isinstance(result, Added) else result
