"""The record of an attempt at a feed. Pure."""

from __future__ import annotations

from typing import Any

from models.run import Attempt
from services.articles.counting import AddedArticles
from services.articles.entries import Ingested
from services.feeds.leases import Lease
from services.feeds.outcome import Failure
from services.fetch.outcome import FetchResult


def attempt_record(
    lease: Lease,
    task_name: str,
    ingested: Ingested,
    added: AddedArticles,
    *,
    result: FetchResult | None = None,
    failure: Failure | None = None,
) -> Attempt:
    """`result` is of a successful fetch; a batch released from quarantine has neither `result` nor `failure`."""
    outcome: dict[str, Any] = {"status": "SUCCEEDED", "duration_ms": 0}
    if failure is not None:
        outcome = {
            "status": "FAILED",
            "duration_ms": failure.duration_ms,
            "status_code": failure.status_code,
            "error_type": failure.kind,
            "error_message": failure.error,
            "error_fingerprint": failure.fingerprint,
        }
    elif result is not None:
        outcome |= {"duration_ms": result.duration_ms, "status_code": result.status_code}
    return Attempt(
        created_at=lease.started_at,
        updated_at=lease.started_at,
        run_id=lease.run_id,
        task_name=task_name,
        subject=lease.feed.feed_id,
        attempt_no=lease.attempt_no,
        started_at=lease.started_at,
        articles_found=max(ingested.found, added.new),
        articles_new=added.new,
        articles_stored=added.created,
        articles_held=len(ingested.matched.held),
        collisions_detected=added.joined,
        **outcome,
    )
