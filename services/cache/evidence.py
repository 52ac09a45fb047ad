"""The mentions behind a figure: those that its window counts, latest first."""

from __future__ import annotations

import re
from dataclasses import replace

from models.cache import SentimentCacheEntry
from models.errors import InvalidInput
from models.mention import SentimentScore
from models.values import format_time
from services.cache.periods import Window, window_at
from services.listed import Listed, listed
from services.ports import Query, Store, Where
from services.store.containers import MENTIONS

# Later pages are of the window that the first page was of, though the entry may have moved on.
_CURSOR = re.compile(r"([0-9]{1,10})-([A-Za-z0-9_=-]+)")


class Evidence:
    def __init__(self, store: Store) -> None:
        self._store = store

    async def page(self, entry: SentimentCacheEntry, limit: int, cursor: str | None) -> Listed[SentimentScore]:
        end_ts, after = entry.period_end_ts, None
        if cursor is not None:
            found = _CURSOR.fullmatch(cursor)
            if found is None:
                raise InvalidInput("cursor", "must be the `next` of a page of the same query")
            end_ts, after = int(found[1]), found[2]
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
