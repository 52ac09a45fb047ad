"""One try at one feed of a run: polls it, stores what is new, and saves the feed.

Several tries may work on a feed at once: articles are stored right whoever stores them, and one of the tries saves the
feed, since a feed that was fetched meanwhile is not saved again. The outcome of a try is a record in its run, log
lines, and a share of the metrics.
"""

from __future__ import annotations

import logging
from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any

from models.errors import Unavailable, UnreadableDocument
from models.feed import Feed
from models.operations import IngestionTotals, within
from models.run import FETCH_FEED, RELEASE_BATCH, Attempt, IngestionBatch, JobRun
from models.values import format_time, is_ahead
from services import telemetry
from services.articles.entries import AMBIGUOUS, EntryIngestion, NoTurn, source_of
from services.articles.identity import SourceAttempt
from services.articles.poll import FeedPoller
from services.articles.quarantine import finish_batch, items_of, released_batch
from services.feeds.claims import is_to_fetch
from services.feeds.outages import HostStates
from services.feeds.outcome import (
    ENABLED,
    NOTHING,
    WORKER_DIED,
    Failure,
    Ingested,
    after_failure,
    after_release,
    after_success,
    failure_of,
    is_probe,
)
from services.feeds.schedule import Budget
from services.fetch.outcome import FetchResult
from services.logs import log_event, log_unreadable
from services.ports import Clock, Document, Operation, Replace, Store, Upsert
from services.store.change import change, change_together
from services.store.containers import FEEDS
from services.topology import LAST_DELIVERY

log = logging.getLogger("toolpulse.ingest")

MAX_DEATHS = 3
"""After so many deaths in a row of workers that worked on it alone, a feed is given up."""

_DISABLING = ENABLED.keys() | {"verdict", "verdict_since", "verdict_reason"}
"""Fields that belong together: if a person disabled or enabled the feed meanwhile, all are as that person's change left
them."""


@dataclass(frozen=True, slots=True)
class FeedTry:
    """One try at a feed: the feed as the try has it, and the document as it is stored. `started_at` is later than the
    last fetch, even if the clocks of the workers differ."""

    feed: Feed
    document: Document
    run_id: str
    attempt_no: int
    task_name: str
    started_at: datetime

    def attempt(self, title: str | None = None) -> SourceAttempt:
        """`title` is that of the feed document."""
        return SourceAttempt(source_of(self.feed, title), self.run_id, self.attempt_no, self.started_at)


def begun(document: Document, run: JobRun, task_name: str, now: datetime) -> FeedTry:
    """A try at the feed that was read as `document`. The last fetch by a clock that was ahead does not count: the feed
    would be due by that clock again."""
    feed = Feed.from_document(document)
    last = feed.last_fetch_time
    started_at = now if last is None or is_ahead(last, now) else max(now, last + timedelta(seconds=1))
    return FeedTry(feed, document, run.run_id, run.invocations, task_name, started_at)


async def save(store: Store, one: FeedTry, after: Feed, seen: Document | None = None) -> bool:
    """Saves the feed as `after`, with its `seen` document if there is one; False if the feed was fetched meanwhile.
    Changes that a person made to the feed since it was read are kept. Raises Unavailable at the second failure of the
    store."""
    feed_id, wanted, written, is_saved = one.feed.feed_id, after.to_document(), Document(), False

    def decide(found: Sequence[Document | None]) -> list[Operation]:
        nonlocal written, is_saved
        (stored,) = found
        is_saved = bool(written) and stored is not None and written.items() <= stored.items()  # its answer was lost
        if is_saved or stored is None or _fetched(stored) != _fetched(one.document):
            return []
        written = _merged(wanted, one.document, stored)
        saved = Replace(written, stored["_etag"])
        return [saved] if seen is None else [saved, Upsert(seen)]

    try:
        done = await change_together(store, FEEDS.name, feed_id, [Feed.ID], decide, known=[one.document])
    except Unavailable:
        done = await change_together(store, FEEDS.name, feed_id, [Feed.ID], decide)
    return is_saved or bool(done)


def _merged(wanted: Document, before: Document, fresh: Document) -> Document:
    """`wanted`, but with all changes that others made to the feed since `before`."""
    if fresh is before:
        return wanted
    theirs = {name for name in before.keys() | fresh.keys() if before.get(name) != fresh.get(name)}
    if theirs & {"enabled", "disabled_by"}:
        theirs |= _DISABLING
    merged = {**wanted, **{name: fresh.get(name) for name in theirs if name != "updated_at"}}
    return {name: value for name, value in merged.items() if value is not None and name[0] != "_"}


def _fetched(feed: Document) -> tuple[Any, ...]:
    """A worker that finds another value here has lost the feed to another try."""
    return feed.get("feed_url"), feed.get("last_fetch_time")


SLOW_MS = 5_000


def attempt_record(one: FeedTry, ingested: Ingested, end: FetchResult | Failure | None) -> Attempt:
    """`end` is how the fetch ended; a batch released from quarantine was not fetched."""
    outcome: dict[str, Any] = {"status": "SUCCEEDED", "duration_ms": 0}
    new, created = ingested.new, ingested.created
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
        created_at=one.started_at,
        run_id=one.run_id,
        task_name=one.task_name,
        subject=one.feed.feed_id,
        attempt_no=one.attempt_no,
        started_at=one.started_at,
        articles_found=max(ingested.entries, new),
        articles_new=new,
        articles_stored=created,
        articles_held=ingested.held,
        articles_skipped=sum(ingested.skipped.values()),
        collisions_detected=new - created,
        **outcome,
    )


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
        level = logging.INFO if new else logging.DEBUG  # most polls find nothing, and each line is billed
        event(level, "feed_fetched", duration_ms=took, articles_found=found, articles_new=new, status_code=status)
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
    """By how much the attempts raise the counters of IngestionTotals, which `GET metrics` serves."""
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


