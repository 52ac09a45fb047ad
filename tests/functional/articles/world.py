"""A small world to ingest from: pages on a shelf instead of the web, a clock that tests set, a store, and workers.

The shelf answers as the real fetcher does, conditions and body hashes included, so that what is tested is everything
behind it. A worker is a process: a new one knows nothing but what is stored.
"""

from __future__ import annotations

import asyncio
import hashlib
import itertools
import random
import tempfile
from collections.abc import Awaitable, Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime, timedelta
from email.utils import format_datetime
from pathlib import Path
from typing import Any
from xml.sax.saxutils import escape

from models.feed import Feed
from models.run import IngestionBatch, read_run
from services.archive.folder import FolderArchive
from services.articles.entries import EntryIngestion
from services.articles.feed_attempts import FeedAttempts
from services.articles.ingestion import Ingestion
from services.articles.matching import DocumentCache
from services.articles.poll import FeedPoller, Fetches
from services.articles.reading import Articles
from services.articles.writing import Writing
from services.documents.documents import Documents
from services.feeds.claims import Claims
from services.feeds.news_apis import enabled_apis
from services.feeds.outages import HostStates
from services.feeds.registry import FeedRegistry
from services.feeds.schedule import Budget, Policy
from services.fetch.limits import Breaker, HostLimits, HostReport
from services.fetch.outcome import FetchRequest, FetchResult, FetchStatus, credentials_in
from services.ports import Clock, Document, Query, Store, Where
from services.settings import Settings
from services.store.containers import ARTICLES, FEEDS, LOCATORS, RUNS
from services.work.rules import in_run
from services.work.runs import RunEngine
from tests.builders import MemoryQueues, existing, forgetful
from tests.unit.articles.builders import no_tickers

START = datetime(2026, 2, 21, 20, 0, 0, tzinfo=UTC)


@dataclass
class SettableClock:
    now: datetime = START

    def __call__(self) -> datetime:
        return self.now

    def forward(self, **span: float) -> None:
        self.now += timedelta(**span)


@dataclass(frozen=True)
class Item:
    """One entry of a feed. A field that is None is left out."""

    title: str
    link: str = ""
    guid: str | None = None
    published: datetime | None = START - timedelta(hours=1)
    text: str = "Something has happened."
    source: str | None = None
    tags: tuple[str, ...] = ()

    def xml(self) -> str:
        parts = [f"<title>{escape(self.title)}</title>", f"<link>{escape(self.link)}</link>"]
        if self.guid is not None:
            parts.append(f'<guid isPermaLink="false">{escape(self.guid)}</guid>')
        if self.published is not None:
            parts.append(f"<pubDate>{format_datetime(self.published)}</pubDate>")
        if self.source is not None:
            parts.append(f'<source url="http://x.example/">{escape(self.source)}</source>')
        parts += [f"<category>{escape(tag)}</category>" for tag in self.tags]
        parts.append(f"<description>{escape(self.text)}</description>")
        return f"<item>{''.join(parts)}</item>"


def item(number: int, **changes: Any) -> Item:
    """An entry unlike those of other numbers."""
    fields: dict[str, Any] = {
        "title": f"Number {number} is in the news again",
        "link": f"https://news.example/{number}",
        "guid": f"guid-{number}",
    }
    return Item(**(fields | changes))


def rss(items: Iterable[Item], note: str = "") -> bytes:
    body = "".join(each.xml() for each in items)
    text = f"<rss version='2.0'><channel><title>News</title><description>{note}</description>{body}</channel></rss>"
    return text.encode()


@dataclass
class Page:
    """The page at a URL. `etag` None: no validators."""

    body: bytes = b""
    etag: str | None = None
    status: FetchStatus = FetchStatus.FETCHED
    fields: dict[str, Any] = field(default_factory=dict)


def analysed(article: Document) -> Document:
    """The article as analysis leaves it."""
    read = {name: value for name, value in article.items() if name != "analysis_due_since"}
    return {**read, "status": "analyzed", "sentiment": "neutral", "score": 0.5}


