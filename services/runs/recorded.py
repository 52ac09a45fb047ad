"""The attempts in the document of a run. Pure."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from typing import Any

from models.run import Attempt, IngestionBatch, JobRun
from services.ports import Listed, listed_documents


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
    """The attempts in the run and in documents of their own. A record in the run counts before an earlier document."""
    inside = in_run(run)
    items = {each.id: each for each in (*documents.items, *inside.items)}
    return Listed(_in_order(items.values()), unreadable=(*inside.unreadable, *documents.unreadable))


def _key(fields: Mapping[str, Any]) -> tuple[object, ...]:
    return tuple(fields.get(name) for name in ("task_name", "subject", "attempt_no", "started_at"))


def _in_order(attempts: Iterable[Attempt]) -> list[Attempt]:
    return sorted(attempts, key=lambda each: (each.started_at, each.subject, each.attempt_no))
