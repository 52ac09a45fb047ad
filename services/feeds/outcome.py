"""The outcome of a fetch: the feed as it is saved afterwards, with validators, schedule, statistics and health. Pure.

A feed is saved once, after everything from the fetched document has been stored.

Feeds that the app disabled itself are probed now and then. A probe is a usual fetch; if it succeeds, the feed is
enabled again. What a person disabled is never probed, nor what answered 410. An address that has answered 404 for half
a year is given up: an abandoned address may belong to somebody else by then. Other causes are probed without end.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from datetime import datetime, timedelta
from typing import Any, get_args

from models.feed import MAX_ERRORS, PROBED_CAUSES, UNCONDITIONAL, DisabledCause, Feed, ShortHash
from models.raw_item import ParsedDocument
from models.values import format_time
from services.feeds.fetch_hours import after_fetch
from services.feeds.outages import BEFORE, OURS_PERHAPS, RETRY
from services.feeds.schedule import JITTER, Policy, next_fetch, observe
from services.feeds.verdicts import is_block, judged
from services.feeds.volume import gaps_after, usual_after, volume_of
from services.fetch.addresses import checked_url
from services.fetch.outcome import NOT_TRIED, PERMANENT, FetchResult, FetchStatus
from services.parse.collected import Unreadable
from services.parse.language import with_languages
from services.ports import Document

WAITS = tuple(timedelta(days=days) for days in (1, 2, 4, 8, 16, 30))
"""Before the first probe, the second, …; the last one is before all further probes."""
WAITS_AFTER_ERRORS = (timedelta(minutes=45),) * 12 + tuple(timedelta(hours=hours) for hours in (2, 4, 8, 16)) + WAITS
"""After errors that may pass: a server that was down for half a day has its feeds back within an hour."""
MAX_NOT_FOUND = 10
"""After 1, 2, 4, 8 and 16 days, and five months: half a year."""

CAUSES: Mapping[str, DisabledCause] = {each: each for each in get_args(DisabledCause)}
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
    if cause not in PROBED_CAUSES or (cause == "not_found" and probes >= MAX_NOT_FOUND):
        return None
    waits = WAITS_AFTER_ERRORS if cause == "errors" else WAITS
    return now + waits[min(probes, len(waits) - 1)] * (1 + JITTER * jitter)


def is_probe(feed: Mapping[str, Any], now: datetime) -> bool:
    """Whether the feed may be fetched though it is disabled."""
    probe_at = feed.get("probe_at")
    return feed.get("disabled_by") == "app" and probe_at is not None and probe_at <= format_time(now)


LONGEST_ERROR = 500

WORKER_DIED = "worker_died"

DURATION_SHARE = 0.1
"""The share of the last fetch in the average duration of a feed's fetches."""

LONGEST_RETRY_AFTER = timedelta(days=1)


@dataclass(frozen=True, slots=True)
class PollResult:
    """The result of polling a feed: a `document` if there is something to ingest, a `problem` if the body was no feed;
    both if only some of several requests to a news API failed.

    `found_at` is the URL of the feed that a web page named. `lied`: the server's validators call a changed body
    unmodified. `at_own_url`: the feed had moved, and its own URL has
    a feed again.
    """

    result: FetchResult
    document: ParsedDocument | None = None
    problem: Unreadable | None = None
    found_at: str | None = None
    lied: bool = False
    at_own_url: bool = False

    @property
    def ok(self) -> bool:
        return self.result.ok and self.problem is None

    def without_items(self) -> PollResult:
        """The result once its items are ingested, in much less memory."""
        return self if self.document is None else replace(self, document=replace(self.document, items=()))


OVER_BUDGET = "over_budget"
"""The reason of entries that are left for the next poll, since the budget of this one is spent."""


@dataclass(slots=True)
class Ingested:
    """What was done so far with the entries of one feed document. `entries` could be read and others were `refused`;
    some were quarantined (`held`), or left for a later poll (`skipped`, by reason).

    The feed is new to `new` articles, of which `created` did not exist before; `published` are the publication times of
    their entries, as far as the feed gives them. `due` are the ids of articles whose analysis is due. `languages`
    counts the texts that are clearly in one. `seen` is the document to save with the feed, `form_hashes` are the hashes
    to cache afterwards."""

    entries: int = 0
    refused: int = 0
    new: int = 0
    created: int = 0
    published: tuple[datetime, ...] = ()
    due: frozenset[str] = frozenset()
    quarantine_id: str | None = None
    held: int = 0
    skipped: Mapping[str, int] = field(default_factory=dict)
    languages: Mapping[str, int] = field(default_factory=dict)
    seen: Document | None = None
    form_hashes: tuple[ShortHash, ...] = ()


NOTHING = Ingested()


