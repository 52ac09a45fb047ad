"""Articles with pages on a real server, and workers that acquire the full texts. A worker may die at any write."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path
from types import MappingProxyType
from typing import Any

from models.document import DocumentProduct
from models.quarantine import QuarantineItem
from models.run import Attempt
from services.archive.folder import FolderArchive
from services.articles.writing import Asked
from services.container import Container
from services.documents.documents import DOCUMENTS_STAGE, Documents
from services.mentions.due import ANALYSIS_STAGE
from services.ports import Archive, Query, Store, Where
from services.store.containers import ARTICLES, DOCUMENTS, LOCATORS, QUARANTINE, RUNS
from services.topology import ACQUIRE_DOCUMENTS, ANALYZE_ARTICLES
from services.work.announcing import Sweeper
from tests.builders import Watch, existing, forgetful
from tests.documents import reading
from tests.functional.fetch.conftest import Server, response
from tests.functional.mentions.world import World as Mentions

HEADLINE = "Ferry 4.2 halves the time of cold starts"
TEXT = (
    "The maintainers of Ferry have released version 4.2, and it is a good one for all who build large projects.",
    "Until now the tool read the whole dependency graph before it began to compile anything at all.",
    "The new scheduler begins with the packages that nothing else waits for, and reads the rest meanwhile.",
    "The release also removes the old cache format, so teams that share a cache should delete it once.",
)


def html(headline: str = HEADLINE, paragraphs: Iterable[str] = TEXT, head: str = "", after: str = "") -> str:
    body = "".join(f"<p>{each}</p>" for each in paragraphs)
    return (
        f"<!doctype html><html><head><title>{headline} - The Daily Build</title>{head}</head><body>"
        f"<nav><a>Home</a></nav><article><h1>{headline}</h1>{body}</article>{after}"
        "<footer><p>© 2026</p></footer></body></html>"
    )


def page(
    text: str | bytes = "", status: int = 200, content_type: str = "text/html; charset=utf-8", **headers: str
) -> bytes:
    body = (text or html()).encode() if not isinstance(text, bytes) else text
    return response(status, body, content_type=content_type, **headers)


class Articles(Mentions):
    SETTINGS = MappingProxyType({**Mentions.SETTINGS, "ALLOW_PRIVATE_ADDRESSES": "true", "RETRY_ATTEMPTS": "1"})


class World:
    def __init__(self, store: Store, watch: Watch, server: Server, archive: FolderArchive) -> None:
        self.store, self.watch, self.server, self.archive = store, watch, server, archive
        self.mentions = Articles(store, watch, archive)
        self.queues = self.mentions.queues
        self.worker = self.mentions.worker.services

    def new_worker(self, store: Store | None = None, archive: Archive | None = None) -> Container:
        services = self.mentions.new_worker(store, archive).services
        services.fetcher = self.worker.fetcher
        return services

    def documents(self) -> Documents:
        return self.worker.fetching.documents

    async def article(
        self, number: int = 1, path: str = "/story", headline: str = HEADLINE, text: str = "Short."
    ) -> Asked:
        """An article whose page is at that path, stored and analysed, and what its feed asks for."""
        url = self.server.url(path)
        canonical = reading(headline=headline, revision=f"r{number}", url=url)
        source_id = await self.mentions.article(number, headline, text, canonical=canonical)
        await self.mentions.delivered([source_id])
        stored = await self.mentions.read(source_id)
        return Asked(source_id, canonical.source, url, f"r{number}", stored.ttl_timestamp, language="en")

    async def discover(self, *asked: Asked) -> None:
        await self.documents().discover(asked)

    async def deliver(self, worker: Container | None = None) -> None:
        """Delivers all messages of the queue, and the analyses that follow."""
        while messages := self.queues.sent.pop(ACQUIRE_DOCUMENTS, []):
            for message in messages:
                await (worker or self.worker).fetching.document_work.handle(DOCUMENTS_STAGE.keys_of(message))
        for message in self.queues.sent.pop(ANALYZE_ARTICLES, []):
            await self.mentions.delivered(ANALYSIS_STAGE.keys_of(message))

    async def clean_up(self) -> int:
        """What `clean_up` does, and how many documents are announced again."""
        sweeper = Sweeper(self.store, self.queues, forgetful(self.queues), self.watch)
        return await sweeper.sweep(DOCUMENTS_STAGE, ahead=True)

    async def acquire(self, *asked: Asked) -> DocumentProduct:
        """Discovers and acquires the documents; the first of them."""
        await self.discover(*asked)
        await self.deliver()
        return await self.document(asked[0].source_id)

    async def document(self, source_id: str) -> DocumentProduct:
        found = await self.find(source_id)
        assert found is not None
        return found

    async def find(self, source_id: str) -> DocumentProduct | None:
        found = await self.store.read(DOCUMENTS.name, source_id, DocumentProduct.ID)
        return None if found is None else DocumentProduct.from_document(found)

    async def attempts(self, source_id: str) -> list[Attempt]:
        found = await self.worker.runs.attempts_at(source_id, "acquire_document", 50)
        return sorted(found.items, key=lambda each: each.attempt_no)

    async def runs(self) -> list[dict[str, Any]]:
        query = Query((Where("workflow_name", "eq", "acquire_documents"),), limit=1000)
        return (await self.store.query(RUNS.name, query)).items

    async def held(self) -> list[QuarantineItem]:
        found = (await self.store.query(QUARANTINE.name, Query(limit=100))).items
        return [QuarantineItem.from_document(each) for each in found]

    async def review(self, decision: str) -> None:
        """What the review of the item that waits records, and what follows from it."""
        [item] = [each for each in await self.held() if each.manual_review_status == "PENDING"]
        reviewed: QuarantineItem = item.reviewed(self.watch.now, decision, "Ann", "because")  # type: ignore[arg-type]
        await self.store.replace(QUARANTINE.name, reviewed.to_document(), item.stored_etag or "")
        await self.documents().follow(reviewed)

    async def aliases(self) -> list[dict[str, Any]]:
        found = (await self.store.query(LOCATORS.name, Query(limit=100))).items
        return [each for each in found if each["id"].startswith("doc:")]

    async def article_document(self, source_id: str) -> dict[str, Any]:
        return await existing(self.store, ARTICLES.name, source_id, "article")

    def archived(self) -> list[Path]:
        """The objects in the archive."""
        return sorted(each for each in self.archive._root.rglob("*") if each.is_file())