class Shelf:
    """The fetcher, of pages that tests publish. `asked` are all requests."""

    def __init__(self) -> None:
        self.pages: dict[str, Page] = {}
        self.asked: list[FetchRequest] = []
        self.hosts = Breaker()

    def host_reports(self) -> dict[str, HostReport]:
        return self.hosts.take_reports()

    async def fetch(self, request: FetchRequest) -> FetchResult:
        self.asked.append(request)
        return self._result(request)

    def _result(self, request: FetchRequest) -> FetchResult:
        page = self.pages.get(request.url.partition("?")[0]) or Page(status=FetchStatus.NOT_FOUND)
        kept = FetchResult(
            page.status,
            request.url,
            status_code=200,
            etag=request.etag,
            last_modified=request.last_modified,
            body_hash=request.body_hash,
            duration_ms=5,
        )
        if page.status is not FetchStatus.FETCHED:
            failed = {"status_code": None, "error": f"{page.status}", "fingerprint": str(page.status)}
            return replace(kept, **(failed | page.fields))
        if page.etag is not None and request.etag == page.etag:
            return replace(kept, status=FetchStatus.NOT_MODIFIED, status_code=304)
        body_hash = hashlib.sha256(page.body).hexdigest()
        unchanged = body_hash == request.body_hash
        return replace(
            kept,
            status=FetchStatus.UNCHANGED if unchanged else FetchStatus.FETCHED,
            body=None if unchanged else page.body,
            body_hash=body_hash,
            etag=page.etag,
            last_modified=None,
            **page.fields,
        )


class Worker:
    """One process that claims and ingests. `announced` are the articles that it sent to analysis, and the queue fails
    with `announcing_fails`."""

    def __init__(
        self,
        store: Store,
        shelf: Fetches,
        clock: Clock,
        settings: Settings,
        ids: Iterator[Any],
        sleep: Callable[[float], Awaitable[None]] = asyncio.sleep,
    ) -> None:
        self.announced: list[str] = []
        self.announced_before: list[int] = []
        self.announcing_fails: Exception | None = None

        def new_id() -> str:
            return f"run-{next(ids)}"

        async def announce(source_ids: Iterable[str], feed_id: str | None = None, before: int = 0) -> None:
            if self.announcing_fails is not None:
                raise self.announcing_fails
            self.announced += source_ids
            self.announced_before.append(before)

        self.announce = announce
        self.queues = MemoryQueues()

        apis = enabled_apis(settings)
        self.engine = RunEngine(store, clock, new_id)
        self.hosts = HostStates(store, getattr(shelf, "host_reports", dict))
        self.announcer = forgetful(self.queues)
        self.claims = Claims(store, self.engine, self.announcer, self.hosts, settings, apis, new_id)
        chance = random.Random(1)
        poller = FeedPoller(shelf, apis, credentials_in({}), no_tickers, FeedRegistry(store, clock).registered)
        archive = FolderArchive(Path(tempfile.gettempdir()) / "toolpulse-no-archive")
        discover = Documents(store, self.announcer, Articles(store, clock), archive, self.engine, clock).discover
        writing = Writing(store, announce, discover)
        entries = EntryIngestion(writing, DocumentCache(settings.dedup_cache_size))
        budget = Budget(store, Policy(), clock)
        attempts = FeedAttempts(store, poller, entries, budget, self.hosts, clock, chance.random)
        limits, seconds = HostLimits(10, 10), lambda: clock().timestamp()
        self.ingestion = Ingestion(
            *(store, self.engine, self.announcer, attempts, self.hosts, limits, clock), seconds=seconds, sleep=sleep
        )

    async def ingest(self, run_id: str, delivery: int = 1) -> list[str]:
        """The articles that were sent to analysis meanwhile, each once."""
        before = len(self.announced)
        await self.ingestion.ingest(run_id, delivery)
        return sorted(set(self.announced[before:]))


