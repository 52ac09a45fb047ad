"""The mentions that an aggregate counts, page by page."""

from __future__ import annotations

import re
from dataclasses import replace
from datetime import UTC, datetime

from models.cache import SentimentCacheEntry, Window
from models.errors import InvalidInput
from models.mention import SentimentScore
from models.values import format_time
from services.figures.completeness import changed_since
from services.mentions.listing import mentions_page
from services.ports import Listed, Store, Where, listed

# The cursor has the end of the first page's window: later pages have the same window even if the entry was refreshed.
_CURSOR = re.compile(r"([0-9]{1,10})-([A-Za-z0-9_=-]+)")


class Evidence:
    """Reads the mentions that an aggregate counts."""

    def __init__(self, store: Store) -> None:
        self._store = store

    async def window_facts(self, entry: SentimentCacheEntry, cursor: str | None) -> dict[str, int | bool | None]:
        """The window of a page, and whether the entry still counts the mentions in it. To be called after `page`.

        `figures_updated_ts` is when the figures of that window were computed, None if the entry is of a later window
        now.
        """
        window, _ = window_of(entry, cursor)
        start_ts, end_ts = window.seconds
        return {
            "period_start_ts": start_ts,
            "period_end_ts": end_ts,
            "figures_updated_ts": entry.last_updated_ts if end_ts == entry.period_end_ts else None,
            "changed_since": bool(await changed_since(self._store, {entry.tool_id: entry.recounts})),
        }

    async def page(
        self, entry: SentimentCacheEntry, limit: int, cursor: str | None, said: str | None = None
    ) -> Listed[SentimentScore]:
        """With `said`, the mentions with this sentiment, or the unscored ones."""
        window, after = window_of(entry, cursor)
        where = (
            Where("published_at", "ge", format_time(window.start)),
            Where("published_at", "lt", format_time(window.end)),
        )
        page = await mentions_page(self._store, entry.tool_id, where, limit, after, said)
        mentions = listed(page, SentimentScore.from_document, "source_id")
        return replace(mentions, next=page.next and f"{window.seconds[1]}-{page.next}")


def window_of(entry: SentimentCacheEntry, cursor: str | None) -> tuple[Window, str | None]:
    """The window that the cursor continues, and the store's cursor in it."""
    if cursor is None:
        return entry.window, None
    found = _CURSOR.fullmatch(cursor)
    if found is None:
        raise InvalidInput("cursor", "must be the `next` of a page of the same query")
    return Window.ending(entry.period, datetime.fromtimestamp(int(found[1]), UTC)), found[2]
