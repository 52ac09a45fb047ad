"""The services of this package, built together."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from services.articles.announcing import Announce
from services.articles.reading import Articles
from services.documents.acquisition import Acquisition
from services.documents.discovery import Discovery
from services.documents.extraction import PageReader
from services.documents.handler import AcquisitionHandler
from services.documents.overdue import OverdueDocuments
from services.documents.page_fetch import PageFetch
from services.documents.profiles import Profiles
from services.documents.quarantining import DocumentQuarantine
from services.documents.reading import Documents
from services.documents.removal import Removal
from services.documents.robots import Robots, agents_of
from services.feeds.hosts import HostStates
from services.ports import Archive, Clock, Queues, Store
from services.runs.engine import RunEngine

if TYPE_CHECKING:
    from services.fetch.fetcher import Fetcher


@dataclass(frozen=True, slots=True)
class DocumentServices:
    """`discovery` makes documents due, `handler` works off their messages, `overdue` is the work of `clean_up`."""

    discovery: Discovery
    handler: AcquisitionHandler
    overdue: OverdueDocuments
    documents: Documents

    @classmethod
    def build(
        cls,
        store: Store,
        archive: Archive,
        queues: Queues,
        fetcher: Fetcher,
        engine: RunEngine,
        hosts: HostStates,
        articles: Articles,
        announce: Announce,
        profiles: Profiles,
        user_agents: Sequence[str],
        clock: Clock,
        new_id: Callable[[], str],
    ) -> DocumentServices:
        agents = agents_of(user_agents)
        robots = Robots(store, fetcher, agents, clock)
        pages = PageFetch(fetcher, robots, PageReader(), profiles, agents)
        discovery = Discovery(store, queues, clock, new_id)
        quarantine = DocumentQuarantine(store, clock)
        acquisition = Acquisition(
            *(store, archive, engine, pages, quarantine, Removal(store, archive), announce, clock)
        )
        return cls(
            discovery,
            AcquisitionHandler(store, engine, acquisition, robots, hosts, clock, new_id),
            OverdueDocuments.build(store, queues, engine, clock, new_id),
            Documents(store, articles, engine, discovery, clock),
        )
