"""Removes all that is stored of a document: its files, its locator alias, its quarantine items, and the document."""

from __future__ import annotations

from dataclasses import dataclass

from models.document import DocumentProduct
from models.locator import document_key
from services.archive.keys import folder_of
from services.ports import Archive, Delete, Document, Query, Store, Where, query_all, readable
from services.store.change import DELETE, Decided, change
from services.store.containers import DOCUMENTS, LOCATORS, QUARANTINE

_BATCH = 100


@dataclass(frozen=True, slots=True)
class Removal:
    """Removes documents of deleted articles."""

    store: Store
    archive: Archive

    async def remove(self, source_id: str, tried: DocumentProduct | None = None) -> None:
        """`tried` is the document as a try found it, whose files may be all that is left. Removing again changes
        nothing. The document goes last, so that after a crash the next call finds the rest. A try that is under way
        ends without its document, and calls this again."""
        documents = await query_all(self.store, DOCUMENTS.name, Query(partition=source_id, limit=_BATCH))
        own = next((each for each in documents if each["id"] == DocumentProduct.ID), None)
        document = readable(own, DocumentProduct.from_document) or tried
        if document is not None:
            await self.archive.delete_folder(folder_of(source_id, document.folder_day))
            key = document_key(document.locator_identity)
            await change(self.store, LOCATORS.name, key, key, lambda alias: _removed(alias, source_id))
            where = (Where("kind", "eq", "DOCUMENT"), Where("subject", "eq", source_id))
            for item in await query_all(self.store, QUARANTINE.name, Query(where, limit=_BATCH)):
                await self.store.delete(QUARANTINE.name, item["id"], item["id"])
        names = [each["id"] for each in documents if each["id"] != DocumentProduct.ID]
        for start in range(0, len(names), _BATCH):
            await self.store.batch(DOCUMENTS.name, source_id, [Delete(each) for each in names[start : start + _BATCH]])
        await self.store.delete(DOCUMENTS.name, source_id, DocumentProduct.ID)


def _removed(alias: Document | None, source_id: str) -> Decided:
    return DELETE if alias is not None and alias["source_id"] == source_id else None
