"""Bringing the tables of tools up to date: minute tables, timelines and windows become what their mentions say.

Everything is read before anything is counted, and every table is written only if it is still the one that was read;
so of two recounts at once, the one that counted earlier never has the last word. An hour that is marked is always
written, also if it comes out the same: that is what tells an earlier count that it is late. A mark goes last, and only
if nobody has marked the hour again. So whoever finds no mark finds windows that fit the tables.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import AsyncIterator, Awaitable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from itertools import groupby, islice

from models.errors import ChangedMeanwhile
from models.timeline import Timeline, WindowTables
from models.tool import Tool
from models.values import format_time, hour_key, hour_start
from services.figures.tables import KEPT, minutes_in
from services.figures.tool_tables import ToolTables
from services.figures.windows import Edges, Windows, edges_of, windows_in
from services.logs import log_event
from services.mentions.dirty_hours import marks_among, marks_of
from services.ports import Document, Query, Store, Where
from services.store.containers import CATALOG, MENTIONS

log = logging.getLogger("toolpulse.cache")

Writes = list[tuple[Document, Document | None]]
"""Each document of a tool that is to be written, and what it replaces."""

_UNREADABLE = (ValueError, TypeError, LookupError)
_TRIES = 20
_PAGE = 1000
_AT_ONCE = 16
_MOST_HOURS = 500
_HOUR = timedelta(hours=1)


@dataclass(slots=True)
class Gathered:
    """By tool: what its windows take of its tables, or why there is none."""

    windows: dict[str, Windows] = field(default_factory=dict)
    failed: dict[str, Exception] = field(default_factory=dict)


class Recount:
    def __init__(self, store: Store) -> None:
        self._store = store

    async def recount_tool(self, tool_id: str, now: datetime) -> bool:
        """Whether anything was marked. Raises ValueError if what is stored cannot be counted."""
        marks = await marks_of(self._store, tool_id)
        if marks:
            gathered = await self.windows_of([tool_id], now, {tool_id: marks})
            for error in gathered.failed.values():
                raise error
        return bool(marks)

    async def windows_of(
        self, tool_ids: Sequence[str], now: datetime, marks: Mapping[str, Sequence[Document]] | None = None
    ) -> Gathered:
        """The windows of these tools (100 at most), what is marked of them recounted.

        `marks` are all of theirs, if the caller has just read them. If others keep recounting the same, marks stay
        for the next. Of a tool without marks that was gathered in this hour, nothing else is looked at.
        """
        edges, found, left = edges_of(now), Gathered(), list(tool_ids)
        for _ in range(_TRIES):
            if marks is None:
                marks = await marks_among(self._store, left)
            behind = await self._behind(left, marks, edges, now, found)
            left, marks = [], None
            for some in _portions(behind):
                left += await self._bring_up(some, edges, now, found)
            if not left:
                return found
        log_event(log, logging.WARNING, "recount_left_marks", tools=len(left), first=left[0])
        return found

    async def rebuild_tool(self, tool_id: str, now: datetime) -> None:
        """Counts everything anew, marked or not. Raises ChangedMeanwhile if others keep recounting."""
        for _ in range(_TRIES):
            tables = await self._everything(tool_id, now)
            windows = tables.gathered(edges_of(now), now)
            if not await self._write([(tables, list(tables.written(windows, now)))]):
                return
        raise ChangedMeanwhile(f"the timeline of {tool_id} keeps changing: try again")

    async def _behind(
        self,
        tool_ids: Sequence[str],
        marks: Mapping[str, Sequence[Document]],
        edges: Edges,
        now: datetime,
        found: Gathered,
    ) -> list[ToolTables]:
        """Those of which something is marked, or nothing gathered in this hour; the windows of the others are found."""
        stored = await self._store.read_many(CATALOG.name, [(tool_id, WindowTables.ID) for tool_id in tool_ids])
        oldest = hour_key(now - KEPT)
        behind: list[ToolTables] = []
        for tool_id, held in zip(tool_ids, stored, strict=True):
            seen = marks.get(tool_id, ())
            windows = None if seen else windows_in(held, edges)
            if windows is not None:
                found.windows[tool_id] = windows
                continue
            hours = sorted(mark["hour"] for mark in seen if mark["hour"] >= oldest)
            behind.append(ToolTables(tool_id, hours, seen, windows=held))
        return behind

    async def _bring_up(self, some: Sequence[ToolTables], edges: Edges, now: datetime, found: Gathered) -> list[str]:
        """Those that others were at meanwhile."""
        await self._read(some)
        failed = await self._count(some)
        settled: list[ToolTables] = []
        wanted: list[tuple[ToolTables, str]] = []
        for each in some:
            try:
                if each.tool_id not in failed:
                    wanted += [(each, hour) for hour in each.settle(edges)]
                    settled.append(each)
            except _UNREADABLE as error:
                failed[each.tool_id] = error
        await self._read_hours(wanted)
        ready: list[tuple[ToolTables, Writes]] = []
        for each in settled:
            try:
                windows = each.gathered(edges, now)
                ready.append((each, list(each.written(windows, now))))
            except _UNREADABLE as error:
                failed[each.tool_id] = error
            else:
                found.windows[each.tool_id] = windows
        found.failed |= failed
        return await self._write(ready)

    async def _read(self, some: Sequence[ToolTables]) -> None:
        keys = [(each.tool_id, name) for each in some for name in (Timeline.ID, Tool.ID)]
        read = await self._store.read_many(CATALOG.name, keys)
        for each, timeline, tool in zip(some, read[::2], read[1::2], strict=True):
            each.timeline, each.tool = timeline, tool
        await self._read_hours([(each, hour) for each in some for hour in each.hours])

    async def _read_hours(self, wanted: Sequence[tuple[ToolTables, str]]) -> None:
        if not wanted:
            return
        keys = [(each.tool_id, f"HOUR:{hour}") for each, hour in wanted]
        read = await self._store.read_many(CATALOG.name, keys)
        for (each, hour), table in zip(wanted, read, strict=True):
            if table is not None:
                each.known[hour] = table

    async def _everything(self, tool_id: str, now: datetime) -> ToolTables:
        oldest = hour_key(now - KEPT)
        marks = await marks_of(self._store, tool_id)
        tables = ToolTables(tool_id, [], marks, everything=True)
        keys = [(tool_id, name) for name in (WindowTables.ID, Timeline.ID, Tool.ID)]
        tables.windows, tables.timeline, tables.tool = await self._store.read_many(CATALOG.name, keys)
        # Without what is older: a page would not hold them all.
        within = (Where("id", "ge", f"HOUR:{oldest}"), Where("id", "lt", "HOUR;"))
        page = await self._store.query(CATALOG.name, Query(within, partition=tool_id, limit=_PAGE))
        known = tables.known = {table["hour"]: table for table in page.items}
        async for mentions in self._mentions([tool_id], hour_start(oldest), None):
            tables.count.add(mentions)
        marked, counted = {mark["hour"] for mark in marks}, tables.count.minutes
        tables.hours = sorted(
            hour
            for hour in {*known, *counted, *marked}
            if hour >= oldest and (hour in marked or minutes_in(known.get(hour)) != counted.get(hour, {}))
        )
        tables.settle(edges_of(now))
        return tables

    async def _count(self, some: Sequence[ToolTables]) -> dict[str, Exception]:
        """Why some could not be. Hours that several tools have marked are looked at once for all of them."""
        alike: dict[tuple[datetime, datetime], dict[str, ToolTables]] = {}
        for each in some:
            for span in spans(each.hours):
                alike.setdefault(span, {})[each.tool_id] = each
        failed: dict[str, Exception] = {}

        async def count(span: tuple[datetime, datetime], tables: Mapping[str, ToolTables]) -> None:
            async for page in self._mentions(list(tables), *span):
                for mention in page:
                    try:
                        tables[mention["tool_id"]].count.add((mention,))
                    except _UNREADABLE as error:
                        failed[mention["tool_id"]] = error

        await _in_turn(count(span, tables) for span, tables in alike.items())
        return failed

    async def _mentions(
        self, tool_ids: Sequence[str], since: datetime, until: datetime | None
    ) -> AsyncIterator[list[Document]]:
        within = [Where("published_at", "ge", format_time(since))]
        if until is not None:
            within.append(Where("published_at", "lt", format_time(until)))
        partition = tool_ids[0] if len(tool_ids) == 1 else None
        if partition is None:
            within.append(Where("tool_id", "in", tuple(tool_ids)))
        after: str | None = None
        while True:
            query = Query(tuple(within), partition=partition, order="by_published", limit=_PAGE, after=after)
            page = await self._store.query(MENTIONS.name, query)
            yield page.items
            after = page.next
            if after is None:
                return

    async def _write(self, ready: Sequence[tuple[ToolTables, Writes]]) -> list[str]:
        """Those that others were at meanwhile: their marks stay. The marks of the others go."""
        new: list[tuple[str, Document]] = []
        changed: list[tuple[str, tuple[Document, str]]] = []
        for tables, writes in ready:
            for document, before in writes:
                if before is None:
                    new.append((tables.tool_id, document))
                else:
                    changed.append((tables.tool_id, (document, before["_etag"])))
        created = await self._store.create_many(CATALOG.name, [each for _, each in new]) if new else []
        replaced = await self._store.replace_many(CATALOG.name, [each for _, each in changed]) if changed else []
        late = {tool_id for (tool_id, _), wrote in zip(new, created, strict=True) if not wrote}
        late |= {tool_id for (tool_id, _), wrote in zip(changed, replaced, strict=True) if not wrote}
        await self._clear([tables for tables, _ in ready if tables.tool_id not in late])
        return sorted(late)

    async def _clear(self, counted: Sequence[ToolTables]) -> None:
        """Tombstones first: a mark that is left brings the next recount to the others. What is marked, or said, again
        meanwhile stays."""
        removed = [(each.tool_id, mention) for each in counted for mention in each.count.removed]
        marks = [(each.tool_id, mark) for each in counted for mark in each.marks]
        for container, gone in ((MENTIONS.name, removed), (CATALOG.name, marks)):
            if gone:
                deletions = [(tool_id, document["id"], document["_etag"]) for tool_id, document in gone]
                await self._store.delete_many(container, deletions)


async def _in_turn(calls: Iterable[Awaitable[None]]) -> None:
    """A few at a time; of errors, the first is raised when all that were begun have ended."""
    waiting = iter(calls)
    while some := list(islice(waiting, _AT_ONCE)):
        for result in await asyncio.gather(*some, return_exceptions=True):
            if isinstance(result, BaseException):
                raise result


def _portions(tables: Sequence[ToolTables]) -> Iterable[list[ToolTables]]:
    """As many as are counted together: what was marked in a whole month would fill the memory."""
    some: list[ToolTables] = []
    for each in tables:
        if some and sum(len(other.hours) for other in some) + len(each.hours) > _MOST_HOURS:
            yield some
            some = []
        some.append(each)
    if some:
        yield some


def spans(hours: Sequence[str]) -> list[tuple[datetime, datetime]]:
    """From when until when, for each row of hours without a gap; `hours` are in order."""
    starts = [hour_start(hour) for hour in hours]
    rows = groupby(enumerate(starts), key=lambda each: each[1] - each[0] * _HOUR)
    found = []
    for _, row in rows:
        times = [start for _, start in row]
        found.append((times[0], times[-1] + _HOUR))
    return found
