"""Deletes from the archive what has expired: the folder of an article whose document is gone.

The store expires documents; what quarantine holds has no expiry until it is reviewed. So the documents decide, and no
object has an expiry of its own. A folder younger than the life of an article is not looked at.

After a jump of the clock nothing is deleted for a day: documents come back when the clock is set right, objects do not.
"""

from __future__ import annotations

import asyncio
import logging
from datetime import timedelta

from models.document import DocumentProduct
from models.errors import Unavailable
from models.operations import Heartbeat
from services import deadline
from services.archive.keys import day_of, source_of
from services.logs import log_event
from services.operations.checks import may_delete_by_clock
from services.ports import Archive, Clock, Document, Store, readable
from services.store.containers import CATALOG
from services.topology import CLEAN_UP

log = logging.getLogger("toolpulse.archive")

KEPT_AT_LEAST = timedelta(days=30)
"""The life of an article, and of its document unless quarantine holds it."""
FOLDERS_AT_A_TIME = 100
MAX_FOLDERS = 2_000
"""In one run. The next run goes on after them, so documents that are held for long hold up no others."""
_DELETED_AT_ONCE = 8


class ArchiveExpiry:
    """Deletes expired folders of the archive."""

    def __init__(self, store: Store, archive: Archive, clock: Clock) -> None:
        self._store = store
        self._archive = archive
        self._clock = clock
        self._after = ""

    async def clean_up(self) -> int:
        """Returns the number of objects that were deleted. An archive that cannot be reached is left for the next
        run: no other work waits for it."""
        deleted = 0
        before = day_of(self._clock() - KEPT_AT_LEAST)
        try:
            for _ in range(MAX_FOLDERS // FOLDERS_AT_A_TIME):
                folders = await self._archive.folders(before, after=self._after, limit=FOLDERS_AT_A_TIME)
                if folders and not await self._is_steady():
                    break
                self._after = folders[-1] if len(folders) == FOLDERS_AT_A_TIME else ""
                deleted += await self._delete_expired(folders)
                if not self._after or deadline.is_near():
                    break
        except Unavailable as error:
            log_event(log, logging.WARNING, "archive_not_cleaned_up", error=str(error))
        if deleted:
            log_event(log, logging.INFO, "archive_cleaned_up", objects=deleted)
        return deleted

    async def _is_steady(self) -> bool:
        stored = await self._store.read(CATALOG.name, Heartbeat.PARTITION, CLEAN_UP.name)
        return may_delete_by_clock(readable(stored, Heartbeat.from_document), self._clock())

    async def _delete_expired(self, folders: list[str]) -> int:
        keys = [(source_of(folder), DocumentProduct.ID) for folder in folders]
        documents = await self._store.read_many(DocumentProduct.CONTAINER, keys) if keys else []
        expired = [folder for folder, document in zip(folders, documents, strict=True) if not _is_of(document, folder)]
        at_once = asyncio.Semaphore(_DELETED_AT_ONCE)

        async def delete(folder: str) -> int:
            async with at_once:
                return await self._archive.delete_folder(folder)

        return sum(await asyncio.gather(*(delete(folder) for folder in expired)))


def _is_of(document: Document | None, folder: str) -> bool:
    """Whether the document's files are in this folder: one that was made anew has another. A document that cannot be
    read keeps its files."""
    if document is None:
        return False
    return str(document.get("archive_day") or document.get("created_at", folder))[:10] == folder[:10]
