"""What the log and the metrics say of feeds that were worked on and saved."""

from __future__ import annotations

import logging
from collections import Counter
from collections.abc import Iterable
from datetime import datetime

from models.feed import Feed
from models.metrics import IngestionTotals, within
from models.run import FETCH_FEED, Attempt
from models.values import format_time
from services.articles.entries import Ingested
from services.logs import log_event
from services.ports import Store
from services.store.containers import CATALOG

log = logging.getLogger("toolpulse.ingest")

SLOW_MS = 5_000


def log_outcome(before: Feed, feed: Feed, attempt: Attempt, ingested: Ingested, tries: int) -> None:
    """One line for the outcome, and one for each thing that people should know."""
    fields = {"feed_id": feed.feed_id, "duration_ms": attempt.duration_ms}
    if attempt.status == "SUCCEEDED":
        log_event(
            log,
            logging.INFO,
            "feed_fetched",
            articles_found=attempt.articles_found,
            articles_new=attempt.articles_new,
            status_code=attempt.status_code,
            **fields,
        )
    else:
        log_event(
            log,
            logging.ERROR,
            "feed_fetch_failed",
            error_type=attempt.error_type,
            error=attempt.error_message,
            attempt=tries,
            **fields,
        )
    if (attempt.duration_ms or 0) > SLOW_MS:
        log_event(log, logging.WARNING, "slow_fetch_detected", threshold_ms=SLOW_MS, **fields)
    if ingested.quarantine_id is not None:
        log_event(
            log,
            logging.WARNING,
            "flood_held",
            feed_id=feed.feed_id,
            quarantine_id=ingested.quarantine_id,
            articles=len(ingested.matched.held),
        )
    if before.enabled and not feed.enabled:
        log_event(log, logging.ERROR, "feed_disabled", feed_id=feed.feed_id, reason=feed.disabled_reason)
    elif attempt.status == "FAILED":
        log_event(
            log,
            logging.WARNING,
            "feed_error_retry_scheduled",
            feed_id=feed.feed_id,
            error_count=feed.consecutive_errors,
            next_retry=format_time(feed.next_fetch_time),
        )


def totals_of(attempts: Iterable[Attempt]) -> dict[str, int]:
    """By how much the attempts raise the counters of IngestionTotals."""
    counted: Counter[str] = Counter()
    for attempt in attempts:
        found, stored, held = attempt.articles_found or 0, attempt.articles_stored or 0, attempt.articles_held or 0
        counted["articles_inserted"] += stored
        counted["articles_deduplicated"] += max(0, found - stored - held)
        counted["fetch_errors"] += attempt.status == "FAILED"
        if attempt.task_name == FETCH_FEED:  # a released batch was parsed when it was fetched
            counted["articles_parsed"] += found
            took = attempt.duration_ms or 0
            counted["fetches"] += 1
            counted["fetch_milliseconds"] += took
            counted.update(within(took, IngestionTotals.BOUNDS_MS))
    return {name: number for name, number in counted.items() if number}


async def add_totals(store: Store, attempts: Iterable[Attempt], now: datetime) -> None:
    """Raises the counters that `GET metrics` serves; services/operations/metrics.py reads them."""
    amounts = totals_of(attempts)
    if amounts:
        await store.increment(CATALOG.name, IngestionTotals.at(now).to_document(), amounts)
