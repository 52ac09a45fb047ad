"""The rules of runs and attempts: how they begin and end, how attempts are numbered and summed up, and how the document
of a run has them. Pure."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace
from datetime import datetime
from typing import Any

from models.errors import ToolpulseError
from models.run import (
    MAX_ERRORS_KEPT,
    WORKER_DIED,
    Attempt,
    CollisionMetrics,
    IngestionBatch,
    JobRun,
    kind_of_run,
)
from models.states import RunStatus
from models.values import parse_time, unix_milliseconds
from services.ports import Listed, listed_documents

LONGEST_REASON = 500
Summarize = Callable[[JobRun, Sequence[Attempt]], Mapping[str, Any]]
"""The fields of a run that follow from its attempts. The run is passed as it ends now, or as it ended before. Without a
`status` among the fields, the status is that of `status_of`."""


def queued(
    workflow: str, run_id: str, now: datetime, subject: str | None = None, parameters: dict[str, Any] | None = None
) -> JobRun:
    """A run that was accepted, and waits for its message."""
    return kind_of_run(workflow)(
        created_at=now,
        run_id=run_id,
        workflow_name=workflow,
        started_at=now,
        subject=subject,
        parameters=parameters or {},
    )


def begun(run: JobRun, invocation_id: str | None, now: datetime) -> JobRun:
    """The run as RUNNING. A run that is RUNNING, SUCCEEDED or PARTIAL already is returned as it is."""
    if run.status not in ("QUEUED", "FAILED"):
        return run
    return run.changed(
        now,
        status="RUNNING",
        running_since=run.running_since if run.status == "QUEUED" and run.running_since else now,
        began_ms=run.began_ms if run.status == "QUEUED" and run.began_ms else unix_milliseconds(now),
        ended_at=None,
        ended_ms=None,
        invocation_id=invocation_id,
    )


def ended(run: JobRun, status: RunStatus, now: datetime) -> JobRun:
    """The run with `status`. A run that had ended before keeps the time of its first end."""
    if run.is_finished:
        return run.changed(now, status=status)
    since = run.running_since or run.started_at
    ended_at = max(parse_time(now), since)
    return run.changed(now, status=status, ended_at=ended_at, ended_ms=unix_milliseconds(now), due_at=None)


def started(run_id: str, task: str, subject: str, number: int, now: datetime) -> Attempt:
    """An attempt that is under way."""
    return Attempt(
        created_at=now,
        run_id=run_id,
        task_name=task,
        subject=subject,
        attempt_no=number,
        started_at=now,
    )


def succeeded(attempt: Attempt, duration_ms: int, now: datetime, **figures: Any) -> Attempt:
    return attempt.changed(now, status="SUCCEEDED", duration_ms=duration_ms, ended_ms=unix_milliseconds(now), **figures)


def reason_of(error: Exception) -> str:
    """What a document says of the error. The text of our own errors only: those of libraries may contain secrets."""
    name = type(error).__name__
    return f"{name}: {error}"[:LONGEST_REASON] if isinstance(error, ToolpulseError) else name


def failed(attempt: Attempt, why: str, duration_ms: int, now: datetime) -> Attempt:
    """The attempt as FAILED, for a reason that begins with the kind of the error."""
    kind, _, message = why.partition(": ")
    return attempt.changed(
        now,
        status="FAILED",
        duration_ms=duration_ms,
        ended_ms=unix_milliseconds(now),
        error_type=kind,
        error_message=message or None,
    )


def worker_died(attempt: Attempt, now: datetime) -> Attempt:
    """A STARTED attempt whose end will not be recorded."""
    return attempt.changed(
        now,
        status="FAILED",
        error_type=WORKER_DIED,
        error_message="no end was recorded: its worker died, or another delivery took over the run",
        error_fingerprint=WORKER_DIED,
    )


def without_open_ends(attempts: Iterable[Attempt], now: datetime) -> tuple[list[Attempt], list[Attempt]]:
    """The attempts that were STARTED, as FAILED; and all attempts with these changes."""
    died = [worker_died(each, now) for each in attempts if each.status == "STARTED"]
    return died, [*died, *(each for each in attempts if each.status != "STARTED")]


def last_of_each(attempts: Iterable[Attempt]) -> list[Attempt]:
    """The last attempt of each (task, subject), in the order of the first ones."""
    last: dict[tuple[str, str], Attempt] = {}
    for attempt in sorted(attempts, key=lambda each: (each.started_at, each.attempt_no)):
        last[attempt.task_name, attempt.subject] = attempt
    return list(last.values())


def next_number(attempts: Iterable[Attempt], task: str, subject: str) -> int:
    """The number of the next attempt of this task on this subject."""
    numbers = [each.attempt_no for each in attempts if (each.task_name, each.subject) == (task, subject)]
    return max(numbers, default=0) + 1


def status_of(attempts: Iterable[Attempt]) -> RunStatus:
    """The status that follows from the last attempt of each subject: FAILED if all failed, PARTIAL if some did. An
    attempt without an end counts as failed. A run without attempts had nothing to do, and SUCCEEDED."""
    last = last_of_each(attempts)
    failures = sum(each.status != "SUCCEEDED" for each in last)
    if not failures:
        return "SUCCEEDED"
    return "FAILED" if failures == len(last) else "PARTIAL"


def closed(run: JobRun, attempts: Sequence[Attempt], summarize: Summarize, now: datetime) -> JobRun:
    """The run as it ended, with figures from its attempts; a run that has ended before gets new figures."""
    status = status_of(attempts)
    figures = dict(summarize(run if run.is_finished else ended(run, status, now), attempts))
    return ended(run, figures.pop("status", status), now).changed(now, **figures)


def ingestion_summary(run: JobRun, attempts: Sequence[Attempt], tickers: Sequence[str] = ()) -> dict[str, Any]:
    """The figures of an ingestion run from its attempts. `run` is the run as it ended. Each attempt counts only what it
    added itself, so the counts are sums over all attempts."""
    last = last_of_each(attempts)
    errors = [f"{each.subject}: {each.error_message or each.error_type}" for each in last if each.status == "FAILED"]
    return {
        "metrics": _collision_metrics(run, attempts),
        "progress": len(last),
        "sources_queried": tuple(sorted({each.subject for each in last})),
        "tickers_processed": tuple(tickers),
        "errors": tuple(errors[:MAX_ERRORS_KEPT]),
    }


def _collision_metrics(run: JobRun, attempts: Sequence[Attempt]) -> CollisionMetrics:
    fetched: Counter[str] = Counter()
    for each in attempts:
        fetched[each.subject] += each.articles_found or 0
    return CollisionMetrics(
        invocation_id=run.invocation_id or run.run_id,
        timestamp=run.running_since or run.started_at,
        articles_fetched=dict(fetched),
        articles_stored=sum(each.articles_stored or 0 for each in attempts),
        collisions_detected=sum(each.collisions_detected or 0 for each in attempts),
        duration_ms=run.duration_ms,
    )


def in_run(run: JobRun, feed_id: str | None = None) -> Listed[Attempt]:
    """The attempts in the document of the run, in the order of their start: all, or those at one feed."""
    wanted = [each for each in run.attempts if feed_id is None or each.get("subject") == feed_id]
    found = listed_documents(wanted, lambda fields: Attempt.of_run(run, fields), "subject")
    return replace(found, items=_in_order(found.items))


def with_attempts(run: JobRun, attempts: Sequence[Attempt]) -> JobRun:
    """The ingestion run with these attempts in its document, over earlier records of them."""
    if not isinstance(run, IngestionBatch) or not attempts:
        return run
    stored = {_key(each): each for each in (*run.attempts, *(attempt.in_run() for attempt in attempts))}
    feeds = dict.fromkeys((*run.feeds, *(each.subject for each in attempts)))
    return run.changed(run.updated_at, attempts=tuple(stored.values()), feeds=tuple(feeds))


def with_documents(run: JobRun, documents: Listed[Attempt]) -> Listed[Attempt]:
    """The attempts in the run and in documents of their own."""
    inside = in_run(run)
    return Listed(_in_order([*documents.items, *inside.items]), unreadable=(*inside.unreadable, *documents.unreadable))


def _key(fields: Mapping[str, Any]) -> tuple[object, ...]:
    return tuple(fields.get(name) for name in ("task_name", "subject", "attempt_no", "started_at"))


def _in_order(attempts: Iterable[Attempt]) -> list[Attempt]:
    return sorted(attempts, key=lambda each: (each.started_at, each.subject, each.attempt_no))