class World:
    def __init__(
        self,
        store: Store,
        clock: SettableClock,
        settings: Settings | None = None,
        first_id: int = 1,
    ) -> None:
        self.store = store
        self.clock = clock
        self.settings = settings or Settings(store="sqlite")
        self.shelf = Shelf()
        self._ids = itertools.count(first_id)
        self.worker = self.new_worker()

    def new_worker(
        self,
        store: Store | None = None,
        shelf: Fetches | None = None,
        clock: Clock | None = None,
        sleep: Callable[[float], Awaitable[None]] | None = None,
    ) -> Worker:
        return Worker(
            store or self.store,
            shelf or self.shelf,
            clock or self.clock,
            self.settings,
            self._ids,
            sleep or self.sleep,
        )

    async def sleep(self, seconds: float) -> None:
        self.clock.forward(seconds=seconds)

    async def add_feed(self, feed_id: str, items: Iterable[Item] = (), **fields: Any) -> None:
        url = f"https://{feed_id}.example/feed"
        feed = Feed(
            **{
                "created_at": self.clock.now,
                "updated_at": self.clock.now,
                "feed_id": feed_id,
                "feed_url": url,
                "source_name": feed_id,
                "next_fetch_time": self.clock.now,
                **fields,
            }
        )
        await self.store.create(FEEDS.name, feed.to_document())
        self.publish(feed_id, items)

    def publish(self, feed_id: str, items: Iterable[Item], **page: Any) -> None:
        self.shelf.pages[f"https://{feed_id}.example/feed"] = Page(rss(items), **page)

    async def poll(self, feed_id: str, worker: Worker | None = None, delivery: int = 1) -> list[str]:
        """Fetches one feed now, a minute after whatever was before. Returns the articles that were sent to analysis."""
        self.clock.forward(minutes=1)
        worker = worker or self.worker
        run_id = await worker.claims.claim(feed_id, self.clock.now)
        return await worker.ingest(run_id, delivery)

    async def claim_all(self) -> Sequence[IngestionBatch]:
        """The runs that claim all enabled feeds."""
        feeds = await self.all(FEEDS.name, Where("entity_type", "eq", "Feed"))
        claimed = await self.worker.claims.claim_some([each["feed_id"] for each in feeds], self.clock.now)
        return claimed.runs

    async def claimed(self, *feed_ids: str) -> list[str]:
        """The runs that claim these feeds."""
        return [await self.worker.claims.claim(each, self.clock.now) for each in feed_ids]

    async def feed(self, feed_id: str) -> Feed:
        document = await existing(self.store, FEEDS.name, feed_id, Feed.ID)
        return Feed.from_document(document)

    async def all(self, container: str, *where: Where) -> list[Document]:
        found: list[Document] = []
        after = None
        while True:
            page = await self.store.query(container, Query(where, limit=1000, after=after))
            found += page.items
            after = page.next
            if after is None:
                return found

    async def articles(self) -> list[Document]:
        """By headline."""
        found = await self.all(ARTICLES.name, Where("entity_type", "eq", "Article"))
        return sorted(found, key=lambda each: str(each["headline"]))

    async def article(self) -> Document:
        """The only one."""
        (found,) = await self.articles()
        return found

    async def observations(self) -> list[Document]:
        where = (Where("entity_type", "eq", "Observation"), Where("deleted_at", "missing"))
        found = await self.all(ARTICLES.name, *where)
        return sorted(found, key=lambda each: (each["source_id"], each["id"]))

    async def locators(self, entity_type: str) -> list[Document]:
        return [each for each in await self.all(LOCATORS.name) if each["entity_type"] == entity_type]

    async def runs(self) -> list[Document]:
        return await self.all(RUNS.name, Where("entity_type", "eq", "JobRun"))

    async def attempts(self) -> list[Document]:
        """The attempts of all runs, as documents."""
        runs = [read_run(each) for each in await self.runs()]
        return [each.to_document() for run in runs for each in in_run(run).items]
