"""The text of `GET metrics`, and what it costs."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import Any

from benchmarks.scale.counting import CountingStore
from models.feed import HostState
from models.operations import AnalysisTotals, CacheTotals, IngestionTotals, StoreTotals
from services.mentions.due import ANALYSIS_STAGE
from services.operations.checks import Waiting
from services.operations.metrics import MAX_FEEDS, Metrics
from services.store.containers import CATALOG, FEEDS
from services.store.sqlite import SqliteStore
from services.work.backlog import UNKNOWN, Backlog, BacklogReader
from tests.documents import audit, cache_metadata, feed
from triggers.prometheus import (
    PREFIX,
    of_analysis,
    of_audit,
    of_cache,
    of_feeds,
    of_ingestion,
    of_reviews,
    of_store,
    text_of,
)

NOW = datetime(2026, 2, 21, 20, 17, 31, tzinfo=UTC)


def samples(lines: Any) -> list[str]:
    return [line.removeprefix(PREFIX) for line in lines if not line.startswith("#")]


def test_the_prefix_and_the_number_of_feeds_are_those_of_the_documentation() -> None:
    assert (PREFIX, MAX_FEEDS) == ("toolpulse_", 100)


def test_metrics_are_lines_of_the_prometheus_format_with_one_prefix() -> None:
    totals = IngestionTotals.at(NOW).changed(NOW, fetches=3, fetch_milliseconds=1500, within_500_ms=2, fetch_errors=1)
    lines = list(of_ingestion(totals))
    assert lines[:3] == [
        "# HELP toolpulse_feed_fetch_duration_seconds Time to fetch each feed",
        "# TYPE toolpulse_feed_fetch_duration_seconds histogram",
        'toolpulse_feed_fetch_duration_seconds_bucket{le="0.5"} 2',
    ]
    assert 'toolpulse_feed_fetch_duration_seconds_bucket{le="+Inf"} 3' in lines
    assert "toolpulse_feed_fetch_duration_seconds_sum 1.5" in lines
    assert "toolpulse_feed_fetch_errors_total 1" in lines


def test_what_waits_for_a_review_is_shown_by_kind_with_its_age() -> None:
    waiting = {"BATCH": Waiting(2, NOW - timedelta(hours=1)), "DOCUMENT": Waiting()}
    assert samples(of_reviews(waiting, NOW)) == [  # type: ignore[arg-type]
        'quarantine_pending{kind="BATCH"} 2',
        'quarantine_pending{kind="DOCUMENT"} 0',
        'quarantine_oldest_pending_seconds{kind="BATCH"} 3600',
        'quarantine_oldest_pending_seconds{kind="DOCUMENT"} 0',
    ]


def test_reads_and_the_last_refresh_are_shown() -> None:
    totals = CacheTotals.at(NOW).changed(NOW, cache_hits=2, cache_misses=1, cache_stale=1, error_count=4)
    shown = samples(of_cache(totals, cache_metadata(last_refresh_ts=1730086400)))
    expected = {"cache_hits_total 2", "cache_misses_total 1", "cache_stale_total 1", "cache_errors_total 4"}
    assert expected <= set(shown)
    assert "cache_last_refresh_timestamp_seconds 1730086400" in shown
    assert not any("timestamp" in line or "mentions" in line for line in samples(of_cache(totals, None)))
    metadata = cache_metadata(mentions_7d={"positive": 3, "unscored": 40}, mostly_unscored_count=2)
    assert samples(of_cache(totals, metadata))[-3:] == [
        'mentions{sentiment="positive"} 3',
        'mentions{sentiment="unscored"} 40',
        "mostly_unscored_tools 2",
    ]


def test_the_differences_of_the_last_audit_are_shown_by_kind() -> None:
    assert samples(of_audit(audit())) == ['audit_differences{kind="hour_differs"} 2']
    assert samples(of_audit(None)) == []


def test_feeds_have_their_velocity_and_interval() -> None:
    due = feed(next_fetch_time=NOW, articles_per_hour=2.5, last_fetch_time=NOW - timedelta(minutes=5))
    assert samples(of_feeds(7, [due], 2, {"silent": 3, "ok": 4})) == [
        "queue_size 7",
        'feed_velocity_articles_per_hour{feed_id="reuters-world"} 2.5',
        'average_refresh_interval_seconds{feed_id="reuters-world"} 300.0',
        'feeds{verdict="silent"} 3',
        'feeds{verdict="ok"} 4',
        "failing_hosts 2",
    ]


def test_the_backlog_and_the_delay_of_analyses_are_shown() -> None:
    totals = AnalysisTotals.at(NOW).changed(NOW, articles=3, seconds=70, within_5_s=1, within_60_s=2, within_300_s=3)
    assert samples(of_analysis(totals, Backlog(5, 1, NOW - timedelta(seconds=90)), NOW)) == [
        "pending_articles 5",
        "failed_articles 1",
        "oldest_pending_article_seconds 90",
        'analysis_delay_seconds_bucket{le="1"} 0',
        'analysis_delay_seconds_bucket{le="5"} 1',
        'analysis_delay_seconds_bucket{le="15"} 0',
        'analysis_delay_seconds_bucket{le="60"} 2',
        'analysis_delay_seconds_bucket{le="300"} 3',
        'analysis_delay_seconds_bucket{le="+Inf"} 3',
        "analysis_delay_seconds_sum 70",
        "analysis_delay_seconds_count 3",
    ]
    assert not any("pending" in line or "failed" in line for line in samples(of_analysis(totals, UNKNOWN, NOW)))


def test_the_requests_to_the_store_are_shown() -> None:
    counted: dict[str, int] = {"requests": 9, "request_units": 100, "retries": 2, "throttles": 1}
    assert samples(of_store(StoreTotals.at(NOW).changed(NOW, **counted, waited_milliseconds=1500))) == [
        "store_requests_total 9",
        "store_request_units_total 100",
        "store_retries_total 2",
        "store_throttles_total 1",
        "store_wait_seconds_total 1.5",
    ]


async def shown(store: Any) -> list[str]:
    return samples(
        text_of(await Metrics(store, BacklogReader(store, ANALYSIS_STAGE), lambda: NOW, 8).measure()).splitlines()
    )


async def add_feeds(store: SqliteStore, first: int, last: int) -> None:
    feeds = [
        feed(feed_id=f"feed-{n:05}", articles_per_hour=float(n), next_fetch_time=NOW, last_fetch_time=NOW)
        for n in range(first, last)
    ]
    await store.write_many(FEEDS.name, [each.to_document() for each in feeds])


async def test_the_feeds_with_the_highest_velocity_have_gauges_and_all_due_feeds_are_counted(
    store: SqliteStore,
) -> None:
    await add_feeds(store, 0, 150)
    fast: dict[str, Any] = {"articles_per_hour": 999.0, "next_fetch_time": NOW}
    later = feed(feed_id="later", next_fetch_time=NOW + timedelta(seconds=1), last_fetch_time=NOW)
    off = feed(feed_id="off", enabled=False, disabled_reason="HTTP 410", **fast)
    for each in (off, later):
        await store.upsert(FEEDS.name, each.to_document())
    host = HostState(created_at=NOW, host="news.example", failures=1, reason="refused")
    await store.upsert(CATALOG.name, host.to_document())
    lines = await shown(store)
    velocity = [line for line in lines if line.startswith("feed_velocity")]
    assert velocity[0] == 'feed_velocity_articles_per_hour{feed_id="feed-00149"} 149.0'
    assert len(velocity) == MAX_FEEDS
    assert {"queue_size 150", "failing_hosts 1", "pending_articles 0"} <= set(lines)


async def test_metrics_need_a_count_more_for_a_thousand_feeds_than_for_ten(store: SqliteStore) -> None:
    counting = CountingStore(store)
    operations, units = [], []
    for start, end in ((0, 10), (10, 100), (100, 1000)):
        await add_feeds(store, start, end)
        counting.operations.clear()
        await shown(counting)
        operations.append([(each.kind, each.container) for each in counting.operations])
        units.append(sum(each.units for each in counting.operations))
    assert operations[0] == operations[1]
    assert sorted([*operations[1], ("scan", "feeds")]) == sorted(operations[2])
    assert units[2] - units[1] < 45, "nothing but the feeds that are counted, at a fraction of a unit each"
    assert units[2] < 250
