"""Feeds that the app disabled itself: which are fetched now and then, when, and until when. Pure.

A probe is a usual fetch. If it succeeds, the feed is enabled again. What a person disabled is never probed, nor what
answered 410 or killed its workers. An address that has answered 404 for half a year is given up: an abandoned address
may belong to somebody else by then. Other causes are probed without end.
"""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime, timedelta
from typing import Any

from models.values import format_time
from models.verdict import PROBED_CAUSES, DisabledCause

WAITS = tuple(timedelta(days=days) for days in (1, 2, 4, 8, 16, 30))
"""Before the first probe, the second, …; the last one is before all further probes."""
WAITS_AFTER_ERRORS = (timedelta(minutes=45),) * 12 + tuple(timedelta(hours=hours) for hours in (2, 4, 8, 16)) + WAITS
"""After errors that may pass: a server that was down for half a day has its feeds back within an hour."""
MOST_NOT_FOUND = 10
"""After 1, 2, 4, 8 and 16 days, and five months: half a year."""
JITTER = 0.1
"""Feeds that were disabled together are not all probed together."""

CAUSES: Mapping[str, DisabledCause] = {
    "gone": "gone",
    "not_found": "not_found",
    "duplicate": "duplicate",
    "worker_died": "worker_died",
}
"""The cause by the kind of the failure; every other kind is `errors`."""

ENABLED: Mapping[str, Any] = {
    "enabled": True,
    "disabled_reason": None,
    "disabled_at": None,
    "disabled_by": None,
    "disabled_cause": None,
    "probes": 0,
    "probe_at": None,
}


NO_ERRORS: Mapping[str, Any] = {
    "consecutive_errors": 0,
    "failing_since": None,
    "blocked_since": None,
    "last_error": None,
    "last_error_fingerprint": None,
}


def disabled_by_app(kind: str, reason: str, now: datetime, jitter: float) -> dict[str, Any]:
    """The changes of a feed that the app disables, after a failure of this kind."""
    cause = CAUSES.get(kind, "errors")
    return {
        "enabled": False,
        "disabled_reason": reason,
        "disabled_at": now,
        "disabled_by": "app",
        "disabled_cause": cause,
        "probes": 0,
        "probe_at": next_probe(cause, 0, now, jitter),
    }


def after_failed_probe(cause: DisabledCause, kind: str, probes: int, now: datetime, jitter: float) -> dict[str, Any]:
    """The changes of a feed whose probe failed: `probes` failed before. A 410 or 404 is the cause from now on, and the
    probes are counted from there."""
    after = CAUSES.get(kind, cause)
    failed = probes + 1 if after == cause else 1
    return {"disabled_cause": after, "probes": failed, "probe_at": next_probe(after, failed, now, jitter)}


def next_probe(cause: DisabledCause, probes: int, now: datetime, jitter: float) -> datetime | None:
    if cause not in PROBED_CAUSES or (cause == "not_found" and probes >= MOST_NOT_FOUND):
        return None
    waits = WAITS_AFTER_ERRORS if cause == "errors" else WAITS
    return now + waits[min(probes, len(waits) - 1)] * (1 + JITTER * jitter)


def is_probe(feed: Mapping[str, Any], now: datetime) -> bool:
    """Whether the feed may be fetched though it is disabled."""
    probe_at = feed.get("probe_at")
    return feed.get("disabled_by") == "app" and probe_at is not None and probe_at <= format_time(now)
