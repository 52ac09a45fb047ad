"""The mentions behind a figure: those that its window counts, latest first."""

from __future__ import annotations

import re
from dataclasses import replace

from models.cache import SentimentCacheEntry
from models.errors import InvalidInput
from models.mention import SentimentScore
from models.timeline import Timeline
from models.values import format_time
from services.figures.periods import Window, seconds_of, window_at
from services.figures.tables import recounts_of
from services.mentions.dirty_hours import marks_of
from services.ports import Query, Store, Where
from services.store.containers import CATALOG, MENTIONS
from services.store.listed import Listed, listed

# Later pages are of the window that the first page was of, though the entry may have moved on.
_CURSOR = re.compile(r"([0-9]{1,10})-([A-Za-z0-9_=-]+)")


class Evidence:
    def __init__(self, store: Store) -> None:
        self._store = store

    async def tie(self, entry: SentimentCacheEntry, cursor: str | None) -> dict[str, int | bool | None]:
        """What ties the mentions to a figure: their window, when the figures of that window were computed (None if the
        entry has moved on), and whether anything was said, changed or taken away since, in whatever window. Asked after
        the mentions were read, it holds for all of them."""
        end_ts, _ = _window_end(entry, cursor)
        window = seconds_of(window_at(entry.period, end_ts))
        # Marks first: who clears one has written the timeline.
        marks = await marks_of(self._store, entry.tool_id)
        timeline = await self._store.read(CATALOG.name, entry.tool_id, Timeline.ID)
        return {
            "period_start_ts": window[0],
            "period_end_ts": window[1],
            "figures_updated_ts": entry.last_updated_ts if end_ts == entry.period_end_ts else None,
            "changed_since": bool(marks) or recounts_of(timeline) != entry.recounts,
        }

    async def page(self, entry: SentimentCacheEntry, limit: int, cursor: str | None) -> Listed[SentimentScore]:
        end_ts, after = _window_end(entry, cursor)
        window: Window = window_at(entry.period, end_ts)
        where = (
            Where("removed_at", "missing"),
            Where("published_at", "ge", format_time(window.start)),
            Where("published_at", "lt", format_time(window.end)),
        )
        query = Query(where, partition=entry.tool_id, order="by_published", reverse=True, limit=limit, after=after)
        page = await self._store.query(MENTIONS.name, query)
        mentions = listed(page, SentimentScore.from_document, "source_id")
        return replace(mentions, next=page.next and f"{end_ts}-{page.next}")


def _window_end(entry: SentimentCacheEntry, cursor: str | None) -> tuple[int, str | None]:
    """And what of the cursor is the store's."""
    if cursor is None:
        return entry.period_end_ts, None
    found = _CURSOR.fullmatch(cursor)
    if found is None:
        raise InvalidInput("cursor", "must be the `next` of a page of the same query")
    return int(found[1]), found[2]
