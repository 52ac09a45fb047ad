"""The work of `clean_up`, every five minutes: logs the age of the last refresh, the depths of the queues, the
backlog and what waits for a review, sends overdue work again, and deletes what has expired.

After a jump of the clock nothing is deleted for a day: what has expired by a wrong clock comes back when it is right.

The lines are logged even if all queues are empty, so that missing lines can raise an alert.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta

from models.document import DocumentProduct
from models.errors import Unavailable
from models.operations import Heartbeat
from models.values import format_time, unix_seconds
from services import deadline, memory, telemetry
from services.archive.keys import source_of
from services.articles.quarantine import delete_dropped
from services.feeds.schedule import Budget
from services.figures.metadata import last_refreshes
from services.logs import log_event
from services.operations.checks import may_delete_by_clock, waiting_reviews
from services.ports import Archive, Clock, Document, Queues, Store, readable
from services.store.containers import CATALOG
from services.topology import CLEAN_UP, QUEUES
from services.work.announcing import Sweeper
from services.work.backlog import BacklogReader
from services.work.stage import Stage

log = logging.getLogger("toolpulse.upkeep")

KEPT_AT_LEAST = timedelta(days=30)
"""The life of an article, and of its document unless quarantine holds it."""
FOLDERS_AT_A_TIME = 100
MAX_FOLDERS = 2_000
"""In one run. The next run goes on after them, so documents that are held for long hold up no others."""


async def is_steady(store: Store, now: datetime) -> bool:
    """Whether the clock has not jumped lately, so that what has expired may be deleted."""
    stored = await store.read(CATALOG.name, Heartbeat.PARTITION, CLEAN_UP.name)
    return may_delete_by_clock(readable(stored, Heartbeat.from_document), now)


class ArchiveExpiry:
    """Deletes from the archive what has expired: the folder of an article whose document is gone.

    The store expires documents; what quarantine holds has no expiry until it is reviewed. So the documents decide, and
    no object has an expiry of its own. A folder younger than the life of an article is not looked at.
    """

    def __init__(self, store: Store, archive: Archive, clock: Clock) -> None:
        self._store = store
        self._archive = archive
        self._clock = clock
        self._after = ""

    async def clean_up(self) -> int:
        """Returns the number of objects that were deleted. An archive that cannot be reached is left for the next
        run: no other work waits for it."""
        deleted = 0
        before = format_time(self._clock() - KEPT_AT_LEAST)[:10]
        try:
            for _ in range(MAX_FOLDERS // FOLDERS_AT_A_TIME):
                folders = await self._archive.folders(before, after=self._after, limit=FOLDERS_AT_A_TIME)
                self._after = folders[-1] if len(folders) == FOLDERS_AT_A_TIME else ""
                deleted += await self._delete_expired(folders)
                if not self._after or deadline.is_near():
                    break
        except Unavailable as error:
            log_event(log, logging.WARNING, "archive_not_cleaned_up", error=str(error))
        if deleted:
            log_event(log, logging.INFO, "archive_cleaned_up", objects=deleted)
        return deleted

    async def _delete_expired(self, folders: list[str]) -> int:
        keys = [(source_of(folder), DocumentProduct.ID) for folder in folders]
        documents = await self._store.read_many(DocumentProduct.CONTAINER, keys) if keys else []
        expired = [folder for folder, document in zip(folders, documents, strict=True) if not _is_of(document, folder)]
        return sum(await asyncio.gather(*map(self._archive.delete_folder, expired)))


def _is_of(document: Document | None, folder: str) -> bool:
    """Whether the document's files are in this folder: one that was made anew has another. A document that cannot be
    read keeps its files."""
    if document is None:
        return False
    return str(document.get("archive_day") or document.get("created_at", folder))[:10] == folder[:10]


@dataclass
class Upkeep:
    """The work of `clean_up`."""

    queues: Queues
    store: Store
    clock: Clock
    sweeper: Sweeper
    stages: Sequence[Stage]
    backlog: BacklogReader
    budget: Budget
    archive: ArchiveExpiry

    async def announce_overdue(self, *, at_start: bool = False, ahead: bool = False) -> None:
        """Announces what is overdue of each stage, at every tick and at the start of a worker. Gives memory back."""
        await asyncio.gather(*(self.sweeper.sweep(each, at_start=at_start, ahead=ahead) for each in self.stages))
        memory.give_back_soon()

    async def run(self) -> None:
        depths = await self.queues.depths(QUEUES)
        now = self.clock()
        age = await self._refresh_age(now)
        log_event(log, logging.INFO, "refresh_age", seconds=age)
        if age is not None:
            telemetry.record(telemetry.REFRESH_AGE, age)
        await delete_dropped(self.store)
        await self.budget.correct(now)
        await self.announce_overdue(ahead=True)
        for depth in depths:
            level = logging.ERROR if depth.poison else logging.INFO
            log_event(log, level, "queue_depth", queue=depth.name, messages=depth.messages, poison=depth.poison)
            telemetry.record(telemetry.QUEUE_MESSAGES, depth.messages, queue=depth.name)
            telemetry.record(telemetry.QUEUE_POISON, depth.poison, queue=depth.name)
        await self._log_backlog(now)
        await self._log_reviews(now)
        if await is_steady(self.store, self.clock()):  # it may have jumped since `now`
            await self.store.purge()
            await self.archive.clean_up()

    async def _log_backlog(self, now: datetime) -> None:
        """Last, since the articles that were sent again count."""
        backlog = await self.backlog.read()
        fields = {"pending": backlog.pending, "failed": backlog.failed, "oldest_seconds": backlog.oldest_seconds(now)}
        log_event(log, logging.INFO, "backlog", **fields)

    async def _log_reviews(self, now: datetime) -> None:
        for kind, each in (await waiting_reviews(self.store)).items():
            fields = {"kind": kind, "pending": each.pending, "oldest_seconds": each.oldest_seconds(now)}
            log_event(log, logging.INFO, "reviews_waiting", **fields)

    async def _refresh_age(self, now: datetime) -> int | None:
        """Seconds since the last successful refresh of all tools ended; None before the first."""
        metadata, _ = await last_refreshes(self.store)
        return unix_seconds(now) - metadata.last_refresh_ts if metadata else None
