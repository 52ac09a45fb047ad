"""What the attempts of an ingestion run add up to: its CollisionMetrics, progress, sources and errors. Pure."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from typing import Any

from models.run import MOST_ERRORS_KEPT, Attempt, CollisionMetrics, JobRun
from services.runs.rules import last_of_each


def summary(
    run: JobRun, attempts: Sequence[Attempt], *, tickers: Sequence[str] = (), given_up: str | None = None
) -> dict[str, Any]:
    """For RunEngine.close, with the run as it ended.

    Each attempt counts only what it added itself, so the counts are sums over all attempts. `given_up` is the reason
    why the run was closed before its work was done: it is then FAILED if nobody began it, else PARTIAL.
    """
    last = last_of_each(attempts)
    errors = [f"{each.subject}: {each.error_message or each.error_type}" for each in last if each.status == "FAILED"]
    says: dict[str, Any] = {}
    if given_up is not None:
        errors.insert(0, given_up)
        says["status"] = "PARTIAL" if run.running_since else "FAILED"
    return says | {
        "metrics": _metrics(run, attempts),
        "progress": len(last),
        "sources_queried": tuple(sorted({each.subject for each in last})),
        "tickers_processed": tuple(tickers),
        "errors": tuple(errors[:MOST_ERRORS_KEPT]),
    }


def _metrics(run: JobRun, attempts: Sequence[Attempt]) -> CollisionMetrics:
    fetched: Counter[str] = Counter()
    for each in attempts:
        # A worker may die after it stored articles, and before it counted what it had fetched.
        known = (each.articles_stored or 0) + (each.collisions_detected or 0)
        fetched[each.subject] += max(each.articles_found or 0, known)
    return CollisionMetrics(
        invocation_id=run.invocation_id or run.run_id,
        timestamp=run.running_since or run.started_at,
        articles_fetched=dict(fetched),
        articles_stored=sum(each.articles_stored or 0 for each in attempts),
        collisions_detected=sum(each.collisions_detected or 0 for each in attempts),
        duration_ms=run.duration_ms,
    )


def recounted(run: JobRun, attempts: Sequence[Attempt]) -> dict[str, Any]:
    """For RunEngine.close of a run that has ended, when the counts of an attempt were corrected. How the run ended, and
    why, stays as it was recorded."""
    return {"status": run.status, "metrics": _metrics(run, attempts)}
