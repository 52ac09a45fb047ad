"""Keeps the stored counts of tools equal to their mentions: recounts the dirty hours.

A recount reads the dirty hours and the windows and counts the mentions of these hours. One batch then writes windows,
timeline and hour tables and deletes the dirty hours. The batch fails if the stored windows are not the version that was
read. Since every writer replaces the windows, no count overwrites a later one, and every hour that is not dirty has
right counts.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Coroutine, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from itertools import groupby, islice
from typing import Any, cast

from models.cache import window_end
from models.errors import ChangedMeanwhile
from models.timeline import (
    DirtyHourDocument,
    HourDocument,
    StoryTable,
    StoryTableDocument,
    Timeline,
    TimelineDocument,
    WindowsDocument,
    WindowTables,
)
from models.tool import Tool
from models.values import format_time, hour_key, hour_start, is_ahead, parse_time
from services import deadline
from services.figures.counts import KEPT, CountsWrite, ToolCounts
from services.figures.edges import Edges, edges_of
from services.figures.tool_breadth import ToolBreadth
from services.figures.windows import Windows
from services.logs import log_event
from services.mentions.dirty_hours import dirty_hours_of, dirty_hours_of_tools
from services.ports import Document, Operation, Query, Store, Where, pages, query_all
from services.store.containers import CATALOG, MENTIONS

log = logging.getLogger("toolpulse.cache")

UNREADABLE = (ValueError, TypeError, LookupError)
"""The errors of a stored document that cannot be read. They concern one tool, and must not stop the others."""

LONGEST_STANDSTILL = timedelta(hours=24)
"""After a longer one a tool is counted anew."""

_TRIES = 20
_PAGE = 1000
_QUERIES_AT_ONCE = 16
_HOURS_AT_ONCE = 500
_HOUR = timedelta(hours=1)
_NO_END = datetime(9999, 1, 1, tzinfo=UTC)


@dataclass(slots=True)
class Recounted:
    """The windows of each tool at `now`, and the error of each tool with a document that could not be read."""

    now: datetime
    windows: dict[str, Windows] = field(default_factory=dict)
    failed: dict[str, Exception] = field(default_factory=dict)

    def raise_failure(self) -> None:
        for error in self.failed.values():
            raise error


class Recount:
    def __init__(self, store: Store) -> None:
        self._store = store

    async def recount_tool(self, tool_id: str, now: datetime) -> bool:
        """Whether the tool had dirty hours. Raises ValueError if a document of the tool cannot be counted."""
        dirty_hours = await dirty_hours_of(self._store, tool_id)
        if dirty_hours:
            (await self.windows_of([tool_id], now, {tool_id: dirty_hours})).raise_failure()
        return bool(dirty_hours)

    async def windows_of(
        self,
        tool_ids: Sequence[str],
        now: datetime,
        dirty_hours: Mapping[str, Sequence[DirtyHourDocument]] | None = None,
    ) -> Recounted:
        """The windows of these tools (100 at most), after their dirty hours were recounted.

        `dirty_hours` are all dirty hours of these tools, if the caller has just read them. A tool without any, whose
        windows were stored within this hour, costs one read. In the background, tools that have no turn before the
        deadline are left out, and keep their dirty hours.
        """
        recounted, left = Recounted(now), list(tool_ids)
        for _ in range(_TRIES):
            if dirty_hours is None:
                dirty_hours = await dirty_hours_of_tools(self._store, left)
            outdated = await self._outdated(left, dirty_hours, recounted)
            left, dirty_hours = [], None
            for some in portions(outdated):
                if deadline.in_background() and deadline.is_near():
                    return recounted
                await self._read_timelines(some)
                left += await self._recount(some, recounted)
            if not left:
                return recounted
        # The windows are right as of the last count; the hours stay dirty for the next recount.
        log_event(log, logging.WARNING, "recount_left_dirty_hours", tools=len(left), first=left[0])
        return recounted

    async def rebuild_tool(self, tool_id: str, now: datetime) -> None:
        """Counts the mentions of all hours of the tool, dirty or not, whatever counts are stored.

        Raises ValueError if a document of the tool cannot be counted, ChangedMeanwhile if other recounts keep
        overtaking this one.
        """
        for _ in range(_TRIES):
            recounted = Recounted(now)
            overtaken = await self._recount([await self._all_hours(tool_id, now)], recounted)
            recounted.raise_failure()
            if not overtaken:
                return
        raise ChangedMeanwhile(f"the timeline of {tool_id} keeps changing: try again")

    async def _outdated(
        self, tool_ids: Sequence[str], dirty_hours: Mapping[str, Sequence[DirtyHourDocument]], recounted: Recounted
    ) -> list[ToolCounts]:
        """The tools with dirty hours or with windows of another hour. The stored windows of the other tools are right,
        and become part of `recounted`."""
        keys = [(tool_id, WindowTables.ID) for tool_id in tool_ids]
        stored = cast("list[WindowsDocument | None]", await self._store.read_many(CATALOG.name, keys))
        oldest = hour_key(recounted.now - KEPT)
        outdated: list[ToolCounts] = []
        for tool_id, document in zip(tool_ids, stored, strict=True):
            of_tool = dirty_hours.get(tool_id, ())
            if document is None or not _can_continue(document, recounted.now):
                outdated.append(await self._all_hours(tool_id, recounted.now))
                continue
            windows = None if of_tool else Windows.stored(document, edges_of(window_end(recounted.now)))
            if windows is not None:
                recounted.windows[tool_id] = windows
            else:
                hours = sorted(each["hour"] for each in of_tool if each["hour"] >= oldest)
                outdated.append(ToolCounts(tool_id, of_tool, document, hours))
        return outdated

    async def _all_hours(self, tool_id: str, now: datetime) -> ToolCounts:
        dirty_hours = await dirty_hours_of(self._store, tool_id)
        keys = [(tool_id, name) for name in (WindowTables.ID, Timeline.ID, Tool.ID)]
        windows, timeline, tool = await self._store.read_many(CATALOG.name, keys)
        oldest = hour_key(now - KEPT)
        found = await self._between(tool_id, f"HOUR:{oldest}", "HOUR;")
        tables = {table["hour"]: table for table in cast("list[HourDocument]", found)}
        stories = cast("list[StoryTableDocument]", await self._between(tool_id, "STORIES:", "STORIES;"))
        hours = [each["hour"] for each in dirty_hours if each["hour"] >= oldest]
        counts = ToolCounts(tool_id, dirty_hours, cast("WindowsDocument | None", windows), hours, tables)
        counts.all_stories = stories
        counts.timeline, counts.tool = cast("TimelineDocument | None", timeline), tool
        return counts

    async def _between(self, tool_id: str, first: str, end: str) -> list[Document]:
        """The documents of the tool with an id from `first` up to, but without, `end`."""
        where = (Where("id", "ge", first), Where("id", "lt", end))
        return await query_all(self._store, CATALOG.name, Query(where, partition=tool_id, limit=_PAGE))

    async def _read_timelines(self, some: Sequence[ToolCounts]) -> None:
        keys = [(counts.tool_id, name) for counts in some for name in (Timeline.ID, Tool.ID)]
        read = await self._store.read_many(CATALOG.name, keys)
        for counts, timeline, tool in zip(some, read[::2], read[1::2], strict=True):
            counts.timeline, counts.tool = cast("TimelineDocument | None", timeline), tool

    async def _recount(self, some: Sequence[ToolCounts], recounted: Recounted) -> list[str]:
        """Returns the ids of the tools whose counts another recount has written meanwhile."""
        edges, failed = edges_of(window_end(recounted.now)), recounted.failed
        await self._count(some, recounted)
        applied: list[ToolCounts] = []
        for counts in some:
            try:
                if counts.tool_id not in failed:
                    counts.apply_count(edges)
                    applied.append(counts)
            except UNREADABLE as error:
                failed[counts.tool_id] = error
        await self._read_tables(applied)
        applied = await self._read_stories(applied, edges, failed)
        writes: list[CountsWrite | None] = []
        for counts in applied:
            try:
                windows = counts.windows(edges)
                writes.append(counts.write(windows, recounted.now))
                recounted.windows[counts.tool_id] = windows
            except UNREADABLE as error:
                failed[counts.tool_id] = error
        return await self._write([write for write in writes if write is not None])

    async def _read_tables(self, some: Sequence[ToolCounts]) -> None:
        wanted = [(counts, hour) for counts in some for hour in counts.needed_tables]
        if wanted:
            keys = [(counts.tool_id, f"HOUR:{hour}") for counts, hour in wanted]
            read = cast("list[HourDocument | None]", await self._store.read_many(CATALOG.name, keys))
            for (counts, hour), table in zip(wanted, read, strict=True):
                counts.needed_tables[hour] = table

    async def _read_stories(
        self, some: Sequence[ToolCounts], edges: Edges, failed: dict[str, Exception]
    ) -> list[ToolCounts]:
        """Reads the story tables that are needed. Returns the tools that have not failed."""
        prepared: list[ToolCounts] = []
        wanted: list[tuple[ToolBreadth, int]] = []
        for counts in some:
            try:
                wanted += [(breadth, each) for breadth in [counts.apply_tables(edges)] for each in breadth.buckets]
                prepared.append(counts)
            except UNREADABLE as error:
                failed[counts.tool_id] = error
        if wanted:
            keys = [(breadth.tool_id, StoryTable.id_of(bucket)) for breadth, bucket in wanted]
            read = await self._store.read_many(CATALOG.name, keys)
            for (breadth, bucket), table in zip(wanted, read, strict=True):
                breadth.tables[bucket] = cast("StoryTableDocument | None", table)
        return prepared

    async def _count(self, some: Sequence[ToolCounts], recounted: Recounted) -> None:
        """Counts the mentions of the tools' hours. Hours that several tools have in common take one query for all."""
        # All hours go on after `now`: this clock may be behind, by any time.
        all_hours = hour_start(hour_key(recounted.now - KEPT)), _NO_END
        by_span: dict[tuple[datetime, datetime], dict[str, ToolCounts]] = {}
        for counts in some:
            for span in spans(counts.hours) if counts.all_tables is None else [all_hours]:
                by_span.setdefault(span, {})[counts.tool_id] = counts

        async def count(span: tuple[datetime, datetime], tools: Mapping[str, ToolCounts]) -> None:
            async for page in pages(self._store, MENTIONS.name, _mentions(list(tools), *span)):
                for mention in page.items:
                    try:
                        tools[mention["tool_id"]].count.add(mention)
                    except UNREADABLE as error:
                        recounted.failed[mention["tool_id"]] = error

        await _some_at_once(count(span, tools) for span, tools in by_span.items())

    async def _write(self, writes: Sequence[CountsWrite]) -> list[str]:
        """Returns the ids of the tools whose counts another recount has written meanwhile."""
        ended: dict[str, list[ToolCounts]] = {"written": [], "overtaken": []}
        while writes:
            outcomes = await self._store.batch_many(CATALOG.name, [write.batch() for write in writes])
            unfinished: list[CountsWrite] = []
            for write, outcome in zip(writes, outcomes, strict=True):
                state = write.after(outcome)
                if state == "unfinished":
                    unfinished.append(write)
                else:
                    ended[state].append(write.counts)
            writes = unfinished
        await self._empty_tombstones(ended["written"])
        return [counts.tool_id for counts in ended["overtaken"]]

    async def _empty_tombstones(self, written: Sequence[ToolCounts]) -> None:
        """Takes the texts from tombstones, then deletes their dirty hours, on condition that they have not changed. The
        batch of the counts cannot do so, since mentions are in another container."""
        tombstones: list[tuple[str, list[Operation]]] = [
            (counts.tool_id, [each]) for counts in written for each in counts.tombstones
        ]
        dirty_hours: list[tuple[str, list[Operation]]] = [
            (counts.tool_id, [each]) for counts in written for each in counts.dirty_hours_of_tombstones
        ]
        for container, writes in ((MENTIONS.name, tombstones), (CATALOG.name, dirty_hours)):
            if writes:
                await self._store.batch_many(container, writes)


