"""Counts the reads of the cache, in the last 24 hours (by minute) and in total. A read never waits for a write."""

from __future__ import annotations

from bisect import bisect_left
from collections import Counter
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from datetime import UTC, datetime
from typing import Literal, TypedDict

from models.cache import COUNTER_KINDS, METADATA_PARTITION, CacheCounters, CounterKind, minute_field
from models.errors import InvalidInput, NotFound
from models.operations import CacheTotals
from models.values import format_time
from services import telemetry
from services.counting import FLUSHED_EVERY_SECONDS, Counts, CountWriter
from services.ports import Clock, Store, readable
from services.store.containers import SENTIMENT_CACHE

State = Literal["HIT", "STALE", "MISS"]
"""How an aggregate was read: HIT and STALE were stored or in memory, MISS was computed."""

_MINUTES = 24 * 60
_BOUNDS_SECONDS = [bound / 1000 for bound in CacheTotals.BOUNDS_MS]
_BUCKETS = [f"within_{bound}_ms" for bound in CacheTotals.BOUNDS_MS]
"""A read counts in the bucket of each bound that its duration does not exceed."""


class Counted(TypedDict):
    """The counts of 24 hours, as CacheMetadata has them."""

    cache_hits_24h: int
    cache_misses_24h: int
    error_count_24h: int


class CountedHour(TypedDict):
    """The counts of one clock hour, or of the part of it that lies in the last 24 hours."""

    hour: str
    hits: int
    misses: int
    errors: int


class Counters:
    def __init__(self, store: Store, clock: Clock, flushed_every: float = FLUSHED_EVERY_SECONDS) -> None:
        self._store = store
        self._clock = clock
        self._by_minute: Counter[tuple[int, CounterKind]] = Counter()
        self._totals: Counter[str] = Counter()
        self._by_shortest_bound = [0] * (len(_BUCKETS) + 1)
        self.writer = CountWriter(store, flushed_every)
        self.writer.register(self._take)

    def read(self, state: State, seconds: float) -> None:
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
        """The counts that all processes have flushed in the current minute and the 1,439 before it, by clock hour, the
        oldest first.

        An hour whose document cannot be read counts as 0.
        """
        last = _minute_of(self._clock())
        first = last - _MINUTES + 1
        hours = range(first // 60, last // 60 + 1)
        keys = [(METADATA_PARTITION, CacheCounters.at(_start_of(hour)).id) for hour in hours]
        stored = await self._store.read_many(SENTIMENT_CACHE.name, keys)
        counted: list[CountedHour] = []
        for hour, document in zip(hours, stored, strict=True):
            counters = readable(document, CacheCounters.from_document)
            minutes = range(max(first - 60 * hour, 0), min(last - 60 * hour, 59) + 1)
            sums = {kind: counters.sum(kind, minutes) if counters is not None else 0 for kind in COUNTER_KINDS}
            at = format_time(_start_of(hour))
            counted.append({"hour": at, "hits": sums["hits"], "misses": sums["misses"], "errors": sums["errors"]})
        return counted

    async def last_24_hours(self) -> Counted:
        return summed(await self.hours())

    async def close(self) -> None:
        await self.writer.close()

    def _count(self, kind: CounterKind, number: int = 1) -> None:
        self._by_minute[_minute_of(self._clock()), kind] += number
        self.writer.soon()

    def _take(self) -> Iterator[Counts]:
        by_minute, self._by_minute = self._by_minute, Counter()
        by_hour: dict[int, Counter[str]] = {}
        for (minute, kind), number in by_minute.items():
            by_hour.setdefault(minute // 60, Counter())[minute_field(kind, minute % 60)] = number
        for hour, counts in by_hour.items():
            yield CacheCounters.at(_start_of(hour)), counts
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


def _minute_of(moment: datetime) -> int:
    """The number of the minute since 1970."""
    return int(moment.timestamp()) // 60


def _start_of(hour: int) -> datetime:
    """The start of the hour with this number since 1970."""
    return datetime.fromtimestamp(hour * 3600, UTC)