@dataclass
class FeedAttempts:
    """Makes tries at feeds, and ingests batches that were released from quarantine."""

    store: Store
    poller: FeedPoller
    entries: EntryIngestion
    budget: Budget
    hosts: HostStates
    clock: Clock
    chance: Callable[[], float]

    async def fetch(self, run: IngestionBatch, document: Document, delivery: int) -> Attempt | None:
        """Fetches and saves the feed that was read as `document`. None if it was fetched since it was claimed, is
        disabled or gone, or cannot be read: the run ends, since it keeps the other feeds of its hosts from being
        claimed. Raises NoTurn."""
        is_claimed = is_to_fetch(run, document)
        if not is_claimed or not (document["enabled"] or is_probe(document, self.clock())):
            reason = "disabled" if is_claimed else "fetched since it was claimed"
            log_event(log, logging.DEBUG, "feed_skipped", feed_id=document["feed_id"], reason=reason)
            return None
        try:
            one = begun(document, run, FETCH_FEED, self.clock())
        except UnreadableDocument as error:
            log_unreadable(error)
            return None
        if run.deaths is not None and run.deaths.get(one.feed.feed_id, 0) >= MAX_DEATHS:
            why = f"{MAX_DEATHS} workers in a row died while they fetched it alone"
            return await self._failed(one, Failure(WORKER_DIED, why, WORKER_DIED, permanent=True))
        return await self._fetched(one, delivery)

    async def release(self, run: JobRun, quarantine_id: str) -> Attempt | None:
        """Ingests a batch that a person released from quarantine. Its feed counts it, whoever fetches it meanwhile."""
        item = await released_batch(self.store, quarantine_id)
        if item is None:
            return None
        document = await self.store.read(FEEDS.name, item.subject, Feed.ID)
        if document is None:
            await finish_batch(self.store, item, self.clock())  # the feed is gone, and its batch with it
            return None
        one = begun(document, run, RELEASE_BATCH, self.clock())
        items, have_new_ids = await items_of(self.store, item), item.decision == "same_articles_new_ids"
        ingested = await self.entries.ingest_released(one.feed, one.attempt(), items, have_new_ids=have_new_ids)

        def counted(stored: Document | None) -> Document | None:
            if stored is None:
                return None
            present = begun(stored, run, RELEASE_BATCH, one.started_at)
            return after_release(present.feed, ingested.new, present.started_at, quarantine_id).to_document()

        saved = await change(self.store, FEEDS.name, item.subject, Feed.ID, counted, known=document)
        await finish_batch(self.store, item, self.clock(), ingested.skipped.get(AMBIGUOUS, 0))
        return _recorded(one, one.feed if saved is None else Feed.from_document(saved), ingested, None)

    async def _fetched(self, one: FeedTry, delivery: int) -> Attempt | None:
        try:
            async with self.poller.polled(one.feed, one.started_at) as whole:
                ingested = NOTHING
                if whole.document is not None:
                    attempt = one.attempt(whole.document.title)
                    ingested = await self.entries.ingest(one.feed, attempt, whole.document)
                polled = whole.without_items()
                del whole  # what follows waits for the store, and counts in no budget of memory
            failure = failure_of(polled)
            if failure is not None:
                return await self._failed(one, failure, ingested)
            policy = await self.budget.policy()
            after = after_success(one.feed, polled, ingested, one.started_at, policy, self.chance())
            return await self._saved(one, after, ingested, polled.result)
        except (Unavailable, NoTurn):
            raise
        except Exception as error:
            if delivery < LAST_DELIVERY:
                raise
            # Recorded as a failure of this feed. A poison message would not show which of its feeds is the cause.
            log.exception("feed_breaks_ingestion feed_id=%s", one.feed.feed_id)
            name = type(error).__name__
            return await self._failed(one, Failure("internal_error", name, name))

    async def _failed(self, one: FeedTry, failure: Failure, ingested: Ingested = NOTHING) -> Attempt | None:
        policy, outage = await self.budget.policy(), await self.hosts.noticed(one.feed, failure, self.clock())
        since = outage.since if outage is not None else None
        after = after_failure(one.feed, failure, ingested, one.started_at, policy, self.chance(), since)
        return await self._saved(one, after, ingested, failure)

    async def _saved(self, one: FeedTry, after: Feed, ingested: Ingested, end: FetchResult | Failure) -> Attempt | None:
        """None for a feed that was fetched meanwhile: it is neither saved nor an error."""
        if not await save(self.store, one, after, ingested.seen):
            return None
        self.entries.saved(after, ingested)
        return _recorded(one, after, ingested, end)


def _recorded(one: FeedTry, after: Feed, ingested: Ingested, end: FetchResult | Failure | None) -> Attempt:
    record = attempt_record(one, ingested, end)
    log_outcome(one.feed, after, record, ingested, end.tries if isinstance(end, Failure) else 0)
    return record
