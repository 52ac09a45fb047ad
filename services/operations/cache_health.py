"""The health of the cache: the metadata of its last refresh, live counters, and which entries are stale or missing."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Any, Literal

from models.cache import (
    PERIODS,
    CacheGeneration,
    CacheMetadata,
    Period,
    SentimentCacheEntry,
    entry_id,
    generation_id,
    hit_rate,
)
from models.tool import Tool
from services.figures.counters import Counters
from services.operations.health import Status, judge_cache
from services.ports import Clock, Document, Query, Store
from services.store.containers import SENTIMENT_CACHE
from services.tools.catalog import Catalog

MOST_LISTED = 1000
_PAGE = 1000


@dataclass(frozen=True, slots=True)
class Lack:
    """An entry of a watched tool that is stale or missing."""

    tool_id: str
    tool: str
    period: Period
    state: Literal["stale", "missing"]

    def shown(self) -> dict[str, str]:
        return {"tool_id": self.tool_id, "tool": self.tool, "period": self.period, "state": self.state}


class CacheHealth:
    """`started` is when this worker began: the refresh cannot be overdue to one that just started."""

    def __init__(self, store: Store, catalog: Catalog, counters: Counters, clock: Clock, started: datetime) -> None:
        self._store = store
        self._catalog = catalog
        self._counters = counters
        self._clock = clock
        self._started = started

    async def report(self) -> dict[str, Any]:
        """CacheMetadata of the last refresh, null before the first, with the 24-hour figures as of now.

        Missing entries do not make the cache degraded: they are computed when they are asked for.
        """
        now = self._clock()
        await self._counters.flush()
        counted = await self._counters.last_24_hours()
        documents = await self._documents()
        lacks = lacks_of(await self._catalog.active(), documents, now)
        stale = sum(lack.state == "stale" for lack in lacks)
        stored = documents.get(CacheMetadata.ID)
        metadata = CacheMetadata.from_document(stored) if stored else None
        status, detail = judged(metadata, stale, self._started, now)
        fields = metadata.model_dump(mode="json") if metadata else dict.fromkeys(CacheMetadata.model_fields)
        return {
            "status": status,
            "detail": detail,
            "id": CacheMetadata.ID,
            "tool_id": CacheMetadata.PARTITION,
            **fields,
            "total_entries": sum("period" in document for document in documents.values()),
            **counted,
            "cache_hit_rate": hit_rate(counted["cache_hits_24h"], counted["cache_misses_24h"]),
            "stale_count": stale,
            "missing_count": len(lacks) - stale,
            "lacking": [lack.shown() for lack in lacks[:MOST_LISTED]],
        }

    async def _documents(self) -> dict[str, Document]:
        found: dict[str, Document] = {}
        after: str | None = None
        while True:
            page = await self._store.query(SENTIMENT_CACHE.name, Query(limit=_PAGE, after=after))
            found |= {document["id"]: document for document in page.items}
            after = page.next
            if after is None:
                return found


def judged(metadata: CacheMetadata | None, stale: int, started: datetime, now: datetime) -> tuple[Status, str]:
    check = judge_cache(metadata, started, now)
    if check.status != "healthy":
        return check.status, check.detail
    if metadata is not None and metadata.last_refresh_status == "PARTIAL":
        return "degraded", f"the last refresh did not get everything done: see its run {metadata.last_refresh_run_id}"
    if stale:
        return "degraded", f"{stale} entries are stale"
    return check.status, check.detail


def lacks_of(tools: Iterable[Tool], documents: Mapping[str, Document], now: datetime) -> list[Lack]:
    """The stale and missing entries of these tools. An entry of another generation than its tool's is missing."""
    found: list[Lack] = []
    for tool in tools:
        stored = documents.get(generation_id(tool.tool_id))
        generation = CacheGeneration.from_document(stored).generation if stored else 0
        for period in PERIODS:
            entry = _readable(documents.get(entry_id(tool.tool_id, period)))
            if entry is None or entry.generation != generation:
                found.append(Lack(tool.tool_id, tool.primary_name, period, "missing"))
            elif entry.is_stale(now):
                found.append(Lack(tool.tool_id, tool.primary_name, period, "stale"))
    return found


def _readable(document: Document | None) -> SentimentCacheEntry | None:
    """None also for a document that cannot be read: the entry is computed when it is asked for."""
    try:
        return SentimentCacheEntry.from_document(document) if document is not None else None
    except ValueError:
        return None