def are_right(windows: WindowsDocument, now: datetime) -> bool:
    """Whether the counts that were stored with these windows are right for all hours that are not dirty.

    Not if a clock that was ahead stored them: it has dropped hours as too old, and has not seen mentions that it took
    to be expired. Nor if an earlier version did, which kept no stories or analyzers.
    """
    if "analyzers" not in windows or "breadth" not in windows or windows.get("unfinished"):
        return False
    return not is_ahead(parse_time(windows["updated_at"]), now)


def _can_continue(windows: WindowsDocument, now: datetime) -> bool:
    """Not after a standstill: tables of hours that have left the windows since may have expired."""
    return are_right(windows, now) and hour_start(windows["hour"]) > now - LONGEST_STANDSTILL


def _mentions(tool_ids: Sequence[str], since: datetime, until: datetime) -> Query:
    """The tools' mentions that were published from `since` up to, but without, `until`."""
    where = [Where("published_at", "ge", format_time(since)), Where("published_at", "lt", format_time(until))]
    partition = tool_ids[0] if len(tool_ids) == 1 else None
    if partition is None:
        where.append(Where("tool_id", "in", tuple(tool_ids)))
    return Query(tuple(where), partition=partition, order="by_published", limit=_PAGE)


async def _some_at_once(work: Iterable[Coroutine[Any, Any, None]]) -> None:
    """Raises the first error after all work that was begun has ended."""
    waiting = iter(work)
    while some := list(islice(waiting, _QUERIES_AT_ONCE)):
        for result in await asyncio.gather(*some, return_exceptions=True):
            if isinstance(result, BaseException):
                raise result


def portions(counts: Sequence[ToolCounts]) -> Iterable[list[ToolCounts]]:
    """The tools that are counted together: a month of dirty hours of all tools would not fit into memory."""
    some: list[ToolCounts] = []
    for each in counts:
        if some and sum(map(_hours_of, some)) + _hours_of(each) > _HOURS_AT_ONCE:
            yield some
            some = []
        some.append(each)
    if some:
        yield some


def _hours_of(counts: ToolCounts) -> int:
    return len(counts.hours) + len(counts.all_tables or ())


def spans(hours: Sequence[str]) -> list[tuple[datetime, datetime]]:
    """The start and end of each run of consecutive hours; `hours` are sorted."""
    starts = [hour_start(hour) for hour in hours]
    found = []
    for _, run in groupby(enumerate(starts), key=lambda each: each[1] - each[0] * _HOUR):
        times = [start for _, start in run]
        found.append((times[0], times[-1] + _HOUR))
    return found
