"""Does the work of one run: polls its feeds, stores what is new, saves the feeds, and closes the run.

The feeds of a run are polled at the same time. A fault in one feed never keeps another from being saved. The
articles of a feed are stored and announced before the feed is saved with its `seen` document. So the next attempt finds
the feed unsaved if a crash left something undone. The attempts are recorded when the run is closed.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Coroutine, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from typing import Any

from models.errors import ToolpulseError
from models.feed import Feed
from models.run import FETCH_FEED, Attempt, IngestionBatch, JobRun
from services import deadline
from services.articles.entries import AMBIGUOUS
from services.articles.feed_attempts import ALONE_FROM, FeedAttempts, Left, Result, Worked, add_totals, log_outcome
from services.feeds.claims import INGESTION_STAGE, host_of_feed
from services.feeds.outages import Outages
from services.feeds.saving import FeedTry
from services.fetch.limits import HostLimits
from services.logs import log_event
from services.ports import Clock, Document, Store
from services.store.containers import FEEDS
from services.work import rules
from services.work.announcing import Announcer
from services.work.rules import in_run
from services.work.runs import LEASE, RunEngine

log = logging.getLogger("toolpulse.ingest")

SAVED_EVERY_SECONDS = 0.5
"""Feeds that are done are saved together, and wait no longer than this for slower feeds."""


@dataclass(frozen=True, slots=True)
class IngestOutcome:
    """What one delivery of a message has done. `article_ids`: the articles that were announced to analysis, all of them
    stored. `left`: the feeds that another message was sent for, since the time of the invocation was over."""

    article_ids: tuple[str, ...]
    left: tuple[str, ...] = ()


@dataclass(slots=True)
class _Delivery:
    """The progress of one delivery of a message. `run` is the run as it was begun. `has_died`: the worker before
    did not end; `died` are its attempts. `left` are the feeds whose attempts were not begun."""

    run: JobRun
    has_died: bool = False
    saved: list[Worked] = field(default_factory=list)
    died: list[Attempt] = field(default_factory=list)
    left: list[str] = field(default_factory=list)
    errors: list[BaseException] = field(default_factory=list)

    @property
    def records(self) -> list[Attempt]:
        """The attempts of this delivery, and those of earlier ones whose workers died."""
        return [*self.died, *(each.record for each in self.saved)]


class Ingestion:
    """Does the work of ingestion runs.

    `limits` has the places for attempts at feeds: as many for a host as requests may be sent to it, so that a feed
    whose host is busy waits where its deadline is checked."""

    def __init__(
        self,
        store: Store,
        engine: RunEngine,
        announcer: Announcer,
        attempts: FeedAttempts,
        outages: Outages,
        limits: HostLimits,
        clock: Clock,
    ) -> None:
        self._store = store
        self._engine = engine
        self._announcer = announcer
        self._attempts = attempts
        self._outages = outages
        self._limits = limits
        self._clock = clock
        self._alone = asyncio.Lock()

    async def ingest(self, run_id: str, delivery: int = 1, invocation_id: str | None = None) -> IngestOutcome:
        """Does the work of the run. `delivery` counts the deliveries of its message from 1.

        A feed that was fetched since it was claimed is left alone. Once all other feeds are saved, raises the error of
        a feed that failed in an unforeseen way, or Unavailable, so that the message is delivered again.
        """
        begun = await self._engine.begin(run_id, delivery, invocation_id)
        if begun is None or not isinstance(begun.run, IngestionBatch):
            return IngestOutcome(())
        run, progress = begun.run, _Delivery(*begun)
        quarantine_id = run.parameters.get("held")
        if isinstance(quarantine_id, str):
            await self._save_all(progress, [self._attempts.release(run, quarantine_id)])
        else:
            feeds = await self._feeds(list(run.claimed), may_be_stale=delivery == 1)
            if delivery >= ALONE_FROM:
                await self._one_by_one(progress, run, feeds, delivery)
            else:
                await self._save_all(progress, [self._fetch(run, each, delivery) for each in feeds])
        await self._end(progress)
        due = [name for each in progress.saved for name in sorted(each.ingested.written.due)]
        return IngestOutcome(tuple(dict.fromkeys(due)), tuple(progress.left))

    async def _feeds(self, feed_ids: Sequence[str], *, may_be_stale: bool) -> list[Document]:
        """The feeds that exist. A save is conditional on the version that was read, so a stale feed is noticed then. A
        feed that was just added must be found: without it, the run would end without a fetch."""
        keys = [(each, Feed.ID) for each in feed_ids]
        found = await self._store.read_many(FEEDS.name, keys, may_be_stale=may_be_stale)
        missing = [key for key, document in zip(keys, found, strict=True) if document is None]
        if missing and may_be_stale:
            found += await self._store.read_many(FEEDS.name, missing)
        return [each for each in found if each is not None]

    async def _fetch(self, run: IngestionBatch, document: Document, delivery: int) -> Result:
        async with self._limits.slot(host_of_feed(document)):
            if deadline.is_near():
                return Left(document["feed_id"])
            return await self._attempts.fetch(run, document, delivery)

    async def _one_by_one(
        self, progress: _Delivery, run: IngestionBatch, feeds: Sequence[Document], delivery: int
    ) -> None:
        """Fetches and saves the feeds one at a time, across all messages of this worker. Those that workers died at
        come last, so that the others are saved whatever happens then."""
        for document in sorted(feeds, key=lambda each: int(each.get("worker_deaths", 0))):
            async with self._alone:
                saved, is_over = len(progress.saved), False
                try:
                    await self._save_all(progress, [self._fetch(run, document, delivery)])
                    is_over = len(progress.saved) > saved
                finally:
                    if not is_over:
                        with suppress(ToolpulseError):
                            await self._attempts.saves.survived(self._attempts.saves.begun(document, run, FETCH_FEED))

    async def _save_all(self, progress: _Delivery, work: Sequence[Coroutine[Any, Any, Result]]) -> None:
        """Saves each feed soon after its work is done. Forgets what is done, which frees its memory."""
        pending = {asyncio.create_task(each) for each in work}
        try:
            while pending:
                done, pending = await asyncio.wait(pending, timeout=SAVED_EVERY_SECONDS)
                progress.errors += [error for each in done if (error := each.exception()) is not None]
                results = [each.result() for each in done if each.exception() is None]
                progress.left += [each.feed_id for each in results if isinstance(each, Left)]
                await self._save(progress, [each for each in results if isinstance(each, Worked)])
        finally:
            for task in pending:
                task.cancel()
            await asyncio.gather(*pending, return_exceptions=True)

    async def _save(self, progress: _Delivery, worked: Sequence[Worked]) -> None:
        """Saves the feeds. One that was fetched meanwhile is neither saved nor an error; only a batch from
        quarantine counts all the same."""
        if not worked:
            return
        try:
            results = await self._attempts.saves.save([(each.one, each.after, each.ingested.seen) for each in worked])
        except ToolpulseError as error:
            progress.errors.append(error)
            return
        for each, result in zip(worked, results, strict=True):
            if isinstance(result, BaseException):
                progress.errors.append(result)
            elif result:
                await self._saved(progress, each)
            elif each.released is not None:
                await self._attempts.count_released(each)
                await self._saved(progress, each)

    def _died(self, run: JobRun, one: FeedTry) -> Attempt | None:
        """The record of the attempt of the worker that died before this one, unless the run has it."""
        if in_run(run, one.feed.feed_id).items:
            return None
        since = run.running_since or run.started_at
        begun = rules.started(run.run_id, one.task_name, one.feed.feed_id, max(1, one.attempt_no - 1), since)
        return rules.worker_died(begun, self._clock())

    async def _saved(self, progress: _Delivery, worked: Worked) -> None:
        if progress.has_died and (died := self._died(progress.run, worked.one)) is not None:
            progress.died.append(died)
        progress.saved.append(replace(worked, ingested=worked.ingested.without_hashes()))
        self._attempts.entries.saved(worked.after, worked.ingested)
        if worked.released is not None:
            left_out = worked.ingested.skipped.get(AMBIGUOUS, 0)
            await self._attempts.quarantined.finish(worked.released, self._clock(), left_out)
        log_outcome(worked.one.feed, worked.after, worked.record, worked.ingested, worked.tries)

    async def _end(self, progress: _Delivery) -> None:
        """Closes the run; or hands it back if feeds are left or failed, for another message or the next delivery."""
        await self._note([each.record for each in progress.saved])
        now = self._clock()
        if progress.errors:
            with suppress(ToolpulseError):
                await self._engine.hand_back(progress.run, progress.records, now + LEASE)
            raise _worst_of(progress.errors)
        if progress.left:
            await self._engine.hand_back(progress.run, progress.records, now)
            await self._announcer.announce(INGESTION_STAGE, [progress.run.run_id])
            log_event(log, logging.INFO, "feeds_left", run_id=progress.run.run_id, feeds=len(progress.left))
        else:
            await self._close(progress)

    async def _close(self, progress: _Delivery) -> None:
        records = progress.records
        tickers = await self._attempts.poller.tickers(each.subject for each in (*records, *in_run(progress.run).items))

        def summary(run: JobRun, found: Sequence[Attempt]) -> dict[str, object]:
            return rules.ingestion_summary(run, found, tickers)

        await self._engine.close_with(progress.run, records, summary)

    async def _note(self, records: Sequence[Attempt]) -> None:
        """Records metrics and failing hosts. An error is only logged: working again would cost more."""
        now = self._clock()
        try:
            await add_totals(self._store, records, now)
            await self._outages.note(now)
        except ToolpulseError as error:
            log_event(log, logging.WARNING, "attempts_not_noted", error=type(error).__name__)


def _worst_of(errors: Sequence[BaseException]) -> BaseException:
    """The error to raise: an unforeseen error before an outage, since it is a fault that people must see."""
    return next((each for each in errors if not isinstance(each, ToolpulseError)), errors[0])
