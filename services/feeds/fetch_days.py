"""Writes down of all feeds, by day, in which hours fetches were expected, made, and succeeded.

The documents of the feeds have this of their last two days: saving a feed costs no write more. `clean_up` collects it,
so that the coverage of any number of tools is read from a document for each day. Bits are only added: what is collected
twice, or by two workers, is the same.
"""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime

from models.coverage import FetchDay, FetchDaysProgress
from models.errors import ChangedMeanwhile, Conflict
from services.feeds.fetch_hours import hours_of
from services.ports import Clock, Document, Query, Store, Where, readable
from services.store.containers import CATALOG, FEEDS

FEEDS_AT_ONCE = 1000
_TRIES = 8
_ONLY_FEEDS = Where("entity_type", "eq", "Feed")

OfDay = dict[str, tuple[int, int, int]]
"""By feed, as a FetchDay has them."""


class FetchDays:
    def __init__(self, store: Store, clock: Clock, feeds_at_once: int = FEEDS_AT_ONCE) -> None:
        self._store = store
        self._clock = clock
        self._feeds_at_once = feeds_at_once

    async def work(self) -> int:
        """Collects from the next feeds; from all, unless there are very many. Returns the number of feeds."""
        document = await self._store.read(CATALOG.name, FetchDaysProgress.PARTITION, FetchDaysProgress.ID)
        progress = readable(document, FetchDaysProgress.from_document)
        query = Query((_ONLY_FEEDS,), limit=self._feeds_at_once, after=progress.after if progress else None)
        page = await self._store.query(FEEDS.name, query)
        now = self._clock()
        for day, feeds in by_day(page.items, now).items():
            await self._add(day, feeds, now)
        if page.next != (progress.after if progress else None):
            after = FetchDaysProgress(created_at=now, updated_at=now, after=page.next)
            await self._store.upsert(CATALOG.name, after.to_document())
        return len(page.items)

    async def _add(self, day: str, feeds: OfDay, now: datetime) -> None:
        """Raises ChangedMeanwhile if other workers keep changing the day."""
        for _ in range(_TRIES):
            document = await self._store.read(CATALOG.name, FetchDay.PARTITION, day)
            before = readable(document, FetchDay.from_document)
            after = added(before.feeds if before else {}, feeds)
            if before is not None and after == before.feeds:
                return
            try:
                if before is None or before.stored_etag is None:
                    first = FetchDay(created_at=now, updated_at=now, day=day, feeds=after)
                    await self._store.create(CATALOG.name, first.to_document())
                else:
                    changed = before.changed(now, feeds=after)
                    await self._store.replace(CATALOG.name, changed.to_document(), before.stored_etag)
            except (Conflict, ChangedMeanwhile):
                continue
            return
        raise ChangedMeanwhile(f"the fetches of {day} keep changing")


def by_day(feeds: list[Document], now: datetime) -> dict[str, OfDay]:
    """The hours of these stored feeds."""
    found: dict[str, OfDay] = {}
    for feed in feeds:
        for day, bits in hours_of(feed, now).items():
            found.setdefault(day, {})[feed["feed_id"]] = bits
    return found


def added(known: Mapping[str, tuple[int, int, int]], feeds: OfDay) -> OfDay:
    after = dict(known)
    for feed_id, (expected, succeeded, attempted) in feeds.items():
        before = after.get(feed_id, (0, 0, 0))
        after[feed_id] = before[0] | expected, before[1] | succeeded, before[2] | attempted
    return after
