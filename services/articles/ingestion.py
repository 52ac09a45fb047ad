"""Does the work of one run: polls its feeds, stores what is new, saves the feeds, and closes the run.

The feeds of a run are polled at the same time. A fault in one feed never keeps another from being saved. The
articles of a feed are stored and announced before the feed is saved with its `seen` document. So the next attempt finds
the feed unsaved if a crash left something undone. The attempts are recorded when the run is closed.
"""

from __future__ import annotations

import asyncio
import logging
import time
from collections.abc import Awaitable, Callable, Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from functools import partial

from models.errors import ChangedMeanwhile, ToolpulseError
from models.feed import Feed
from models.operations import IngestionTotals
from models.run import ALL_FEEDS, FETCH_FEED, RELEASE_BATCH, WATCHING, Attempt, IngestionBatch
from services import deadline
from services.articles.entries import NoTurn
from services.articles.feed_attempts import MAX_DEATHS, FeedAttempts, totals_of
from services.feeds.claims import INGESTION_STAGE
from services.feeds.outages import HostStates
from services.fetch.limits import HostLimits
from services.logs import log_event
from services.ports import Clock, Document, Store
from services.store.containers import FEEDS
from services.work import rules
from services.work.announcing import Announcer
from services.work.rules import in_run
from services.work.runs import LEASE, RunEngine

log = logging.getLogger("toolpulse.ingest")

UNWATCHED_BEGINS = 2
"""So often a run is begun at full speed, whatever ended its workers."""
WATCHED_SECONDS = 7.0
"""A worker lives for so long before it begins feeds that may have killed others, and twice as long for each death
counted at a feed: a host that is killed for another reason dies before."""


@dataclass(slots=True)
class _Delivery:
    """The progress of one delivery of a message. `run` is the run as it was last written. `has_died`: the worker before
    did not end. `records` are the attempts that ended: their articles are stored and announced, and their feeds are
    saved. `left` are the feeds whose attempts were not begun."""

    run: IngestionBatch
    has_died: bool = False
    records: list[Attempt] = field(default_factory=list)
    left: list[str] = field(default_factory=list)
    errors: list[BaseException] = field(default_factory=list)


