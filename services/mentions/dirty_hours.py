"""The dirty hours of tools: marked after a change of mentions, read by the recount.

The recount deletes a dirty hour together with the counts that it writes (services/figures/recount.py).
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime

from models.timeline import DirtyHour
from models.values import hour_key, parse_time
from services.ports import Document, Operation, Query, Store, Upsert, Where, query_all
from services.store.containers import CATALOG

DIRTY_HOURS_AT_ONCE = 100
"""The limit of a batch."""
_PAGE = 1000
_ONLY_DIRTY_HOURS = (Where("id", "ge", "DIRTY:"), Where("id", "lt", "DIRTY;"))  # ";" is the character after ":"


async def mark_dirty(store: Store, tool_id: str, moments: Iterable[datetime], now: datetime) -> None:
    """Marks the hours of these moments dirty. An hour that is dirty already gets a new ETag, so that a recount that has
    begun does not delete it."""
    await mark_dirty_by_tool(store, {tool_id: moments}, now)


async def mark_dirty_by_tool(store: Store, moments: Mapping[str, Iterable[datetime]], now: datetime) -> None:
    """As `mark_dirty`, for the moments of several tools."""
    batches: list[tuple[str, Sequence[Operation]]] = []
    for tool_id in sorted(moments):
        hours = {hour_key(moment): moment for moment in moments[tool_id]}
        writes = [Upsert(DirtyHour.of(tool_id, hours[hour], now).to_document()) for hour in sorted(hours)]
        starts = range(0, len(writes), DIRTY_HOURS_AT_ONCE)
        batches += [(tool_id, writes[start : start + DIRTY_HOURS_AT_ONCE]) for start in starts]
    await store.batch_many(CATALOG.name, batches)


async def dirty_hours_of(store: Store, tool_id: str) -> list[Document]:
    """The tool's dirty hours with their ETags, in order."""
    return await _read(store, Query(_ONLY_DIRTY_HOURS, partition=tool_id, limit=_PAGE))


async def tools_with_dirty_hours(store: Store) -> list[str]:
    """The ids of all tools with dirty hours."""
    return list(dict.fromkeys(each["pk"] for each in await _read(store, Query(order="by_dirty_hour", limit=_PAGE))))


@dataclass(frozen=True, slots=True)
class DirtyTools:
    """The tools with dirty hours, the first of them since `since`: of the hundred oldest dirty hours."""

    tools: int
    since: datetime | None


async def dirty_tools(store: Store) -> DirtyTools:
    query = Query(order="by_dirty_hour", limit=DIRTY_HOURS_AT_ONCE, may_be_stale=True)
    hours = (await store.query(CATALOG.name, query)).items
    since = min((parse_time(each["updated_at"]) for each in hours), default=None)
    return DirtyTools(len({each["pk"] for each in hours}), since)


async def tools_with_dirty_hours_among(store: Store, tool_ids: Sequence[str]) -> set[str]:
    """Those of these tools that have dirty hours. If the tools have more than a page of dirty hours, all of the hundred
    that were asked for together count as tools with dirty hours, so that this reads a bounded number of pages."""
    if len(tool_ids) == 1:
        page = await store.query(CATALOG.name, Query(_ONLY_DIRTY_HOURS, partition=tool_ids[0], limit=1))
        return set(tool_ids) if page.items else set()
    found: set[str] = set()
    for start in range(0, len(tool_ids), DIRTY_HOURS_AT_ONCE):
        some = tool_ids[start : start + DIRTY_HOURS_AT_ONCE]
        where = (Where(CATALOG.partition_key, "in", tuple(some)), *_ONLY_DIRTY_HOURS)
        page = await store.query(CATALOG.name, Query(where, order="by_dirty_hour", limit=_PAGE))
        found |= set(some) if page.next is not None else {each["pk"] for each in page.items}
    return found


async def dirty_hours_of_tools(store: Store, tool_ids: Sequence[str]) -> dict[str, list[Document]]:
    """The dirty hours of these tools (100 at most), by tool; a tool without any is left out."""
    if len(tool_ids) == 1:
        dirty_hours = await dirty_hours_of(store, tool_ids[0])
    elif tool_ids:
        # With these conditions, the embedded store reads the dirty hours of these tools alone. With a condition on
        # `marked_at` it would read those of all tools, with one on the partition alone all documents of these tools.
        where = (Where(CATALOG.partition_key, "in", tuple(tool_ids)), *_ONLY_DIRTY_HOURS)
        dirty_hours = await _read(store, Query(where, order="by_dirty_hour", limit=_PAGE))
    else:
        dirty_hours = []
    found: dict[str, list[Document]] = {}
    for each in dirty_hours:
        found.setdefault(each["pk"], []).append(each)
    return found


async def _read(store: Store, query: Query) -> list[Document]:
    """Reads all pages: the first fetch of a feed may mark the hours of years dirty."""
    return await query_all(store, CATALOG.name, query)
