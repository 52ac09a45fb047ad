"""The records of a run: one attempt for each feed that was tried, and the sum that they make. Pure.

A run is summed up from its attempts, the last of each feed counting, so that a message that was delivered again sums up
to the same as one that went well at once.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from datetime import datetime
from typing import Any

from models.run import Attempt, CollisionMetrics, IngestionBatch
from models.states import RunStatus
from services.articles.intake import Taken
from services.feeds.outcome import Failure

FETCH = "fetch_feed"
LET_IN = "let_in_held_batch"
NOT_SAVED = "not_saved"
MOST_ERRORS_SHOWN = 50


def succeeded(
    run_id: str,
    feed_id: str,
    task: str,
    delivery: int,
    started_at: datetime,
    *,
    found: int,
    taken: Taken,
    duration_ms: int,
    status_code: int | None,
) -> Attempt:
    says = {"duration_ms": duration_ms, "status_code": status_code, **_counts(found, taken)}
    return _attempt(run_id, feed_id, task, delivery, started_at, status="SUCCEEDED", **says)


def failed(
    run_id: str, feed_id: str, delivery: int, started_at: datetime, failure: Failure, found: int, taken: Taken
) -> Attempt:
    says = {
        "duration_ms": failure.duration_ms,
        "status_code": failure.status_code,
        "error_type": failure.kind,
        "error_message": failure.error,
        "error_fingerprint": failure.fingerprint,
        **_counts(found, taken),
    }
    return _attempt(run_id, feed_id, FETCH, delivery, started_at, status="FAILED", **says)


def lost(
    run_id: str,
    feed_id: str,
    delivery: int,
    started_at: datetime,
    *,
    task: str = FETCH,
    changed_source_ids: tuple[str, ...] = (),
) -> Attempt:
    """The attempt of a worker that died, or gave up, before it had saved the feed. What it stored is counted by the
    next; what it changed may still have to be announced."""
    says = {
        "error_type": NOT_SAVED,
        "error_message": "it ended, or its worker died, before the feed was saved",
        "error_fingerprint": NOT_SAVED,
        "changed_source_ids": changed_source_ids,
    }
    return _attempt(run_id, feed_id, task, delivery, started_at, status="FAILED", **says)


def taken_back(attempt: Attempt) -> Attempt:
    """An attempt that was stored as one that was lost."""
    return lost(
        attempt.run_id,
        attempt.subject,
        attempt.attempt_no,
        attempt.started_at,
        task=attempt.task_name,
        changed_source_ids=attempt.changed_source_ids,
    )


def _attempt(run_id: str, feed_id: str, task: str, delivery: int, started_at: datetime, **says: Any) -> Attempt:
    return Attempt(
        created_at=started_at,
        updated_at=started_at,
        run_id=run_id,
        task_name=task,
        subject=feed_id,
        attempt_no=delivery,
        started_at=started_at,
        **says,
    )


def _counts(found: int, taken: Taken) -> dict[str, Any]:
    return {
        "articles_found": found,
        "articles_new": len(taken.first),
        "articles_stored": len(taken.stored),
        "articles_held": len(taken.held),
        "collisions_detected": len(taken.joined),
        "changed_source_ids": tuple(sorted(taken.changed)),
    }


def begun(run: IngestionBatch | None, run_id: str, invocation_id: str | None, now: datetime) -> IngestionBatch:
    """The run, under way. One that nobody recorded is recorded now; one that has finished stays so."""
    if run is None:
        return IngestionBatch(
            run_id=run_id,
            invocation_id=invocation_id,
            status="RUNNING",
            started_at=now,
            running_since=now,
            created_at=now,
            updated_at=now,
        )
    if run.status not in ("QUEUED", "FAILED"):
        return run
    return run.changed(now, status="RUNNING", running_since=now, ended_at=None, invocation_id=invocation_id)


def closed(run: IngestionBatch, attempts: Iterable[Attempt], tickers: Sequence[str], now: datetime) -> IngestionBatch:
    """The run with what came of it. PARTIAL: some feeds failed; FAILED: all that were tried."""
    last = _last_of_each(attempts)
    failures = sum(each.status == "FAILED" for each in last)
    status: RunStatus = "SUCCEEDED"
    if failures:
        status = "FAILED" if failures == len(last) else "PARTIAL"
    ended_at = run.ended_at or max(now, _since(run))
    changes = {} if run.is_finished else {"status": status, "ended_at": ended_at}
    return run.changed(now, **changes, **_summed(run, last, ended_at), tickers_processed=tuple(tickers))


def abandoned(run: IngestionBatch, attempts: Iterable[Attempt], why: str, now: datetime) -> IngestionBatch:
    """The run closed by somebody else, with what came of it until it was given up."""
    summed = _summed(run, _last_of_each(attempts), now)
    status: RunStatus = "FAILED" if run.status == "QUEUED" else "PARTIAL"
    return run.changed(now, **(summed | {"errors": (*summed["errors"], why)}), status=status, ended_at=now)


def _last_of_each(attempts: Iterable[Attempt]) -> list[Attempt]:
    last: dict[str, Attempt] = {}
    for attempt in sorted(attempts, key=lambda each: (each.started_at, each.attempt_no)):
        last[attempt.subject] = attempt
    return list(last.values())


def _since(run: IngestionBatch) -> datetime:
    return run.running_since or run.started_at


def _summed(run: IngestionBatch, last: Sequence[Attempt], ended_at: datetime) -> dict[str, Any]:
    since = _since(run)
    metrics = CollisionMetrics(
        invocation_id=run.invocation_id or run.run_id,
        timestamp=since,
        articles_fetched={each.subject: each.articles_found or 0 for each in last},
        articles_stored=sum(each.articles_stored or 0 for each in last),
        collisions_detected=sum(each.collisions_detected or 0 for each in last),
        duration_ms=max(0, round((ended_at - since).total_seconds() * 1000)),
    )
    errors = [f"{each.subject}: {each.error_message}" for each in last if each.status == "FAILED"]
    return {
        "metrics": metrics,
        "progress": len(last),
        "sources_queried": tuple(sorted(each.subject for each in last)),
        "errors": tuple(errors[:MOST_ERRORS_SHOWN]),
    }
