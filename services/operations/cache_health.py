"""The health of the cache in detail: CacheMetadata, the last refresh, stale and missing entries.

Entries are counted by queries. Of stale entries only those are read that are listed, at most MAX_LISTED. If entries
are missing, the entries of a bounded number of tools are searched for them.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from models.cache import FRESH_FOR, PERIODS, CacheGeneration, CacheMetadata, SentimentCacheEntry, entry_id, hit_rate
from models.resources.health import LackingEntry
from models.tool import Tool
from models.values import format_time, hour_start, unix_seconds
from services.figures.entries import Generations
from services.figures.metadata import ENTRIES, Counters, count_entries, last_refreshes, summed
from services.figures.reader import Completeness
from services.mentions.due import dirty_tools
from services.operations.health import CacheFacts, judge_cache
from services.ports import Clock, Document, Query, Store, Where, readable
from services.store.containers import CATALOG, SENTIMENT_CACHE
from services.tools.catalog import Catalog
from services.work.backlog import BacklogReader

MAX_LISTED = 100
TOOLS_AT_ONCE = 100
MAX_PAGES_SEARCHED = 10

_EVERY_NAME = Where("primary_name_normalized", "gt", "")  # the embedded store then counts by the index of by_name
_ACTIVE_TOOLS = (Where("entity_type", "eq", "Tool"), Where("status", "eq", "ACTIVE"), _EVERY_NAME)


def lacks_of(tool: Tool, entries: Sequence[Document | None], generation: Document | None) -> list[LackingEntry]:
    """The missing entries of a tool. `entries` are those of PERIODS. An entry that cannot be read is missing, and one
    of another generation than its tool's."""
    known = readable(generation, CacheGeneration.from_document)
    current = 0 if known is None else known.generation
    missing: list[LackingEntry] = []
    for period, document in zip(PERIODS, entries, strict=True):
        entry = readable(document, SentimentCacheEntry.from_document)
        if entry is None or entry.generation != current:
            missing.append(LackingEntry(tool_id=tool.tool_id, tool=tool.primary_name, period=period, state="missing"))
    return missing


_COUNTED = ("hits", "misses", "errors")
_INTERNAL = ("entity_type", "schema_version", "ttl_timestamp")


@dataclass
class CacheHealth:
    """Reports the health of the cache. `started` is when this worker started."""

    store: Store
    catalog: Catalog
    counters: Counters
    backlog: BacklogReader
    clock: Clock
    started: datetime

    async def report(self) -> dict[str, Any]:
        """CacheMetadata of the last successful refresh, its fields null before the first, with the counts and entries
        of now."""
        now = self.clock()
        self.started = min(self.started, now)
        await self.counters.writer.flush()
        hours = await self.counters.hours()
        counted = summed(hours)
        metadata, last = await last_refreshes(self.store)
        state = CacheFacts(metadata, last, await dirty_tools(self.store))
        total = await count_entries(self.store)
        stale, lacking = await self._stale(now)
        missing = max(0, len(PERIODS) * await self.store.count(CATALOG.name, _ACTIVE_TOOLS, may_be_stale=True) - total)
        lacking += await self._missing(min(missing, MAX_LISTED - len(lacking)))
        check = judge_cache(state, self.started, now, stale)
        fields = metadata.model_dump(mode="json") if metadata else dict.fromkeys(CacheMetadata.model_fields)
        fields = {name: fields[name] for name in CacheMetadata.model_fields if name not in _INTERNAL}
        completeness = Completeness.of(await self.backlog.counted(), is_recounted=not state.dirty.tools)
        return {
            "status": check.status,
            "detail": check.detail,
            "id": CacheMetadata.ID,
            "tool_id": CacheMetadata.PARTITION,
            **fields,
            "total_entries": total,
            **counted,
            "reads_by_hour": [
                {"hour": format_time(hour_start(each.hour)), **{name: getattr(each, name) for name in _COUNTED}}
                for each in hours
            ],
            "cache_hit_rate": hit_rate(counted["cache_hits_24h"], counted["cache_misses_24h"]),
            "last_run_id": last.run_id if last else None,
            "last_run_status": last.status if last else None,
            "last_run_ended_ts": unix_seconds(last.ended_at) if last else None,
            "last_run_errors": list(last.errors) if last else [],
            "failed_tools": dict(last.failed_tools) if last else {},
            "failed_tools_count": last.failed_tools_count if last else 0,
            "dirty_tools_count": state.dirty.tools,
            **completeness.shown(),
            "stale_count": stale,
            "missing_count": missing,
            "lacking": [each.shown() for each in lacking],
        }

    async def _stale(self, now: datetime) -> tuple[int, list[LackingEntry]]:
        where = (ENTRIES, Where("last_updated_ts", "lt", unix_seconds(now - FRESH_FOR)))
        count = await self.store.count(SENTIMENT_CACHE.name, where, may_be_stale=True)
        query = Query(where, limit=MAX_LISTED, may_be_stale=True)
        found = (await self.store.query(SENTIMENT_CACHE.name, query)).items if count else []
        tools = await self.catalog.known(sorted({each["tool_id"] for each in found}))
        names = {tool.tool_id: tool.primary_name for tool in tools.items}
        return count, [
            LackingEntry(tool_id=each["tool_id"], tool=names[each["tool_id"]], period=each["period"], state="stale")
            for each in found
            if each["tool_id"] in names
        ]

    async def _missing(self, most: int) -> list[LackingEntry]:
        """Stops when it has found `most` missing entries."""
        found: list[LackingEntry] = []
        after: str | None = None
        for _ in range(MAX_PAGES_SEARCHED if most else 0):
            page = await self.catalog.page(TOOLS_AT_ONCE, after, ("ACTIVE",))
            names = [(tool.tool_id, entry_id(tool.tool_id, period)) for tool in page.items for period in PERIODS]
            keys = [*names, *(Generations.key(tool.tool_id) for tool in page.items)]
            stored = await self.store.read_many(SENTIMENT_CACHE.name, keys)
            entries, generations = stored[: len(names)], stored[len(names) :]
            for number, tool in enumerate(page.items):
                of_tool = entries[len(PERIODS) * number : len(PERIODS) * (number + 1)]
                found += lacks_of(tool, of_tool, generations[number])
            after = page.next
            if after is None or len(found) >= most:
                break
        return found[:most]
