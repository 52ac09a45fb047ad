"""One attempt at one feed of a message: polls it, stores what is new under a lease, and decides how the feed is saved.

An attempt that finds nothing new writes nothing here: ingestion.py saves its feed. Before the first article is stored,
the attempt acquires the lease of the feed. A message that is delivered again acquires it before the fetch: a feed that
kills its workers is then known by its document.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from typing import cast

from models.errors import ChangedMeanwhile, ToolpulseError, Unavailable
from models.feed import Feed, FeedDocument
from models.quarantine import QuarantineItem
from models.run import FETCH_FEED, RELEASE_BATCH, Attempt, JobRun
from services.articles.announcing import Announce
from services.articles.attempts import (
    AddedArticles,
    Correction,
    added_by,
    attempt_record,
    count_interrupted,
    due_since,
)
from services.articles.entries import EntryIngestion, Ingested, NoTurn
from services.articles.poll import FeedPoller
from services.articles.quarantine import QuarantinedBatches
from services.articles.writing import Written
from services.feeds.budget import Budget
from services.feeds.claims import ClaimedFeed
from services.feeds.last_attempt import record_of
from services.feeds.leases import MOST_DEATHS, AtWork, Lease, Leases, deaths_of, log_skipped
from services.feeds.outage_states import Outages
from services.feeds.outcome import (
    WORKER_DIED,
    Counted,
    Failure,
    PollResult,
    after_failure,
    after_release,
    after_success,
    failure_of,
)
from services.feeds.probing import is_probe
from services.ports import Clock, Document, Store
from services.runs.engine import RunEngine
from services.store.containers import FEEDS
from services.topology import LAST_DELIVERY

log = logging.getLogger("toolpulse.ingest")

ALONE_FROM = 3
"""From this delivery on, a worker works on the feeds of a message one at a time: which feed kills workers is then known
by its lease. The first two deliveries, which a restart may have interrupted, go on at full speed."""


@dataclass(frozen=True, slots=True)
class Worked:
    """An attempt whose articles are stored and announced, and the feed as it is to be saved. `found_due` are articles
    of interrupted attempts that were announced again."""

    lease: Lease
    after: Feed
    record: Attempt
    ingested: Ingested
    tries: int = 0
    released: QuarantineItem | None = None
    corrections: Sequence[Correction] = ()
    found_due: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Done:
    """An earlier delivery of the message has saved the feed."""

    record: Attempt


@dataclass(frozen=True, slots=True)
class Left:
    """Too little time was left for the feed: nothing of it was stored."""

    feed_id: str


Result = Worked | Done | AtWork | Left | None
"""None: the feed was fetched since it was claimed, is disabled or gone, or another run works on it."""


class _Overtaken(Exception):
    """Another attempt has had the feed since it was read."""

    def __init__(self, by: AtWork | None) -> None:
        self.by = by


class FeedAttempts:
    def __init__(
        self,
        store: Store,
        engine: RunEngine,
        poller: FeedPoller,
        entries: EntryIngestion,
        announce: Announce,
        budget: Budget,
        outages: Outages,
        clock: Clock,
        chance: Callable[[], float],
    ) -> None:
        self._store = store
        self._engine = engine
        self.leases = Leases(store, clock)
        self.poller = poller
        self.entries = entries
        self._announce = announce
        self._budget = budget
        self._outages = outages
        self._clock = clock
        self._chance = chance
        self.quarantined = QuarantinedBatches(store)

    async def fetch(self, run: JobRun, claim: ClaimedFeed, document: Document, delivery: int) -> Result:
        """Fetches the feed that was read as `document`, unless that is done already or must not be done any more."""
        earlier = record_of(document, run)
        if earlier is not None:
            return Done(earlier)
        if claim.fetched is not None and claim.fetched != (document.get("last_fetch_time") or ""):
            log_skipped(claim.feed_id, "fetched since it was claimed")
            return None
        alone = delivery >= ALONE_FROM
        begun = self.leases.begun(document, run.run_id, delivery, FETCH_FEED, alone=alone)
        if not isinstance(begun, Lease):
            return begun
        if not document["enabled"] and not is_probe(cast(FeedDocument, document), self._clock()):
            if document.get("current_attempt"):
                await self.leases.release(document)
            log_skipped(claim.feed_id, "disabled")
            return None
        if deaths_of(cast(FeedDocument, document), self._clock()) >= MOST_DEATHS:
            why = f"{MOST_DEATHS} workers in a row died while they fetched it alone; enable it to try again"
            stored_some = Ingested(written=Written(any_matched=True))  # perhaps, before the last death
            return await self._worked(begun, stored_some, Failure(WORKER_DIED, why, WORKER_DIED, permanent=True))
        try:
            result: Result = await self._fetched(await self._acquired(begun) if delivery > 1 else begun, delivery)
        except _Overtaken as overtaken:
            result = overtaken.by
        except NoTurn:
            if delivery > 1:  # the lease is stored: only a further delivery of this message may take it over
                raise Unavailable("no time was left to store what is new") from None
            result = Left(claim.feed_id)
        return result

    async def release(self, run: JobRun, quarantine_id: str, delivery: int) -> Result:
        """Ingests a batch that a person released from quarantine, under a lease of its feed. Raises ChangedMeanwhile
        while another run has the lease."""
        item = await self.quarantined.released(quarantine_id)
        if item is None:
            return None
        document = await self._store.read(FEEDS.name, item.subject, Feed.ID)
        if document is None:
            await self.quarantined.finish(item, self._clock())  # the feed is gone, and its batch with it
            return None
        # The feed may have been saved by an attempt of this run that did not finish the batch: the numbers must go on.
        recorded = [each.attempt_no for each in await self._engine.attempts(run.run_id)]
        number = max([delivery, *(each + 1 for each in recorded)])
        try:
            begun = self.leases.begun(document, run.run_id, number, RELEASE_BATCH)
            lease = await self._acquired(begun) if isinstance(begun, Lease) else begun
        except _Overtaken as overtaken:
            lease = overtaken.by
        if lease is None:
            raise ChangedMeanwhile(f"feed {item.subject} is being fetched")
        if isinstance(lease, AtWork):
            return lease
        found_due = await self._announce_interrupted(lease, 1)
        items, have_new_ids = await self.quarantined.items(item), item.decision == "same_articles_new_ids"
        ingested = await self.entries.ingest_released(lease, items, have_new_ids=have_new_ids)
        added, counted, corrections = await self._counted(lease, ingested)
        record = attempt_record(lease, RELEASE_BATCH, ingested, added, None)
        after = after_release(lease.feed, replace(counted, record=record), lease.started_at, quarantine_id)
        return Worked(lease, after, record, ingested, released=item, corrections=corrections, found_due=found_due)

    async def announce_due(self, feed_ids: Collection[str], since: datetime) -> tuple[str, ...]:
        """Announces the articles of these feeds that became due since then, and returns them."""
        found = await due_since(self._store, feed_ids, since) if feed_ids else []
        await self._announce(found)
        return tuple(found)

    async def _announce_interrupted(self, lease: Lease, delivery: int) -> tuple[str, ...]:
        """Announces what interrupted attempts of other runs stored: their workers may have died before they did."""
        since = [
            each.started_at
            for each in lease.feed.interrupted_attempts
            if each.counted is None and (each.run_id != lease.run_id or delivery == 1)
        ]
        return await self.announce_due({lease.feed.feed_id}, min(since)) if since else ()

    async def _acquired(self, lease: Lease) -> Lease:
        acquired = lease if lease.is_stored else await self.leases.acquire(lease)
        if not isinstance(acquired, Lease):
            raise _Overtaken(acquired)
        return acquired

    async def _fetched(self, lease: Lease, delivery: int) -> Worked:
        try:
            found_due = await self._announce_interrupted(lease, delivery)
            ingested = Ingested()
            async with self.poller.polled(lease.feed, lease.started_at) as whole:
                if whole.document is not None:
                    lease, ingested = await self.entries.ingest(lease, whole.document, self._acquired)
                polled = whole.without_items()
                del whole  # what follows waits for the store, and counts in no budget of memory
            worked = await self._worked(lease, ingested, polled)
            return replace(worked, found_due=found_due)
        except (ToolpulseError, _Overtaken, NoTurn):
            raise
        except Exception as error:
            if delivery < LAST_DELIVERY:
                raise
            # Recorded as a failure of this feed. A poison message would not show which of its feeds is the cause.
            log.exception("feed_breaks_ingestion feed_id=%s", lease.feed.feed_id)
            name = type(error).__name__
            stored_some = Ingested(written=Written(any_matched=True))  # perhaps, before the error
            return await self._worked(lease, stored_some, Failure("internal_error", name, name))

    async def _worked(self, lease: Lease, ingested: Ingested, end: PollResult | Failure) -> Worked:
        """The attempt as it ended, and the feed as it is to be saved."""
        added, counted, corrections = await self._counted(lease, ingested)
        policy, chance, now = await self._budget.policy(), self._chance(), lease.started_at
        if isinstance(end, PollResult):
            end = failure_of(end) or end
        record = attempt_record(lease, FETCH_FEED, ingested, added, end if isinstance(end, Failure) else end.result)
        counted = replace(counted, record=record)
        if isinstance(end, Failure):
            outage = await self._outages.noticed(lease.feed, end, self._clock())
            after = after_failure(
                lease.feed,
                end,
                counted,
                now,
                policy,
                chance,
                in_part=ingested.entries > 0,
                quarantine_id=ingested.quarantine_id,
                outage_since=outage.since if outage is not None else None,
            )
            return Worked(lease, after, record, ingested, end.tries, corrections=corrections)
        after = after_success(
            lease.feed,
            _with_ingested(end, ingested, added),
            counted,
            ingested.written.published,
            now,
            policy,
            chance,
            quarantine_id=ingested.quarantine_id,
            cut=ingested.is_cut,
            languages=ingested.languages,
            entries=ingested.entries if end.document is not None else None,
        )
        return Worked(lease, after, record, ingested, corrections=corrections)

    async def _counted(self, lease: Lease, ingested: Ingested) -> tuple[AddedArticles, Counted, list[Correction]]:
        added = AddedArticles()
        if ingested.written.any_matched:
            created = ingested.written.created
            attempt = (lease.run_id, lease.feed.feed_id, lease.attempt_no)
            added = await added_by(self._store, *attempt, known_created=created)
        interrupted, corrections = await count_interrupted(self._store, lease.feed)
        return added, replace(interrupted, new=added.new), corrections


def _with_ingested(polled: PollResult, ingested: Ingested, added: AddedArticles) -> PollResult:
    """The result with the entries that were refused after parsing. `lied` stays true only if the body had something
    new."""
    lied = polled.lied and bool(added.new or ingested.written.due)
    document = polled.document
    if document is not None:
        refused = {"refused": ingested.refused} if ingested.refused else {}
        document = replace(document, skipped={**document.skipped, **refused, **ingested.skipped})
    return replace(polled, document=document, lied=lied)
