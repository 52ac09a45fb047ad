"""What follows from the reviews of documents, and from runs of acquisition that never ended."""

from __future__ import annotations

import logging
from dataclasses import dataclass

from models.errors import ChangedMeanwhile
from models.quarantine import QuarantineItem
from services.documents.discovery import Discovery
from services.documents.handler import close_overdue
from services.documents.quarantining import DocumentQuarantine
from services.ports import Clock, Query, Store, Where, listed_documents, readable
from services.runs.engine import RunEngine
from services.store.containers import QUARANTINE

log = logging.getLogger("toolpulse.documents")

_PAGE = 200


@dataclass(frozen=True, slots=True)
class DocumentReviews:
    """Has documents follow the reviews of their quarantine items."""

    store: Store
    engine: RunEngine
    discovery: Discovery
    quarantine: DocumentQuarantine
    clock: Clock

    async def work(self) -> None:
        """The work of `clean_up`: what a process that died has left."""
        await self._carry_out_reviews()
        await close_overdue(self.engine, self.clock)

    async def _carry_out_reviews(self) -> None:
        """Has documents follow reviews that were recorded by a process that died then."""
        cleared = Where("manual_review_status", "in", ("CLEARED_RETRY_APPROVED", "CLEARED_TERMINAL"))
        where = (Where("kind", "eq", "DOCUMENT"), cleared, Where("released_at", "missing"))
        page = await self.store.query(QUARANTINE.name, Query(where, limit=_PAGE))
        for item in listed_documents(page.items, QuarantineItem.from_document, "quarantine_id").items:
            await self.follow(item)

    async def follow(self, item: QuarantineItem) -> None:
        """Has the document of a reviewed item follow its review, and announces it."""
        due = await self.quarantine.carry_out(item)
        if due is not None:
            await self.discovery.announce(due)
        elif await self.quarantine.is_being_tried(item):
            return  # the try may end with this item: the review is followed then
        stored = await self.store.read(QUARANTINE.name, item.partition, item.id)
        reviewed = readable(stored, QuarantineItem.from_document)
        if reviewed is None or reviewed.manual_review_status != item.manual_review_status:
            return
        try:
            done = reviewed.changed(self.clock(), released_at=self.clock()).to_document()
            await self.store.replace(QUARANTINE.name, done, reviewed.stored_etag or "")
        except ChangedMeanwhile:
            return  # another worker has followed it, or it waits for a person again
