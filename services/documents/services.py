"""The services of this package, built together."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from services.articles.reading import Articles
from services.articles.writing import Announce
from services.documents.acquisition import Acquisition
from services.documents.discovery import DOCUMENTS_STAGE, IN_MESSAGE, Discovery
from services.documents.extraction import PageReader
from services.documents.handler import HostAcquisition
from services.documents.page_fetch import PageFetch
from services.documents.profiles import Profiles
from services.documents.reading import Documents
from services.documents.removal import Removal
from services.documents.reviews import DocumentReviews
from services.documents.robots import Robots, agents_of
from services.feeds.hosts import HostStates
from services.ports import Archive, Clock, Store
from services.work.announcing import Announcer
from services.work.handling import Handler
from services.work.runs import RunEngine

if TYPE_CHECKING:
    from services.fetch.fetcher import Fetcher


MESSAGES_AT_ONCE = 24
"""Hosts whose documents one worker acquires at once."""


@dataclass(frozen=True, slots=True)
class DocumentServices:
    """The services of this package: `discovery` makes documents due, `handler` works on their messages."""

    discovery: Discovery
    handler: Handler
    reviews: DocumentReviews
    documents: Documents

    @classmethod
    def build(
        cls,
        store: Store,
        archive: Archive,
        announcer: Announcer,
        fetcher: Fetcher,
        engine: RunEngine,
        hosts: HostStates,
        articles: Articles,
        announce: Announce,
        profiles: Profiles,
        user_agents: Sequence[str],
        clock: Clock,
    ) -> DocumentServices:
        agents = agents_of(user_agents)
        robots = Robots(fetcher, agents, clock)
        pages = PageFetch(fetcher, robots, PageReader(), profiles, agents)
        discovery = Discovery(store, announcer, clock)
        reviews = DocumentReviews(store, discovery, clock)
        acquisition = Acquisition(*(store, archive, engine, pages, reviews, Removal(store, archive), announce, clock))
        work = HostAcquisition(store, acquisition, robots, hosts, clock).work
        handler = Handler(DOCUMENTS_STAGE, work, store, announcer, clock, portion=IN_MESSAGE, at_once=MESSAGES_AT_ONCE)
        return cls(discovery, handler, reviews, Documents(store, articles, engine, discovery))
