"""One try at one feed of a run: polls it, stores what is new, and saves the feed.

Several tries may work on a feed at once: articles are stored right whoever stores them, and one of the tries saves the
feed, since a feed that was fetched meanwhile is not saved again. From the third delivery of a message on, each feed is
tried alone. A worker that works on a feed alone counts its own death first, and takes it back when it survives: so a
feed that kills its workers is known by its document. The outcome of a try is a record in its run, log lines, and a
share of the metrics.
"""

from __future__ import annotations

import logging
from collections import Counter
from collections.abc import Callable, Iterable, Mapping
from contextlib import suppress
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from typing import Any

from models.errors import ChangedMeanwhile, Conflict, ToolpulseError, Unavailable, UnreadableDocument
from models.feed import Feed
from models.operations import IngestionTotals, within
from models.run import FETCH_FEED, RELEASE_BATCH, Attempt, IngestionBatch, JobRun
from models.values import format_time, is_ahead
from services import telemetry
from services.articles.entries import AMBIGUOUS, EntryIngestion, NoTurn, source_of
from services.articles.entry_documents import SourceAttempt
from services.articles.poll import FeedPoller
from services.articles.quarantine import QuarantinedBatches
from services.feeds.claims import is_to_fetch
from services.feeds.outages import HostStates
from services.feeds.outcome import (
    NOTHING,
    WORKER_DIED,
    Failure,
    Ingested,
    PollResult,
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
from services.store.change import change, until_unchanged
from services.store.containers import FEEDS
from services.store.counting import add_counts
from services.topology import LAST_DELIVERY

log = logging.getLogger("toolpulse.ingest")

MAX_DEATHS = 3
"""After so many deaths in a row of workers that worked on it alone, a feed is given up."""

_DISABLING = frozenset(
    {"enabled", "disabled_reason", "disabled_at", "disabled_by", "disabled_cause", "probes", "probe_at"}
    | {"verdict", "verdict_since", "verdict_reason"}
)
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


class FeedSaves:
    """Begins tries at feeds, and saves the feeds after them."""

    def __init__(self, store: Store, clock: Clock) -> None:
        self._store = store
        self._clock = clock

    def begun(self, document: Document, run: JobRun, task_name: str) -> FeedTry:
        """A try at the feed that was read as `document`. Writes nothing."""
        feed = Feed.from_document(document)
        started_at = _after_last_fetch(feed, self._clock())
        return FeedTry(feed, document, run.run_id, run.invocations, task_name, started_at)

    async def alone(self, one: FeedTry) -> FeedTry | None:
        """Counts a death of this worker, until the feed is saved or `survived` is called. None if the feed was fetched
        meanwhile, or is gone."""
        is_mine = False

        def decide(stored: Document | None) -> Document | None:
            nonlocal is_mine
            is_mine = stored is not None and _fetched(stored) == _fetched(one.document)
            deaths = one.feed.worker_deaths + 1
            return {**stored, "worker_deaths": deaths} if stored is not None and is_mine else None

        stored = await change(self._store, FEEDS.name, one.feed.feed_id, Feed.ID, decide, known=one.document)
        return None if stored is None or not is_mine else replace(one, document=stored)

    async def survived(self, one: FeedTry) -> None:
        """Takes back the death that `alone` has counted, if the feed was not saved since."""

        def decide(stored: Document | None) -> Document | None:
            if stored is None or stored.get("worker_deaths") != one.feed.worker_deaths + 1:
                return None
            return {**stored, "worker_deaths": one.feed.worker_deaths}

        await change(self._store, FEEDS.name, one.feed.feed_id, Feed.ID, decide)

    async def add(self, feed_id: str, decide: Callable[[Feed, datetime], Feed]) -> None:
        """Saves what `decide` makes of the feed and the time, whoever fetched the feed meanwhile."""

        def decided(stored: Document | None) -> Document | None:
            if stored is None:
                return None
            feed = Feed.from_document(stored)
            return decide(feed, _after_last_fetch(feed, self._clock())).to_document()

        await change(self._store, FEEDS.name, feed_id, Feed.ID, decided)

    async def save(self, one: FeedTry, after: Feed, seen: Document | None = None) -> bool:
        """Saves the feed as `after`, with its `seen` document if there is one; False if the feed was fetched meanwhile.
        Changes that a person made to the feed since it was read are kept. Raises Unavailable at the second failure of
        the store."""
        feed_id, wanted, known, was_away = one.feed.feed_id, after.to_document(), one.document, False

        async def once() -> bool:
            nonlocal wanted, known, was_away
            writes: list[Operation] = [Replace(wanted, known["_etag"])]
            if seen is not None:
                writes.append(Upsert(seen))
            try:
                await self._store.batch(FEEDS.name, feed_id, writes)
            except (ChangedMeanwhile, Conflict, Unavailable) as error:
                fresh = await self._store.read(FEEDS.name, feed_id, Feed.ID)
                if fresh is None:
                    return False
                if all(fresh.get(name) == value for name, value in wanted.items()):
                    return True  # only the response was lost
                if _fetched(fresh) != _fetched(one.document):
                    return False
                is_away = isinstance(error, Unavailable)
                if is_away and was_away:
                    raise
                wanted, known, was_away = _merged(wanted, known, fresh), fresh, was_away or is_away
                raise ChangedMeanwhile(str(error)) from error
            return True

        return await until_unchanged(once, f"feed {feed_id}")


def log_skipped(feed_id: str, reason: str) -> None:
    log_event(log, logging.DEBUG, "feed_skipped", feed_id=feed_id, reason=reason)


def _after_last_fetch(feed: Feed, now: datetime) -> datetime:
    """`now`, or a second after the last fetch. The time of a clock that was ahead does not count: the feed would be due
    by that clock again."""
    last = feed.last_fetch_time
    return now if last is None or is_ahead(last, now) else max(now, last + timedelta(seconds=1))


def _merged(wanted: Document, before: Document, fresh: Document) -> Document:
    """`wanted`, but with all changes that others made to the feed since `before`."""
    theirs = {name for name in before.keys() | fresh.keys() if before.get(name) != fresh.get(name)}
    if theirs & {"enabled", "disabled_by"}:
        theirs |= _DISABLING
    merged = {**wanted, **{name: fresh.get(name) for name in theirs if name != "updated_at"}}
    return {name: value for name, value in merged.items() if value is not None and name[0] != "_"}


def _fetched(feed: Mapping[str, Any]) -> tuple[Any, ...]:
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
        updated_at=one.started_at,
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
        await add_counts(store, IngestionTotals.at(now), amounts)


ALONE_FROM = 3
"""From this delivery on, a worker works on the feeds of a message one at a time: which feed kills workers is then known
by its document. The first two deliveries, which a restart may have interrupted, go on at full speed."""


@dataclass(frozen=True, slots=True)
class Done:
    """A try whose articles are stored and announced, and whose feed is saved. `due` are the articles to be analysed."""

    record: Attempt
    due: frozenset[str]


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

    def __post_init__(self) -> None:
        self._saves = FeedSaves(self.store, self.clock)
        self._quarantined = QuarantinedBatches(self.store)

    async def fetch(self, run: IngestionBatch, document: Document, delivery: int) -> Done | None:
        """Fetches and saves the feed that was read as `document`. None if it was fetched since it was claimed, is
        disabled or gone, or cannot be read: the run ends, since it keeps the other feeds of its hosts from being
        claimed. Raises NoTurn."""
        feed_id = document["feed_id"]
        if not is_to_fetch(run, document):
            log_skipped(feed_id, "fetched since it was claimed")
            return None
        if not document["enabled"] and not is_probe(document, self.clock()):
            log_skipped(feed_id, "disabled")
            return None
        try:
            one = self._saves.begun(document, run, FETCH_FEED)
        except UnreadableDocument as error:
            log_unreadable(error)
            return None
        if one.feed.worker_deaths >= MAX_DEATHS:
            why = f"{MAX_DEATHS} workers in a row died while they fetched it alone; enable it to try again"
            return await self._failed(one, Failure(WORKER_DIED, why, WORKER_DIED, permanent=True))
        if delivery < ALONE_FROM:
            return await self._fetched(one, delivery)
        alone = await self._saves.alone(one)
        done = None
        try:
            done = await self._fetched(alone, delivery) if alone is not None else None
        finally:
            if done is None:
                with suppress(ToolpulseError):
                    await self._saves.survived(one)
        return done

    async def release(self, run: JobRun, quarantine_id: str) -> Done | None:
        """Ingests a batch that a person released from quarantine. Its feed counts it, whoever fetches it meanwhile."""
        item = await self._quarantined.released(quarantine_id)
        if item is None:
            return None
        document = await self.store.read(FEEDS.name, item.subject, Feed.ID)
        if document is None:
            await self._quarantined.finish(item, self.clock())  # the feed is gone, and its batch with it
            return None
        one = self._saves.begun(document, run, RELEASE_BATCH)
        items, have_new_ids = await self._quarantined.items(item), item.decision == "same_articles_new_ids"
        ingested = await self.entries.ingest_released(one.feed, one.attempt(), items, have_new_ids=have_new_ids)

        def counted(feed: Feed, now: datetime) -> Feed:
            return after_release(feed, ingested.new, now, quarantine_id)

        after = counted(one.feed, one.started_at)
        if not await self._saves.save(one, after):
            await self._saves.add(one.feed.feed_id, counted)
        await self._quarantined.finish(item, self.clock(), ingested.skipped.get(AMBIGUOUS, 0))
        return _done(one, after, ingested, None)

    async def _fetched(self, one: FeedTry, delivery: int) -> Done | None:
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
            return await self._succeeded(one, polled, ingested)
        except (Unavailable, NoTurn):
            raise
        except Exception as error:
            if delivery < LAST_DELIVERY:
                raise
            # Recorded as a failure of this feed. A poison message would not show which of its feeds is the cause.
            log.exception("feed_breaks_ingestion feed_id=%s", one.feed.feed_id)
            name = type(error).__name__
            return await self._failed(one, Failure("internal_error", name, name))

    async def _succeeded(self, one: FeedTry, polled: PollResult, ingested: Ingested) -> Done | None:
        policy = await self.budget.policy()
        after = after_success(one.feed, polled, ingested, one.started_at, policy, self.chance())
        return await self._saved(one, after, ingested, polled.result)

    async def _failed(self, one: FeedTry, failure: Failure, ingested: Ingested = NOTHING) -> Done | None:
        policy, outage = await self.budget.policy(), await self.hosts.noticed(one.feed, failure, self.clock())
        since = outage.since if outage is not None else None
        after = after_failure(one.feed, failure, ingested, one.started_at, policy, self.chance(), since)
        return await self._saved(one, after, ingested, failure)

    async def _saved(self, one: FeedTry, after: Feed, ingested: Ingested, end: FetchResult | Failure) -> Done | None:
        """None for a feed that was fetched meanwhile: it is neither saved nor an error."""
        if not await self._saves.save(one, after, ingested.seen):
            return None
        self.entries.saved(after, ingested)
        return _done(one, after, ingested, end)


def _done(one: FeedTry, after: Feed, ingested: Ingested, end: FetchResult | Failure | None) -> Done:
    record = attempt_record(one, ingested, end)
    log_outcome(one.feed, after, record, ingested, end.tries if isinstance(end, Failure) else 0)
    return Done(record, ingested.due)
