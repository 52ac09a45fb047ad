"""Finds overdue documents for `clean_up`: due ones whose message was lost, reviewed ones, runs that never ended."""

from __future__ import annotations

import logging
from collections.abc import Callable
from dataclasses import dataclass
from datetime import datetime, timedelta

from models.document import DocumentProduct
from models.errors import ChangedMeanwhile
from models.quarantine import QuarantineItem
from models.values import format_time
from services.documents.discovery import Discovery
from services.documents.handler import close_overdue
from services.documents.quarantining import DocumentQuarantine
from services.logs import log_event
from services.ports import Clock, Query, Queues, Store, Where, listed_documents, query_all, readable
from services.runs.engine import SENT_WITHIN, RunEngine
from services.store.containers import DOCUMENTS, QUARANTINE
from services.topology import ACQUIRE_DOCUMENTS

log = logging.getLogger("toolpulse.documents")

DUE_TOO_LONG = timedelta(minutes=1)
"""A document that has been due for longer is overdue, unless its message waits in the queue."""
_PAGE = 200
_MOST_PAGES = 5


@dataclass(frozen=True, slots=True)
class OverdueDocuments:
    store: Store
    queues: Queues
    engine: RunEngine
    discovery: Discovery
    quarantine: DocumentQuarantine
    clock: Clock

    @classmethod
    def build(
        cls, store: Store, queues: Queues, engine: RunEngine, clock: Clock, new_id: Callable[[], str]
    ) -> OverdueDocuments:
        discovery, quarantine = Discovery(store, queues, clock, new_id), DocumentQuarantine(store, clock)
        return cls(store, queues, engine, discovery, quarantine, clock)

    async def send(self) -> int:
        """Sends messages for overdue documents, at most a thousand, the oldest first. Returns their number. A message
        that is sent twice does nothing the second time: workers claim documents."""
        await self._carry_out_reviews()
        await close_overdue(self.engine, self.clock)
        oldest = await self.queues.oldest(ACQUIRE_DOCUMENTS)
        sent = await self.discovery.send(await self._due(oldest))
        if sent:
            log_event(log, logging.INFO, "overdue_documents_sent", documents=sent)
        return sent

    async def _due(self, oldest_waiting: datetime | None) -> list[DocumentProduct]:
        until = self.clock() - DUE_TOO_LONG
        if oldest_waiting is not None:
            until = min(until, oldest_waiting - SENT_WITHIN)
        where = (Where("eligibility", "eq", "ACQUIRE"), Where("next_eligible_attempt_at", "le", format_time(until)))
        query = Query(where, order="by_due", limit=_PAGE)
        found = await query_all(self.store, DOCUMENTS.name, query, most_pages=_MOST_PAGES)
        return listed_documents(found, DocumentProduct.from_document, "source_id").items

    async def _carry_out_reviews(self) -> None:
        """Has documents follow reviews that were recorded by a process that died then."""
        cleared = Where("manual_review_status", "in", ("CLEARED_RETRY_APPROVED", "CLEARED_TERMINAL"))
        where = (Where("kind", "eq", "DOCUMENT"), cleared, Where("released_at", "missing"))
        page = await self.store.query(QUARANTINE.name, Query(where, limit=_PAGE))
        for item in listed_documents(page.items, QuarantineItem.from_document, "quarantine_id").items:
            await self.follow(item)

    async def follow(self, item: QuarantineItem) -> None:
        """Has the document of a reviewed item follow its review, and sends its message."""
        due = await self.quarantine.carry_out(item)
        if due is not None:
            await self.discovery.send([due])
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
