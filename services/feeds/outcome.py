"""What a feed's document says after a fetch: validators, schedule, statistics, health. Pure.

Written in one save, after everything that was in the document has been stored.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any

from models.feed import Feed
from services.articles.poll import Answer
from services.feeds.rhythm import observe, rhythm_of
from services.feeds.schedule import Hints, Policy, next_fetch
from services.fetch.addresses import checked_url
from services.fetch.outcome import PERMANENT, FetchStatus

MOST_ERRORS = 10
"""In a row; the feed is disabled then, and an administrator told."""

LONGEST_ERROR = 500
LONGEST_RETRY_AFTER = timedelta(days=1)
RELEASED: dict[str, Any] = {
    "claim_id": None,
    "claimed_until": None,
    "claim_delivery": 0,
    "unsaved_run": None,
    "unsaved_delivery": 0,
    "unsaved_since": None,
}


@dataclass(frozen=True, slots=True)
class Failure:
    """Why a fetch came to nothing. `kind` is of few, for counting; `tries` is how often it was tried; `counts` is False
    if it was not tried at all."""

    kind: str
    error: str
    fingerprint: str
    status_code: int | None = None
    duration_ms: int = 0
    tries: int = 0
    retry_after: float | None = None
    permanent: bool = False
    counts: bool = True


def failure_of(answer: Answer) -> Failure | None:
    """None if the answer is one to work with."""
    result, problem = answer.result, answer.problem
    if result.ok and problem is None:
        return None
    kind = problem.kind if problem is not None else str(result.status)
    error = str(problem) if problem is not None else result.error or str(result.status)
    return Failure(
        kind,
        error[:LONGEST_ERROR],
        kind if problem is not None else result.fingerprint or kind,
        status_code=result.status_code,
        duration_ms=result.duration_ms,
        tries=result.attempts,
        retry_after=result.retry_after,
        permanent=result.status in PERMANENT,
        counts=result.status is not FetchStatus.BREAKER_OPEN,
    )


def after_success(
    feed: Feed,
    answer: Answer,
    new: int,
    published: Sequence[datetime],
    now: datetime,
    policy: Policy,
    jitter: float,
    *,
    seen: bool = False,
    quarantine_id: str | None = None,
) -> Feed:
    """`new` articles were new to the feed; `published` are the times of those that say so. `seen`: its `seen` document
    is written next. `quarantine_id` is what was held of this document."""
    result, document = answer.result, answer.document
    changes: dict[str, Any] = {
        **counted(feed, new, now, fetches=feed.fetch_count + 1),
        "fetch_count": feed.fetch_count + 1,
        "last_successful_fetch": now,
        "last_status_code": result.status_code,
        "last_duration_ms": result.duration_ms,
        "consecutive_errors": 0,
        "last_error": None,
        "last_error_fingerprint": None,
        "retry_after_until": None,
        "etag": result.etag,
        "last_modified": result.last_modified,
        "body_hash": result.body_hash,
        "validators_trusted": feed.validators_trusted and not answer.lied,
        **RELEASED,
    }
    if seen:
        changes["seen_at"] = now
    if quarantine_id is not None:
        changes["quarantine_id"] = quarantine_id
    if answer.unconditional:
        changes["last_unconditional_fetch"] = now
    # A 304 that says nothing of freshness leaves what the last 200 said.
    if result.status is not FetchStatus.NOT_MODIFIED or result.max_age is not None:
        changes["max_age_seconds"] = None if result.max_age is None else max(0, int(result.max_age))
    moved = checked_url(answer.found_at or (document.moved_to if document else None) or result.moved_to or "")
    if not isinstance(moved, str):
        changes["redirect_url"] = str(moved)
    if document is not None:
        freshness = document.freshness
        changes |= {
            "title": document.title or feed.title,
            "ttl_minutes": freshness.ttl_minutes or freshness.update_minutes,
            "skip_hours": tuple(sorted(freshness.skip_hours)),
            "skip_days": tuple(sorted(freshness.skip_days)),
            "parse_warnings": dict(document.warnings),
            "entries_skipped": dict(document.skipped),
        }
    rhythm = observe(rhythm_of(feed), new, published, now)
    hints = Hints(
        max_age_seconds=changes.get("max_age_seconds", feed.max_age_seconds),
        ttl_minutes=changes.get("ttl_minutes", feed.ttl_minutes),
        skip_hours=frozenset(changes.get("skip_hours", feed.skip_hours)),
        skip_days=frozenset(changes.get("skip_days", feed.skip_days)),
        jitter=jitter,
    )
    at = next_fetch(rhythm, now, policy, hints).at
    return feed.changed(now, **changes, **rhythm.as_fields(), next_fetch_time=at)


def after_failure(
    feed: Feed,
    failure: Failure,
    now: datetime,
    policy: Policy,
    jitter: float,
    *,
    new: int = 0,
    in_part: bool = False,
    seen: bool = False,
) -> Feed:
    """The next check and the error count are saved whatever went wrong; validators and body hash stay as they were.

    `new` articles may have come in all the same, where only some of several requests failed: `in_part`. The hash is of
    another document then, which may come back.
    """
    errors = feed.consecutive_errors + failure.counts
    hints = Hints(consecutive_errors=errors, retry_after_seconds=failure.retry_after, jitter=jitter)
    changes: dict[str, Any] = {
        **counted(feed, new, now, fetches=feed.fetch_count),
        "consecutive_errors": errors,
        "last_status_code": failure.status_code,
        "last_duration_ms": failure.duration_ms,
        "last_error": failure.error,
        "last_error_fingerprint": failure.fingerprint,
        "retry_after_until": None,
        "next_fetch_time": next_fetch(rhythm_of(feed), now, policy, hints).at,
        **RELEASED,
    }
    if in_part:
        changes["body_hash"] = None
    if seen:
        changes["seen_at"] = now
    if failure.retry_after is not None:
        wait = min(timedelta(seconds=max(0.0, failure.retry_after)), LONGEST_RETRY_AFTER)
        changes["retry_after_until"] = now + wait
    reason = _reason_to_disable(failure, errors)
    if failure.permanent and feed.redirect_url is not None:
        changes["redirect_url"] = None  # it was better where it was
    elif reason is not None and feed.enabled:
        changes |= {"enabled": False, "disabled_reason": reason, "disabled_at": now}
    return feed.changed(now, **changes)


def after_let_in(feed: Feed, new: int, now: datetime, held: str) -> Feed:
    """A batch that was held has come in: it counts, but it is no fetch, and says nothing about when news comes."""
    return feed.changed(
        now,
        **counted(feed, new, now, fetches=feed.fetch_count),
        quarantine_id=None if feed.quarantine_id == held else feed.quarantine_id,
        **RELEASED,
    )


def counted(feed: Feed, new: int, now: datetime, *, fetches: int) -> dict[str, Any]:
    """The figures that articles move, whichever way they came in; `last_fetch_time` is when they were counted."""
    total = feed.total_articles_fetched + new
    changes: dict[str, Any] = {
        "last_fetch_time": now,
        "total_articles_fetched": total,
        "avg_articles_per_fetch": round(total / max(1, fetches), 4),
    }
    if new:
        changes["last_new_article_at"] = now
    return changes


def _reason_to_disable(failure: Failure, errors: int) -> str | None:
    if failure.permanent:
        return failure.error
    if errors >= MOST_ERRORS:
        return f"{errors} errors in a row, the last: {failure.error}"
    return None
