"""The work of `clean_up`, every five minutes: logs the age of the last refresh, the depths of the queues, the
backlog and what waits for a review, sends overdue work again, and deletes what has expired from the archive.

The lines are logged even if all queues are empty, so that missing lines can raise an alert.
"""

from __future__ import annotations

import logging
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime

from models.values import unix_seconds
from services import telemetry
from services.articles.quarantine import QuarantinedBatches
from services.feeds.schedule import Budget
from services.figures.metadata import last_refreshes
from services.logs import log_event
from services.operations.archive_expiry import ArchiveExpiry
from services.operations.checks import waiting_reviews
from services.ports import Clock, QueueDepth, Queues, Store
from services.topology import QUEUES
from services.work.announcing import Sweeper
from services.work.backlog import BacklogReader
from services.work.stage import Stage

log = logging.getLogger("toolpulse.upkeep")


@dataclass(frozen=True, slots=True)
class UpkeepReport:
    """The depths of the queues, and how many items of stages were announced again."""

    depths: tuple[QueueDepth, ...]
    items: int


class Upkeep:
    """The work of `clean_up`."""

    def __init__(
        self,
        queues: Queues,
        store: Store,
        clock: Clock,
        sweeper: Sweeper,
        stages: Sequence[Stage],
        backlog: BacklogReader,
        budget: Budget,
        archive: ArchiveExpiry,
    ) -> None:
        self._queues = queues
        self._store = store
        self._clock = clock
        self._quarantined = QuarantinedBatches(store)
        self._sweeper = sweeper
        self._stages = stages
        self._backlog = backlog
        self._budget = budget
        self._archive = archive

    async def announce_overdue(self, *, at_start: bool = False, ahead: bool = False) -> int:
        """Announces what is overdue, at every tick and at the start of a worker; with `ahead`, also what a clock that
        was ahead has made due. Returns the number of items of stages."""
        return await self._sweeper.sweep_all(self._stages, at_start=at_start, ahead=ahead)

    async def run(self) -> UpkeepReport:
        depths = tuple(await self._queues.depths(QUEUES))
        now = self._clock()
        age = await self._refresh_age(now)
        log_event(log, logging.INFO, "refresh_age", seconds=age)
        if age is not None:
            telemetry.record(telemetry.REFRESH_AGE, age)
        await self._quarantined.clean_up()
        await self._budget.correct(now)
        items = await self.announce_overdue(ahead=True)
        for depth in depths:
            level = logging.ERROR if depth.poison else logging.INFO
            log_event(log, level, "queue_depth", queue=depth.name, messages=depth.messages, poison=depth.poison)
            telemetry.record(telemetry.QUEUE_MESSAGES, depth.messages, queue=depth.name)
            telemetry.record(telemetry.QUEUE_POISON, depth.poison, queue=depth.name)
        await self._log_backlog(now)
        await self._log_reviews(now)
        await self._archive.clean_up()
        return UpkeepReport(depths, items)

    async def _log_backlog(self, now: datetime) -> None:
        """Last, since the articles that were sent again count."""
        backlog = await self._backlog.read()
        fields = {"pending": backlog.pending, "failed": backlog.failed, "oldest_seconds": backlog.oldest_seconds(now)}
        log_event(log, logging.INFO, "backlog", **fields)

    async def _log_reviews(self, now: datetime) -> None:
        for kind, each in (await waiting_reviews(self._store)).items():
            fields = {"kind": kind, "pending": each.pending, "oldest_seconds": each.oldest_seconds(now)}
            log_event(log, logging.INFO, "reviews_waiting", **fields)

    async def _refresh_age(self, now: datetime) -> int | None:
        """Seconds since the last successful refresh of all tools ended; None before the first."""
        metadata, _ = await last_refreshes(self._store)
        return unix_seconds(now) - metadata.last_refresh_ts if metadata else None
