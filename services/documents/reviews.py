"""Documents that wait for a person: their quarantine items, and what follows from the review."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime

from models.article import Article
from models.document import DocumentProduct
from models.quarantine import QuarantineItem, quarantine_id
from services.documents import life_cycle
from services.documents.discovery import Discovery, asked_by
from services.documents.judging import Unknown
from services.documents.removal import remove_alias
from services.ports import Clock, Document, Query, Store, Where, listed_documents, readable
from services.store.change import change, until_unchanged
from services.store.containers import ARTICLES, DOCUMENTS, QUARANTINE

_PAGE = 200


@dataclass(frozen=True, slots=True)
class DocumentReviews:
    """Puts documents into quarantine, and has them follow the reviews of their items."""

    store: Store
    discovery: Discovery
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

    async def follow_all(self) -> None:
        """Has documents follow reviews that were recorded by a process that died then."""
        cleared = Where("manual_review_status", "in", ("CLEARED_RETRY_APPROVED", "CLEARED_TERMINAL"))
        where = (Where("kind", "eq", "DOCUMENT"), cleared, Where("released_at", "missing"))
        page = await self.store.query(QUARANTINE.name, Query(where, limit=_PAGE))
        for item in listed_documents(page.items, QuarantineItem.from_document, "quarantine_id").items:
            await self.follow(item)

    async def follow(self, item: QuarantineItem) -> None:
        """Has the document of a reviewed item follow its review, and announces it. A second call changes nothing."""
        document = await until_unchanged(lambda: self._reviewed(item), f"document {item.subject}")
        if document is not None and document.eligibility == "ACQUIRE" and document.open_attempt is None:
            await self.discovery.announce(document)
        elif document is not None and document.open_attempt is not None:
            return  # the try may end with this item: the review is followed then

        def released(found: Document | None) -> Document | None:
            reviewed = readable(found, QuarantineItem.from_document)
            if reviewed is None or reviewed.manual_review_status != item.manual_review_status:
                return None  # it waits for a person again
            return reviewed.changed(self.clock(), released_at=self.clock()).to_document()

        await change(self.store, QUARANTINE.name, item.partition, item.id, released)

    async def _reviewed(self, item: QuarantineItem) -> DocumentProduct | None:
        """The document after its review, stored."""
        found = await self.store.read(DOCUMENTS.name, item.subject, DocumentProduct.ID)
        document = readable(found, DocumentProduct.from_document)
        if document is None or document.quarantine_id != item.quarantine_id:
            return document
        article = await self.store.read(ARTICLES.name, item.subject, Article.ID)
        expires = None if article is None else article.get("ttl_timestamp")
        after = life_cycle.reviewed(document, item.manual_review_status, expires, self.clock())
        if after is None:
            return document
        present = readable(article, Article.from_document)
        if after.eligibility == "ACQUIRE" and present is not None:
            asked = asked_by(present)
            # While it waited for the person, an edit could not make it due. Another feed, whose reading leads now, asks
            # for itself.
            if asked.feed_id == after.provider:
                after = life_cycle.edited(after, asked, self.clock())
        if after.locator_identity != document.locator_identity:
            await remove_alias(self.store, document)
        await self.store.replace(DOCUMENTS.name, after.to_document(), document.stored_etag or "")
        return after
