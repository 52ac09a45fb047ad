"""Refreshing some tools: what is marked recounted, and the entries written that have changed or age too much.

One tool that cannot be refreshed is a value in the report, and stops no other. When all tools are refreshed, and what
is known of it afterwards, is refresh_runs.py's.
"""

from __future__ import annotations

import logging
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime, timedelta

from models.cache import FRESH_FOR, PERIODS, Period, SentimentCacheEntry, entry_id
from models.values import unix_seconds
from services.figures.aggregate import Entries, same_figures
from services.figures.aggregates import Aggregates
from services.figures.generations import Generations
from services.figures.messages import MOST_TOOLS
from services.figures.recount import Recount
from services.logs import log_event
from services.mentions.dirty_hours import marks_among
from services.ports import Clock, Document, Query, Store, Where
from services.store.containers import SENTIMENT_CACHE
from services.topology import REFRESH_SENTIMENT_CACHE

log = logging.getLogger("toolpulse.cache")

_PROBED: Period = "HOUR_1"
"""Of the four, written together as a rule, the one whose figures change most."""

REWRITTEN_AT = FRESH_FOR - REFRESH_SENTIMENT_CACHE.every - timedelta(minutes=1)
"""The age at which an entry whose figures are the same is written again: the next refresh would find it stale."""


@dataclass(slots=True)
class Refreshed:
    """What came of some tools. `failed` says why."""

    done: list[str] = field(default_factory=list)
    failed: dict[str, str] = field(default_factory=dict)
    written: int = 0


class Refresh:
    def __init__(
        self,
        store: Store,
        recount: Recount,
        aggregates: Aggregates,
        generations: Generations,
        clock: Clock,
    ) -> None:
        self._store = store
        self._recount = recount
        self._aggregates = aggregates
        self._generations = generations
        self._clock = clock

    async def refresh_tools(self, tool_ids: Sequence[str]) -> Refreshed:
        """Recounts what is marked and writes the entries that have changed, or would turn stale too soon."""
        refreshed = Refreshed()
        for start in range(0, len(tool_ids), MOST_TOOLS):
            await self._refresh_or_divide(list(tool_ids[start : start + MOST_TOOLS]), refreshed)
        for tool_id, error in refreshed.failed.items():
            log_event(log, logging.ERROR, "tool_not_refreshed", tool_id=tool_id, error=error)
        return refreshed

    async def _refresh_or_divide(self, tool_ids: list[str], refreshed: Refreshed) -> None:
        """What is stored of one tool may be so wrong that a batch cannot be read: then each is tried alone."""
        try:
            await self._refresh(tool_ids, refreshed)
        except (ValueError, TypeError, LookupError) as error:
            if len(tool_ids) == 1:
                refreshed.failed[tool_ids[0]] = type(error).__name__
                return
            for tool_id in tool_ids:
                await self._refresh_or_divide([tool_id], refreshed)

    async def _refresh(self, tool_ids: list[str], refreshed: Refreshed) -> None:
        marks = await marks_among(self._store, tool_ids)
        # What is counted anew is written anew, whatever is there.
        young = await self._young([tool_id for tool_id in tool_ids if tool_id not in marks])
        found = await self._store.read_many(SENTIMENT_CACHE.name, [Generations.key(tool_id) for tool_id in tool_ids])
        generations = {
            tool_id: self._generations.learn(tool_id, document)
            for tool_id, document in zip(tool_ids, found, strict=True)
        }
        now = self._clock()
        gathered = await self._recount.windows_of(tool_ids, now, marks)
        computed = await self._aggregates.entries(gathered, generations, now)
        entries = await self._to_write(computed, young, now)
        if entries:
            await self._store.write_many(SENTIMENT_CACHE.name, [entry.to_document() for entry in entries])
        refreshed.written += len(entries)
        refreshed.failed |= {tool_id: str(error) for tool_id, error in gathered.failed.items()}
        refreshed.done += computed

    async def _young(self, tool_ids: list[str]) -> dict[str, Document]:
        """By tool, of the entries one that may serve on: as a rule there are none."""
        if not tool_ids:
            return {}
        where = (
            Where("tool_id", "in", tuple(tool_ids)),
            Where("period", "eq", _PROBED),
            Where("last_updated_ts", "gt", unix_seconds(self._clock() - REWRITTEN_AT)),
        )
        page = await self._store.query(SENTIMENT_CACHE.name, Query(where, limit=len(tool_ids)))
        return {document["tool_id"]: document for document in page.items}

    async def _to_write(
        self,
        computed: Mapping[str, Entries],
        young: Mapping[str, Document],
        now: datetime,
    ) -> list[SentimentCacheEntry]:
        """All four of a tool, unless the one that was found may serve on: then the others are looked at too."""
        serving = [
            tool_id
            for tool_id, document in young.items()
            if tool_id in computed and _serves_on(document, computed[tool_id][_PROBED], now)
        ]
        keys = [(tool_id, entry_id(tool_id, period)) for tool_id in serving for period in PERIODS if period != _PROBED]
        others = await self._store.read_many(SENTIMENT_CACHE.name, keys) if keys else []
        held = {document["id"]: document for document in others if document is not None}
        held |= {document["id"]: document for document in young.values()}
        return [
            entry
            for tool_id, entries in computed.items()
            for entry in entries.values()
            if tool_id not in serving or not _serves_on(held.get(entry.id), entry, now)
        ]


def _serves_on(document: Document | None, entry: SentimentCacheEntry, now: datetime) -> bool:
    """Whether what is stored is as good: the same figures, its window's too, and fresh until the next refresh.

    Its own window's figures are still right if the tool was not recounted since.
    """
    if document is None:
        return False
    try:
        held = SentimentCacheEntry.from_document(document)
    except ValueError:
        return False
    if (held.generation, held.recounts) != (entry.generation, entry.recounts) or not same_figures(held, entry):
        return False
    return timedelta(seconds=held.age_seconds(now)) < REWRITTEN_AT
