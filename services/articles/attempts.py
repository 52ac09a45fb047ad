"""The outcome of an attempt at a feed: the articles that it added, its record, its log lines, its share of the metrics.

No counter is raised beside the writes: each observation names the attempt that wrote it, and the figures of attempts,
runs and feeds are counted from observations. So they are right also for an attempt whose worker died.
"""

from __future__ import annotations

import logging
from collections import Counter
from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from models.feed import Feed, FeedAttempt
from models.observation import attempt_key
from models.operations import IngestionTotals, within
from models.run import FETCH_FEED, Attempt, JobRun, attempt_id
from models.values import CLOCKS_DIFFER, format_time
from services import telemetry
from services.articles.entries import Ingested
from services.feeds.leases import Lease
from services.feeds.outcome import Counted, Failure
from services.fetch.outcome import FetchResult
from services.logs import log_event
from services.ports import Document, Query, Store, Where, query_all
from services.runs import rules
from services.runs.engine import RunEngine
from services.store.containers import ARTICLES, CATALOG

log = logging.getLogger("toolpulse.ingest")

SLOW_MS = 5_000
_PAGE = 500


@dataclass(frozen=True, slots=True)
class AddedArticles:
    """`new` articles were new to the feed; the attempt created `created` of them and joined the others."""

    new: int = 0
    created: int = 0

    @property
    def joined(self) -> int:
        return self.new - self.created


async def added_by(
    store: Store, run_id: str, feed_id: str, attempt_no: int, *, known_created: int = 0
) -> AddedArticles:
    """The articles that the attempt added to the feed.

    `known_created` is the number of articles that the caller knows to be created by the attempt. If all new articles
    are among them, the count of created articles, which reads each of their documents, is left out.
    """
    mine = Where("added_by_attempt", "eq", attempt_key(run_id, feed_id, attempt_no))
    new = await store.count(ARTICLES.name, (mine,))
    if new == known_created:
        return AddedArticles(new, new)
    return AddedArticles(new, await store.count(ARTICLES.name, (mine, Where("created_article", "eq", True))))


def attempt_record(
    lease: Lease, task_name: str, ingested: Ingested, added: AddedArticles, end: FetchResult | Failure | None
) -> Attempt:
    """`end` is how the fetch ended; a batch released from quarantine was not fetched."""
    outcome: dict[str, Any] = {"status": "SUCCEEDED", "duration_ms": 0}
    if end is not None:
        outcome |= {"duration_ms": end.duration_ms, "status_code": end.status_code}
    if isinstance(end, Failure):
        outcome |= {
            "status": "FAILED",
            "error_type": end.kind,
            "error_message": end.error,
            "error_fingerprint": end.fingerprint,
        }
    return Attempt(
        created_at=lease.started_at,
        updated_at=lease.started_at,
        run_id=lease.run_id,
        task_name=task_name,
        subject=lease.feed.feed_id,
        attempt_no=lease.attempt_no,
        started_at=lease.started_at,
        articles_found=max(ingested.entries, added.new),
        articles_new=added.new,
        articles_stored=added.created,
        articles_held=ingested.held,
        articles_skipped=sum(ingested.skipped.values()),
        collisions_detected=added.joined,
        **outcome,
    )


@dataclass(frozen=True, slots=True)
class Correction:
    """What an interrupted attempt at a feed has added, if its record in its run does not say so."""

    feed_id: str
    attempt: FeedAttempt
    added: AddedArticles


async def count_interrupted(store: Store, feed: Feed) -> tuple[Counted, list[Correction]]:
    """Counts what interrupted attempts added since they were last counted. The caller records the corrections before it
    saves the feed.

    An interrupted attempt may still be at work, so for an hour its articles are counted at each save of the feed.
    """
    more = 0
    counted: list[FeedAttempt] = []
    corrections: list[Correction] = []
    for each in feed.interrupted_attempts:
        added = await added_by(store, each.run_id, feed.feed_id, each.attempt_no)
        if added.new != each.counted:
            corrections.append(Correction(feed.feed_id, each, added))
        more += added.new - (each.counted or 0)
        counted.append(each.model_copy(update={"counted": added.new}))
    return Counted(by_interrupted=more, interrupted_attempts=tuple(counted)), corrections


def is_removed(feed: Document | None, run: JobRun) -> bool:
    """Whether the feed of the run was removed since the run began; it may have been added again."""
    return feed is None or feed["created_at"] > format_time(run.started_at)


async def unlisted_attempts(
    store: Store, run: JobRun, feed_id: str, feed: Document | None, known: Iterable[Attempt], last: int, now: datetime
) -> list[Attempt]:
    """The records of the run's attempts, up to the number `last`, at a feed that was removed since: `feed`, which was
    perhaps added again, does not list them, and observations show what they added. `known` are the records that the
    run has."""
    listed = [*(feed or {}).get("interrupted_attempts", ()), (feed or {}).get("current_attempt") or {}]
    numbers = {each["attempt_no"] for each in listed if each.get("run_id") == run.run_id}
    numbers |= {each.attempt_no for each in known if (each.task_name, each.subject) == (FETCH_FEED, feed_id)}
    started_at = run.running_since or run.started_at
    found = []
    for number in range(1, last + 1):
        added = AddedArticles() if number in numbers else await added_by(store, run.run_id, feed_id, number)
        if added.new:
            attempt = FeedAttempt(run_id=run.run_id, attempt_no=number, task_name=FETCH_FEED, started_at=started_at)
            found.append(interrupted_record((), Correction(feed_id, attempt, added), now))
    return found


