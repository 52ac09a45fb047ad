"""The record of an attempt, its log lines and its share of the metrics."""

from __future__ import annotations

import json
import logging
from typing import Any

import pytest

from models.feed import Feed
from models.run import Attempt
from services.articles.feed_attempts import FeedTry, attempt_record, log_outcome, totals_of
from services.feeds.outcome import Failure, Ingested
from services.fetch.outcome import FetchResult, FetchStatus
from tests.documents import NOW, attempt, feed

TRY = FeedTry(feed(), {}, "run1", 2, "fetch", NOW)
ID = feed().feed_id


def test_a_fetch_is_recorded_with_its_result() -> None:
    result = FetchResult(FetchStatus.FETCHED, "https://x.example", status_code=200, duration_ms=70)
    skipped = {"over_budget": 2, "awaits_review": 3}
    ingested = Ingested(9, new=3, created=2, held=4, skipped=skipped)
    record = attempt_record(TRY, ingested, result)
    assert (record.run_id, record.task_name, record.subject, record.attempt_no) == ("run1", "fetch", ID, 2)
    assert (record.started_at, record.status, record.status_code, record.duration_ms) == (NOW, "SUCCEEDED", 200, 70)
    assert (record.articles_found, record.articles_new, record.articles_stored) == (9, 3, 2)
    assert (record.collisions_detected, record.articles_held, record.articles_skipped) == (1, 4, 5)


def test_a_failure_is_recorded_with_its_reason() -> None:
    failure = Failure("timeout", "took too long", "fp", status_code=None, duration_ms=10_000, tries=3)
    record = attempt_record(TRY, Ingested(new=1), failure)
    assert (record.status, record.error_type, record.error_message) == ("FAILED", "timeout", "took too long")
    assert (record.error_fingerprint, record.duration_ms, record.articles_found) == ("fp", 10_000, 1)


def test_a_released_batch_is_recorded_without_a_fetch() -> None:
    record = attempt_record(TRY, Ingested(5, new=5, created=5), None)
    assert (record.status, record.duration_ms, record.status_code) == ("SUCCEEDED", 0, None)


def logged(
    caplog: pytest.LogCaptureFixture, record: Attempt, ingested: Ingested | None = None, **after: Any
) -> dict[str, dict[str, Any]]:
    """The events of an attempt's end, by name."""
    caplog.set_level(logging.INFO, "toolpulse.ingest")
    caplog.clear()
    ended = Feed.model_validate({**feed().model_dump(), **after})
    log_outcome(feed(), ended, record, ingested or Ingested(), 3)
    events = [json.loads(each.message) | {"level": each.levelname} for each in caplog.records]
    return {each.pop("event"): each for each in events}


SUCCEEDED = attempt(status="SUCCEEDED", duration_ms=5_000, articles_found=10, articles_new=4, status_code=200)
FAILED = attempt(status="FAILED", duration_ms=20, error_type="timeout", error_message="took too long")


def test_a_fetch_of_more_than_five_seconds_is_slow(caplog: pytest.LogCaptureFixture) -> None:
    slow = logged(caplog, SUCCEEDED.changed(NOW, duration_ms=5_001))["slow_fetch_detected"]
    assert slow == {"feed_id": ID, "duration_ms": 5_001, "threshold_ms": 5_000, "level": "WARNING"}


def test_a_failure_is_logged_with_its_next_try(caplog: pytest.LogCaptureFixture) -> None:
    events = logged(caplog, FAILED, consecutive_errors=2)
    assert events["feed_fetch_failed"] == {
        "feed_id": ID,
        "duration_ms": 20,
        "error_type": "timeout",
        "error": "took too long",
        "attempt": 3,
        "level": "ERROR",
    }
    assert events["feed_error_retry_scheduled"]["error_count"] == 2
    assert events.keys() == {"feed_fetch_failed", "feed_error_retry_scheduled"}


def test_a_batch_is_logged_with_its_size(caplog: pytest.LogCaptureFixture) -> None:
    flooded = Ingested(held=1, quarantine_id="BATCH:x")
    assert logged(caplog, SUCCEEDED, flooded)["entries_quarantined"] == {
        "feed_id": ID,
        "quarantine_id": "BATCH:x",
        "articles": 1,
        "level": "WARNING",
    }


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


def test_quarantined_entries_are_no_duplicates_and_a_released_batch_was_parsed_before() -> None:
    flooded = attempt(status="SUCCEEDED", articles_found=10, articles_stored=1, articles_held=9, duration_ms=11_000)
    skipped = flooded.changed(NOW, articles_held=3, articles_skipped=6)
    assert totals_of([skipped]) == totals_of([flooded])
    assert totals_of([flooded]) == {
        "articles_parsed": 10,
        "articles_inserted": 1,
        "fetches": 1,
        "fetch_milliseconds": 11_000,
    }
    released = attempt(task_name="release_batch", status="SUCCEEDED", articles_found=9, articles_stored=8)
    assert totals_of([released]) == {"articles_inserted": 8, "articles_deduplicated": 1}
    assert totals_of([released.changed(NOW, articles_stored=10)]) == {"articles_inserted": 10}
