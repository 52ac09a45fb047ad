"""Does the work of one message: polls its feeds, stores what is new, saves the feeds, and closes the run.

The feeds of a message are polled at the same time. A fault in one feed never keeps another from being saved. The
articles of a feed are stored and announced before the attempt is recorded in the run, and the attempt before the feed
with its `seen` document. So the next attempt finds the feed unsaved if a crash left something undone. An attempt that
found nothing new is recorded when the run is closed.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Awaitable, Callable, Coroutine, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from typing import Any

from models.errors import ChangedMeanwhile, ToolpulseError
from models.feed import Feed
from models.run import Attempt, JobRun
from services import deadline
from services.articles.attempts import add_totals, log_outcome
from services.articles.entries import AMBIGUOUS
from services.articles.feed_attempts import ALONE_FROM, FeedAttempts, Left, Result, Worked
from services.feeds.claims import ClaimedFeed, IngestMessage, host_of_feed
from services.feeds.leases import Lease
from services.feeds.outages import Outages
from services.fetch.limits import HostLimits
from services.logs import log_event
from services.ports import Clock, Document, Queues, Store
from services.store.containers import FEEDS
from services.topology import INGEST_FEEDS
from services.work import rules
from services.work.rules import in_run
from services.work.runs import RunEngine

log = logging.getLogger("toolpulse.ingest")

SAVED_EVERY_SECONDS = 0.5
"""Feeds that are done are saved together, and wait no longer than this for slower feeds."""


@dataclass(frozen=True, slots=True)
class IngestOutcome:
    """`article_ids`: the articles that were announced to analysis, all of them stored. `left`: the feeds that another
    message was sent for, since the time of the invocation was over."""

    article_ids: tuple[str, ...]
    left: tuple[str, ...] = ()


@dataclass(slots=True)
class _Delivery:
    """The progress of one delivery of a message. `run` is the run as it was stored last, `died` are attempts of earlier
    deliveries, `left` the feeds whose attempts were not begun."""

    run: JobRun
    saved: list[Worked] = field(default_factory=list)
    died: list[Attempt] = field(default_factory=list)
    left: list[str] = field(default_factory=list)
    errors: list[BaseException] = field(default_factory=list)

    @property
    def records(self) -> list[Attempt]:
        """The attempts of this delivery, and those of earlier ones whose workers died."""
        return [*self.died, *(each.record for each in self.saved)]


class Ingestion:
    """`limits` has the places for attempts at feeds: as many for a host as requests may be sent to it, so that a feed
    whose host is busy waits where its deadline is checked. `pause` waits for so many seconds."""

    def __init__(
        self,
        store: Store,
        engine: RunEngine,
        queues: Queues,
        attempts: FeedAttempts,
        outages: Outages,
        limits: HostLimits,
        clock: Clock,
        pause: Callable[[float], Awaitable[None]] = asyncio.sleep,
    ) -> None:
        self._store = store
        self._engine = engine
        self._queues = queues
        self._attempts = attempts
        self._outages = outages
        self._limits = limits
        self._clock = clock
        self._pause = pause
        self._alone = asyncio.Lock()

    async def ingest(
        self, message: IngestMessage, delivery: int = 1, invocation_id: str | None = None
    ) -> IngestOutcome:
        """Does the work of the message. `delivery` counts the deliveries of the message from 1.

        A feed that was fetched since it was claimed, or that another delivery works on, is left alone. Once all other
        feeds are saved, raises the error of a feed that failed in an unforeseen way, or Unavailable, so that the
        message is delivered again.
        """
        feed_ids = [each.feed_id for each in message.feeds]
        run = await self._engine.begin(message.run_id, invocation_id=invocation_id, feeds=feed_ids, hosts=message.hosts)
        progress = _Delivery(run)
        work: list[Coroutine[Any, Any, Result]] = []
        if message.quarantine_id is not None:
            work = [self._attempts.release(run, message.quarantine_id, delivery)]
        else:
            documents = await self._feeds(feed_ids, may_be_stale=delivery == 1)
            feeds = list(zip(message.feeds, documents, strict=True))
            if delivery >= ALONE_FROM:
                await self._one_by_one(progress, feeds, delivery)
            else:
                gap = message.over_seconds / max(1, len(feeds))
                work = [
                    self._fetch(run, claim, document, delivery, gap * number)
                    for number, (claim, document) in enumerate(feeds)
                ]
        await self._save_all(progress, {asyncio.create_task(each) for each in work})
        await self._end(message, progress)
        due = [name for each in progress.saved for name in sorted(each.ingested.written.due)]
        return IngestOutcome(tuple(dict.fromkeys(due)), tuple(progress.left))

    async def _feeds(self, feed_ids: Sequence[str], *, may_be_stale: bool) -> list[Document | None]:
        """A save is conditional on the version that was read, so a stale feed is noticed then. A feed that was just
        added must be found: without it, the run would end without a fetch."""
        keys = [(each, Feed.ID) for each in feed_ids]
        found = await self._store.read_many(FEEDS.name, keys, may_be_stale=may_be_stale)
        missing = [key for key, document in zip(keys, found, strict=True) if document is None]
        if not missing or not may_be_stale:
            return found
        added = dict(zip(missing, await self._store.read_many(FEEDS.name, missing), strict=True))
        return [document or added.get(key) for key, document in zip(keys, found, strict=True)]

    async def _fetch(
        self, run: JobRun, claim: ClaimedFeed, document: Document | None, delivery: int, wait: float
    ) -> Result:
        if document is None:
            return None
        if wait:
            await self._pause(wait)
        async with self._limits.slot(host_of_feed(document)):
            if deadline.is_near():
                return Left(claim.feed_id)
            return await self._attempts.fetch(run, claim, document, delivery)

    async def _one_by_one(
        self, progress: _Delivery, feeds: Sequence[tuple[ClaimedFeed, Document | None]], delivery: int
    ) -> None:
        """Fetches and saves the feeds one at a time, across all messages of this worker. Those that workers died at
        come last, so that the others are saved whatever happens then."""
        for claim, document in sorted(feeds, key=lambda each: _deaths_at(each[1])):
            async with self._alone:
                errors, is_done = len(progress.errors), False
                work = self._fetch(progress.run, claim, document, delivery, 0.0)
                try:
                    await self._save_all(progress, {asyncio.create_task(work)})
                    is_done = len(progress.errors) == errors
                finally:
                    if not is_done:
                        with suppress(ToolpulseError):
                            await self._attempts.leases.outlived(claim.feed_id, progress.run.run_id)

    async def _save_all(self, progress: _Delivery, pending: set[asyncio.Task[Result]]) -> None:
        """Saves each feed soon after its work is done. Removes what is done from `pending`, which frees its memory."""
        try:
            while pending:
                done, _ = await asyncio.wait(pending, timeout=SAVED_EVERY_SECONDS)
                pending -= done
                progress.errors += [error for each in done if (error := each.exception()) is not None]
                results = [each.result() for each in done if each.exception() is None]
                progress.left += [each.feed_id for each in results if isinstance(each, Left)]
                await self._save(progress, [each for each in results if isinstance(each, Worked)])
        finally:
            for task in pending:
                task.cancel()
            await asyncio.gather(*pending, return_exceptions=True)

    async def _save(self, progress: _Delivery, worked: Sequence[Worked]) -> None:
        """Saves the feeds, after the attempts that stored articles are recorded. A feed that was lost to another
        attempt is neither saved nor an error, unless its batch from quarantine is to be finished."""
        if not worked:
            return
        try:
            died = [attempt for each in worked if (attempt := self._died(progress.run, each.lease)) is not None]
            progress.died += died
            stored = [each.record for each in worked if each.lease.is_stored]
            progress.run = await self._engine.record(progress.run, [*died, *stored])
            results = await self._attempts.leases.save(
                [(each.lease, each.after, each.ingested.seen) for each in worked]
            )
        except ToolpulseError as error:
            progress.errors.append(error)
            return
        for each, result in zip(worked, results, strict=True):
            if isinstance(result, BaseException):
                progress.errors.append(result)
            elif result:
                await self._saved(progress, each)
            elif each.released is not None:
                progress.errors.append(ChangedMeanwhile(f"feed {each.lease.feed.feed_id} was lost to another attempt"))

    def _died(self, run: JobRun, lease: Lease) -> Attempt | None:
        """The record of the attempt of an earlier delivery whose lease was taken over, unless the run has it."""
        died = lease.died
        if died is None or died.run_id != run.run_id:
            return None
        begun = rules.started(run.run_id, died.task_name, lease.feed.feed_id, died.attempt_no, died.started_at)
        known = {each.id for each in in_run(run, lease.feed.feed_id).items}
        return None if begun.id in known else rules.worker_died(begun, self._clock())

    async def _saved(self, progress: _Delivery, worked: Worked) -> None:
        progress.saved.append(replace(worked, ingested=worked.ingested.without_hashes()))
        self._attempts.entries.saved(worked.after, worked.ingested)
        if worked.released is not None:
            left_out = worked.ingested.skipped.get(AMBIGUOUS, 0)
            await self._attempts.quarantined.finish(worked.released, self._clock(), left_out)
        log_outcome(worked.lease.feed, worked.after, worked.record, worked.ingested, worked.tries)

    async def _end(self, message: IngestMessage, progress: _Delivery) -> None:
        """Closes the run, or sends a message for the feeds that are left. If another delivery still works on some, it
        closes the run again, with its attempts."""
        await self._note([each.record for each in progress.saved])
        if progress.errors:
            with suppress(ToolpulseError):
                await self._engine.record(progress.run, progress.records)
            raise _worst_of(progress.errors)
        if progress.left:
            await self._engine.record(progress.run, progress.records)
            await self._queues.send(INGEST_FEEDS, [message.of(progress.left).to_message()])
            log_event(log, logging.INFO, "feeds_left", run_id=message.run_id, feeds=len(progress.left))
        else:
            await self._close(progress)

    async def _close(self, progress: _Delivery) -> None:
        records = progress.records
        tickers = await self._attempts.poller.tickers(each.subject for each in (*records, *in_run(progress.run).items))

        def summary(run: JobRun, found: Sequence[Attempt]) -> dict[str, object]:
            return rules.ingestion_summary(run, found, tickers=tickers)

        await self._engine.close_with(progress.run, records, summary)

    async def _note(self, records: Sequence[Attempt]) -> None:
        """Records metrics and failing hosts. An error is only logged: working again would cost more."""
        now = self._clock()
        try:
            await add_totals(self._store, records, now)
            await self._outages.note(now)
        except ToolpulseError as error:
            log_event(log, logging.WARNING, "attempts_not_noted", error=type(error).__name__)


def _deaths_at(feed: Document | None) -> int:
    """How many workers in a row have died at the stored feed alone, so far as that is recorded."""
    known = feed or {}
    return int(known.get("worker_deaths", 0)) + bool((known.get("lease") or {}).get("alone"))


def _worst_of(errors: Sequence[BaseException]) -> BaseException:
    """The error to raise: an unforeseen error before an outage, since it is a fault that people must see."""
    return next((each for each in errors if not isinstance(each, ToolpulseError)), errors[0])
