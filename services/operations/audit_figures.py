"""The section of the audit that counts the mentions of tools anew, and compares hours, windows and cache entries.

Counts are made by the code that makes the stored ones (services/figures/counts.py), from mentions that are read now.
A tool is compared in slices of hours with about MENTIONS_IN_SLICE mentions; then its windows and entries, against the
hours as they are stored. Dirty hours are passed over, and hours with a mention whose article is due to be analysed.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any, cast

from models.cache import PERIODS, CacheGeneration, SentimentCacheEntry, entry_id, generation_id
from models.errors import UnreadableDocument
from models.tally import TimelineHours
from models.timeline import (
    HourDocument,
    HourRows,
    StoryTableDocument,
    Timeline,
    TimelineDocument,
    WindowsDocument,
    WindowTables,
)
from models.tool import Tool
from models.values import format_time, hour_key, hour_start, parse_time
from services.figures.count_documents import analyzers_of, hours_of, minutes_of, recounts_of, rows_of
from services.figures.counts import KEPT, MentionCount
from services.figures.edges import Edges, edges_of
from services.figures.recount import are_right
from services.figures.tool_breadth import ToolBreadth
from services.figures.windows import Windows
from services.mentions.dirty_hours import dirty_hours_of
from services.operations.audit_rules import (
    WINDOWS_JUDGED,
    Difference,
    judge_analyzers,
    judge_days,
    judge_entry,
    judge_hours,
    judge_rows,
    judge_stories,
    judge_windows,
)
from services.operations.audit_sections import Part, articles_of, is_workflow_open
from services.ports import Clock, Document, Query, Store, Where, query_all
from services.store.containers import CATALOG, MENTIONS, SENTIMENT_CACHE

MENTIONS_IN_SLICE = 500
JUDGED = timedelta(days=31)
"""Older hours are in no window."""
_PAGE = 1000
_MOST_ASKED = 500
_DAY = timedelta(days=1)
_HOUR = timedelta(hours=1)
_WRONG = (ValueError, TypeError, LookupError, AttributeError, UnreadableDocument)


@dataclass(frozen=True, slots=True)
class ToolsSection:
    """The position has the tool and the hour at which the next slice begins. With `only`, one tool is compared."""

    store: Store
    clock: Clock
    only: str | None = None

    async def part(self, after: str | None) -> Part:
        tool_id, since = _read_position(after)
        if since is None:
            tool = await self._tool_after(tool_id)
            if tool is None:
                return Part()
            tool_id = str(tool["pk"])
            if tool.get("status") == "MERGED":
                return Part([], self._behind(tool_id), 1)
        try:
            return await self._slice(tool_id, since)
        except _WRONG as error:
            return Part([Difference("windows_differ", tool_id, f"not readable: {error}")], self._behind(tool_id), 1)

    async def _tool_after(self, tool_id: str) -> Document | None:
        if self.only is not None:
            return await self.store.read(CATALOG.name, self.only, Tool.ID)
        where = [Where("entity_type", "eq", "Tool")]
        if tool_id:
            where.append(Where("pk", "gt", tool_id))
        page = await self.store.query(CATALOG.name, Query(tuple(where), limit=1))
        return page.items[0] if page.items else None

    def _behind(self, tool_id: str) -> str | None:
        return None if self.only is not None else json.dumps([tool_id])

    async def _slice(self, tool_id: str, since: str | None) -> Part:
        now = self.clock()
        first = since or hour_key(now - JUDGED)
        timeline, stored_windows = await self._counts(tool_id)
        if stored_windows is not None and not are_right(stored_windows, now):
            return Part([], self._behind(tool_id), 1)  # the next refresh counts the tool anew
        hours = hours_of(timeline)
        start, last = hour_start(first), now + KEPT
        end = _slice_end(hours, start, now) or last
        count, mentions = MentionCount(), list[Document]()
        query = _published(tool_id, start, end)
        for mention in await query_all(self.store, MENTIONS.name, query):
            count.add(mention)
            mentions.append(mention)
        tables = await self._tables(tool_id, first, hour_key(end))
        minutes = {hour: minutes_of(table) for hour, table in tables.items()}
        in_timeline = {hour: hours.numbers(hour) for hour in _hours_between(start, end)}
        versions = (_etag(stored_windows),)
        found = judge_hours(tool_id, count.minutes, in_timeline, minutes, versions)
        in_tables = {hour: analyzers_of(table) for hour, table in tables.items()}
        judging = {hour: hours.analyzers_of_hour(hour) for hour in in_timeline}
        found += judge_analyzers(tool_id, count.analyzers, judging, in_tables, versions)
        counted = {hour: of_hour.rows() for hour, of_hour in count.rows.items()}
        found += judge_rows(tool_id, counted, {hour: rows_of(table) for hour, table in tables.items()}, versions)
        found += judge_days(tool_id, {day: hours.of_day(day) for day in _days_between(start, end)}, hours, versions)
        dirty = {each["hour"] for each in await dirty_hours_of(self.store, tool_id)}
        found = [each for each in found if each.about not in dirty]
        if found:
            found = await self._at_rest(found, mentions)
        if end != last:
            return Part(found, json.dumps([tool_id, hour_key(end)]), 1 + len(mentions))
        if not dirty:
            found += await self._windows_and_entries(tool_id, timeline, stored_windows, hours, now)
        return Part(found, self._behind(tool_id), 1 + len(mentions))

    async def _counts(self, tool_id: str) -> tuple[TimelineDocument | None, WindowsDocument | None]:
        read = await self.store.read_many(CATALOG.name, [(tool_id, Timeline.ID), (tool_id, WindowTables.ID)])
        return cast("tuple[TimelineDocument | None, WindowsDocument | None]", tuple(read))

    async def _tables(self, tool_id: str, first: str, end: str) -> dict[str, HourDocument]:
        where = (Where("id", "ge", f"HOUR:{first}"), Where("id", "lt", f"HOUR:{end}"))
        found = await query_all(self.store, CATALOG.name, Query(where, partition=tool_id, limit=_PAGE))
        return {str(each["hour"]): cast("HourDocument", each) for each in found}

    async def _at_rest(self, found: Sequence[Difference], mentions: Sequence[Document]) -> list[Difference]:
        """The differences of hours in which no mention is in flight: it is written before its hour is marked dirty."""
        if await is_workflow_open(self.store):
            return []
        wrong = {each.about for each in found}
        by_article = {each["id"]: hour_key(parse_time(each["published_at"])) for each in mentions}
        asked = [source_id for source_id, hour in by_article.items() if hour in wrong][:_MOST_ASKED]
        articles = await articles_of(self.store, asked)
        due = {by_article[key] for key, each in articles.items() if each.get("analysis_due_since") is not None}
        return [each for each in found if each.about not in due]

    async def _windows_and_entries(
        self,
        tool_id: str,
        timeline: TimelineDocument | None,
        windows: WindowsDocument | None,
        hours: TimelineHours,
        now: datetime,
    ) -> list[Difference]:
        """With a month of hour tables, of which no table has more rows than MOST_ROWS."""
        tool = await self.store.read(CATALOG.name, tool_id, Tool.ID)
        if tool is None or tool.get("status") == "MERGED":
            return []
        made_at, recounts = parse_time(tool["created_at"]), recounts_of(timeline)
        since = parse_time(tool["searched_since"]) if tool.get("searched_since") else None
        found: list[Difference] = []
        stored_tables = await self._tables(tool_id, hour_key(now - KEPT), hour_key(now + KEPT))
        rows = {hour: rows_of(table) for hour, table in stored_tables.items()}

        def summed(moment: datetime) -> Windows:
            edges = edges_of(moment)
            tables = {hour: stored_tables.get(hour) for hour in edges.hours}
            minutes = {hour: minutes_of(each) for hour, each in tables.items()}
            analyzers = {hour: analyzers_of(each) for hour, each in tables.items()}
            breadth = ToolBreadth.of_all(tool_id, edges, rows, ()).carried_on()
            return Windows.summed(edges, hours, minutes, analyzers, made_at, recounts, breadth, since)

        if windows is not None:
            moment = hour_start(windows["hour"])
            if moment > now - WINDOWS_JUDGED:
                right = summed(moment)
                found += judge_windows(
                    tool_id, Windows.stored(windows, right.edges), right, cast(Any, windows)["_etag"]
                )
                found += await self._stories(tool_id, right.edges, rows, now)
        for entry in await self._entries(tool_id, recounts, now):
            end = entry.window.end
            right = summed(end)
            period = entry.period
            tally, breadth = right.tallies(end)[period], right.breadths_at(end)[period]
            found += judge_entry(entry, tally, breadth, right.analyzers_at(end)[period])
        if found:
            again = await self._counts(tool_id)
            is_dirty = await dirty_hours_of(self.store, tool_id)
            if is_dirty or [_etag(each) for each in again] != [_etag(timeline), _etag(windows)]:
                return []
        return found

    async def _stories(
        self, tool_id: str, edges: Edges, rows: Mapping[str, HourRows | None], now: datetime
    ) -> list[Difference]:
        """The story tables against the rows of the hour tables."""
        where = (Where("id", "ge", "STORIES:"), Where("id", "lt", "STORIES;"))
        stored = await query_all(self.store, CATALOG.name, Query(where, partition=tool_id, limit=_PAGE))
        tables = cast("list[StoryTableDocument]", stored)
        oldest = hour_key(now - JUDGED)
        counted = {hour: of_hour for hour, of_hour in rows.items() if hour >= oldest}
        return judge_stories(tool_id, ToolBreadth.of_all(tool_id, edges, counted, tables).differing(oldest))

    async def _entries(self, tool_id: str, recounts: int, now: datetime) -> list[SentimentCacheEntry]:
        """The entries that are served: of the tool's generation and last recount."""
        names = [generation_id(tool_id), *(entry_id(tool_id, period) for period in PERIODS)]
        read = await self.store.read_many(SENTIMENT_CACHE.name, [(tool_id, name) for name in names])
        generation = 0 if read[0] is None else CacheGeneration.from_document(read[0]).generation
        entries = [SentimentCacheEntry.from_document(each) for each in read[1:] if each is not None]
        return [
            each
            for each in entries
            if (each.generation, each.recounts) == (generation, recounts) and each.window.end > now - WINDOWS_JUDGED
        ]


