"""The run of one invocation of a stage, with its attempts in its document: one for what was done, and one for each item
that failed. Written once, when the invocation ends: a worker that dies leaves no run, but a mark in the document of the
item that it had alone, which the next worker records. Pure."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime

from models.run import MAX_ERRORS_KEPT, WORKER_DIED, Attempt, JobRun
from models.values import unix_milliseconds
from services.work import rules

BATCH = "batch:0001"
"""The subject of the attempt at all items that were done."""
LONGEST_MESSAGE = 500


@dataclass(frozen=True, slots=True)
class Invocation:
    """One invocation of a stage: when it `began`, how many items it did, and why others failed."""

    workflow: str
    run_id: str
    began: datetime
    ended: datetime
    done: int
    failed: Mapping[str, str]
    tries: Mapping[str, int]
    counts: Mapping[str, int]
    invocation_id: str | None = None

    @property
    def milliseconds(self) -> int:
        return max(0, unix_milliseconds(self.ended) - unix_milliseconds(self.began))


def run_of(one: Invocation) -> JobRun:
    """The run as it ended. PARTIAL if some items failed, FAILED if all did."""
    attempts = [_done(one)] if one.done else []
    attempts += [_failed(one, key, why) for key, why in list(one.failed.items())[:MAX_ERRORS_KEPT]]
    queued = rules.queued(one.workflow, one.run_id, one.began)
    begun = rules.begun(queued, one.invocation_id, one.began)
    ended = rules.ended(begun, rules.status_of(attempts), one.ended)
    return ended.changed(
        one.ended,
        attempts=tuple(each.in_run() for each in attempts),
        progress=one.done,
        metrics={**one.counts, "failed": len(one.failed)},
        errors=tuple(f"{key}: {why}" for key, why in list(one.failed.items())[:MAX_ERRORS_KEPT]),
    )


def _done(one: Invocation) -> Attempt:
    attempt = rules.started(one.run_id, one.workflow, BATCH, 1, one.began)
    return rules.succeeded(attempt, one.milliseconds, one.ended, progress=one.done, counts=dict(one.counts))


def _failed(one: Invocation, key: str, why: str) -> Attempt:
    attempt = rules.started(one.run_id, one.workflow, key, max(1, one.tries.get(key, 1)), one.began)
    if why == WORKER_DIED:
        return rules.worker_died(attempt, one.ended)
    kind, _, message = why.partition(": ")
    return attempt.changed(
        one.ended,
        status="FAILED",
        duration_ms=one.milliseconds,
        ended_ms=unix_milliseconds(one.ended),
        error_type=kind,
        error_message=message[:LONGEST_MESSAGE] or None,
    )
