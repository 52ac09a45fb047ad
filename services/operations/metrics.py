"""`GET metrics`: the stored totals as Prometheus text. The metrics of ingestion have the names of its specification.

Counters are sums over all instances since the first deployment, so that only one instance must be scraped.
`memory_usage_bytes` and `database_connection_pool_size` are those of the instance that serves the request.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Collection, Iterable, Iterator, Mapping
from datetime import datetime
from pathlib import Path

from models.feed import Feed
from models.operations import CacheTotals, IngestionTotals
from services.feeds.registry import FeedRegistry
from services.ports import Clock, Store
from services.store.containers import CATALOG

MEDIA_TYPE = "text/plain; version=0.0.4"
_STATM = Path("/proc/self/statm")

Labels = Mapping[str, str]
Sample = tuple[Labels, float]


class Metrics:
    """`connections` is the limit of this process's connections to its store; `sources_off` are the news APIs that have
    no token and are not fetched."""

    def __init__(
        self,
        store: Store,
        feeds: FeedRegistry,
        clock: Clock,
        connections: int,
        sources_off: Collection[str] = (),
    ) -> None:
        self._store = store
        self._feeds = feeds
        self._clock = clock
        self._connections = connections
        self._sources_off = sources_off

    async def text(self) -> str:
        now, resident = self._clock(), resident_bytes()
        keys = [(kind.PARTITION, kind.ID) for kind in (IngestionTotals, CacheTotals)]
        ingested, cached = await self._store.read_many(CATALOG.name, keys)
        feeds = [feed for feed in await self._feeds.every() if feed.enabled and feed.kind not in self._sources_off]
        lines = [
            *of_ingestion(IngestionTotals.from_document(ingested) if ingested else IngestionTotals.at(now)),
            *of_feeds(feeds, now),
            *of_cache(CacheTotals.from_document(cached) if cached else CacheTotals.at(now)),
            *gauge("database_connection_pool_size", "Connections to the store at most", [({}, self._connections)]),
            *gauge("memory_usage_bytes", "Resident memory of the worker", [] if resident is None else [({}, resident)]),
        ]
        return "\n".join(lines) + "\n"


def of_ingestion(totals: IngestionTotals) -> Iterator[str]:
    yield from histogram(
        "feed_fetch_duration_seconds",
        "Time to fetch each feed",
        {bound / 1000: getattr(totals, f"within_{bound}_ms") for bound in totals.BOUNDS_MS},
        totals.fetches,
        totals.fetch_milliseconds / 1000,
    )
    yield from counter("articles_parsed_total", "Articles parsed", totals.articles_parsed)
    yield from counter("articles_deduplicated_total", "Duplicate articles detected", totals.articles_deduplicated)
    yield from counter("articles_inserted_total", "Articles stored", totals.articles_inserted)
    yield from counter("feed_fetch_errors_total", "Fetches that failed", totals.fetch_errors)


def of_feeds(feeds: Iterable[Feed], now: datetime) -> Iterator[str]:
    """`feeds` are those that are fetched when due."""
    listed = sorted(feeds, key=lambda feed: feed.feed_id)
    due = sum(feed.next_fetch_time <= now for feed in listed)
    yield from gauge("queue_size", "Feeds pending fetch", [({}, due)])
    velocity = [({"feed_id": feed.feed_id}, feed.articles_per_hour) for feed in listed]
    yield from gauge("feed_velocity_articles_per_hour", "Current velocity", velocity)
    intervals = [
        ({"feed_id": feed.feed_id}, max(0.0, (feed.next_fetch_time - feed.last_fetch_time).total_seconds()))
        for feed in listed
        if feed.last_fetch_time is not None
    ]
    yield from gauge("average_refresh_interval_seconds", "Current interval", intervals)


def of_cache(totals: CacheTotals) -> Iterator[str]:
    yield from counter("cache_hits_total", "Reads of the cache that were served from it", totals.cache_hits)
    yield from counter("cache_misses_total", "Reads of the cache that had to be computed", totals.cache_misses)
    yield from counter("cache_stale_total", "Hits that were stale", totals.cache_stale)
    yield from counter("cache_errors_total", "Tools that could not be refreshed", totals.error_count)
    yield from histogram(
        "cache_read_duration_seconds",
        "Time to read one aggregate",
        {bound / 1000: getattr(totals, f"within_{bound}_ms") for bound in totals.BOUNDS_MS},
        totals.cache_hits + totals.cache_misses,
        totals.read_microseconds / 1_000_000,
    )


def counter(name: str, about: str, value: float) -> Iterator[str]:
    yield from (f"# HELP {name} {about}", f"# TYPE {name} counter", f"{name} {value}")


def gauge(name: str, about: str, samples: Iterable[Sample]) -> Iterator[str]:
    yield from (f"# HELP {name} {about}", f"# TYPE {name} gauge")
    for labels, value in samples:
        yield f"{name}{labelled(labels)} {value}"


def histogram(name: str, about: str, buckets: Mapping[float, int], count: int, seconds: float) -> Iterator[str]:
    yield from (f"# HELP {name} {about}", f"# TYPE {name} histogram")
    for bound, number in buckets.items():
        yield f'{name}_bucket{{le="{bound:g}"}} {number}'
    yield from (f'{name}_bucket{{le="+Inf"}} {count}', f"{name}_sum {seconds}", f"{name}_count {count}")


def labelled(labels: Labels) -> str:
    """The labels of a sample. Their values are ids, which need no escaping."""
    return "{" + ",".join(f'{name}="{value}"' for name, value in labels.items()) + "}" if labels else ""


def resident_bytes(statm: Path = _STATM) -> int | None:
    """The resident memory of this process; on a system without /proc, its maximum so far; None on Windows."""
    if statm.exists():
        return int(statm.read_text().split()[1]) * os.sysconf("SC_PAGE_SIZE")
    try:
        import resource
    except ImportError:
        return None
    most = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    return most if sys.platform == "darwin" else most * 1024
