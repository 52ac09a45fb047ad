"""The messages of refreshes, and what metrics are made of."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

import pytest

from models.errors import InvalidInput
from models.metrics import CacheTotals, IngestionTotals
from services.articles.attempts import totals_of
from services.figures.messages import RefreshMessage, refresh_messages
from services.operations.metrics import of_cache, of_feeds, of_ingestion
from tests.documents import attempt, feed

NOW = datetime(2026, 2, 21, 20, 17, 31, tzinfo=UTC)


def test_messages_are_read_as_they_are_written_and_nothing_else_is() -> None:
    for message in (RefreshMessage(("a", "b")), RefreshMessage(("a",), "run", "0001"), RefreshMessage(())):
        assert RefreshMessage.from_message(message.to_message()) == message
    assert [len(RefreshMessage.from_message(each).tool_ids) for each in refresh_messages(["x"] * 120)] == [50, 50, 20]
    for text in ("", "[]", "{}", '{"tool_ids": "a"}', '{"tool_ids": [1]}', '{"tool_ids": [], "run_id": "r"}'):
        with pytest.raises(InvalidInput):
            RefreshMessage.from_message(text)


def test_attempts_are_added_up_for_metrics() -> None:
    went_well = attempt(status="SUCCEEDED", duration_ms=700, articles_found=10, articles_new=4, articles_stored=3)
    failed = attempt(status="FAILED", error_type="timeout", duration_ms=10_500)
    assert totals_of([went_well, failed]) == {
        "articles_parsed": 10,
        "articles_inserted": 3,
        "articles_deduplicated": 7,
        "fetch_errors": 1,
        "fetches": 2,
        "fetch_milliseconds": 11_200,
        "within_1000_ms": 1,
        "within_5000_ms": 1,
        "within_10000_ms": 1,
    }
    assert totals_of([]) == {}


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
