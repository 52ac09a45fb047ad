"""What fetches: feeds into articles, and pages into full texts."""

from __future__ import annotations

import asyncio
import random
from collections.abc import Sequence
from functools import cached_property

from services.articles.entries import WRITING_AT_ONCE, WRITING_AT_ONCE_EMBEDDED, EntryIngestion
from services.articles.feed_attempts import FeedAttempts
from services.articles.ingestion import Ingestion
from services.articles.matching import DocumentCache
from services.articles.poll import FeedPoller
from services.articles.writing import Writing
from services.container import Part
from services.documents import profiles
from services.documents.acquisition import Acquisition
from services.documents.documents import DOCUMENTS_STAGE, Documents
from services.documents.pages import PageFetch, PageReader, Robots, agents_of
from services.fetch.limits import HostLimits
from services.work.handling import Handler

HOSTS_AT_ONCE = 24
"""The hosts whose documents one worker acquires at once."""
WAITING_FEEDS = 64
"""How many feeds a worker has in progress besides those that it is fetching: they wait for their next try, for parsing
or for the store."""


class FetchingPart(Part):
    """The services that fetch feeds and pages."""

    @cached_property
    def documents(self) -> Documents:
        of = self.of
        return Documents(of.store, of.announcer, of.articles, of.archive, of.runs, of.clock)

    @cached_property
    def acquisition(self) -> Acquisition:
        of = self.of
        robots = Robots(of.fetcher, agents_of(of.settings.fetch_user_agent), of.clock)
        pages = PageFetch(of.fetcher, robots, profiles.load(), PageReader())
        return Acquisition(of.store, of.archive, self.documents, of.runs, pages, of.feeds.hosts, of.announce, of.clock)

    @cached_property
    def document_work(self) -> Handler:
        of = self.of
        return Handler(
            *(DOCUMENTS_STAGE, self.acquisition.work, of.store, of.announcer, of.clock),
            portion=DOCUMENTS_STAGE.most,
            at_once=HOSTS_AT_ONCE,
        )

    @cached_property
    def poller(self) -> FeedPoller:
        of, registered = self.of, self.of.feeds.registry.registered
        return FeedPoller(of.fetcher, of.apis, of.credentials, self._watched, registered)

    async def _watched(self) -> Sequence[str]:
        """Loads the part of mentions, which takes a fifth of a second, only once a news API needs it."""
        return await self.of.mentions.watchlist.tickers()

    @cached_property
    def _entries(self) -> EntryIngestion:
        of, settings = self.of, self.of.settings
        shared = Writing(of.store, of.announce, self.documents.discover)
        turns = WRITING_AT_ONCE_EMBEDDED if settings.store == "sqlite" else WRITING_AT_ONCE
        return EntryIngestion(shared, DocumentCache(settings.dedup_cache_size), asyncio.Semaphore(turns))

    @cached_property
    def ingestion(self) -> Ingestion:
        of, feeds, settings = self.of, self.of.feeds, self.of.settings
        attempts = FeedAttempts(
            *(of.store, self.poller, self._entries, feeds.budget, feeds.hosts, of.clock),
            random.random,
        )
        # More attempts at feeds than requests at once, since those that wait for the store send none.
        places = HostLimits(settings.max_concurrent_requests + WAITING_FEEDS, settings.max_concurrent_requests_per_host)
        count = of.figures.counters.writer.add
        return Ingestion(of.store, of.runs, of.announcer, attempts, feeds.hosts, places, of.clock, count)
