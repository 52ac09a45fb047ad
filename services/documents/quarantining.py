"""Documents that wait for a person: their quarantine items, and what follows from the review."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime

from models.article import Article
from models.document import DocumentProduct
from models.errors import ChangedMeanwhile
from models.quarantine import QuarantineItem, quarantine_id
from services.documents import life_cycle
from services.documents.discovery import asked_by
from services.documents.judging import Unknown
from services.documents.removal import remove_alias
from services.ports import Clock, Store, readable
from services.store.containers import ARTICLES, DOCUMENTS, QUARANTINE

_TRIES = 5


@dataclass(frozen=True, slots=True)
class DocumentQuarantine:
    store: Store
    clock: Clock

    async def add(
        self, document: DocumentProduct, article: Article, unknown: Unknown, now: datetime
    ) -> DocumentProduct:
        """The document in quarantine, not stored yet; its item is. A page that a review has dropped before is
        TERMINAL_INVALID."""
        content = f"{document.locator_identity}|{document.sha256}|{unknown.fingerprint}"
        name = quarantine_id("DOCUMENT", document.source_id, content)
        item = QuarantineItem(
            created_at=now,
            updated_at=now,
            quarantine_id=name,
            kind="DOCUMENT",
            subject=document.source_id,
            reason_code=unknown.reason,
            reason=unknown.why,
            item_count=1,
            payload={
                "url": document.locators[0].value,
                "headline": article.canonical.headline,
                "feed_id": document.provider,
                "fingerprint": unknown.fingerprint,
                "extraction_profile_id": unknown.extracted.get("extraction_profile_id"),
            },
        )
        found = await self.store.read(QUARANTINE.name, name, name)
        known = readable(found, QuarantineItem.from_document)
        if known is not None and known.manual_review_status == "CLEARED_RETRY_APPROVED":
            await self.store.replace(QUARANTINE.name, known.reopened(now).to_document(), known.stored_etag or "")
        elif known is None:
            await self.store.upsert(QUARANTINE.name, item.to_document())
        after = life_cycle.quarantined(document, unknown.reason, unknown.fingerprint, name, unknown.extracted, now)
        if known is not None and known.manual_review_status == "CLEARED_TERMINAL":
            return life_cycle.reviewed(after, "CLEARED_TERMINAL", article.ttl_timestamp, now) or after
        return after

    async def carry_out(self, item: QuarantineItem) -> DocumentProduct | None:
        """Has the document follow its review. Returns the document if it is due now. A second call changes nothing."""
        for _ in range(_TRIES):
            found = await self.store.read(DOCUMENTS.name, item.subject, DocumentProduct.ID)
            document = readable(found, DocumentProduct.from_document)
            after = None
            if document is not None and document.quarantine_id == item.quarantine_id:
                article = await self.store.read(ARTICLES.name, item.subject, Article.ID)
                expires = None if article is None else article.get("ttl_timestamp")
                after = life_cycle.reviewed(document, item.manual_review_status, expires, self.clock())
                present = readable(article, Article.from_document)
                if after is not None and after.eligibility == "ACQUIRE" and present is not None:
                    asked = asked_by(present)
                    # While it waited for the person, an edit could not make it due. Another feed, whose reading leads
                    # now, asks for itself.
                    if asked.feed_id == after.provider:
                        after = life_cycle.edited(after, asked, self.clock())
            try:
                if document is not None and after is not None:
                    if after.locator_identity != document.locator_identity:
                        await remove_alias(self.store, document)
                    await self.store.replace(DOCUMENTS.name, after.to_document(), document.stored_etag or "")
            except ChangedMeanwhile:
                continue
            return after if after is not None and after.eligibility == "ACQUIRE" else None
        raise ChangedMeanwhile(f"document {item.subject} keeps changing: try again")

    async def is_being_tried(self, item: QuarantineItem) -> bool:
        """Whether a try of the item's document is under way, or its worker died."""
        found = await self.store.read(DOCUMENTS.name, item.subject, DocumentProduct.ID)
        document = readable(found, DocumentProduct.from_document)
        return document is not None and document.open_attempt is not None
