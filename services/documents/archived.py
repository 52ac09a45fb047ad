"""What the archive has of articles: full texts are read for the analysis, and all of a document is removed."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from models.article import Article
from models.document import DocumentProduct
from models.errors import Damaged, NotFound, Unavailable
from models.locator import document_key
from services.archive.keys import folder_of
from services.logs import log_event
from services.ports import Archive, Delete, Document, Query, Store, Where, query_all, readable
from services.store.change import DELETE, Decided, change
from services.store.containers import DOCUMENTS, LOCATORS, QUARANTINE

log = logging.getLogger("toolpulse.documents")

MAX_SCORED = 20_000
"""Characters of a full text that are scored: what an article says of a tool, it says by then."""
_AT_ONCE = 8
_BATCH = 100


@dataclass(frozen=True, slots=True)
class FullTexts:
    """Reads full texts from the archive."""

    archive: Archive

    async def read(self, articles: Iterable[Article]) -> Mapping[str, str | Unavailable]:
        """The full texts by article, without articles whose text of the feed is to be scored: they have no full text,
        or it is gone or damaged. Unavailable if the archive did not answer."""
        gate = asyncio.Semaphore(_AT_ONCE)

        async def one(article: Article) -> tuple[str, str | Unavailable | None]:
            async with gate:
                return article.source_id, await self._text(article)

        wanted = [each for each in articles if each.text_to_score is not None]
        found = await asyncio.gather(*map(one, wanted))
        return {source_id: text for source_id, text in found if text is not None}

    async def _text(self, article: Article) -> str | Unavailable | None:
        named = article.text_to_score
        assert named is not None
        try:
            data = await self.archive.get(named.archive_key)
        except (NotFound, Damaged) as error:
            fields = {"source_id": article.source_id, "error": type(error).__name__}
            log_event(log, logging.ERROR, "full_text_not_readable", **fields)
            return None
        except Unavailable as error:
            return error
        return data.decode("utf-8", "replace")[:MAX_SCORED]


@dataclass(frozen=True, slots=True)
class Removal:
    """Removes documents of deleted articles: their files, locator aliases and quarantine items with them."""

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
