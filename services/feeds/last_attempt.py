"""The last attempt at a feed, whose record the feed itself keeps: a feed and its attempt are saved in one write."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from models.run import FETCH_FEED, Attempt, JobRun
from services.ports import readable

_OF_LAST_FETCH: Mapping[str, str] = {"duration_ms": "last_duration_ms", "status_code": "last_status_code"}
"""Fields of an attempt, and those of the feed that have them after a fetch."""


def last_attempt(record: Attempt) -> dict[str, Any]:
    """The record of an attempt as the feed keeps it, without what the feed has in other fields."""
    known = {"subject", "started_at", *(_OF_LAST_FETCH if record.task_name == FETCH_FEED else ())}
    return {"run_id": record.run_id, **{name: value for name, value in record.in_run().items() if name not in known}}


def record_of(feed: Mapping[str, Any], run: JobRun) -> Attempt | None:
    """The attempt of this run that saved the feed, if it was the last to do so."""
    last = feed.get("last_attempt")
    if last is None or last.get("run_id") != run.run_id:
        return None
    found = {**last, "subject": feed["feed_id"], "started_at": feed.get("last_fetch_time")}
    if "task_name" not in last:
        found |= {name: feed.get(field) for name, field in _OF_LAST_FETCH.items()}
    return readable(found, lambda fields: Attempt.of_run(run, fields))
