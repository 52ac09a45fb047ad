"""One attempt at one feed of a message: polls it, stores what is new under a lease, and decides how the feed is saved.

An attempt that finds nothing new writes nothing here: ingestion.py saves its feed. Before the first article is stored,
the attempt acquires the lease of the feed. A message that is delivered again acquires it before the fetch: a feed that
kills its workers is then known by its document.
"""

from __future__ import annotations

import logging
from collections.abc import Callable
from dataclasses import dataclass, replace

from models.errors import ChangedMeanwhile, ToolpulseError, Unavailable
from models.feed import Feed
from models.quarantine import QuarantineItem
from models.run import FETCH_FEED, RELEASE_BATCH, Attempt, JobRun
from services.articles.attempts import attempt_record
from services.articles.entries import EntryIngestion, Ingested, NoTurn
from services.articles.poll import FeedPoller
from services.articles.quarantine import QuarantinedBatches
from services.feeds.budget import Budget
from services.feeds.claims import ClaimedFeed
from services.feeds.leases import MOST_DEATHS, Lease, Leases, log_skipped
from services.feeds.outages import Outages
from services.feeds.outcome import (
    WORKER_DIED,
    Failure,
    PollResult,
    after_failure,
    after_release,
    after_success,
    failure_of,
)
from services.feeds.probing import is_probe
from services.ports import Clock, Document, Store
from services.store.containers import FEEDS
from services.topology import LAST_DELIVERY
from services.work.runs import RunEngine

log = logging.getLogger("toolpulse.ingest")

ALONE_FROM = 3
"""From this delivery on, a worker works on the feeds of a message one at a time: which feed kills workers is then known
by its lease. The first two deliveries, which a restart may have interrupted, go on at full speed."""


@dataclass(frozen=True, slots=True)
class Worked:
    """An attempt whose articles are stored and announced, and the feed as it is to be saved."""

    lease: Lease
    after: Feed
    record: Attempt
    ingested: Ingested
    tries: int = 0
    released: QuarantineItem | None = None


@dataclass(frozen=True, slots=True)
class Left:
    """Too little time was left for the feed: nothing of it was stored."""

    feed_id: str


Result = Worked | Left | None
"""None: the feed was fetched since it was claimed, is disabled or gone, or another attempt works on it."""


class _Overtaken(Exception):
    """Another attempt has had the feed since it was read."""


class FeedAttempts:
    def __init__(
        self,
        store: Store,
        engine: RunEngine,
        poller: FeedPoller,
        entries: EntryIngestion,
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
        self._budget = budget
        self._outages = outages
        self._clock = clock
        self._chance = chance
        self.quarantined = QuarantinedBatches(store)

    async def fetch(self, run: JobRun, claim: ClaimedFeed, document: Document, delivery: int) -> Result:
        """Fetches the feed that was read as `document`, unless that is done already or must not be done any more."""
        begun = None
        if claim.fetched != (document.get("last_fetch_time") or ""):
            log_skipped(claim.feed_id, "fetched since it was claimed")
        else:
            begun = self.leases.begun(document, run.run_id, delivery, FETCH_FEED, alone=delivery >= ALONE_FROM)
        if begun is None:
            return None
        if not document["enabled"] and not is_probe(document, self._clock()):
            if begun.died is not None:
                await self.leases.release(document)
            log_skipped(claim.feed_id, "disabled")
            return None
        if begun.feed.worker_deaths >= MOST_DEATHS:
            why = f"{MOST_DEATHS} workers in a row died while they fetched it alone; enable it to try again"
            return await self._worked(begun, Ingested(), Failure(WORKER_DIED, why, WORKER_DIED, permanent=True))
        try:
            return await self._fetched(await self._acquired(begun) if delivery > 1 else begun, delivery)
        except _Overtaken:
            return None
        except NoTurn:
            if delivery > 1:  # the lease is stored: only a further delivery of this message may take it over
                raise Unavailable("no time was left to store what is new") from None
            return Left(claim.feed_id)

    async def release(self, run: JobRun, quarantine_id: str, delivery: int) -> Result:
        """Ingests a batch that a person released from quarantine, under a lease of its feed. Raises ChangedMeanwhile
        while another attempt has the lease."""
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
        begun = self.leases.begun(document, run.run_id, number, RELEASE_BATCH)
        lease = await self.leases.acquire(begun) if begun is not None else None
        if lease is None:
            raise ChangedMeanwhile(f"feed {item.subject} is being fetched")
        items, have_new_ids = await self.quarantined.items(item), item.decision == "same_articles_new_ids"
        ingested = await self.entries.ingest_released(lease, items, have_new_ids=have_new_ids)
        record = attempt_record(lease, RELEASE_BATCH, ingested, None)
        after = after_release(lease.feed, ingested.written.new, lease.started_at, quarantine_id)
        return Worked(lease, after, record, ingested, released=item)

    async def _acquired(self, lease: Lease) -> Lease:
        acquired = lease if lease.is_stored else await self.leases.acquire(lease)
        if acquired is None:
            raise _Overtaken
        return acquired

    async def _fetched(self, lease: Lease, delivery: int) -> Worked:
        try:
            ingested = Ingested()
            async with self.poller.polled(lease.feed, lease.started_at) as whole:
                if whole.document is not None:
                    lease, ingested = await self.entries.ingest(lease, whole.document, self._acquired)
                polled = whole.without_items()
                del whole  # what follows waits for the store, and counts in no budget of memory
            return await self._worked(lease, ingested, polled)
        except (ToolpulseError, _Overtaken, NoTurn):
            raise
        except Exception as error:
            if delivery < LAST_DELIVERY:
                raise
            # Recorded as a failure of this feed. A poison message would not show which of its feeds is the cause.
            log.exception("feed_breaks_ingestion feed_id=%s", lease.feed.feed_id)
            name = type(error).__name__
            return await self._worked(lease, Ingested(), Failure("internal_error", name, name))

    async def _worked(self, lease: Lease, ingested: Ingested, end: PollResult | Failure) -> Worked:
        """The attempt as it ended, and the feed as it is to be saved."""
        new = ingested.written.new
        policy, chance, now = await self._budget.policy(), self._chance(), lease.started_at
        if isinstance(end, PollResult):
            end = failure_of(end) or end
        record = attempt_record(lease, FETCH_FEED, ingested, end if isinstance(end, Failure) else end.result)
        if isinstance(end, Failure):
            outage = await self._outages.noticed(lease.feed, end, self._clock())
            after = after_failure(
                lease.feed,
                end,
                new,
                now,
                policy,
                chance,
                in_part=ingested.entries > 0,
                quarantine_id=ingested.quarantine_id,
                outage_since=outage.since if outage is not None else None,
            )
            return Worked(lease, after, record, ingested, end.tries)
        after = after_success(
            lease.feed,
            _with_ingested(end, ingested),
            new,
            ingested.written.published,
            now,
            policy,
            chance,
            quarantine_id=ingested.quarantine_id,
            cut=ingested.is_cut,
            languages=ingested.languages,
            entries=ingested.entries if end.document is not None else None,
        )
        return Worked(lease, after, record, ingested)


def _with_ingested(polled: PollResult, ingested: Ingested) -> PollResult:
    """The result with the entries that were refused after parsing. `lied` stays true only if the body had something
    new."""
    lied = polled.lied and bool(ingested.written.new or ingested.written.due)
    document = polled.document
    if document is not None:
        refused = {"refused": ingested.refused} if ingested.refused else {}
        document = replace(document, skipped={**document.skipped, **refused, **ingested.skipped})
    return replace(polled, document=document, lied=lied)