@dataclass(frozen=True, slots=True)
class Failure:
    """Why a poll failed. `kind` is a class of failures, for counting; `tries` is how often the request was sent.
    `counts` is false if the feed was not tried: such a failure is no error of the feed."""

    kind: str
    error: str
    fingerprint: str
    status_code: int | None = None
    duration_ms: int = 0
    tries: int = 0
    retry_after: float | None = None
    permanent: bool = False
    counts: bool = True


def failure_of(polled: PollResult) -> Failure | None:
    result, problem = polled.result, polled.problem
    if polled.ok:
        return None
    if problem is not None:
        kind, error, fingerprint = problem.kind, str(problem), problem.kind
    else:
        kind = str(result.status)
        error, fingerprint = result.error or kind, result.fingerprint or kind
    return Failure(
        kind,
        error[:LONGEST_ERROR],
        fingerprint,
        status_code=result.status_code,
        duration_ms=result.duration_ms,
        tries=result.attempts,
        retry_after=result.retry_after,
        permanent=result.status in PERMANENT,
        counts=result.status not in NOT_TRIED,
    )


def after_success(
    feed: Feed, polled: PollResult, ingested: Ingested, now: datetime, policy: Policy, jitter: float
) -> Feed:
    """The feed after a fetch. If a part of the document was left for the next poll, this is soon. A feed that the app
    disabled is enabled again."""
    new_articles, published = ingested.new, ingested.published
    result = polled.result
    gaps, newest = gaps_after(
        feed.longest_gaps, feed.newest_article_at, new_articles, published, feed.last_successful_fetch, now
    )
    changes: dict[str, Any] = {
        **_saved(feed, new_articles, now, fetches=feed.fetch_count + 1),
        "fetch_count": feed.fetch_count + 1,
        "fetch_hours": after_fetch(feed, now, succeeded=True),
        "last_successful_fetch": now,
        "last_status_code": result.status_code,
        "last_duration_ms": result.duration_ms,
        "average_duration_ms": _average_duration(feed, result.duration_ms),
        **NO_ERRORS,
        "retry_after_until": None,
        "etag": result.etag,
        "last_modified": result.last_modified,
        "body_hash": result.body_hash,
        # Only a body with something new shows that the server's validators are wrong.
        "validators_trusted": feed.validators_trusted and not (polled.lied and (ingested.new or ingested.due)),
        "quarantine_id": ingested.quarantine_id or feed.quarantine_id,
        "longest_gaps": gaps,
        "newest_article_at": newest,
        "first_fetched_at": feed.first_fetched_at or now,
        "articles_per_day": usual_after(feed, new_articles, now),
        **_document_changes(feed, polled, ingested, now),
    }
    if feed.disabled_by == "app":
        changes |= ENABLED
    if polled.document is not None:
        changes["empty_since"] = None if ingested.entries else feed.empty_since or now
    if ingested.languages:
        changes["languages"] = with_languages(feed.languages, ingested.languages)
    after = feed.changed(now, **changes, **observe(feed, new_articles, published, now))
    due = next_fetch(after, now, policy, jitter)
    if OVER_BUDGET in ingested.skipped:
        after = after.model_copy(update=UNCONDITIONAL)
        due = min(due, now + policy.min_interval)
    return judged(after, feed, due)


def _average_duration(feed: Feed, duration_ms: int) -> int:
    if feed.average_duration_ms is None:
        return duration_ms
    return round(feed.average_duration_ms + (duration_ms - feed.average_duration_ms) * DURATION_SHARE)


def _document_changes(feed: Feed, polled: PollResult, ingested: Ingested, now: datetime) -> dict[str, Any]:
    """The fields that follow from the response and the feed document."""
    result, document = polled.result, polled.document
    changes: dict[str, Any] = {}
    is_304 = result.status is FetchStatus.NOT_MODIFIED
    # A 304 without freshness headers keeps the max-age of the last 200.
    if not is_304 or result.max_age is not None:
        changes["max_age_seconds"] = None if result.max_age is None else max(0, int(result.max_age))
    # A 304 to the validators of another server does not show that the target of a redirect has a feed.
    moved = checked_url(polled.found_at or (not is_304 and result.moved_to) or "")
    if not isinstance(moved, str):
        is_other = str(moved) != feed.feed_url
        changes["redirect_url"] = str(moved) if is_other else None
        if not is_other or polled.found_at is not None:
            changes["moved_at"] = None
        elif str(moved) != feed.redirect_url:
            changes["moved_at"] = now
    elif polled.at_own_url:
        changes |= {"redirect_url": None, "moved_at": None}
    if document is not None:
        freshness = document.freshness
        refused = {"refused": ingested.refused} if ingested.refused else {}
        changes |= {
            "title": document.title or feed.title,
            "site_url": document.site_url or feed.site_url,
            "ttl_minutes": freshness.ttl_minutes,
            "skip_hours": tuple(sorted(freshness.skip_hours)),
            "skip_days": tuple(sorted(freshness.skip_days)),
            "parse_warnings": dict(document.warnings),
            "entries_skipped": {**document.skipped, **refused, **ingested.skipped},
        }
    return changes