def _read_position(after: str | None) -> tuple[str, str | None]:
    """The tool, and the hour at which its next slice begins; without an hour, the tool is done."""
    if after is None:
        return "", None
    tool_id, *hour = json.loads(after)
    return tool_id, hour[0] if hour else None


def _slice_end(hours: TimelineHours, start: datetime, now: datetime) -> datetime | None:
    """The end of the slice that begins at `start`, by the mentions in the timeline; None if all that is left fits."""
    mentions, day = 0, start.replace(hour=0)
    while day <= now:
        of_day = hours.of_day(hour_key(day)[:8])
        mentions += of_day.total + of_day.unscored
        day += _DAY
        if mentions > MENTIONS_IN_SLICE and day <= now:
            return day
    return None


def _hours_between(start: datetime, end: datetime) -> list[str]:
    return [hour_key(start + number * _HOUR) for number in range((end - start) // _HOUR)]


def _days_between(start: datetime, end: datetime) -> list[str]:
    return sorted({hour[:8] for hour in _hours_between(start, end)})


def _published(tool_id: str, start: datetime, end: datetime) -> Query:
    where = (Where("published_at", "ge", format_time(start)), Where("published_at", "lt", format_time(end)))
    return Query(where, partition=tool_id, order="by_published", limit=_PAGE)


def _etag(document: Any) -> str | None:
    return None if document is None else document["_etag"]
