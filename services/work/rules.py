"""The rules of the attempts of a run: how they are numbered and summed up, and how the document of the run has them.
Pure."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace
from datetime import datetime
from typing import Any

from models.errors import ToolpulseError
from models.run import (
    MAX_ERRORS_KEPT,
    Attempt,
    CollisionMetrics,
    IngestionBatch,
    JobRun,
)
from models.states import RunStatus
from services.ports import Listed, listed_documents

LONGEST_REASON = 500
Summarize = Callable[[JobRun, Sequence[Attempt]], Mapping[str, Any]]
"""The fields of a run that follow from its attempts. The run is passed as it ends now, or as it ended before. Without a
`status` among the fields, the status is that of `status_of`."""


def reason_of(error: Exception) -> str:
    """What a document says of the error. The text of our own errors only: those of libraries may contain secrets."""
    name = type(error).__name__
    return f"{name}: {error}"[:LONGEST_REASON] if isinstance(error, ToolpulseError) else name


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
    ended = run if run.is_finished else run.ended(status, now)
    return ended.changed(now, **{"status": status, **summarize(ended, attempts)})


def ingestion_summary(run: JobRun, attempts: Sequence[Attempt], tickers: Sequence[str] = ()) -> dict[str, Any]:
    """The figures of an ingestion run from its attempts. `run` is the run as it ended. Each attempt counts only what it
    added itself, so the counts are sums over all attempts."""
    last = last_of_each(attempts)
    errors = [f"{each.subject}: {each.error_message or each.error_type}" for each in last if each.status == "FAILED"]
    return {
        "metrics": CollisionMetrics.of(run, attempts),
        "progress": len(last),
        "sources_queried": tuple(sorted({each.subject for each in last})),
        "tickers_processed": tuple(tickers),
        "errors": tuple(errors[:MAX_ERRORS_KEPT]),
    }


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
    return fields.get("task_name"), fields.get("subject"), fields.get("attempt_no"), fields.get("started_at")


def _in_order(attempts: Iterable[Attempt]) -> list[Attempt]:
    return sorted(attempts, key=lambda each: (each.started_at, each.subject, each.attempt_no))
