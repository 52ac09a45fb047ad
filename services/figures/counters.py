"""Counts the reads of the cache, in the last 24 hours and in total. A read never waits for a write.

Counts are buffered and added to the stored ones every few seconds by atomic increments. A process that ends flushes its
buffer first; a process that is killed loses the counts of at most one interval.
"""

from __future__ import annotations

import asyncio
import logging
from bisect import bisect_left
from collections import Counter
from datetime import timedelta
from typing import Literal, TypedDict

from models.cache import METADATA_PARTITION, CacheCounters
from models.errors import ToolpulseError
from models.operations import CacheTotals
from models.stored import StoredDocument
from models.values import hour_key
from services import deadline
from services.logs import log_event
from services.ports import Clock, Store, readable
from services.store.containers import CATALOG, SENTIMENT_CACHE

log = logging.getLogger("toolpulse.cache")

State = Literal["HIT", "STALE", "MISS"]
"""How an aggregate was read: HIT and STALE were stored or in memory, MISS was computed."""

FLUSHED_EVERY_SECONDS = 10.0
_HOURS = 24
_BOUNDS_SECONDS = [bound / 1000 for bound in CacheTotals.BOUNDS_MS]
_BUCKETS = [f"within_{bound}_ms" for bound in CacheTotals.BOUNDS_MS]
"""A read counts in the bucket of each bound that its duration does not exceed."""


class Counted(TypedDict):
    """The counts of 24 hours, as CacheMetadata has them."""

    cache_hits_24h: int
    cache_misses_24h: int
    error_count_24h: int


class Counters:
    def __init__(self, store: Store, clock: Clock, flushed_every: float = FLUSHED_EVERY_SECONDS) -> None:
        self._store = store
        self._clock = clock
        self._flushed_every = flushed_every
        self._hourly: Counter[str] = Counter()
        self._totals: Counter[str] = Counter()
        self._by_shortest_bound = [0] * (len(_BUCKETS) + 1)
        self._flushing: asyncio.Task[None] | None = None

    def read(self, state: State, seconds: float) -> None:
        """Counts one read, which took `seconds`."""
        self._count("cache_misses" if state == "MISS" else "cache_hits")
        if state == "STALE":
            self._count("cache_stale")
        self._totals["read_microseconds"] += int(seconds * 1_000_000)
        self._by_shortest_bound[bisect_left(_BOUNDS_SECONDS, seconds)] += 1
        self._flush_soon()

    def errors(self, number: int) -> None:
        if number:
            self._count("error_count", number)
            self._flush_soon()

    async def flush(self) -> None:
        """Adds the buffer to the stored counts. Raises Unavailable, and keeps the buffer, if it cannot be stored."""
        now = self._clock()
        await self._add(SENTIMENT_CACHE.name, CacheCounters.at(now), self._hourly)
        for index, number in enumerate(self._by_shortest_bound):
            if number:
                self._totals.update(dict.fromkeys(_BUCKETS[index:], number))
        self._by_shortest_bound = [0] * len(self._by_shortest_bound)
        await self._add(CATALOG.name, CacheTotals.at(now), self._totals)

    async def last_24_hours(self) -> Counted:
        """The counts that all processes have flushed in the current hour and the 23 before it.

        An hour whose document cannot be read counts as 0.
        """
        now = self._clock()
        hours = [hour_key(now - timedelta(hours=back)) for back in range(_HOURS)]
        keys = [(METADATA_PARTITION, f"{METADATA_PARTITION}:{hour}") for hour in hours]
        stored = await self._store.read_many(SENTIMENT_CACHE.name, keys)
        found = [each for document in stored if (each := readable(document, CacheCounters.from_document)) is not None]
        return {
            "cache_hits_24h": sum(each.cache_hits for each in found),
            "cache_misses_24h": sum(each.cache_misses for each in found),
            "error_count_24h": sum(each.error_count for each in found),
        }

    async def close(self) -> None:
        if self._flushing is not None:
            self._flushing.cancel()
            await asyncio.wait([self._flushing])
        try:
            await self.flush()
        except ToolpulseError as error:
            log_event(log, logging.WARNING, "counters_lost", error=type(error).__name__)

    def _count(self, name: str, number: int = 1) -> None:
        self._hourly[name] += number
        self._totals[name] += number

    def _flush_soon(self) -> None:
        if self._flushing is None:
            self._flushing = asyncio.get_running_loop().create_task(
                self._flush_while_counting(), context=deadline.outside()
            )

    async def _flush_while_counting(self) -> None:
        """Flushes until the buffer is empty, so that an idle worker has no task."""
        try:
            while self._hourly or self._totals:
                await asyncio.sleep(self._flushed_every)
                try:
                    await self.flush()
                except ToolpulseError as error:
                    log_event(log, logging.WARNING, "counters_not_flushed", error=type(error).__name__)
        finally:
            self._flushing = None

    async def _add(self, container: str, seed: StoredDocument, buffer: Counter[str]) -> None:
        amounts = dict(buffer)
        if not amounts:
            return
        buffer.clear()  # before the first await: reads that are counted meanwhile belong to the next flush
        try:
            await self._store.increment(container, seed.to_document(), amounts)
        except (ToolpulseError, asyncio.CancelledError):
            buffer.update(amounts)
            raise
