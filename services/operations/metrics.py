"""`GET metrics`: the stored totals as Prometheus text. Every name begins with PREFIX; the metrics of ingestion have the
names of their specification behind it.

Counters are sums over all instances since the first deployment, so that only one instance must be scraped.
`memory_usage_bytes` and `database_connection_pool_size` are those of the instance that serves the request. A request
needs as many reads for many feeds as for few: feeds are counted, and only the MAX_FEEDS fastest have gauges.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Collection, Iterable, Iterator, Mapping
from datetime import datetime
from pathlib import Path

from models.cache import CacheMetadata
from models.feed import Feed, FeedVerdict, HostState
from models.operations import AnalysisTotals, Audit, CacheTotals, IngestionTotals, StoreTotals
from models.quarantine import QuarantineKind
from models.values import format_time
from services.figures.metadata import last_refreshes
from services.operations.checks import Waiting, waiting_reviews
from services.operations.feed_health import count_feeds
from services.ports import Clock, Query, Store, Where, listed, readable
from services.store.containers import CATALOG, FEEDS
from services.work.backlog import Backlog, BacklogReader

MEDIA_TYPE = "text/plain; version=0.0.4"
PREFIX = "toolpulse_"
MAX_FEEDS = 100
_STATM = Path("/proc/self/statm")
_ENABLED = Where("enabled", "eq", True)
_HOSTS = Where("entity_type", "eq", "HostState")

Labels = Mapping[str, str]
Sample = tuple[Labels, float]


class Metrics:
    """Writes the metrics for Prometheus.

    `connections` is the limit of this process's connections to its store; `sources_off` are the news APIs that have no
    token and are not fetched.
    """

    def __init__(
        self,
        store: Store,
        backlog: BacklogReader,
        clock: Clock,
        connections: int,
        sources_off: Collection[str] = (),
    ) -> None:
        self._store = store
        self._backlog = backlog
        self._clock = clock
        self._connections = connections
        self._sources_off = sorted(sources_off)

    async def text(self) -> str:
        now, resident = self._clock(), resident_bytes()
        kinds = (IngestionTotals, AnalysisTotals, CacheTotals, StoreTotals, Audit)
        found = await self._store.read_many(CATALOG.name, [(kind.PARTITION, kind.ID) for kind in kinds])
        ingested, analyzed, cached, stored, audited = found
        metadata, _ = await last_refreshes(self._store)
        hosts = await self._store.count(CATALOG.name, (_HOSTS,), HostState.PARTITION, may_be_stale=True)
        lines = [
            *of_ingestion(IngestionTotals.from_document(ingested) if ingested else IngestionTotals.at(now)),
            *of_feeds(await self._due(now), await self._fastest(), hosts, await self._by_verdict()),
            *of_analysis(
                AnalysisTotals.from_document(analyzed) if analyzed else AnalysisTotals.at(now),
                await self._backlog.counted(),
                now,
            ),
            *of_cache(CacheTotals.from_document(cached) if cached else CacheTotals.at(now), metadata),
            *of_store(StoreTotals.from_document(stored) if stored else StoreTotals.at(now)),
            *of_reviews(await waiting_reviews(self._store), now),
            *of_audit(readable(audited, Audit.from_document)),
            *gauge("database_connection_pool_size", "Connections to the store at most", [({}, self._connections)]),
            *gauge("memory_usage_bytes", "Resident memory of the worker", [] if resident is None else [({}, resident)]),
        ]
        return "\n".join(lines) + "\n"

    async def _due(self, now: datetime) -> int:
        is_due = Where("next_fetch_time", "le", format_time(now))
        due = await self._store.count(FEEDS.name, (_ENABLED, is_due), may_be_stale=True)
        off = await self._store.read_many(FEEDS.name, [(name, Feed.ID) for name in self._sources_off])
        not_fetched = [each for each in off if each is not None and each.get("kind") in self._sources_off]
        return due - len(
            [each for each in not_fetched if each["enabled"] and each["next_fetch_time"] <= format_time(now)]
        )

    async def _by_verdict(self) -> Mapping[FeedVerdict, int]:
        return (await count_feeds(self._store, self._sources_off, None)).by_verdict

    async def _fastest(self) -> list[Feed]:
        query = Query((_ENABLED,), order="by_velocity", limit=MAX_FEEDS, may_be_stale=True)
        page = await self._store.query(FEEDS.name, query)
        return [
            feed for feed in listed(page, Feed.from_document, "feed_id").items if feed.kind not in self._sources_off
        ]


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


def of_feeds(due: int, fastest: Iterable[Feed], hosts: int, by_verdict: Mapping[FeedVerdict, int]) -> Iterator[str]:
    yield from gauge("queue_size", "Feeds pending fetch", [({}, due)])
    velocity = [({"feed_id": feed.feed_id}, feed.articles_per_hour) for feed in fastest]
    yield from gauge("feed_velocity_articles_per_hour", "Current velocity", velocity)
    intervals = [
        ({"feed_id": feed.feed_id}, max(0.0, (feed.next_fetch_time - feed.last_fetch_time).total_seconds()))
        for feed in fastest
        if feed.last_fetch_time is not None
    ]
    yield from gauge("average_refresh_interval_seconds", "Current interval", intervals)
    verdicts: list[Sample] = [({"verdict": name}, number) for name, number in by_verdict.items()]
    yield from gauge("feeds", "Feeds by verdict, which docs/operations.md explains", verdicts)
    yield from gauge("failing_hosts", "Hosts that failed and have not succeeded since", [({}, hosts)])


def of_analysis(totals: AnalysisTotals, backlog: Backlog, now: datetime) -> Iterator[str]:
    """A backlog that could not be counted has no samples."""
    for name, about, value in (
        ("pending_articles", "Articles whose analysis is due", backlog.pending),
        ("failed_articles", "Articles whose analysis was given up", backlog.failed),
        (
            "oldest_pending_article_seconds",
            "For how long the oldest analysis has been due",
            None if backlog.pending is None else backlog.oldest_seconds(now),
        ),
    ):
        yield from gauge(name, about, [] if value is None else [({}, value)])
    yield from histogram(
        "analysis_delay_seconds",
        "Time from the sight of a new or edited article to its analysis",
        {bound: getattr(totals, f"within_{bound}_s") for bound in totals.BOUNDS_SECONDS},
        totals.articles,
        totals.seconds,
    )


def of_reviews(waiting: Mapping[QuarantineKind, Waiting], now: datetime) -> Iterator[str]:
    pending: list[Sample] = [({"kind": kind}, each.pending) for kind, each in waiting.items()]
    yield from gauge("quarantine_pending", "Items in quarantine that wait for a review", pending)
    oldest: list[Sample] = [({"kind": kind}, each.oldest_seconds(now)) for kind, each in waiting.items()]
    yield from gauge("quarantine_oldest_pending_seconds", "For how long the first of them has waited", oldest)


def of_audit(audit: Audit | None) -> Iterator[str]:
    found = {} if audit is None or audit.last is None else audit.last.found
    samples: list[Sample] = [({"kind": kind}, number) for kind, number in sorted(found.items())]
    yield from gauge("audit_differences", "Differences that the last audit found, by kind", samples)


def of_store(totals: StoreTotals) -> Iterator[str]:
    yield from counter("store_requests_total", "Requests to Cosmos DB", totals.requests)
    yield from counter("store_request_units_total", "Request units used", totals.request_units)
    yield from counter("store_retries_total", "Requests tried again", totals.retries)
    yield from counter("store_throttles_total", "Requests refused for lack of throughput", totals.throttles)
    yield from counter("store_wait_seconds_total", "Time waited for throughput", totals.waited_milliseconds / 1000)


def of_cache(totals: CacheTotals, metadata: CacheMetadata | None) -> Iterator[str]:
    yield from counter("cache_hits_total", "Reads of the cache that were served from it", totals.cache_hits)
    yield from counter("cache_misses_total", "Reads of the cache that had to be computed", totals.cache_misses)
    yield from counter("cache_stale_total", "Hits that were stale", totals.cache_stale)
    about = "Reads that failed, and tools that could not be refreshed"
    yield from counter("cache_errors_total", about, totals.error_count)
    yield from histogram(
        "cache_read_duration_seconds",
        "Time to read one aggregate",
        {bound / 1000: getattr(totals, f"within_{bound}_ms") for bound in totals.BOUNDS_MS},
        totals.cache_hits + totals.cache_misses,
        totals.read_microseconds / 1_000_000,
    )

    refreshed: list[Sample] = [] if metadata is None else [({}, metadata.last_refresh_ts)]
    yield from gauge("cache_last_refresh_timestamp_seconds", "End of the last successful refresh", refreshed)
    mentions = {} if metadata is None else metadata.mentions_7d
    by_sentiment: list[Sample] = [({"sentiment": name}, number) for name, number in mentions.items()]
    yield from gauge("mentions", "Mentions of the last 7 days at the last successful refresh", by_sentiment)
    unscored: list[Sample] = [] if metadata is None else [({}, metadata.mostly_unscored_count)]
    yield from gauge("mostly_unscored_tools", "Tools of which most of these mentions are unscored", unscored)


def counter(name: str, about: str, value: float) -> Iterator[str]:
    yield from head(name, about, "counter")
    yield f"{PREFIX}{name} {value}"


def gauge(name: str, about: str, samples: Iterable[Sample]) -> Iterator[str]:
    yield from head(name, about, "gauge")
    for labels, value in samples:
        yield f"{PREFIX}{name}{labelled(labels)} {value}"


def histogram(name: str, about: str, buckets: Mapping[float, int], count: int, seconds: float) -> Iterator[str]:
    yield from head(name, about, "histogram")
    for bound, number in buckets.items():
        yield f'{PREFIX}{name}_bucket{{le="{bound:g}"}} {number}'
    yield f'{PREFIX}{name}_bucket{{le="+Inf"}} {count}'
    yield from (f"{PREFIX}{name}_sum {seconds}", f"{PREFIX}{name}_count {count}")


def head(name: str, about: str, kind: str) -> tuple[str, str]:
    return f"# HELP {PREFIX}{name} {about}", f"# TYPE {PREFIX}{name} {kind}"


def labelled(labels: Labels) -> str:
    """The labels of a sample. Their values are ids and hosts, which need no escaping."""
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
