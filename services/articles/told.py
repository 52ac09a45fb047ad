"""What the log says of a feed that has been worked on and saved. Decides and stores nothing."""

from __future__ import annotations

import logging

from models.feed import Feed
from models.run import Attempt
from models.values import format_time
from services.articles.processing import Processed
from services.logs import log_event

log = logging.getLogger("toolpulse.ingest")

SLOW_MS = 5_000


def tell(before: Feed, feed: Feed, attempt: Attempt, processed: Processed, tries: int) -> None:
    """One line for each outcome, and one more for whatever a person should know."""
    fields = {"feed_id": feed.feed_id, "duration_ms": attempt.duration_ms}
    if attempt.status == "SUCCEEDED":
        found, new = attempt.articles_found, attempt.articles_new
        log_event(
            log,
            logging.INFO,
            "feed_fetched",
            articles_found=found,
            articles_new=new,
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
    if processed.quarantine_id is not None:
        held = len(processed.taken.held)
        log_event(
            log,
            logging.WARNING,
            "flood_held",
            feed_id=feed.feed_id,
            quarantine_id=processed.quarantine_id,
            articles=held,
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
