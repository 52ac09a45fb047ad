"""Marks on hours that must be recounted: set by whoever changes a mention, after the change; cleared by the recount."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace
from datetime import datetime

from models.timeline import DirtyHour
from models.values import hour_key
from services.ports import Document, Query, Store, Where
from services.store.containers import CATALOG

_PAGE = 1000
_WITHIN = (Where("id", "ge", "DIRTY:"), Where("id", "lt", "DIRTY;"))  # the character after the colon


async def mark_hours(store: Store, tool_id: str, moments: Iterable[datetime], now: datetime) -> None:
    """Marks the hours of these moments. Each marking changes the mark's ETag, also where there was one."""
    hours = {hour_key(moment): moment for moment in moments}
    marks = [DirtyHour.mark(tool_id, hours[hour], now).to_document() for hour in sorted(hours)]
    if len(marks) == 1:
        await store.upsert(CATALOG.name, marks[0])
    elif marks:
        await store.write_many(CATALOG.name, marks)


async def marks_of(store: Store, tool_id: str) -> list[Document]:
    """The tool's marks with their ETags, by hour. What is three years old has marks as well: they may fill pages."""
    return (await _marks(store, Query(_WITHIN, partition=tool_id, limit=_PAGE))).get(tool_id, [])


async def marked_tools(store: Store) -> list[str]:
    """The ids of all tools with marks."""
    return list(await _marks(store, Query(order="by_mark", limit=_PAGE)))


async def marks_among(store: Store, tool_ids: Sequence[str]) -> dict[str, list[Document]]:
    """The marks of those of these tools (100 at most) that have any.

    By partition and id, so that the embedded store looks at the marks of these tools alone: by a field it would look
    at those of all tools, by partition at all that is in those.
    """
    if len(tool_ids) == 1:
        marks = await marks_of(store, tool_ids[0])
        return {tool_ids[0]: marks} if marks else {}
    where = (Where(CATALOG.partition_key, "in", tuple(tool_ids)), *_WITHIN)
    return await _marks(store, Query(where, order="by_mark", limit=_PAGE)) if tool_ids else {}


async def _marks(store: Store, query: Query) -> dict[str, list[Document]]:
    found: dict[str, list[Document]] = {}
    after: str | None = None
    while True:
        page = await store.query(CATALOG.name, replace(query, after=after))
        for mark in page.items:
            found.setdefault(mark[CATALOG.partition_key], []).append(mark)
        after = page.next
        if after is None:
            return found
