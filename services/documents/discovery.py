"""Makes documents due: stubs for articles whose full text a feed asks for, and the messages that acquire them.

The stored document is the truth, its message only starts the work.
"""

from __future__ import annotations

import json
from collections.abc import Sequence

from models.article import ARTICLE_KEPT, Article
from models.document import DocumentProduct
from models.errors import InvalidInput
from services.articles.full_texts import Asked
from services.documents import life_cycle
from services.documents.removal import remove_alias
from services.feeds.hosts import host_of
from services.ports import Clock, Store, Where, readable
from services.store.change import until_unchanged
from services.store.containers import DOCUMENTS
from services.topology import ACQUIRE_DOCUMENTS
from services.work.announcing import Announcer
from services.work.stage import Stage

IN_MESSAGE = 50
"""The most documents of one message. They are of one host, and fetched one after the other."""
DELAY_SECONDS = 5.0
"""The text of the feed is scored meanwhile."""


def acquire_messages(source_ids: Sequence[str]) -> list[str]:
    """The messages that ask for the documents of these articles."""
    parts = [source_ids[start : start + IN_MESSAGE] for start in range(0, len(source_ids), IN_MESSAGE)]
    return [json.dumps({"source_ids": part}, separators=(",", ":")) for part in parts]


def source_ids_of(text: str) -> list[str]:
    """The articles that a message names. Raises InvalidInput for a text that `acquire_messages` never writes."""
    try:
        names = json.loads(text)["source_ids"]
    except (ValueError, TypeError, KeyError) as error:
        raise InvalidInput("message", "must be a JSON object with source_ids") from error
    if not isinstance(names, list) or not all(isinstance(each, str) and each for each in names):
        raise InvalidInput("message", "must have source_ids, a list of ids")
    return names


DOCUMENTS_STAGE = Stage(
    name="documents",
    queue=ACQUIRE_DOCUMENTS,
    container=DOCUMENTS.name,
    order="by_due",
    due="next_eligible_attempt_at",
    key="source_id",
    messages=acquire_messages,
    where=(Where("eligibility", "eq", "ACQUIRE"),),
    group=lambda document: host_of(document["locators"][0]["value"]),
    furthest=ARTICLE_KEPT,
)
"""A document counts its tries itself (life_cycle.py)."""


class Discovery:
    def __init__(self, store: Store, announcer: Announcer, clock: Clock) -> None:
        self._store = store
        self._announcer = announcer
        self._clock = clock

    async def discover(self, asked: Sequence[Asked]) -> None:
        """Makes a document for each article that has none; one whose article was edited is due again. A second call
        changes nothing."""
        if not asked:
            return
        now = self._clock()
        stubs = [life_cycle.stub(each, now) for each in asked]
        created = await self._store.create_many(DOCUMENTS.name, [each.to_document() for each in stubs])
        due = [stub for stub, is_new in zip(stubs, created, strict=True) if is_new]
        known = [each for each, is_new in zip(asked, created, strict=True) if not is_new]
        due += [after for each in known if (after := await self._edited(each)) is not None]
        documents = [each.to_document() for each in due]
        await self._announcer.announce_documents(DOCUMENTS_STAGE, documents, delay_seconds=DELAY_SECONDS)

    async def announce(self, document: DocumentProduct) -> None:
        """To be called after the document was made due."""
        await self._announcer.announce_documents(DOCUMENTS_STAGE, [document.to_document()])

    async def _edited(self, asked: Asked) -> DocumentProduct | None:
        """The document after its article was edited; None if it stays as it is."""

        async def once() -> DocumentProduct | None:
            found = await self._store.read(DOCUMENTS.name, asked.source_id, DocumentProduct.ID)
            before = readable(found, DocumentProduct.from_document)
            after = None if before is None else life_cycle.edited(before, asked, self._clock())
            if before is None or after is None or after is before:
                return None
            if after.locator_identity != before.locator_identity:
                await remove_alias(self._store, before)
            await self._store.replace(DOCUMENTS.name, after.to_document(), before.stored_etag or "")
            return after

        return await until_unchanged(once, f"document {asked.source_id}")


def asked_by(article: Article) -> Asked:
    """The full text of the article's canonical reading, whatever its feed asks for."""
    reading = article.canonical
    return Asked(article.source_id, reading.source, reading.url, reading.revision, article.ttl_timestamp)
