"""The outcome of an attempt at a feed: its record, its log lines, its share of the metrics."""

from __future__ import annotations

import logging
from collections import Counter
from collections.abc import Iterable
from datetime import datetime
from typing import Any

from models.feed import Feed
from models.operations import IngestionTotals, within
from models.run import FETCH_FEED, Attempt
from models.values import format_time
from services import telemetry
from services.articles.entries import Ingested
from services.feeds.outcome import Failure
from services.feeds.saving import FeedTry
from services.fetch.outcome import FetchResult
from services.logs import log_event
from services.ports import Store
from services.store.containers import CATALOG

log = logging.getLogger("toolpulse.ingest")

SLOW_MS = 5_000
_PAGE = 500


def attempt_record(one: FeedTry, ingested: Ingested, end: FetchResult | Failure | None) -> Attempt:
    """`end` is how the fetch ended; a batch released from quarantine was not fetched."""
    outcome: dict[str, Any] = {"status": "SUCCEEDED", "duration_ms": 0}
    new, created = ingested.written.new, ingested.written.created
    if end is not None:
        outcome |= {"duration_ms": end.duration_ms, "status_code": end.status_code}
    if isinstance(end, Failure):
        outcome |= {
            "status": "FAILED",
            "error_type": end.kind,
            "error_message": end.error,
            "error_fingerprint": end.fingerprint,
        }
    return Attempt(
        created_at=one.started_at,
        updated_at=one.started_at,
        run_id=one.run_id,
        task_name=one.task_name,
        subject=one.feed.feed_id,
        attempt_no=one.attempt_no,
        started_at=one.started_at,
        articles_found=max(ingested.entries, new),
        articles_new=new,
        articles_stored=created,
        articles_held=ingested.held,
        articles_skipped=sum(ingested.skipped.values()),
        collisions_detected=new - created,
        **outcome,
    )


def log_outcome(before: Feed, feed: Feed, attempt: Attempt, ingested: Ingested, tries: int) -> None:
    """Logs how the attempt ended, and an event for each warning that follows from it."""

    def event(level: int, name: str, **fields: Any) -> None:
        log_event(log, level, name, feed_id=feed.feed_id, **fields)

    took = attempt.duration_ms or 0
    if attempt.task_name == FETCH_FEED:
        telemetry.record(telemetry.FETCHES, outcome=attempt.error_type or "succeeded")
        telemetry.record(telemetry.FETCH_DURATION, took / 1000)
    telemetry.record(telemetry.ARTICLES, attempt.articles_new or 0)
    if attempt.status == "SUCCEEDED":
        found, new = attempt.articles_found, attempt.articles_new
        status = attempt.status_code
        event(
            logging.INFO, "feed_fetched", duration_ms=took, articles_found=found, articles_new=new, status_code=status
        )
    else:
        kind, error = attempt.error_type, attempt.error_message
        event(logging.ERROR, "feed_fetch_failed", duration_ms=took, error_type=kind, error=error, attempt=tries)
    if took > SLOW_MS:
        event(logging.WARNING, "slow_fetch_detected", duration_ms=took, threshold_ms=SLOW_MS)
    if ingested.quarantine_id is not None:
        event(logging.WARNING, "entries_quarantined", quarantine_id=ingested.quarantine_id, articles=ingested.held)
    if ingested.skipped:
        event(logging.WARNING, "entries_skipped", **ingested.skipped)
    if before.verdict != feed.verdict:
        event(logging.INFO, "feed_verdict_changed", verdict=feed.verdict, before=before.verdict)
    if not before.enabled and feed.enabled:
        event(logging.WARNING, "feed_enabled_again", reason=before.disabled_reason)
    if before.enabled and not feed.enabled:
        event(logging.ERROR, "feed_disabled", reason=feed.disabled_reason)
    elif attempt.status == "FAILED":
        retry = format_time(feed.next_fetch_time)
        event(logging.WARNING, "feed_error_retry_scheduled", error_count=feed.consecutive_errors, next_retry=retry)


def totals_of(attempts: Iterable[Attempt]) -> dict[str, int]:
    """By how much the attempts raise the counters of IngestionTotals."""
    counted: Counter[str] = Counter()
    for attempt in attempts:
        found, stored = attempt.articles_found or 0, attempt.articles_stored or 0
        left = (attempt.articles_held or 0) + (attempt.articles_skipped or 0)
        counted["articles_inserted"] += stored
        counted["articles_deduplicated"] += max(0, found - stored - left)
        counted["fetch_errors"] += attempt.status == "FAILED"
        if attempt.task_name == FETCH_FEED:  # a released batch was parsed when it was fetched
            took = attempt.duration_ms or 0
            counted["articles_parsed"] += found
            counted["fetches"] += 1
            counted["fetch_milliseconds"] += took
            counted.update(within(took, IngestionTotals.BOUNDS_MS))
    return {name: number for name, number in counted.items() if number}


async def add_totals(store: Store, attempts: Iterable[Attempt], now: datetime) -> None:
    """Raises the counters that `GET metrics` serves; services/operations/metrics.py reads them."""
    if amounts := totals_of(attempts):
        await store.increment(CATALOG.name, IngestionTotals.at(now).to_document(), amounts)
