"""The text of `GET metrics`."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

from models.operations import CacheTotals, IngestionTotals
from services.operations.metrics import of_cache, of_feeds, of_ingestion
from tests.documents import feed

NOW = datetime(2026, 2, 21, 20, 17, 31, tzinfo=UTC)


def test_metrics_are_lines_of_the_prometheus_format() -> None:
    totals = IngestionTotals.at(NOW).changed(NOW, fetches=3, fetch_milliseconds=1500, within_500_ms=2, fetch_errors=1)
    lines = list(of_ingestion(totals))
    assert lines[:3] == [
        "# HELP feed_fetch_duration_seconds Time to fetch each feed",
        "# TYPE feed_fetch_duration_seconds histogram",
        'feed_fetch_duration_seconds_bucket{le="0.5"} 2',
    ]
    assert 'feed_fetch_duration_seconds_bucket{le="+Inf"} 3' in lines
    assert "feed_fetch_duration_seconds_sum 1.5" in lines
    assert "feed_fetch_errors_total 1" in lines
    reads = list(of_cache(CacheTotals.at(NOW).changed(NOW, cache_hits=2, cache_misses=1, cache_stale=1)))
    assert {"cache_hits_total 2", "cache_misses_total 1", "cache_stale_total 1"} <= set(reads)
    due = feed(next_fetch_time=NOW, articles_per_hour=2.5, last_fetch_time=NOW - timedelta(minutes=5))
    assert [line for line in of_feeds([due], NOW) if not line.startswith("#")] == [
        "queue_size 1",
        'feed_velocity_articles_per_hour{feed_id="reuters-world"} 2.5',
        'average_refresh_interval_seconds{feed_id="reuters-world"} 300.0',
    ]
