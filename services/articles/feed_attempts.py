"""One try at one feed of a run: polls it, stores what is new, and decides how the feed is saved.

A try that finds nothing new writes nothing here: ingestion.py saves its feed. From the third delivery of a message on,
each feed is tried alone: a feed that kills its workers is then known by its document.
"""

from __future__ import annotations

import logging
from collections.abc import Callable
from dataclasses import dataclass, replace
from datetime import datetime

from models.errors import Unavailable
from models.feed import Feed
from models.quarantine import QuarantineItem
from models.run import FETCH_FEED, RELEASE_BATCH, Attempt, IngestionBatch, JobRun
from services.articles.attempts import attempt_record
from services.articles.entries import EntryIngestion, Ingested, NoTurn
from services.articles.poll import FeedPoller
from services.articles.quarantine import QuarantinedBatches
from services.feeds.budget import Budget
from services.feeds.claims import is_to_fetch
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
from services.feeds.saving import MOST_DEATHS, FeedSaves, FeedTry, log_skipped
from services.ports import Clock, Document, Store
from services.store.containers import FEEDS
from services.topology import LAST_DELIVERY

log = logging.getLogger("toolpulse.ingest")

ALONE_FROM = 3
"""From this delivery on, a worker works on the feeds of a message one at a time: which feed kills workers is then known
by its document. The first two deliveries, which a restart may have interrupted, go on at full speed."""


@dataclass(frozen=True, slots=True)
class Worked:
    """An attempt whose articles are stored and announced, and the feed as it is to be saved."""

    one: FeedTry
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
"""None: the feed was fetched since it was claimed, or is disabled or gone."""


class FeedAttempts:
    """Makes tries at feeds, and ingests batches that were released from quarantine."""

    def __init__(
        self,
        store: Store,
        poller: FeedPoller,
        entries: EntryIngestion,
        budget: Budget,
        outages: Outages,
        clock: Clock,
        chance: Callable[[], float],
    ) -> None:
        self._store = store
        self.saves = FeedSaves(store, clock)
        self.poller = poller
        self.entries = entries
        self._budget = budget
        self._outages = outages
        self._clock = clock
        self._chance = chance
        self.quarantined = QuarantinedBatches(store)

    async def fetch(self, run: IngestionBatch, document: Document, delivery: int) -> Result:
        """Fetches the feed that was read as `document`, unless that is done already or must not be done any more."""
        feed_id = document["feed_id"]
        if not is_to_fetch(run, document):
            log_skipped(feed_id, "fetched since it was claimed")
            return None
        if not document["enabled"] and not is_probe(document, self._clock()):
            log_skipped(feed_id, "disabled")
            return None
        begun: FeedTry | None = self.saves.begun(document, run, FETCH_FEED)
        if begun is not None and begun.feed.worker_deaths >= MOST_DEATHS:
            why = f"{MOST_DEATHS} workers in a row died while they fetched it alone; enable it to try again"
            return await self._worked(begun, Ingested(), Failure(WORKER_DIED, why, WORKER_DIED, permanent=True))
        if begun is not None and delivery >= ALONE_FROM:
            begun = await self.saves.alone(begun)
        if begun is None:
            return None
        try:
            return await self._fetched(begun, delivery)
        except NoTurn:
            return Left(feed_id)

    async def release(self, run: JobRun, quarantine_id: str) -> Result:
        """Ingests a batch that a person released from quarantine."""
        item = await self.quarantined.released(quarantine_id)
        if item is None:
            return None
        document = await self._store.read(FEEDS.name, item.subject, Feed.ID)
        if document is None:
            await self.quarantined.finish(item, self._clock())  # the feed is gone, and its batch with it
            return None
        one = self.saves.begun(document, run, RELEASE_BATCH)
        items, have_new_ids = await self.quarantined.items(item), item.decision == "same_articles_new_ids"
        ingested = await self.entries.ingest_released(one, items, have_new_ids=have_new_ids)
        after = after_release(one.feed, ingested.written.new, one.started_at, quarantine_id)
        return Worked(one, after, attempt_record(one, ingested, None), ingested, released=item)

    async def count_released(self, worked: Worked) -> None:
        """Counts a released batch in its feed, which was fetched meanwhile."""
        new, released = worked.ingested.written.new, worked.released
        assert released is not None

        def counted(feed: Feed, now: datetime) -> Feed:
            return after_release(feed, new, now, released.quarantine_id)

        await self.saves.add(worked.one.feed.feed_id, counted)

    async def _fetched(self, one: FeedTry, delivery: int) -> Worked:
        try:
            ingested = Ingested()
            async with self.poller.polled(one.feed, one.started_at) as whole:
                if whole.document is not None:
                    ingested = await self.entries.ingest(one, whole.document)
                polled = whole.without_items()
                del whole  # what follows waits for the store, and counts in no budget of memory
            return await self._worked(one, ingested, polled)
        except (Unavailable, NoTurn):
            raise
        except Exception as error:
            if delivery < LAST_DELIVERY:
                raise
            # Recorded as a failure of this feed. A poison message would not show which of its feeds is the cause.
            log.exception("feed_breaks_ingestion feed_id=%s", one.feed.feed_id)
            name = type(error).__name__
            return await self._worked(one, Ingested(), Failure("internal_error", name, name))

    async def _worked(self, one: FeedTry, ingested: Ingested, end: PollResult | Failure) -> Worked:
        """The attempt as it ended, and the feed as it is to be saved."""
        new = ingested.written.new
        policy, chance, now = await self._budget.policy(), self._chance(), one.started_at
        if isinstance(end, PollResult):
            end = failure_of(end) or end
        record = attempt_record(one, ingested, end if isinstance(end, Failure) else end.result)
        if isinstance(end, Failure):
            outage = await self._outages.noticed(one.feed, end, self._clock())
            after = after_failure(
                one.feed,
                end,
                new,
                now,
                policy,
                chance,
                in_part=ingested.entries > 0,
                quarantine_id=ingested.quarantine_id,
                outage_since=outage.since if outage is not None else None,
            )
            return Worked(one, after, record, ingested, end.tries)
        after = after_success(
            one.feed,
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
        return Worked(one, after, record, ingested)


def _with_ingested(polled: PollResult, ingested: Ingested) -> PollResult:
    """The result with the entries that were refused after parsing. `lied` stays true only if the body had something
    new."""
    lied = polled.lied and bool(ingested.written.new or ingested.written.due)
    document = polled.document
    if document is not None:
        refused = {"refused": ingested.refused} if ingested.refused else {}
        document = replace(document, skipped={**document.skipped, **refused, **ingested.skipped})
    return replace(polled, document=document, lied=lied)
