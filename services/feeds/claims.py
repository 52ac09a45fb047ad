"""Claims the feeds that are due, fairly among hosts, and makes the messages of their runs.

A claim is the id of the run that it was made for; it is a lease that expires by itself. Taking up a claimed feed is in
leases.py, fetching it in services/articles/ingestion.py.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from datetime import datetime, timedelta
from urllib.parse import urlsplit

from models.errors import Conflict, NotFound
from models.feed import FEED_KIND, Feed
from models.run import INGEST_FEEDS, JobRun
from models.values import format_time
from services.feeds.leases import claimed_by
from services.feeds.messages import MOST_FEEDS, ClaimedFeed, IngestMessage
from services.feeds.news_apis import EnabledApi
from services.ports import Document, Query, Replace, Store, Where
from services.runs.engine import RunEngine
from services.runs.rules import queued
from services.settings import Settings
from services.store.containers import FEEDS

LEASE = timedelta(minutes=10)
"""Of a claim that waits in the queue. A worker that takes it up makes it as long as a fetch may take."""

TICK_SECONDS = 30
SCANNED_PAGES = 5
PER_HOST = 8
"""Feeds of one host in each round of choosing, so that its backlog does not keep all others waiting."""


class Claims:
    def __init__(
        self,
        store: Store,
        engine: RunEngine,
        settings: Settings,
        apis: Mapping[str, EnabledApi],
        new_id: Callable[[], str],
    ) -> None:
        self._store = store
        self._engine = engine
        self._settings = settings
        self._new_id = new_id
        self._apis = apis
        self._apis_are_feeds = not apis

    async def claim_due(self, now: datetime) -> list[IngestMessage]:
        """Claims what is due, and says how it is to be queued. Writes nothing if nothing is due.

        A feed that somebody else claims meanwhile is left out.
        """
        interval = self._settings.fetch_cycle_interval_seconds // TICK_SECONDS
        if int(now.timestamp()) // TICK_SECONDS % interval:
            return []
        await self._make_feeds_of_apis(now)
        due = await self._due(now)
        if not due:
            return []
        waiting = await self._store.count(FEEDS.name, (Where("claimed_until", "gt", format_time(now)),))
        return await self._claim_in_batches(chosen(due, max(0, self._settings.max_queue_size - waiting)), now)

    async def claim_every(self, now: datetime) -> list[IngestMessage]:
        """Claims all that are enabled, due or not, but for those that are being fetched already."""
        await self._make_feeds_of_apis(now)
        wanted: list[Document] = []
        after = None
        while True:
            query = Query((Where("enabled", "eq", True),), order="by_priority", limit=1000, after=after)
            page = await self._store.query(FEEDS.name, query)
            wanted += [each for each in page.items if not is_claimed(each, now) and self._is_switched_on(each)]
            after = page.next
            if after is None:
                return await self._claim_in_batches(chosen(wanted, len(wanted)), now)

    async def claim(self, feed_id: str, now: datetime) -> IngestMessage:
        """Claims one feed whether it is due or not. If it is being fetched already: that run, and no feeds to queue.

        Raises NotFound, and Conflict for a feed that is disabled.
        """
        while True:
            document = await self._store.read(FEEDS.name, feed_id, Feed.ID)
            if document is None:
                raise NotFound(f"feed: there is none with the id {feed_id!r}")
            if not document["enabled"]:
                raise Conflict(f"feed: {feed_id} is disabled ({document.get('disabled_reason')}); enable it first")
            if is_claimed(document, now):
                return IngestMessage(document["claim_id"])
            batch = await self._claim([document], now)
            if batch.feeds:
                await self._engine.accept_all([_run(batch, now)])
                return batch

    async def _due(self, now: datetime) -> list[Document]:
        """What is due and claimed by nobody, by priority, then due time. Much more than is wanted, to choose from."""
        due: list[Document] = []
        where = (Where("enabled", "eq", True), Where("next_fetch_time", "le", format_time(now)))
        after = None
        for _ in range(SCANNED_PAGES):
            query = Query(where=where, order="by_priority", limit=1000, after=after)
            page = await self._store.query(FEEDS.name, query)
            due += [each for each in page.items if not is_claimed(each, now) and self._is_switched_on(each)]
            after = page.next
            if after is None:
                break
        return due

    def _is_switched_on(self, feed: Document) -> bool:
        kind = feed.get("kind", FEED_KIND)
        return kind == FEED_KIND or kind in self._apis

    async def _claim_in_batches(self, wanted: Sequence[Document], now: datetime) -> list[IngestMessage]:
        batches = []
        for start in range(0, len(wanted), MOST_FEEDS):
            batch = await self._claim(wanted[start : start + MOST_FEEDS], now)
            if batch.feeds:
                batches.append(batch)
        if batches:
            await self._engine.accept_all([_run(batch, now) for batch in batches])
        return batches

    async def _make_feeds_of_apis(self, now: datetime) -> None:
        """An API that has a token is a feed; made once, and left as people have changed it since."""
        if not self._apis_are_feeds:
            known = await self._store.read_many(FEEDS.name, [(name, Feed.ID) for name in self._apis])
            missing = [api for api, document in zip(self._apis.values(), known, strict=True) if document is None]
            if missing:
                await self._store.create_many(FEEDS.name, [api.feed(now).to_document() for api in missing])
            self._apis_are_feeds = True

    async def _claim(self, feeds: Sequence[Document], now: datetime) -> IngestMessage:
        run_id = self._new_id()
        outcomes = await self._store.batch_many(
            FEEDS.name,
            [(feed["feed_id"], [Replace(claimed_by(run_id, feed, now + LEASE), feed["_etag"])]) for feed in feeds],
        )
        ids = [feed["feed_id"] for feed, done in zip(feeds, outcomes, strict=True) if isinstance(done, list)]
        return IngestMessage(run_id, tuple(ClaimedFeed(feed_id, run_id) for feed_id in ids))


def is_claimed(feed: Document, now: datetime) -> bool:
    """Feed.is_claimed, of a document that is not worth reading whole."""
    return str(feed.get("claimed_until") or "") > format_time(now)


def chosen(due: Iterable[Document], most: int) -> list[Document]:
    """At most `most` of what is due, in rounds of PER_HOST from each host; within a round the order is kept."""
    seen: Counter[str] = Counter()
    rounds: list[tuple[int, int, Document]] = []
    for place, feed in enumerate(due):
        host = urlsplit(feed.get("redirect_url") or feed["feed_url"]).netloc
        rounds.append((seen[host] // PER_HOST, place, feed))
        seen[host] += 1
    rounds.sort(key=lambda each: each[:2])
    return [feed for _, _, feed in rounds[:most]]


def _run(message: IngestMessage, now: datetime) -> JobRun:
    feed_ids = [each.feed_id for each in message.feeds]
    subject = feed_ids[0] if len(feed_ids) == 1 else None
    return queued(INGEST_FEEDS, message.run_id, now, subject, {"feeds": feed_ids})
