"""The documents that feeds and people ask for: makes them due, has them follow reviews, and shows them.

The stored document is the truth, its message only starts the work.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import datetime
from functools import partial
from typing import TYPE_CHECKING, get_args

from models.article import Article
from models.document import DocumentProduct, Eligibility, FileObject
from models.errors import Conflict, InvalidTransition, NotFound, Unavailable
from models.feed import host_of_address
from models.quarantine import QuarantineItem, quarantine_id
from models.resources.articles import DocumentResource, FileResource
from models.resources.base import View
from models.resources.runs import AttemptResource
from models.states import AcquisitionStatus, ValidationStatus
from models.values import format_time
from services.articles.reading import article_filter
from services.articles.writing import Asked
from services.documents import life_cycle
from services.parse.feed import charset_in, codec_of
from services.ports import (
    Archive,
    Clock,
    Document,
    Listed,
    Page,
    Query,
    Store,
    Where,
    listed,
    listed_documents,
    readable,
)
from services.store.change import Decided, change
from services.store.containers import ARTICLES, DOCUMENTS, QUARANTINE
from services.topology import ACQUIRE_DOCUMENTS
from services.work.announcing import Announcer
from services.work.stage import Stage

if TYPE_CHECKING:
    from services.articles.reading import Articles
    from services.documents.judging import Unknown
    from services.work.runs import RunEngine

IN_MESSAGE = 50
"""The most documents of one message. They are of one host, and fetched one after the other."""
DELAY_SECONDS = 5.0
"""The text of the feed is scored meanwhile."""
MAX_ATTEMPTS_SHOWN = 50

DOCUMENTS_STAGE = Stage(
    name="documents",
    queue=ACQUIRE_DOCUMENTS,
    container=DOCUMENTS.name,
    order="by_due",
    due="next_eligible_attempt_at",
    key="source_id",
    named="source_ids",
    most=IN_MESSAGE,
    where=(Where("eligibility", "eq", "ACQUIRE"),),
    group=lambda document: host_of_address(document["locators"][0]["value"]),
    furthest=life_cycle.FURTHEST,
)
"""A document counts its tries itself (life_cycle.py)."""


STATUSES = (*get_args(AcquisitionStatus), *get_args(ValidationStatus))


@dataclass(frozen=True, slots=True)
class DocumentFilter:
    """Which documents a list has. `status` is one of STATUSES; with `eligible`, the documents that are due. `source_id`
    and `tool_id` are not given together."""

    status: str | None = None
    eligible: bool = False
    source_id: str | None = None
    tool_id: str | None = None

    @property
    def where(self) -> tuple[Where, ...]:
        """The conditions of a query. Files have no eligibility."""
        is_document = Where("eligibility", "in", get_args(Eligibility))
        first = Where("eligibility", "eq", "ACQUIRE") if self.eligible else is_document
        field = "acquisition_status" if self.status in get_args(AcquisitionStatus) else "validation_status"
        return (first, Where(field, "eq", self.status)) if self.status else (first,)


@dataclass(frozen=True, slots=True)
class Documents:
    """Makes documents due and sends their messages, puts them into quarantine, and shows them."""

    store: Store
    announcer: Announcer
    articles: Articles
    archive: Archive
    engine: RunEngine
    clock: Clock

    async def discover(self, asked: Sequence[Asked]) -> None:
        """Makes a document for each article that has none; one whose article was edited is due again. A second call
        changes nothing."""
        if not asked:
            return
        stubs = [life_cycle.stub(each, self.clock()) for each in asked]
        created = await self.store.create_many(DOCUMENTS.name, [each.to_document() for each in stubs])
        new = [stub.to_document() for stub, is_new in zip(stubs, created, strict=True) if is_new]
        await self.announcer.announce_documents(DOCUMENTS_STAGE, new, delay_seconds=DELAY_SECONDS)
        for each in (each for each, is_new in zip(asked, created, strict=True) if not is_new):
            await self._changed(each.source_id, partial(life_cycle.edited, asked=each, now=self.clock()))

    async def acquire(self, article_id: str) -> DocumentProduct:
        """Makes the document of the article due now, as a person asks, whatever its feed asks for. Raises NotFound, and
        Conflict for a document that a review must release, or has dropped."""
        article = await self.articles.get(article_id)
        now, reading = self.clock(), article.canonical
        asked = Asked(
            *(article.source_id, reading.source, reading.url, reading.revision, article.ttl_timestamp),
            *(article.language, "PERSON"),
        )
        await self.store.create_many(DOCUMENTS.name, [life_cycle.stub(asked, now).to_document()])

        def again(known: DocumentProduct) -> DocumentProduct:
            try:
                return life_cycle.tried_again(life_cycle.edited(known, asked, now), now)
            except InvalidTransition:
                state = f"{known.validation_status} (quarantine item {known.quarantine_id})"
                raise InvalidTransition("document", state, "acquired: its review has not released it") from None

        document = await self._changed(article.source_id, again)
        if document is None:
            raise Conflict("document: what is stored of it cannot be read")
        return document

    async def get(self, article_id: str, view: View = "default") -> DocumentResource:
        """The document with its files and attempts. Raises NotFound without such an article, and for an article without
        a document."""
        article = await self.articles.get(article_id)
        document, stored = await self._stored(article.source_id)
        files = listed_documents(stored, FileObject.from_document, "id")
        attempts = await self.engine.attempts_at(document.source_id, life_cycle.TASK, MAX_ATTEMPTS_SHOWN)
        shown = DocumentResource.of(document, view).with_added(
            files=[FileResource.of(each, view) for each in files.items],
            attempts=[AttemptResource.of(each, view) for each in attempts.items],
        )
        unreadable = [*files.unreadable, *attempts.unreadable]
        return shown.with_added(unreadable=unreadable) if unreadable else shown

    async def file(self, article_id: str, file_id: str, view: View = "default") -> FileResource:
        """The file with this id, or the latest one in this role, with its content as text. Raises NotFound, and Damaged
        if the archive has other bytes."""
        article = await self.articles.get(article_id)
        _, file, data = await self.archived(article.source_id, file_id)
        charset = codec_of(charset_in(file.content_type)) or "utf-8"
        return FileResource.of(file, view).with_added(text=data.decode(charset, "replace"))

    async def archived(self, source_id: str, file_id: str) -> tuple[DocumentProduct, FileObject, bytes]:
        """The document, and its file with this id, or the latest one in this role, with what the archive has of it."""
        document, stored = await self._stored(source_id)
        named = [each for each in stored if f"{each['id']}:".startswith(f"FILE:{file_id}:")]
        if not named:
            raise NotFound(f"file: the document has none with the id or role {file_id!r}")
        file = max(map(FileObject.from_document, named), key=lambda each: each.created_at)
        return document, file, await self.archive.get(file.archive_key)

    async def page(self, by: DocumentFilter, limit: int, after: str | None) -> Listed[DocumentProduct]:
        """The documents that meet all filters, newest first; the eligible ones in the order in which they are tried.
        Those of a tool are in the order of their articles, and a page of them may be shorter than `limit`."""
        if by.tool_id is None:
            order = "by_due" if by.eligible else "by_created"
            query = Query(by.where, by.source_id, order, not by.eligible, limit, after, may_be_stale=True)
            page = await self.store.query(DOCUMENTS.name, query)
        else:
            articles = await self.articles.page(article_filter({"tool": by.tool_id}), limit, after)
            source_ids = (*(each.source_id for each in articles.items), *articles.unreadable)
            keys = [(each, DocumentProduct.ID) for each in source_ids]
            stored = await self.store.read_many(DOCUMENTS.name, keys, may_be_stale=True)
            found = [each for each in stored if each is not None and all(one.is_met_by(each) for one in by.where)]
            page = Page(found, articles.next)
        now = Where("next_eligible_attempt_at", "le", format_time(self.clock()))
        due = [each for each in page.items if not by.eligible or now.is_met_by(each)]
        is_last = by.tool_id is None and len(due) < len(page.items)
        return listed(Page(due, None if is_last else page.next), DocumentProduct.from_document, "source_id")

    async def _stored(self, source_id: str) -> tuple[DocumentProduct, list[Document]]:
        """The document, and its files as they are stored."""
        found = (await self.store.query(DOCUMENTS.name, Query(partition=source_id))).items
        own = next((each for each in found if each["id"] == DocumentProduct.ID), None)
        if own is None:
            raise NotFound(f"document: article {source_id!r} has none; POST asks for one")
        return DocumentProduct.from_document(own), [each for each in found if each is not own]

    async def quarantine(
        self, document: DocumentProduct, article: Article, unknown: Unknown, now: datetime
    ) -> DocumentProduct:
        """The document in quarantine, not stored yet; its item is. A page that a review has dropped before is
        TERMINAL_INVALID."""
        content = f"{document.locator_identity}|{document.sha256}|{unknown.fingerprint}"
        name = quarantine_id("DOCUMENT", document.source_id, content)
        item = QuarantineItem(
            created_at=now,
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
        why = {**unknown.extracted, "quarantine_reason": unknown.why}
        after = life_cycle.quarantined(document, unknown.reason, unknown.fingerprint, name, why, now)
        if known is not None and known.manual_review_status == "CLEARED_TERMINAL":
            return life_cycle.reviewed(after, "CLEARED_TERMINAL", article.ttl_timestamp, now) or after
        return after

    async def follow(self, item: QuarantineItem) -> None:
        """Has the document of a reviewed item follow its review, and announces it. A second call changes nothing: a
        person whose request failed decides the same again. Raises Unavailable while a try is under way."""
        article = await self.store.read(ARTICLES.name, item.subject, Article.ID)
        expires, now = None if article is None else article.get("ttl_timestamp"), self.clock()

        def followed(document: DocumentProduct) -> DocumentProduct:
            if document.open_attempt is not None:
                raise Unavailable("document: a try is under way; decide the same again", retry_after=5.0)
            if document.quarantine_id != item.quarantine_id:
                return document
            return life_cycle.reviewed(document, item.manual_review_status, expires, now) or document

        await self._changed(item.subject, followed)

    async def _changed(
        self, source_id: str, step: Callable[[DocumentProduct], DocumentProduct]
    ) -> DocumentProduct | None:
        """Has the document take this step, and announces it if that has made it due. Returns it as it is stored then;
        None if there is none that can be read."""
        now, is_changed = self.clock(), False

        def decide(found: Document | None) -> Decided:
            nonlocal is_changed
            before = readable(found, DocumentProduct.from_document)
            after = before if before is None else step(before)
            is_changed = after is not before
            return after.to_document() if after is not None and is_changed else None

        stored = await change(self.store, DOCUMENTS.name, source_id, DocumentProduct.ID, decide)
        document = readable(stored, DocumentProduct.from_document)
        if document is not None and is_changed and life_cycle.is_due(document, now):
            await self.announcer.announce_documents(DOCUMENTS_STAGE, [document.to_document()])
        return document
