"""Does the work of one message: polls its feeds, stores what is new, saves the feeds, and closes the run.

The feeds of a message are polled at the same time. A fault in one feed never keeps another from being saved. The
articles of a feed are stored and announced before the attempt is recorded, and the attempt before the feed with its
`seen` document. So the next attempt finds the feed unsaved if a crash left something undone.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass, replace
from datetime import datetime

from models.errors import ToolpulseError
from models.feed import Feed
from models.quarantine import QuarantineItem
from models.run import FETCH_FEED, RELEASE_BATCH, Attempt, JobRun
from services.articles.attempts import (
    AddedArticles,
    Correction,
    CoveredHours,
    add_totals,
    added_by,
    attempt_record,
    count_interrupted,
    due_since,
    log_outcome,
    record_interrupted,
)
from services.articles.entries import EntryIngestion, Ingested
from services.articles.poll import FeedPoller
from services.articles.quarantine import QuarantinedBatches
from services.articles.writing import Announce, Written
from services.feeds.budget import Budget
from services.feeds.claims import ClaimedFeed, IngestMessage
from services.feeds.hosts import HostStates
from services.feeds.leases import AtWork, Lease, Leases
from services.feeds.outcome import Counted, Failure, PollResult, after_failure, after_release, after_success, failure_of
from services.logs import log_event
from services.ports import Clock, Document, Store
from services.runs import rules
from services.runs.engine import Begun, RunEngine, in_run
from services.store.containers import FEEDS
from services.topology import LAST_DELIVERY

log = logging.getLogger("toolpulse.ingest")

SAVED_EVERY_SECONDS = 0.5
"""Feeds that are done are saved together, and wait no longer than this for slower feeds."""


@dataclass(frozen=True, slots=True)
class IngestOutcome:
    """`article_ids`: the articles that were announced to analysis, all of them stored."""

    article_ids: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class _Worked:
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


_Result = _Worked | AtWork | None
"""None: another run has claimed the feed, or the feed is disabled or gone."""


class Ingestion:
    def __init__(
        self,
        store: Store,
        engine: RunEngine,
        poller: FeedPoller,
        entries: EntryIngestion,
        announce: Announce,
        budget: Budget,
        hosts: HostStates,
        clock: Clock,
        chance: Callable[[], float],
        *,
        at_once: int,
    ) -> None:
        self._store = store
        self._engine = engine
        self._poller = poller
        self._entries = entries
        self._announce = announce
        self._budget = budget
        self._hosts = hosts
        self._clock = clock
        self._chance = chance
        self._leases = Leases(store, clock)
        self._quarantined = QuarantinedBatches(store)
        self._covered_hours = CoveredHours(store)
        self._gate = asyncio.Semaphore(at_once)

    async def ingest(
        self, message: IngestMessage, delivery: int = 1, invocation_id: str | None = None
    ) -> IngestOutcome:
        """Does the work of the message. `delivery` counts the deliveries of the message from 1.

        A feed that another run has claimed, or another delivery works on, is left alone. Once all other feeds are
        saved, raises the error of a feed that failed in an unforeseen way, or Unavailable, so that the message is
        delivered again. A message that is delivered again first announces the articles that the earlier delivery may
        have stored and not announced.
        """
        begun = await self._engine.begin(message.run_id, delivery=delivery, invocation_id=invocation_id)
        feed_ids = {each.feed_id for each in message.feeds}
        found_due = await self._announce_due(feed_ids, begun.run.started_at) if delivery > 1 else ()
        if message.quarantine_id is not None:
            work = {asyncio.create_task(self._release(message, message.quarantine_id, delivery))}
        else:
            keys = [(each.feed_id, Feed.ID) for each in message.feeds]
            documents = await self._store.read_many(FEEDS.name, keys)
            pairs = zip(message.feeds, documents, strict=True)
            work = {asyncio.create_task(self._fetch(claim, document, delivery)) for claim, document in pairs}
        run, saved, at_work, errors = await self._save_all(begun.run, work)
        if errors:
            raise _worst_of(errors)
        await self._close(replace(begun, run=run), at_work, saved)
        due = [name for each in saved for name in (*sorted(each.ingested.written.due), *each.found_due)]
        return IngestOutcome(tuple(dict.fromkeys((*due, *found_due))))

    async def _announce_due(self, feed_ids: Collection[str], since: datetime) -> tuple[str, ...]:
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
        return await self._announce_due({lease.feed.feed_id}, min(since)) if since else ()

    async def _fetch(self, claim: ClaimedFeed, document: Document | None, delivery: int) -> _Result:
        async with self._gate:
            lease = await self._leases.acquire(document, claim.claim_id, delivery, FETCH_FEED)
            if not isinstance(lease, Lease):
                return lease
            try:
                found_due = await self._announce_interrupted(lease, delivery)
                ingested = Ingested()
                async with self._poller.polled(lease.feed, lease.started_at) as whole:
                    if whole.document is not None:
                        ingested = await self._entries.ingest(lease, whole.document)
                    polled = whole.without_items()
                    del whole  # what follows waits for the store, and counts in no budget of memory
                failure = failure_of(polled)
                if failure is not None:
                    worked = await self._failed(lease, failure, ingested)
                else:
                    worked = await self._succeeded(lease, polled, ingested)
                return replace(worked, found_due=found_due)
            except ToolpulseError:
                raise
            except Exception as error:
                if delivery < LAST_DELIVERY:
                    raise
                # Recorded as a failure of this feed. A poison message would not show which of its feeds is the cause.
                log.exception("feed_breaks_ingestion feed_id=%s", claim.feed_id)
                name = type(error).__name__
                stored_some = Ingested(written=Written(any_matched=True))  # perhaps, before the error
                return await self._failed(lease, Failure("internal_error", name, name), stored_some)

    async def _succeeded(self, lease: Lease, polled: PollResult, ingested: Ingested) -> _Worked:
        added, counted, corrections = await self._counted(lease, ingested)
        after = after_success(
            lease.feed,
            _with_ingested(polled, ingested, added),
            counted,
            ingested.written.published,
            lease.started_at,
            await self._budget.policy(),
            self._chance(),
            quarantine_id=ingested.quarantine_id,
            cut=ingested.is_cut,
        )
        record = attempt_record(lease, FETCH_FEED, ingested, added, polled.result)
        return _Worked(lease, after, record, ingested, corrections=corrections)

    async def _failed(self, lease: Lease, failure: Failure, ingested: Ingested) -> _Worked:
        added, counted, corrections = await self._counted(lease, ingested)
        after = after_failure(
            lease.feed,
            failure,
            counted,
            lease.started_at,
            await self._budget.policy(),
            self._chance(),
            in_part=ingested.entries > 0,
            quarantine_id=ingested.quarantine_id,
        )
        record = attempt_record(lease, FETCH_FEED, ingested, added, failure)
        return _Worked(lease, after, record, ingested, failure.tries, corrections=corrections)

    async def _release(self, message: IngestMessage, quarantine_id: str, delivery: int) -> _Result:
        """Ingests a batch that a person released from quarantine, under the feed's claim as every attempt."""
        item = await self._quarantined.released(quarantine_id)
        if item is None:
            return None
        document = await self._leases.claim_for(message.run_id, item.subject)
        if document is None:
            await self._quarantined.finish(item, self._clock())  # the feed is gone, and its batch with it
            return None
        # `claim_for` claims the feed again after an attempt of this run has saved it, so the numbers must go on.
        recorded = [each.attempt_no for each in await self._engine.attempts(message.run_id)]
        number = max([delivery, *(each + 1 for each in recorded)])
        lease = await self._leases.acquire(document, message.run_id, number, RELEASE_BATCH, even_disabled=True)
        if not isinstance(lease, Lease):
            return lease
        found_due = await self._announce_interrupted(lease, 1)
        ingested = await self._entries.ingest_released(lease, await self._quarantined.items(item))
        added, counted, corrections = await self._counted(lease, ingested)
        after = after_release(lease.feed, counted, lease.started_at, quarantine_id)
        record = attempt_record(lease, RELEASE_BATCH, ingested, added, None)
        return _Worked(lease, after, record, ingested, released=item, corrections=corrections, found_due=found_due)

    async def _counted(self, lease: Lease, ingested: Ingested) -> tuple[AddedArticles, Counted, list[Correction]]:
        added = AddedArticles()
        if ingested.written.any_matched:
            created = ingested.written.created
            attempt = (lease.run_id, lease.feed.feed_id, lease.attempt_no)
            added = await added_by(self._store, *attempt, known_created=created)
        interrupted, corrections = await count_interrupted(self._store, lease.feed)
        return added, replace(interrupted, new=added.new), corrections

    async def _save_all(
        self, run: JobRun, pending: set[asyncio.Task[_Result]]
    ) -> tuple[JobRun, list[_Worked], list[AtWork], list[BaseException]]:
        """The run with its attempts, the feeds that were saved, each soon after its work was done, those that another
        delivery works on, and the errors of the others. Removes what is done from `pending`, which frees its memory."""
        saved: list[_Worked] = []
        at_work: list[AtWork] = []
        errors: list[BaseException] = []
        try:
            while pending:
                done, _ = await asyncio.wait(pending, timeout=SAVED_EVERY_SECONDS)
                pending -= done
                errors += [error for each in done if (error := each.exception()) is not None]
                results = [each.result() for each in done if each.exception() is None]
                run, some, failed = await self._save(run, [each for each in results if isinstance(each, _Worked)])
                saved += [replace(each, ingested=each.ingested.without_hashes()) for each in some]
                at_work += [each for each in results if isinstance(each, AtWork)]
                errors += failed
        finally:
            for each in pending:
                each.cancel()
            await asyncio.gather(*pending, return_exceptions=True)
        return run, saved, at_work, errors

    async def _save(self, run: JobRun, worked: Sequence[_Worked]) -> tuple[JobRun, list[_Worked], list[BaseException]]:
        """The run, the feeds that were saved, and the errors of others. A feed that was lost to another attempt is in
        neither list."""
        if not worked:
            return run, [], []
        try:
            corrections = [correction for each in worked for correction in each.corrections]
            await record_interrupted(self._engine, corrections, self._clock())
            run = await self._engine.record(run, [each.record for each in worked])
            results = await self._leases.save([(each.lease, each.after, each.ingested.seen) for each in worked])
        except ToolpulseError as error:
            return run, [], [error]
        saved = [each for each, result in zip(worked, results, strict=True) if result is True]
        for each in saved:
            self._entries.saved(each.after, each.ingested)
            if each.released is not None:
                await self._quarantined.finish(each.released, self._clock())
            log_outcome(each.lease.feed, each.after, each.record, each.ingested, each.tries)
        await self._note([each.record for each in saved])
        return run, saved, [result for result in results if isinstance(result, BaseException)]

    async def _note(self, records: Sequence[Attempt]) -> None:
        """Records coverage, metrics and failing hosts. An error is only logged: working again would cost more."""
        now = self._clock()
        try:
            if any(each.status == "SUCCEEDED" and each.task_name == FETCH_FEED for each in records):
                await self._covered_hours.note(now)
            await add_totals(self._store, records, now)
            await self._hosts.note(now)
        except ToolpulseError as error:
            log_event(log, logging.WARNING, "attempts_not_noted", error=type(error).__name__)

    async def _close(self, begun: Begun, at_work: Sequence[AtWork], saved: Sequence[_Worked]) -> None:
        """Closes the run, unless another delivery still works on some of its feeds and will close it."""
        if at_work:
            feeds = await self._store.read_many(FEEDS.name, [(each.feed_id, Feed.ID) for each in at_work])
            if any(feed is not None and feed.get("claim_id") == begun.run.run_id for feed in feeds):
                return
        records = [each.record for each in saved]
        tickers = await self._poller.tickers(each.subject for each in (*records, *in_run(begun.run).items))

        def summary(run: JobRun, found: Sequence[Attempt]) -> dict[str, object]:
            return rules.ingestion_summary(run, found, tickers=tickers)

        await self._engine.close_with(begun.run, records, summary, is_new=begun.is_first)


def _with_ingested(polled: PollResult, ingested: Ingested, added: AddedArticles) -> PollResult:
    """The result with the entries that were refused after parsing. `lied` stays true only if the body had something
    new."""
    lied = polled.lied and bool(added.new or ingested.written.due)
    document = polled.document
    if document is not None:
        refused = {"refused": ingested.refused} if ingested.refused else {}
        document = replace(document, skipped={**document.skipped, **refused, **ingested.skipped})
    return replace(polled, document=document, lied=lied)


def _worst_of(errors: Sequence[BaseException]) -> BaseException:
    """The error to raise: an unforeseen error before an outage, since it is a fault that people must see."""
    return next((each for each in errors if not isinstance(each, ToolpulseError)), errors[0])
