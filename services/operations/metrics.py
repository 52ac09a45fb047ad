"""What `GET metrics` shows: totals and counts, as they are stored.

Counters are sums over all instances since the first deployment, so that only one instance must be scraped. A request
needs as many reads for many feeds as for few: feeds are counted, and only the MAX_FEEDS fastest are read.
"""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path

from models.cache import CacheMetadata
from models.feed import Feed, FeedVerdict, HostState
from models.operations import AnalysisTotals, Audit, CacheTotals, IngestionTotals, StoreTotals
from models.quarantine import QuarantineKind
from models.values import format_time
from services.figures.metadata import last_refreshes
from services.operations.checks import Waiting, waiting_reviews
from services.operations.feed_health import count_feeds
from services.ports import Clock, Query, Store, Where, listed, readable
from services.store.containers import CATALOG, FEEDS
from services.work.backlog import Backlog, BacklogReader

MAX_FEEDS = 100
_STATM = Path("/proc/self/statm")
_ENABLED = Where("enabled", "eq", True)
_HOSTS = Where("entity_type", "eq", "HostState")


@dataclass(frozen=True, slots=True)
class Measured:
    """The figures of one moment. `fastest` are the fastest feeds, `due` counts all that are due. `connections` and
    `memory_bytes` are those of the instance that serves the request."""

    at: datetime
    ingestion: IngestionTotals
    analysis: AnalysisTotals
    cache: CacheTotals
    store: StoreTotals
    audit: Audit | None
    metadata: CacheMetadata | None
    backlog: Backlog
    reviews: Mapping[QuarantineKind, Waiting]
    fastest: Sequence[Feed]
    due: int
    failing_hosts: int
    by_verdict: Mapping[FeedVerdict, int]
    connections: int
    memory_bytes: int | None


class Metrics:
    """Reads the metrics. `connections` is the limit of this process's connections to its store."""

    def __init__(self, store: Store, backlog: BacklogReader, clock: Clock, connections: int) -> None:
        self._store = store
        self._backlog = backlog
        self._clock = clock
        self._connections = connections

    async def measure(self) -> Measured:
        now = self._clock()
        kinds = (IngestionTotals, AnalysisTotals, CacheTotals, StoreTotals, Audit)
        keys = [(kind.PARTITION, kind.ID) for kind in kinds]
        found = await self._store.read_many(CATALOG.name, keys, may_be_stale=True)
        ingested, analyzed, cached, stored, audited = found
        metadata, _ = await last_refreshes(self._store)
        hosts = await self._store.count(CATALOG.name, (_HOSTS,), HostState.PARTITION, may_be_stale=True)
        by_verdict = (await count_feeds(self._store, None)).by_verdict
        fastest, due = await self._fastest(format_time(now))
        return Measured(
            now,
            IngestionTotals.from_document(ingested) if ingested else IngestionTotals.at(now),
            AnalysisTotals.from_document(analyzed) if analyzed else AnalysisTotals.at(now),
            CacheTotals.from_document(cached) if cached else CacheTotals.at(now),
            StoreTotals.from_document(stored) if stored else StoreTotals.at(now),
            readable(audited, Audit.from_document),
            metadata,
            await self._backlog.counted(),
            await waiting_reviews(self._store),
            fastest,
            due,
            hosts,
            by_verdict,
            self._connections,
            resident_bytes(),
        )

    async def _fastest(self, now: str) -> tuple[list[Feed], int]:
        """The fastest feeds, and how many of all are due: counted by the store only if there are further feeds."""
        query = Query((_ENABLED,), order="by_velocity", limit=MAX_FEEDS, may_be_stale=True)
        page = await self._store.query(FEEDS.name, query)
        due = sum(str(each.get("next_fetch_time")) <= now for each in page.items)  # "None" is after every time
        if page.next is not None:
            due = await self._store.count(
                FEEDS.name, (_ENABLED, Where("next_fetch_time", "le", now)), may_be_stale=True
            )
        return listed(page, Feed.from_document, "feed_id").items, due


def resident_bytes(statm: Path = _STATM) -> int | None:
    """The resident memory of this process; None on a system without /proc."""
    return int(statm.read_text().split()[1]) * os.sysconf("SC_PAGE_SIZE") if statm.exists() else None