def after_failure(
    feed: Feed,
    failure: Failure,
    ingested: Ingested,
    now: datetime,
    policy: Policy,
    jitter: float,
    outage_since: datetime | None = None,
) -> Feed:
    """The feed after a failed fetch, with the next fetch and the number of errors. Validators stay as they were.
    `outage_since`: this installation cannot reach the web since then, so the feed is not blamed.

    If only some of several requests failed, and the others brought entries, the body hash is cleared: the next document
    may again be the one it was taken of.
    """
    changes: dict[str, Any] = {
        **_saved(feed, ingested.new, now, fetches=feed.fetch_count),
        "fetch_hours": after_fetch(feed, now, succeeded=False),
        "body_hash": None if ingested.entries else feed.body_hash,
        "quarantine_id": ingested.quarantine_id or feed.quarantine_id,
    }
    if outage_since is not None:
        retry = now + RETRY * (1 + jitter)
        return judged(feed.changed(now, **changes, **_in_outage(feed, outage_since, retry)), feed, retry)
    after = feed.changed(now, **changes, **_failed(feed, failure, now, jitter))
    return judged(after, feed, next_fetch(after, now, policy, jitter, failure.retry_after))


def _failed(feed: Feed, failure: Failure, now: datetime, jitter: float) -> dict[str, Any]:
    errors = feed.consecutive_errors + failure.counts
    changes: dict[str, Any] = {
        "consecutive_errors": errors,
        "last_status_code": failure.status_code,
        "last_duration_ms": failure.duration_ms,
        "last_error": failure.error,
        "last_error_fingerprint": failure.fingerprint,
        "retry_after_until": None,
    }
    if failure.retry_after is not None:
        wait = min(timedelta(seconds=max(0.0, failure.retry_after)), LONGEST_RETRY_AFTER)
        changes["retry_after_until"] = now + wait
    if errors and feed.failing_since is None:
        changes["failing_since"] = now
    if feed.blocked_since is None and is_block(failure.status_code, failure.fingerprint):
        changes["blocked_since"] = now
    reason = _reason_to_disable(failure, errors)
    if failure.permanent and feed.redirect_url is not None and failure.kind != WORKER_DIED:
        # The target of the move is gone: the next fetch uses the feed's own URL.
        changes |= {"redirect_url": None, "moved_at": None}
    elif reason is not None and feed.enabled:
        changes |= disabled_by_app(failure.kind, reason, now, jitter)
    if feed.disabled_by == "app" and feed.disabled_cause is not None:
        changes |= after_failed_probe(feed.disabled_cause, failure.kind, feed.probes, now, jitter)
    return changes


def _in_outage(feed: Feed, since: datetime, retry: datetime) -> dict[str, Any]:
    """The feed is tried again soon. Errors that began with the outage, before it was noticed, are forgiven."""
    changes: dict[str, Any] = {}
    if feed.probe_at is not None:
        changes["probe_at"] = retry
    kind = (feed.last_error_fingerprint or "").partition(":")[0]
    if kind in OURS_PERHAPS and feed.failing_since is not None and feed.failing_since >= since - BEFORE:
        changes |= NO_ERRORS
    return changes


def after_release(feed: Feed, new_articles: int, now: datetime, quarantine_id: str) -> Feed:
    """The feed after a batch was released from quarantine and ingested: its articles count, but nothing was fetched, so
    the schedule stays as it was. A person found so many articles plausible, so the daily volume begins anew."""
    saved = _saved(feed, new_articles, now, fetches=feed.fetch_count)
    after = feed.changed(
        now,
        **{**saved, **UNCONDITIONAL, "daily_volume": 0.0},
        articles_per_day=usual_after(feed, new_articles, feed.last_successful_fetch or now),
        quarantine_id=None if feed.quarantine_id == quarantine_id else feed.quarantine_id,
    )
    return judged(after, feed)


def _saved(feed: Feed, new_articles: int, now: datetime, *, fetches: int) -> dict[str, Any]:
    """The fields that every save changes, with the counts of articles. `last_fetch_time` is when
    these were counted."""
    total = feed.total_articles_fetched + new_articles
    changes: dict[str, Any] = {
        "last_fetch_time": now,
        "total_articles_fetched": total,
        "daily_volume": round(max(0.0, volume_of(feed, now) + new_articles), 4),
        "avg_articles_per_fetch": round(total / max(1, fetches), 4),
    }
    if new_articles:
        changes["last_new_article_at"] = now
    return changes


def _reason_to_disable(failure: Failure, errors: int) -> str | None:
    if failure.permanent:
        return failure.error
    if errors >= MAX_ERRORS:
        return f"{errors} errors in a row, the last: {failure.error}"
    return None
