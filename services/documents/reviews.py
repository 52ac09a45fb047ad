"""Documents that wait for a person: their quarantine items, and what follows from the review."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime

from models.article import Article
from models.document import DocumentProduct
from models.errors import Unavailable
from models.quarantine import QuarantineItem, quarantine_id
from services.documents import life_cycle
from services.documents.discovery import Discovery, asked_by
from services.documents.judging import Unknown
from services.ports import Clock, Store, readable
from services.store.containers import ARTICLES, QUARANTINE


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

    async def follow(self, item: QuarantineItem) -> None:
        """Has the document of a reviewed item follow its review, and announces it. A second call changes nothing: a
        person whose request failed decides the same again. Raises Unavailable while a try is under way."""
        article = await self.store.read(ARTICLES.name, item.subject, Article.ID)
        expires = None if article is None else article.get("ttl_timestamp")
        present, now = readable(article, Article.from_document), self.clock()

        def followed(document: DocumentProduct) -> DocumentProduct:
            if document.open_attempt is not None:
                raise Unavailable("document: a try is under way; decide the same again", retry_after=5.0)
            if document.quarantine_id != item.quarantine_id:
                return document
            after = life_cycle.reviewed(document, item.manual_review_status, expires, now) or document
            # While it waited for the person, an edit could not make it due. Another feed, whose reading leads now, asks
            # for itself.
            if after.eligibility == "ACQUIRE" and present is not None and present.canonical.source == after.provider:
                after = life_cycle.edited(after, asked_by(present), now)
            return after

        await self.discovery.changed(item.subject, followed)
