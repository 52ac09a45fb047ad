"""The document of an article as people see it, and another try at their request."""

from __future__ import annotations

from dataclasses import dataclass

from models.document import DocumentProduct, FileObject
from models.errors import NotFound
from models.resources.base import View
from models.resources.documents import DocumentResource, FileResource
from models.resources.runs import AttemptResource
from models.run import Attempt
from services.articles.reading import Articles
from services.documents import life_cycle
from services.documents.discovery import Discovery
from services.ports import Listed, Query, Store, listed_documents, query_all
from services.store.containers import DOCUMENTS
from services.work.runs import RunEngine

MAX_ATTEMPTS_SHOWN = 50
_PAGE = 100


@dataclass(frozen=True, slots=True)
class ShownDocument:
    """A document with its files and attempts."""

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
    """Reads documents, and makes one due at a person's request."""

    store: Store
    articles: Articles
    engine: RunEngine
    discovery: Discovery

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
            await self.engine.attempts_at(article.source_id, life_cycle.TASK, MAX_ATTEMPTS_SHOWN),
        )

    async def acquire(self, article_id: str) -> DocumentProduct:
        """Makes the document of the article due now. Raises NotFound, and Conflict for a document that a review must
        release, or has dropped."""
        return await self.discovery.demand(await self.articles.get(article_id))
