"""Refreshes tools: recounts their marked hours, and writes the entries that have changed or would become stale.

A tool that cannot be refreshed is a value in the result, and stops no other. When which tools are refreshed, and what
a run records, is in refresh_runs.py.
"""

from __future__ import annotations

import logging
from collections.abc import Sequence
from dataclasses import dataclass, field
from datetime import datetime, timedelta

from models.cache import FRESH_FOR, SentimentCacheEntry
from models.values import unix_seconds
from services.figures.entries import Entries, Generations
from services.figures.messages import MOST_TOOLS
from services.figures.recount import UNREADABLE, Recount
from services.logs import log_event
from services.mentions.dirty_hours import marks_of_tools
from services.ports import Clock, Document, Query, Store, Where
from services.store.containers import SENTIMENT_CACHE
from services.topology import REFRESH_SENTIMENT_CACHE

log = logging.getLogger("toolpulse.cache")

REWRITTEN_AT = FRESH_FOR - REFRESH_SENTIMENT_CACHE.every - timedelta(minutes=1)
"""The age from which an entry is written again although its figures are the same: the next refresh might come after it
has become stale."""

_FIGURES = (
    "total_mentions",
    "positive_count",
    "negative_count",
    "neutral_count",
    "average_sentiment",
    "coverage",
)


@dataclass(slots=True)
class Refreshed:
    """The tools that were refreshed, those that failed with the reason, and how many entries were written."""

    done: list[str] = field(default_factory=list)
    failed: dict[str, str] = field(default_factory=dict)
    written: int = 0


class Refresh:
    def __init__(
        self, store: Store, recount: Recount, entries: Entries, generations: Generations, clock: Clock
    ) -> None:
        self._store = store
        self._recount = recount
        self._entries = entries
        self._generations = generations
        self._clock = clock

    async def refresh_tools(self, tool_ids: Sequence[str]) -> Refreshed:
        refreshed = Refreshed()
        for start in range(0, len(tool_ids), MOST_TOOLS):
            await self._refresh_or_divide(tool_ids[start : start + MOST_TOOLS], refreshed)
        for tool_id, error in refreshed.failed.items():
            log_event(log, logging.ERROR, "tool_not_refreshed", tool_id=tool_id, error=error)
        return refreshed

    async def _refresh_or_divide(self, tool_ids: Sequence[str], refreshed: Refreshed) -> None:
        """Where a document of one tool fails the whole batch, each tool is refreshed alone."""
        try:
            await self._refresh(tool_ids, refreshed)
        except UNREADABLE as error:
            if len(tool_ids) == 1:
                refreshed.failed[tool_ids[0]] = type(error).__name__
                return
            for tool_id in tool_ids:
                await self._refresh_or_divide([tool_id], refreshed)

    async def _refresh(self, tool_ids: Sequence[str], refreshed: Refreshed) -> None:
        marks = await marks_of_tools(self._store, tool_ids)
        # The entries of a tool that is recounted are all written again.
        young = await self._young_entries([tool_id for tool_id in tool_ids if tool_id not in marks])
        stored = await self._store.read_many(SENTIMENT_CACHE.name, [Generations.key(tool_id) for tool_id in tool_ids])
        generations = {
            tool_id: self._generations.learn(tool_id, document)
            for tool_id, document in zip(tool_ids, stored, strict=True)
        }
        now = self._clock()
        recounted = await self._recount.windows_of(tool_ids, now, marks)
        computed = await self._entries.of(recounted, generations)
        changed = {
            tool_id: [entry for entry in entries.values() if not serves_on(young.get(entry.id), entry, now)]
            for tool_id, entries in computed.items()
        }
        await self._entries.save(changed)
        refreshed.written += sum(map(len, changed.values()))
        refreshed.failed |= {tool_id: str(error) for tool_id, error in recounted.failed.items()}
        refreshed.done += computed

    async def _young_entries(self, tool_ids: Sequence[str]) -> dict[str, Document]:
        """By id, the entries that may not have to be written again. After a refresh every 15 minutes there are none."""
        if not tool_ids:
            return {}
        where = (
            Where("tool_id", "in", tuple(tool_ids)),
            Where("last_updated_ts", "gt", unix_seconds(self._clock() - REWRITTEN_AT)),
        )
        page = await self._store.query(SENTIMENT_CACHE.name, Query(where, limit=1000))
        return {document["id"]: document for document in page.items}


def serves_on(document: Document | None, entry: SentimentCacheEntry, now: datetime) -> bool:
    """Whether the stored entry need not be replaced by `entry`, which was just computed.

    Both must have the same figures, and the stored one must not become stale before the next refresh. If the tool was
    recounted since, the stored entry is replaced in any case: its figures may be wrong for its own, older window.
    """
    if document is None:
        return False
    try:
        stored = SentimentCacheEntry.from_document(document)
    except ValueError:
        return False
    same_counts = (stored.generation, stored.recounts) == (entry.generation, entry.recounts)
    same_figures = all(getattr(stored, name) == getattr(entry, name) for name in _FIGURES)
    return same_counts and same_figures and timedelta(seconds=stored.age_seconds(now)) < REWRITTEN_AT
