"""Counts the reads of the cache, by hour and in total. A read never waits for a write."""

from __future__ import annotations

from bisect import bisect_left
from collections import Counter
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from datetime import timedelta
from typing import Literal, TypedDict

from models.cache import CacheCounters
from models.errors import InvalidInput, NotFound
from models.operations import CacheTotals
from models.values import format_time, hour_key
from services import telemetry
from services.counting import FLUSHED_EVERY_SECONDS, Counts, CountWriter
from services.ports import Clock, Store, readable
from services.store.containers import SENTIMENT_CACHE

ReadResult = Literal["HIT", "STALE", "MISS"]
"""How an aggregate was read: HIT and STALE were stored or in memory, MISS was computed."""

_BOUNDS_SECONDS = [bound / 1000 for bound in CacheTotals.BOUNDS_MS]
_BUCKETS = [f"within_{bound}_ms" for bound in CacheTotals.BOUNDS_MS]
"""A read counts in the bucket of each bound that its duration does not exceed."""


class Counted(TypedDict):
    """The counts of 24 hours, as CacheMetadata has them."""

    cache_hits_24h: int
    cache_misses_24h: int
    error_count_24h: int


class CountedHour(TypedDict):
    """The counts of one clock hour."""

    hour: str
    hits: int
    misses: int
    errors: int


class Counters:
    """Counts the reads of the cache."""

    def __init__(self, store: Store, clock: Clock, flushed_every: float = FLUSHED_EVERY_SECONDS) -> None:
        self._store = store
        self._clock = clock
        self._by_hour: dict[str, Counts] = {}
        self._totals: Counter[str] = Counter()
        self._by_shortest_bound = [0] * (len(_BUCKETS) + 1)
        self.writer = CountWriter(store, flushed_every)
        self.writer.register(self._take)

    def read(self, state: ReadResult, seconds: float) -> None:
        """Counts one read, which took `seconds`."""
        self._count("misses" if state == "MISS" else "hits")
        self._totals["cache_misses" if state == "MISS" else "cache_hits"] += 1
        if state == "STALE":
            self._totals["cache_stale"] += 1
        self._totals["read_microseconds"] += int(seconds * 1_000_000)
        self._by_shortest_bound[bisect_left(_BOUNDS_SECONDS, seconds)] += 1
        telemetry.record(telemetry.CACHE_READS, result=state)

    def errors(self, number: int) -> None:
        """Counts reads that failed, or failed attempts to refresh a tool."""
        if number:
            self._count("errors", number)
            self._totals["error_count"] += number
            telemetry.record(telemetry.CACHE_ERRORS, number)

    @contextmanager
    def failures(self) -> Iterator[None]:
        """Counts an error if the block fails, other than by a wrong request."""
        try:
            yield
        except (InvalidInput, NotFound):
            raise
        except Exception:
            self.errors(1)
            raise

    async def flush(self) -> None:
        """Raises Unavailable, and keeps the counts, if they cannot be stored."""
        await self.writer.flush()

    async def hours(self) -> list[CountedHour]:
        """The counts that all processes have flushed in the current clock hour and the 23 before it, the oldest first.
        An hour whose document cannot be read counts as 0."""
        now = self._clock().replace(minute=0, second=0, microsecond=0)
        seeds = [CacheCounters.at(now - timedelta(hours=back)) for back in range(23, -1, -1)]
        stored = await self._store.read_many(SENTIMENT_CACHE.name, [(seed.partition, seed.id) for seed in seeds])
        counted: list[CountedHour] = []
        for seed, document in zip(seeds, stored, strict=True):
            found = readable(document, CacheCounters.from_document) or seed
            hour = format_time(seed.created_at)
            counted.append({"hour": hour, "hits": found.hits, "misses": found.misses, "errors": found.errors})
        return counted

    async def last_24_hours(self) -> Counted:
        return summed(await self.hours())

    async def close(self) -> None:
        await self.writer.close()

    def _count(self, kind: Literal["hits", "misses", "errors"], number: int = 1) -> None:
        now = self._clock()
        if (hour := hour_key(now)) not in self._by_hour:
            self._by_hour[hour] = CacheCounters.at(now), Counter()
        self._by_hour[hour][1][kind] += number
        self.writer.soon()

    def _take(self) -> Iterator[Counts]:
        by_hour, self._by_hour = self._by_hour, {}
        yield from by_hour.values()
        totals, self._totals = self._totals, Counter()
        by_bound, self._by_shortest_bound = self._by_shortest_bound, [0] * (len(_BUCKETS) + 1)
        for index, number in enumerate(by_bound):
            if number:
                totals.update(dict.fromkeys(_BUCKETS[index:], number))
        yield CacheTotals.at(self._clock()), totals


def summed(hours: Sequence[CountedHour]) -> Counted:
    return {
        "cache_hits_24h": sum(each["hits"] for each in hours),
        "cache_misses_24h": sum(each["misses"] for each in hours),
        "error_count_24h": sum(each["errors"] for each in hours),
    }