@dataclass
class Ingestion:
    """Does the work of ingestion runs.

    `limits` has the places for attempts at feeds: as many for a host as requests may be sent to it, so that a feed
    whose host is busy waits where its deadline is checked. `count` adds what attempts counted to the stored totals.
    `seconds` measures time that passes, from the first run of this worker on."""

    store: Store
    engine: RunEngine
    announcer: Announcer
    attempts: FeedAttempts
    hosts: HostStates
    limits: HostLimits
    clock: Clock
    count: Callable[[IngestionTotals, Mapping[str, int]], None] = lambda *_: None
    seconds: Callable[[], float] = time.monotonic
    sleep: Callable[[float], Awaitable[None]] = asyncio.sleep
    _trials: asyncio.Semaphore = field(default_factory=partial(asyncio.Semaphore, 1), init=False)
    _since: float = field(init=False)

    def __post_init__(self) -> None:
        self._since = self.seconds()

    async def ingest(self, run_id: str, delivery: int = 1, invocation_id: str | None = None) -> None:
        """Does the work of the run. `delivery` counts the deliveries of its message from 1.

        A feed that was fetched since it was claimed is left alone. Once all other feeds are saved, raises the error of
        a feed that failed in an unforeseen way, or Unavailable, so that the message is delivered again.
        """
        begun = await self.engine.begin(run_id, delivery, invocation_id)
        if begun is None or not isinstance(begun.run, IngestionBatch):
            return
        run, progress = begun.run, _Delivery(begun.run, begun.has_died)
        quarantine_id = run.parameters.get("held")
        if isinstance(quarantine_id, str):
            await self._together(progress, [self.attempts.release(run, quarantine_id)])
        elif run.deaths is None:
            is_watched = begun.has_died and run.invocations > UNWATCHED_BEGINS
            feeds = await self._feeds(list(run.claimed), may_be_stale=delivery == 1)
            await self._together(progress, [self._try(progress, ALL_FEEDS, feeds, delivery, is_watched=is_watched)])
        else:
            async with deadline.turn(self._trials) as has_turn:
                if not has_turn:
                    return  # what is known of the feeds stays in the run, which is announced again
                for name in sorted(run.claimed, key=lambda each: (run.deaths or {}).get(each, 0)):
                    feeds = await self._feeds([name], may_be_stale=False)
                    await self._together(progress, [self._try(progress, name, feeds, delivery, is_watched=True)])
        await self._end(progress)

    async def _try(
        self, progress: _Delivery, what: str, feeds: Sequence[Document], delivery: int, *, is_watched: bool
    ) -> None:
        """Fetches the feeds. With `is_watched`, first waits until this worker has lived for a while, and notes in the
        run that it waits, then what it tries."""
        died = (progress.run.deaths or {}).get(what, 0)
        if is_watched and died < MAX_DEATHS:
            for noted in (WATCHING, what):
                progress.run = await self.engine.save(progress.run.changed(self.clock(), trying=noted))
                await self.sleep(max(0.0, WATCHED_SECONDS * 2**died - (self.seconds() - self._since)))
        await self._together(progress, [self._fetch(progress, each, delivery) for each in feeds])

    async def _feeds(self, feed_ids: Sequence[str], *, may_be_stale: bool) -> list[Document]:
        """The feeds that exist. A save is conditional on the version that was read, so a stale feed is noticed then. A
        feed that was just added must be found: without it, the run would end without a fetch."""
        keys = [(each, Feed.ID) for each in feed_ids]
        found = await self.store.read_many(FEEDS.name, keys, may_be_stale=may_be_stale)
        missing = [key for key, document in zip(keys, found, strict=True) if document is None]
        if missing and may_be_stale:
            found += await self.store.read_many(FEEDS.name, missing)
        return [each for each in found if each is not None]

    async def _fetch(self, progress: _Delivery, document: Document, delivery: int) -> Attempt | None:
        async with self.limits.slot(document["host"]):
            if not deadline.is_near():
                with suppress(NoTurn):
                    return await self.attempts.fetch(progress.run, document, delivery)
        progress.left.append(document["feed_id"])
        return None

    async def _together(self, progress: _Delivery, work: Iterable[Awaitable[Attempt | None]]) -> None:
        for result in await asyncio.gather(*work, return_exceptions=True):
            if isinstance(result, BaseException):
                progress.errors.append(result)
            elif result is not None:
                progress.records.append(result)

    async def _end(self, progress: _Delivery) -> None:
        """Closes the run; or hands it back if feeds are left or failed, for another message or the next delivery; or
        leaves it to the worker that has taken it over."""
        await self._note(progress.records)
        if any(isinstance(each, ChangedMeanwhile) for each in progress.errors):
            return
        now, run = self.clock(), progress.run
        records = [*self._died(progress), *progress.records]
        if progress.errors:
            with suppress(ToolpulseError):
                await self.engine.hand_back(run, records, now + LEASE)
            raise _worst_of(progress.errors)
        if progress.left:
            await self.engine.hand_back(run, records, now)
            await self.announcer.announce(INGESTION_STAGE, [run.run_id])
            log_event(log, logging.INFO, "feeds_left", run_id=run.run_id, feeds=len(progress.left))
            return
        tickers = await self.attempts.poller.tickers(each.subject for each in (*records, *in_run(run).items))
        await self.engine.close_with(run, records, partial(rules.ingestion_summary, tickers=tickers))

    def _died(self, progress: _Delivery) -> list[Attempt]:
        """The attempts of the worker that died before this one, unless the run has them. It may have saved their feeds,
        which are not fetched again."""
        if not progress.has_died:
            return []
        run, recorded = progress.run, {each.subject for each in in_run(progress.run).items}
        tasks = dict.fromkeys(run.claimed, FETCH_FEED) or {run.subject or "": RELEASE_BATCH}
        since = run.running_since or run.started_at
        begun = (
            Attempt.started(run.run_id, task, subject, max(1, run.invocations - 1), since)
            for subject, task in tasks.items()
            if subject not in recorded
        )
        return [each.worker_died(self.clock()) for each in begun]

    async def _note(self, records: Sequence[Attempt]) -> None:
        """Counts the attempts, and records failing hosts. An error is only logged: working again would cost more."""
        now = self.clock()
        if amounts := totals_of(records):
            self.count(IngestionTotals.at(now), amounts)
        try:
            await self.hosts.note(now)
        except ToolpulseError as error:
            log_event(log, logging.WARNING, "hosts_not_noted", error=type(error).__name__)


def _worst_of(errors: Sequence[BaseException]) -> BaseException:
    """The error to raise: an unforeseen error before an outage, since it is a fault that people must see."""
    return next((each for each in errors if not isinstance(each, ToolpulseError)), errors[0])
