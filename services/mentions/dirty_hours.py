"""Marks on the hours of a tool whose mentions have changed: set after a change, read by the recount.

The recount deletes a mark together with the counts that it writes (services/figures/recount.py).
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from datetime import datetime
from typing import cast

from models.timeline import DirtyHour, DirtyHourDocument
from models.values import hour_key
from services.ports import Operation, Query, Store, Upsert, Where, query_all
from services.store.containers import CATALOG

MARKS_AT_ONCE = 100
"""As many as a batch takes."""
_PAGE = 1000
_ONLY_MARKS = (Where("id", "ge", "DIRTY:"), Where("id", "lt", "DIRTY;"))  # ";" is the character after ":"


async def mark_hours(store: Store, tool_id: str, moments: Iterable[datetime], now: datetime) -> None:
    """Marks the hours of these moments. A mark that is there gets a new ETag, so that a recount that has begun does not
    delete it."""
    await mark_hours_of(store, {tool_id: moments}, now)


async def mark_hours_of(store: Store, moments: Mapping[str, Iterable[datetime]], now: datetime) -> None:
    """As `mark_hours`, for the moments of several tools."""
    batches: list[tuple[str, Sequence[Operation]]] = []
    for tool_id in sorted(moments):
        hours = {hour_key(moment): moment for moment in moments[tool_id]}
        marks = [Upsert(DirtyHour.mark(tool_id, hours[hour], now).to_document()) for hour in sorted(hours)]
        batches += [(tool_id, marks[start : start + MARKS_AT_ONCE]) for start in range(0, len(marks), MARKS_AT_ONCE)]
    await store.batch_many(CATALOG.name, batches)


async def marks_of(store: Store, tool_id: str) -> list[DirtyHourDocument]:
    """The tool's marks with their ETags, by hour."""
    return await _marks(store, Query(_ONLY_MARKS, partition=tool_id, limit=_PAGE))


async def marked_tools(store: Store) -> list[str]:
    """The ids of all tools with marks."""
    return list(dict.fromkeys(mark["pk"] for mark in await _marks(store, Query(order="by_mark", limit=_PAGE))))


async def marks_of_tools(store: Store, tool_ids: Sequence[str]) -> dict[str, list[DirtyHourDocument]]:
    """The marks of those of these tools (100 at most) that have any."""
    if len(tool_ids) == 1:
        marks = await marks_of(store, tool_ids[0])
    elif tool_ids:
        # With these conditions, the embedded store reads the marks of these tools alone. With a condition on
        # `marked_hour` it would read those of all tools, with one on the partition alone all documents of these tools.
        where = (Where(CATALOG.partition_key, "in", tuple(tool_ids)), *_ONLY_MARKS)
        marks = await _marks(store, Query(where, order="by_mark", limit=_PAGE))
    else:
        marks = []
    found: dict[str, list[DirtyHourDocument]] = {}
    for mark in marks:
        found.setdefault(mark["pk"], []).append(mark)
    return found


async def _marks(store: Store, query: Query) -> list[DirtyHourDocument]:
    """From all pages: the first fetch of a feed marks the hours of years."""
    return cast("list[DirtyHourDocument]", await query_all(store, CATALOG.name, query))
