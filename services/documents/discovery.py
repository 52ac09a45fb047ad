"""Makes documents due: stubs for articles whose text a feed or a person asks for, and the messages that acquire them.

The stored document is the truth, its message only starts the work.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial

from models.article import ARTICLE_KEPT, Article
from models.document import DocumentProduct
from models.errors import Conflict, InvalidTransition
from services.articles.writing import Asked
from services.documents import life_cycle
from services.feeds.hosts import host_of
from services.ports import Clock, Document, Store, Where, readable
from services.store.change import Decided, change
from services.store.containers import DOCUMENTS
from services.topology import ACQUIRE_DOCUMENTS
from services.work.announcing import Announcer
from services.work.stage import Stage

IN_MESSAGE = 50
"""The most documents of one message. They are of one host, and fetched one after the other."""
DELAY_SECONDS = 5.0
"""The text of the feed is scored meanwhile."""


DOCUMENTS_STAGE = Stage(
    name="documents",
    queue=ACQUIRE_DOCUMENTS,
    container=DOCUMENTS.name,
    order="by_due",
    due="next_eligible_attempt_at",
    key="source_id",
    form=lambda source_ids: {"source_ids": source_ids},
    named="source_ids",
    most=IN_MESSAGE,
    where=(Where("eligibility", "eq", "ACQUIRE"),),
    group=lambda document: host_of(document["locators"][0]["value"]),
    furthest=ARTICLE_KEPT,
)
"""A document counts its tries itself (life_cycle.py)."""


@dataclass(frozen=True, slots=True)
class Discovery:
    """Makes documents due, and sends their messages."""

    store: Store
    announcer: Announcer
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
            await self.changed(each.source_id, partial(life_cycle.edited, asked=each, now=self.clock()))

    async def demand(self, article: Article) -> DocumentProduct:
        """Makes the document of the article due now, as a person asks, whatever its feed asks for. Raises Conflict for
        a document that a review must release, or has dropped."""
        now, asked = self.clock(), asked_by(article)
        await self.store.create_many(DOCUMENTS.name, [life_cycle.stub(asked, now).to_document()])

        def again(known: DocumentProduct) -> DocumentProduct:
            try:
                return life_cycle.tried_again(life_cycle.edited(known, asked, now), now)
            except InvalidTransition:
                state = f"{known.validation_status} (quarantine item {known.quarantine_id})"
                raise InvalidTransition("document", state, "acquired: only its review can release it") from None

        document = await self.changed(article.source_id, again)
        if document is None:
            raise Conflict("document: what is stored of it cannot be read")
        return document

    async def changed(
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


def asked_by(article: Article) -> Asked:
    """The full text of the article's canonical reading, whatever its feed asks for."""
    reading = article.canonical
    return Asked(article.source_id, reading.source, reading.url, reading.revision, article.ttl_timestamp)
