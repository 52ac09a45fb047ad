"""Recounting the marked hours of a tool: its minute tables and its timeline become what its mentions say.

Everything is read before anything is counted, and every table is written only if it is still the one that was read;
so of two recounts at once, the one that counted earlier never has the last word. An hour that is marked is always
written, also if it comes out the same: that is what tells an earlier count that it is late. A mark goes last, and only
if nobody has marked the hour again.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import AsyncIterator, Iterable, Sequence
from datetime import datetime, timedelta
from itertools import groupby

from models.errors import ChangedMeanwhile, Conflict
from models.timeline import Timeline
from models.values import format_time, hour_key, hour_start
from services.cache.marks import marks_of
from services.cache.tables import Count, hour_document, hours_in, minutes_in, timeline_document
from services.logs import log_event
from services.ports import Document, Query, Store, Where
from services.store.containers import CATALOG, MENTIONS

log = logging.getLogger("toolpulse.cache")

KEPT = timedelta(days=32)
"""The longest window, the hour that it may begin within, and a day to spare. Mentions live longer."""

_TRIES = 20
_PAGE = 1000
_AT_ONCE = 16
_HOUR = timedelta(hours=1)
_TABLES = (Where("id", "ge", "HOUR:"), Where("id", "lt", "HOUR;"))


class Recount:
    def __init__(self, store: Store) -> None:
        self._store = store

    async def recount_tool(self, tool_id: str, now: datetime, marks: Sequence[Document] | None = None) -> bool:
        """Whether anything was marked. `marks` are the tool's, if the caller has just read them.

        If others keep recounting the same, the marks stay for the next.
        """
        for _ in range(_TRIES):
            if marks is None:
                marks = await marks_of(self._store, tool_id)
            if not marks:
                return False
            try:
                await self._recount(tool_id, marks, now)
            except ChangedMeanwhile:
                marks = None
                continue
            return True
        log_event(log, logging.WARNING, "recount_left_marks", tool_id=tool_id)
        return True

    async def rebuild_tool(self, tool_id: str, now: datetime) -> None:
        """Counts everything anew, marked or not. Raises ChangedMeanwhile if others keep recounting."""
        for _ in range(_TRIES):
            marks = await marks_of(self._store, tool_id)
            try:
                await self._rebuild(tool_id, marks, now)
            except ChangedMeanwhile:
                continue
            return
        raise ChangedMeanwhile(f"the timeline of {tool_id} keeps changing: try again")

    async def _recount(self, tool_id: str, marks: Sequence[Document], now: datetime) -> None:
        oldest = hour_key(now - KEPT)
        hours = sorted(mark["hour"] for mark in marks if mark["hour"] >= oldest)
        ids = [Timeline.ID, *(f"HOUR:{hour}" for hour in hours)]
        timeline, *tables = await self._store.read_many(CATALOG.name, [(tool_id, each) for each in ids])
        count = Count()
        for since, until in spans(hours):
            async for page in self._mentions(tool_id, since, until):
                count.add(page)
        known = {hour: table for hour, table in zip(hours, tables, strict=True) if table is not None}
        await self._write_tables(tool_id, hours, known, count, now)
        after = {hour: numbers for hour, numbers in hours_in(timeline).items() if hour >= oldest}
        for hour in hours:
            after.pop(hour, None)
            if numbers := count.of_hour(hour):
                after[hour] = numbers
        document = timeline_document(tool_id, timeline, dict(sorted(after.items())), count.latest, now)
        await self._write(document, timeline)
        await self._clear(tool_id, marks, count.removed)

    async def _rebuild(self, tool_id: str, marks: Sequence[Document], now: datetime) -> None:
        oldest = hour_key(now - KEPT)
        timeline = await self._store.read(CATALOG.name, tool_id, Timeline.ID)
        page = await self._store.query(CATALOG.name, Query(_TABLES, partition=tool_id, limit=_PAGE))
        known = {table["hour"]: table for table in page.items}
        count = Count()
        async for mentions in self._mentions(tool_id, hour_start(oldest), None):
            count.add(mentions)
        marked = {mark["hour"] for mark in marks}
        hours = sorted(
            hour
            for hour in {*known, *count.minutes, *marked}
            if hour >= oldest and (hour in marked or minutes_in(known.get(hour)) != count.minutes.get(hour, {}))
        )
        await self._write_tables(tool_id, hours, known, count, now)
        counted = {hour: count.of_hour(hour) for hour in sorted(count.minutes)}
        after = {hour: numbers for hour, numbers in counted.items() if numbers is not None}
        await self._write(timeline_document(tool_id, timeline, after, count.latest, now), timeline)
        await self._clear(tool_id, marks, count.removed)

    async def _mentions(self, tool_id: str, since: datetime, until: datetime | None) -> AsyncIterator[list[Document]]:
        within = [Where("published_at", "ge", format_time(since))]
        if until is not None:
            within.append(Where("published_at", "lt", format_time(until)))
        after: str | None = None
        while True:
            query = Query(tuple(within), partition=tool_id, order="by_published", limit=_PAGE, after=after)
            page = await self._store.query(MENTIONS.name, query)
            yield page.items
            after = page.next
            if after is None:
                return

    async def _write_tables(
        self, tool_id: str, hours: Iterable[str], known: dict[str, Document], count: Count, now: datetime
    ) -> None:
        new: list[Document] = []
        changed: list[tuple[Document, Document]] = []
        for hour in hours:
            before = known.get(hour)
            table = hour_document(tool_id, hour, before, count.minutes.get(hour, {}), now)
            if before is None:
                new.append(table)
            else:
                changed.append((table, before))
        if len(new) > 1:
            if not all(await self._store.create_many(CATALOG.name, new)):
                raise ChangedMeanwhile(f"an hour of {tool_id} was counted meanwhile")
        elif new:
            await self._write(new[0], None)
        for start in range(0, len(changed), _AT_ONCE):
            writes = (self._write(*each) for each in changed[start : start + _AT_ONCE])
            for result in await asyncio.gather(*writes, return_exceptions=True):
                if isinstance(result, BaseException):
                    raise result

    async def _write(self, document: Document, before: Document | None) -> None:
        if before is not None:
            await self._store.replace(CATALOG.name, document, before["_etag"])
            return
        try:
            await self._store.create(CATALOG.name, document)
        except Conflict as error:
            raise ChangedMeanwhile(str(error)) from error

    async def _clear(self, tool_id: str, marks: Sequence[Document], removed: Sequence[Document]) -> None:
        """Tombstones first: a mark that is left brings the next recount to the others."""
        gone = [(MENTIONS.name, each) for each in removed] + [(CATALOG.name, mark) for mark in marks]
        for container, document in gone:
            try:
                await self._store.delete(container, tool_id, document["id"], document["_etag"])
            except ChangedMeanwhile:
                continue


def spans(hours: Sequence[str]) -> list[tuple[datetime, datetime]]:
    """From when until when, for each row of hours without a gap; `hours` are in order."""
    starts = [hour_start(hour) for hour in hours]
    rows = groupby(enumerate(starts), key=lambda each: each[1] - each[0] * _HOUR)
    found = []
    for _, row in rows:
        times = [start for _, start in row]
        found.append((times[0], times[-1] + _HOUR))
    return found
