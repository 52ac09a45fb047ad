"""How the cache does: the reads of it, CacheMetadata of the last successful refresh, and how the last refresh ended."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from datetime import UTC, datetime, timedelta
from typing import Any, Literal

from models.cache import (
    MAX_FAILED_LISTED,
    MAX_TOOLS_LISTED,
    METADATA_PARTITION,
    PERIODS,
    CacheCounters,
    CacheMetadata,
    LastRefresh,
)
from models.errors import InvalidInput, NotFound
from models.operations import CacheTotals
from models.run import Attempt, JobRun
from services import telemetry
from services.ports import Clock, Document, Store, Where, readable
from services.store.containers import SENTIMENT_CACHE
from services.store.counting import Counts, CountWriter

ReadResult = Literal["HIT", "STALE", "MISS"]
"""How an aggregate was read: HIT and STALE were stored or in memory, MISS was computed."""

LONGEST_REASON = 200
ENTRIES = Where("period", "in", tuple(PERIODS))
_BUCKETS = [(bound / 1000, f"within_{bound}_ms") for bound in CacheTotals.BOUNDS_MS]
"""A read counts in the bucket of each bound that its duration does not exceed."""
_COUNTED_IN = {
    "positive": "positive_count",
    "negative": "negative_count",
    "neutral": "neutral_count",
    "unscored": "unscored_mentions",
}


class Counters:
    """Counts the reads of the cache, by hour and in total. A read never waits for a write."""

    def __init__(self, store: Store, clock: Clock) -> None:
        self._store = store
        self._clock = clock
        self._by_hour: dict[float, Counts] = {}
        self._totals: Counter[str] = Counter()
        self.writer = CountWriter(store)
        self.writer.register(self._take)

    def read(self, state: ReadResult, seconds: float) -> None:
        """Counts one read, which took `seconds`."""
        self._count("misses" if state == "MISS" else "hits")
        self._totals["cache_misses" if state == "MISS" else "cache_hits"] += 1
        if state == "STALE":
            self._totals["cache_stale"] += 1
        self._totals["read_microseconds"] += int(seconds * 1_000_000)
        for bound, bucket in _BUCKETS:
            if seconds <= bound:
                self._totals[bucket] += 1
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

    async def hours(self) -> list[CacheCounters]:
        """What all processes have flushed in the current clock hour and the 23 before it, the oldest first. An hour
        whose document cannot be read counts as 0."""
        now = self._clock().replace(minute=0, second=0, microsecond=0)
        seeds = [CacheCounters.at(now - timedelta(hours=back)) for back in range(23, -1, -1)]
        stored = await self._store.read_many(SENTIMENT_CACHE.name, [(seed.partition, seed.id) for seed in seeds])
        of_hours = zip(seeds, stored, strict=True)
        return [readable(document, CacheCounters.from_document) or seed for seed, document in of_hours]

    def _count(self, kind: Literal["hits", "misses", "errors"], number: int = 1) -> None:
        now = self._clock()
        if (hour := now.timestamp() // 3600) not in self._by_hour:
            self._by_hour[hour] = CacheCounters.at(now), Counter()
        self._by_hour[hour][1][kind] += number
        self.writer.soon()

    def _take(self) -> Iterator[Counts]:
        by_hour, self._by_hour = self._by_hour, {}
        yield from by_hour.values()
        totals, self._totals = self._totals, Counter()
        yield CacheTotals.at(self._clock()), totals


def summed(hours: Sequence[CacheCounters]) -> dict[str, Any]:
    """As CacheMetadata has the counts of 24 hours."""
    return {
        "cache_hits_24h": sum(each.hits for each in hours),
        "cache_misses_24h": sum(each.misses for each in hours),
        "error_count_24h": sum(each.errors for each in hours),
    }


async def refresh_ended(store: Store, counters: Counters, run: JobRun, batches: Sequence[Attempt]) -> None:
    """`run` has ended. `batches` are the attempts that succeeded, one for each batch. The times are those of the last:
    the run itself may only be closed by the next tick."""
    await counters.writer.flush()
    ended_ms = max((batch.ended_ms or 0 for batch in batches), default=run.ended_ms or 0)
    ended = datetime.fromtimestamp(ended_ms / 1000, UTC)
    failed = dict(error.split(": ", 1) for batch in batches for error in batch.errors)
    last = LastRefresh(
        created_at=ended,
        run_id=run.run_id,
        status=run.status,
        ended_at=ended,
        failed_tools={tool_id: failed[tool_id][:LONGEST_REASON] for tool_id in sorted(failed)[:MAX_FAILED_LISTED]},
        failed_tools_count=len(failed),
        errors=tuple(error[:LONGEST_REASON] for error in run.errors),
    )
    await store.upsert(SENTIMENT_CACHE.name, last.to_document())
    if run.status != "SUCCEEDED":
        return
    tools = sorted(tool_id for batch in batches for tool_id in batch.tool_ids)
    unscored = sorted({tool_id for batch in batches for tool_id in batch.unscored_tools})
    metadata = CacheMetadata(
        created_at=ended,
        last_refresh_ts=ended_ms // 1000,
        last_refresh_duration_ms=max(0, ended_ms - (run.began_ms or ended_ms)),
        total_entries=await count_entries(store),
        **summed(await counters.hours()),
        tools_refreshed=tuple(tools[:MAX_TOOLS_LISTED]),
        tools_refreshed_count=len(tools),
        last_refresh_run_id=run.run_id,
        mentions_7d={name: sum(batch.counts.get(name, 0) for batch in batches) for name in _COUNTED_IN},
        mostly_unscored_tools=tuple(unscored[:MAX_FAILED_LISTED]),
        mostly_unscored_count=len(unscored),
    )
    await store.upsert(SENTIMENT_CACHE.name, metadata.to_document())


def by_sentiment(weeks: Iterable[Document]) -> dict[str, int]:
    """The mentions of these entries together."""
    entries = list(weeks)
    return {name: sum(week[field] for week in entries) for name, field in _COUNTED_IN.items()}


async def count_entries(store: Store) -> int:
    return await store.count(SENTIMENT_CACHE.name, (ENTRIES,), may_be_stale=True)


async def last_refreshes(store: Store) -> tuple[CacheMetadata | None, LastRefresh | None]:
    """The last successful refresh, and the last one. None before the first, or if the document cannot be read. What
    ended in the last moments may be missing: a refresh follows quarters of an hour later."""
    keys = [(METADATA_PARTITION, CacheMetadata.ID), (METADATA_PARTITION, LastRefresh.ID)]
    metadata, last = await store.read_many(SENTIMENT_CACHE.name, keys, may_be_stale=True)
    return readable(metadata, CacheMetadata.from_document), readable(last, LastRefresh.from_document)
