"""The document of an article as people see it, and another try at their request."""

from __future__ import annotations

from dataclasses import dataclass

from models.article import Article
from models.document import DocumentProduct, FileObject
from models.errors import ChangedMeanwhile, Conflict, InvalidTransition, NotFound
from models.resources.base import View
from models.resources.documents import DocumentResource, FileResource
from models.resources.runs import AttemptResource
from models.run import Attempt
from services.articles.reading import Articles
from services.documents import life_cycle
from services.documents.discovery import Discovery, asked_by
from services.documents.removal import remove_alias
from services.ports import Clock, Listed, Query, Store, listed_documents, query_all, readable
from services.store.change import until_unchanged
from services.store.containers import DOCUMENTS
from services.work.runs import RunEngine

MOST_ATTEMPTS_SHOWN = 50
_PAGE = 100


@dataclass(frozen=True, slots=True)
class ShownDocument:
    document: DocumentProduct
    files: Listed[FileObject]
    attempts: Listed[Attempt]

    def resource(self, view: View = "default") -> DocumentResource:
        files = [FileResource.of(each, view) for each in self.files.items]
        attempts = [AttemptResource.of(each, view) for each in self.attempts.items]
        found = DocumentResource.of(self.document, view).with_added(files=files, attempts=attempts)
        unreadable = [*self.files.unreadable, *self.attempts.unreadable]
        return found.with_added(unreadable=unreadable) if unreadable else found


@dataclass(frozen=True, slots=True)
class Documents:
    store: Store
    articles: Articles
    engine: RunEngine
    discovery: Discovery
    clock: Clock

    async def get(self, article_id: str) -> ShownDocument:
        """Raises NotFound without such an article, and for an article without a document."""
        article = await self.articles.get(article_id)
        found = await query_all(self.store, DOCUMENTS.name, Query(partition=article.source_id, limit=_PAGE))
        own = next((each for each in found if each["id"] == DocumentProduct.ID), None)
        if own is None:
            raise NotFound(f"document: article {article_id!r} has none; POST asks for one")
        files = [each for each in found if each["id"] != DocumentProduct.ID]
        return ShownDocument(
            DocumentProduct.from_document(own),
            listed_documents(files, FileObject.from_document, "id"),
            await self.engine.attempts_at(article.source_id, life_cycle.TASK, MOST_ATTEMPTS_SHOWN),
        )

    async def acquire(self, article_id: str) -> DocumentProduct:
        """Makes the document of the article due now, whatever its feed asks for. Raises NotFound, and Conflict for a
        document that a review must release, or has dropped."""
        article = await self.articles.get(article_id)

        async def once() -> DocumentProduct:
            found = await self.store.read(DOCUMENTS.name, article.source_id, DocumentProduct.ID)
            known = readable(found, DocumentProduct.from_document)
            try:
                return await (self._created(article) if known is None else self._again(article, known))
            except Conflict as error:
                raise ChangedMeanwhile(str(error)) from error

        document = await until_unchanged(once, f"document of {article_id}")
        await self.discovery.announce(document)
        return document

    async def _created(self, article: Article) -> DocumentProduct:
        document = life_cycle.stub(asked_by(article), self.clock())
        return DocumentProduct.from_document(await self.store.create(DOCUMENTS.name, document.to_document()))

    async def _again(self, article: Article, known: DocumentProduct) -> DocumentProduct:
        now = self.clock()
        try:
            after = life_cycle.tried_again(life_cycle.edited(known, asked_by(article), now), now)
        except InvalidTransition:
            state = f"{known.validation_status} (quarantine item {known.quarantine_id})"
            raise InvalidTransition("document", state, "acquired: only its review can release it") from None
        if after.locator_identity != known.locator_identity:
            await remove_alias(self.store, known)
        await self.store.replace(DOCUMENTS.name, after.to_document(), known.stored_etag or "")
        return after