async def record_interrupted(engine: RunEngine, corrections: Sequence[Correction], now: datetime) -> None:
    """Records interrupted attempts in their runs. A run that has ended gets new figures; a run that is gone stays
    gone."""
    for run_id in dict.fromkeys(each.attempt.run_id for each in corrections):
        run = await engine.find(run_id)
        if run is None:
            continue
        known = await engine.attempts(run_id)
        records = [interrupted_record(known, each, now) for each in corrections if each.attempt.run_id == run_id]
        if run.is_finished:
            await engine.close_with(run, records, rules.recounted_ingestion, is_new=False)
        else:
            await engine.record(run, records)


def interrupted_record(known: Iterable[Attempt], correction: Correction, now: datetime) -> Attempt:
    """The record of an interrupted attempt: failed, or as `known` has it, with the counts corrected."""
    each, added = correction.attempt, correction.added
    name = attempt_id(each.task_name, correction.feed_id, each.attempt_no, each.started_at)
    attempt = next((recorded for recorded in known if recorded.id == name), None)
    if attempt is None:
        begun = rules.started(each.run_id, each.task_name, correction.feed_id, each.attempt_no, each.started_at)
        attempt = rules.worker_died(begun, now)
    return attempt.changed(
        now,
        articles_found=max(attempt.articles_found or 0, added.new),
        articles_new=added.new,
        articles_stored=added.created,
        collisions_detected=added.joined,
    )


async def due_since(store: Store, feed_ids: Collection[str], since: datetime) -> list[str]:
    """The articles of these feeds whose analysis became due since then, and is still due: their message may be lost.

    An article that does not list all its sources may be theirs.
    """
    where = (Where("analysis_due_since", "ge", format_time(since - CLOCKS_DIFFER)), Where("deleted_at", "missing"))
    found = await query_all(store, ARTICLES.name, Query(where, order="by_analysis_due", limit=_PAGE))
    feeds = set(feed_ids)
    theirs = [each for each in found if each.get("has_further_sources") or not feeds.isdisjoint(each["sources"])]
    return [each["source_id"] for each in theirs]


def log_outcome(before: Feed, feed: Feed, attempt: Attempt, ingested: Ingested, tries: int) -> None:
    """Logs how the attempt ended, and an event for each warning that follows from it."""

    def event(level: int, name: str, **fields: Any) -> None:
        log_event(log, level, name, feed_id=feed.feed_id, **fields)

    took = attempt.duration_ms or 0
    if attempt.task_name == FETCH_FEED:
        telemetry.record(telemetry.FETCHES, outcome=attempt.error_type or "succeeded")
        telemetry.record(telemetry.FETCH_DURATION, took / 1000)
    telemetry.record(telemetry.ARTICLES, attempt.articles_new or 0)
    if attempt.status == "SUCCEEDED":
        found, new = attempt.articles_found, attempt.articles_new
        status = attempt.status_code
        event(
            logging.INFO, "feed_fetched", duration_ms=took, articles_found=found, articles_new=new, status_code=status
        )
    else:
        kind, error = attempt.error_type, attempt.error_message
        event(logging.ERROR, "feed_fetch_failed", duration_ms=took, error_type=kind, error=error, attempt=tries)
    if took > SLOW_MS:
        event(logging.WARNING, "slow_fetch_detected", duration_ms=took, threshold_ms=SLOW_MS)
    if ingested.quarantine_id is not None:
        event(logging.WARNING, "entries_quarantined", quarantine_id=ingested.quarantine_id, articles=ingested.held)
    if ingested.skipped:
        event(logging.WARNING, "entries_skipped", **ingested.skipped)
    if before.verdict != feed.verdict:
        event(logging.INFO, "feed_verdict_changed", verdict=feed.verdict, before=before.verdict)
    if not before.enabled and feed.enabled:
        event(logging.WARNING, "feed_enabled_again", reason=before.disabled_reason)
    if before.enabled and not feed.enabled:
        event(logging.ERROR, "feed_disabled", reason=feed.disabled_reason)
    elif attempt.status == "FAILED":
        retry = format_time(feed.next_fetch_time)
        event(logging.WARNING, "feed_error_retry_scheduled", error_count=feed.consecutive_errors, next_retry=retry)


def totals_of(attempts: Iterable[Attempt]) -> dict[str, int]:
    """By how much the attempts raise the counters of IngestionTotals."""
    counted: Counter[str] = Counter()
    for attempt in attempts:
        found, stored = attempt.articles_found or 0, attempt.articles_stored or 0
        left = (attempt.articles_held or 0) + (attempt.articles_skipped or 0)
        counted["articles_inserted"] += stored
        counted["articles_deduplicated"] += max(0, found - stored - left)
        counted["fetch_errors"] += attempt.status == "FAILED"
        if attempt.task_name == FETCH_FEED:  # a released batch was parsed when it was fetched
            took = attempt.duration_ms or 0
            counted["articles_parsed"] += found
            counted["fetches"] += 1
            counted["fetch_milliseconds"] += took
            counted.update(within(took, IngestionTotals.BOUNDS_MS))
    return {name: number for name, number in counted.items() if number}


async def add_totals(store: Store, attempts: Iterable[Attempt], now: datetime) -> None:
    """Raises the counters that `GET metrics` serves; services/operations/metrics.py reads them."""
    if amounts := totals_of(attempts):
        await store.increment(CATALOG.name, IngestionTotals.at(now).to_document(), amounts)
