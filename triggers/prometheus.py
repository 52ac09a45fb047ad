"""`GET metrics` as Prometheus text. Every name begins with PREFIX; the metrics of ingestion have the names of their
specification behind it."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from datetime import datetime
from typing import Any

from models.cache import CacheMetadata
from models.feed import Feed, FeedVerdict
from models.operations import AnalysisTotals, Audit, CacheTotals, IngestionTotals, StoreTotals
from models.quarantine import QuarantineKind
from services.operations.checks import Waiting
from services.operations.metrics import Measured
from services.work.backlog import Backlog

MEDIA_TYPE = "text/plain; version=0.0.4"
PREFIX = "toolpulse_"


def text_of(found: Measured) -> str:
    lines = [
        *of_ingestion(found.ingestion),
        *of_feeds(found.due, found.fastest, found.failing_hosts, found.by_verdict),
        *of_analysis(found.analysis, found.backlog, found.at),
        *of_cache(found.cache, found.metadata),
        *of_store(found.store),
        *of_reviews(found.reviews, found.at),
        *of_audit(found.audit),
        *gauge("database_connection_pool_size", "Connections to the store at most", found.connections),
        *gauge("memory_usage_bytes", "Resident memory of the worker", found.memory_bytes),
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


def of_feeds(due: int, fastest: Iterable[Feed], hosts: int, by_verdict: Mapping[FeedVerdict, int]) -> Iterator[str]:
    yield from gauge("queue_size", "Feeds pending fetch", due)
    velocity = {feed.feed_id: feed.articles_per_hour for feed in fastest}
    yield from gauges("feed_velocity_articles_per_hour", "Current velocity", "feed_id", velocity)
    intervals = {
        feed.feed_id: max(0.0, (feed.next_fetch_time - feed.last_fetch_time).total_seconds())
        for feed in fastest
        if feed.last_fetch_time is not None
    }
    yield from gauges("average_refresh_interval_seconds", "Current interval", "feed_id", intervals)
    yield from gauges("feeds", "Feeds by verdict, which docs/operations.md explains", "verdict", by_verdict)
    yield from gauge("failing_hosts", "Hosts that failed and have not succeeded since", hosts)


def of_analysis(totals: AnalysisTotals, backlog: Backlog, now: datetime) -> Iterator[str]:
    """A backlog that could not be counted has no samples."""
    oldest = None if backlog.pending is None else backlog.oldest_seconds(now)
    yield from gauge("pending_articles", "Articles whose analysis is due", backlog.pending)
    yield from gauge("failed_articles", "Articles whose analysis was given up", backlog.failed)
    yield from gauge("oldest_pending_article_seconds", "For how long the oldest analysis has been due", oldest)
    yield from histogram(
        "analysis_delay_seconds",
        "Time from the sight of a new or edited article to its analysis",
        {bound: getattr(totals, f"within_{bound}_s") for bound in totals.BOUNDS_SECONDS},
        totals.articles,
        totals.seconds,
    )


def of_reviews(waiting: Mapping[QuarantineKind, Waiting], now: datetime) -> Iterator[str]:
    pending = {kind: each.pending for kind, each in waiting.items()}
    yield from gauges("quarantine_pending", "Items in quarantine that wait for a review", "kind", pending)
    oldest = {kind: each.oldest_seconds(now) for kind, each in waiting.items()}
    about = "For how long the first of them has waited"
    yield from gauges("quarantine_oldest_pending_seconds", about, "kind", oldest)


def of_audit(audit: Audit | None) -> Iterator[str]:
    found = {} if audit is None or audit.last is None else dict(sorted(audit.last.found.items()))
    yield from gauges("audit_differences", "Differences that the last audit found, by kind", "kind", found)


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

    refreshed = metadata.last_refresh_ts if metadata else None
    yield from gauge("cache_last_refresh_timestamp_seconds", "End of the last successful refresh", refreshed)
    about = "Mentions of the last 7 days at the last successful refresh"
    yield from gauges("mentions", about, "sentiment", metadata.mentions_7d if metadata else {})
    about = "Tools of which most of these mentions are unscored"
    yield from gauge("mostly_unscored_tools", about, metadata.mostly_unscored_count if metadata else None)


def counter(name: str, about: str, value: float) -> Iterator[str]:
    yield from head(name, about, "counter")
    yield f"{PREFIX}{name} {value}"


def gauge(name: str, about: str, value: float | None) -> Iterator[str]:
    """Without a sample if the value is not known."""
    yield from head(name, about, "gauge")
    if value is not None:
        yield f"{PREFIX}{name} {value}"


def gauges(name: str, about: str, label: str, values: Mapping[Any, float]) -> Iterator[str]:
    """One sample for each value of the label: ids and hosts, which need no escaping."""
    yield from head(name, about, "gauge")
    for each, value in values.items():
        yield f'{PREFIX}{name}{{{label}="{each}"}} {value}'


def histogram(name: str, about: str, buckets: Mapping[float, int], count: int, seconds: float) -> Iterator[str]:
    yield from head(name, about, "histogram")
    for bound, number in buckets.items():
        yield f'{PREFIX}{name}_bucket{{le="{bound:g}"}} {number}'
    yield f'{PREFIX}{name}_bucket{{le="+Inf"}} {count}'
    yield from (f"{PREFIX}{name}_sum {seconds}", f"{PREFIX}{name}_count {count}")


def head(name: str, about: str, kind: str) -> tuple[str, str]:
    return f"# HELP {PREFIX}{name} {about}", f"# TYPE {PREFIX}{name} {kind}"
