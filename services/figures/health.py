"""The cache's health: its metadata with live counters, and what of each watched tool is stale or missing."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Any, Literal

from models.cache import PERIODS, CacheGeneration, CacheMetadata, Period, SentimentCacheEntry, entry_id
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
    tool_id: str
    tool: str
    period: Period
    state: Literal["stale", "missing"]

    def shown(self) -> dict[str, str]:
        return {"tool_id": self.tool_id, "tool": self.tool, "period": self.period, "state": self.state}


class CacheHealth:
    """`started` is when this worker began: one that just did has no overdue refresh."""

    def __init__(self, store: Store, catalog: Catalog, counters: Counters, clock: Clock, started: datetime) -> None:
        self._store = store
        self._catalog = catalog
        self._counters = counters
        self._clock = clock
        self._started = started

    async def report(self) -> dict[str, Any]:
        """CacheMetadata as of the last refresh, null before the first, its 24-hour figures as of now.

        Only what is stale makes it degraded: what is missing is computed when it is asked for.
        """
        now = self._clock()
        await self._counters.flush()
        counted = await self._counters.last_24_hours()
        documents = await self._documents()
        lacking = lacks(await self._catalog.active(), documents, now)
        stale = sum(lack.state == "stale" for lack in lacking)
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
            "cache_hits_24h": counted.hits,
            "cache_misses_24h": counted.misses,
            "cache_hit_rate": counted.hit_rate,
            "error_count_24h": counted.errors,
            "stale_count": stale,
            "missing_count": len(lacking) - stale,
            "lacking": [lack.shown() for lack in lacking[:MOST_LISTED]],
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


def _readable(document: Document) -> SentimentCacheEntry | None:
    """What cannot be read is computed anew when it is asked for, as what is missing."""
    try:
        return SentimentCacheEntry.from_document(document)
    except ValueError:
        return None


def lacks(tools: Iterable[Tool], documents: Mapping[str, Document], now: datetime) -> list[Lack]:
    """What each tool lacks of its four entries. One of a past generation is as good as missing."""
    found: list[Lack] = []
    for tool in tools:
        raised = documents.get(f"{tool.tool_id}:generation")
        generation = CacheGeneration.from_document(raised).generation if raised else 0
        for period in PERIODS:
            document = documents.get(entry_id(tool.tool_id, period))
            entry = _readable(document) if document else None
            if entry is None or entry.generation != generation:
                found.append(Lack(tool.tool_id, tool.primary_name, period, "missing"))
            elif entry.is_stale(now):
                found.append(Lack(tool.tool_id, tool.primary_name, period, "stale"))
    return found
