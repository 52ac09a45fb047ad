"""The rules of runs and attempts. Pure: which number a try gets, how it ends, which status all tries add up to."""

from __future__ import annotations

from collections.abc import Iterable
from datetime import datetime
from typing import Any

from models.errors import ToolpulseError
from models.run import WORKER_DIED, Attempt, JobRun, kind_of_run
from models.states import RunStatus
from models.values import parse_time, unix_milliseconds

_LONGEST_MESSAGE = 500


def queued(
    workflow: str, run_id: str, now: datetime, subject: str | None = None, parameters: dict[str, Any] | None = None
) -> JobRun:
    """A run that was accepted, and waits for its message."""
    return kind_of_run(workflow)(
        created_at=now,
        updated_at=now,
        run_id=run_id,
        workflow_name=workflow,
        started_at=now,
        subject=subject,
        parameters=parameters or {},
    )


def begun(run: JobRun, invocation_id: str | None, now: datetime) -> JobRun:
    """The run with a worker on it. One that is RUNNING, SUCCEEDED or PARTIAL already is returned as it is."""
    if run.status not in ("QUEUED", "FAILED"):
        return run
    return run.changed(
        now,
        status="RUNNING",
        running_since=now,
        began_ms=unix_milliseconds(now),
        ended_at=None,
        ended_ms=None,
        invocation_id=invocation_id,
    )


def ended(run: JobRun, status: RunStatus, now: datetime) -> JobRun:
    """The run with `status`. A run that had ended before keeps the time of its first end."""
    if run.is_finished:
        return run.changed(now, status=status)
    since = run.running_since or run.started_at
    return run.changed(now, status=status, ended_at=max(parse_time(now), since), ended_ms=unix_milliseconds(now))


def started(run_id: str, task: str, subject: str, number: int, now: datetime) -> Attempt:
    """An attempt that is under way."""
    return Attempt(
        created_at=now,
        updated_at=now,
        run_id=run_id,
        task_name=task,
        subject=subject,
        attempt_no=number,
        started_at=now,
    )


def succeeded(attempt: Attempt, duration_ms: int, now: datetime, **says: Any) -> Attempt:
    return attempt.changed(now, status="SUCCEEDED", duration_ms=duration_ms, ended_ms=unix_milliseconds(now), **says)


def failed(attempt: Attempt, error: BaseException, duration_ms: int, now: datetime) -> Attempt:
    """Only our own errors are known to hold no secrets, so of any other one the type is stored alone."""
    message = str(error)[:_LONGEST_MESSAGE] if isinstance(error, ToolpulseError) else None
    kind = type(error).__name__
    return attempt.changed(
        now,
        status="FAILED",
        duration_ms=duration_ms,
        ended_ms=unix_milliseconds(now),
        error_type=kind,
        error_message=message,
    )


def worker_died(attempt: Attempt, now: datetime) -> Attempt:
    """A STARTED attempt that nobody will end."""
    return attempt.changed(
        now,
        status="FAILED",
        error_type=WORKER_DIED,
        error_message="no end was recorded: its worker died, or another delivery took the run over",
        error_fingerprint=WORKER_DIED,
    )


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
    """By the last attempt of each subject: FAILED if all failed, PARTIAL if some did. An attempt without an end counts
    as failed. Without attempts there was nothing to do, and the run SUCCEEDED."""
    last = last_of_each(attempts)
    failures = sum(each.status != "SUCCEEDED" for each in last)
    if not failures:
        return "SUCCEEDED"
    return "FAILED" if failures == len(last) else "PARTIAL"
