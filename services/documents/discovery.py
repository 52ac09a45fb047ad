"""Makes documents due: stubs for articles whose full text a feed asks for, and the messages that acquire them.

The stored document is the truth, its message only starts the work: overdue.py finds documents whose message was lost.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Any

from models.article import Article
from models.document import DocumentProduct
from models.errors import ChangedMeanwhile, InvalidInput
from services.articles.full_texts import Asked
from services.documents import life_cycle
from services.documents.removal import remove_alias
from services.feeds.hosts import host_of
from services.ports import Clock, Queues, Store, listed_documents
from services.store.containers import DOCUMENTS
from services.topology import ACQUIRE_DOCUMENTS

IN_MESSAGE = 50
"""The most documents of one message. They are of one host, and fetched one after the other."""
DELAY_SECONDS = 5.0
"""The text of the feed is scored meanwhile."""
_TRIES = 5


@dataclass(frozen=True, slots=True)
class AcquireMessage:
    """The documents to acquire, of one host, and the run that records it."""

    run_id: str
    source_ids: tuple[str, ...]

    def to_message(self) -> str:
        return json.dumps({"run_id": self.run_id, "source_ids": list(self.source_ids)}, separators=(",", ":"))

    @classmethod
    def from_message(cls, text: str) -> AcquireMessage:
        try:
            message: Any = json.loads(text)
        except ValueError:
            message = None
        fields: dict[str, Any] = message if isinstance(message, dict) else {}
        run_id, names = fields.get("run_id"), fields.get("source_ids")
        if not _are_names([run_id]) or not _are_names(names):
            raise InvalidInput("message", "must be a JSON object with run_id and source_ids")
        return cls(fields["run_id"], tuple(fields["source_ids"]))


class Discovery:
    def __init__(self, store: Store, queues: Queues, clock: Clock, new_id: Callable[[], str]) -> None:
        self._store = store
        self._queues = queues
        self._clock = clock
        self._new_id = new_id

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
        await self.send(due, DELAY_SECONDS)

    async def send(self, documents: Iterable[DocumentProduct], delay_seconds: float = 0.0) -> int:
        """Sends messages for these documents, those of one host together. Returns the number of documents."""
        by_host: dict[str, list[str]] = {}
        for each in documents:
            by_host.setdefault(host_of(each.locators[0].value), []).append(each.source_id)
        messages = [
            AcquireMessage(self._new_id(), tuple(names[start : start + IN_MESSAGE])).to_message()
            for names in by_host.values()
            for start in range(0, len(names), IN_MESSAGE)
        ]
        if messages:
            await self._queues.send(ACQUIRE_DOCUMENTS, messages, delay_seconds=delay_seconds)
        return sum(map(len, by_host.values()))

    async def _edited(self, asked: Asked) -> DocumentProduct | None:
        """The document after its article was edited; None if it stays as it is."""
        for _ in range(_TRIES):
            found = await self._store.read(DOCUMENTS.name, asked.source_id, DocumentProduct.ID)
            documents = listed_documents([found], DocumentProduct.from_document, "source_id")
            if not documents.items:
                return None
            before = documents.items[0]
            after = life_cycle.edited(before, asked, self._clock())
            if after is before:
                return None
            if after.locator_identity != before.locator_identity:
                await remove_alias(self._store, before)
            try:
                await self._store.replace(DOCUMENTS.name, after.to_document(), before.stored_etag or "")
            except ChangedMeanwhile:
                continue
            return after
        raise ChangedMeanwhile(f"document {asked.source_id} keeps changing")


def asked_by(article: Article) -> Asked:
    """The full text of the article's canonical reading, whatever its feed asks for."""
    reading = article.canonical
    return Asked(article.source_id, reading.source, reading.url, reading.revision, article.ttl_timestamp)


def _are_names(names: Any) -> bool:
    return isinstance(names, list) and bool(names) and all(isinstance(each, str) and each for each in names)
