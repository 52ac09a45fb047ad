"""A tool's figures by hour and by day, each article counted once; of the last days as they are now, of earlier ones as
they were last.

Live days are counted from their mentions. A tool with too many of them is counted from the hours of its timeline, which
do not know stories and publishers. Days that are no longer live were frozen by the daily close.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass, replace
from datetime import date, datetime
from typing import Any, cast

from models.history import HistoryDay, HistoryProgress
from models.tally import TimelineHours
from models.timeline import Timeline, TimelineDocument, WindowsDocument, WindowTables
from models.values import Day, format_time
from services.figures.count_documents import hours_of
from services.figures.coverage import Coverage, ToolCoverage
from services.figures.points import Counted, Point, counted_days, days_between, oldest_counted, put_stored_day
from services.figures.recount import Recount
from services.figures.span import STEPS, Span, day_start, first_live_day
from services.figures.windows import analyzers_of
from services.ports import Clock, Document, Query, Store, Where, listed_documents, pages, query_all, readable
from services.store.containers import CATALOG, MENTIONS

MOST_COUNTED = 20_000
"""How many mentions a request reads, of all its tools together."""
_PAGE = 1000


@dataclass(frozen=True, slots=True)
class ToolHistory:
    """`total` has the figures of the whole span, `change` compares them with the time before."""

    points: list[Point]
    total: dict[str, Any]
    change: dict[str, Any] | None
    unreadable: tuple[str, ...] = ()


class History:
    def __init__(
        self, store: Store, recount: Recount, coverage: Coverage, clock: Clock, most_counted: int = MOST_COUNTED
    ) -> None:
        self._store = store
        self._recount = recount
        self._coverage = coverage
        self._clock = clock
        self._most_counted = most_counted

    async def canonical(self, tool_id: str, span: Span, tools: int = 1) -> ToolHistory:
        """A point for each step of the span, oldest first. It is one of `tools` of the request."""
        live = day_start(first_live_day(span.now))
        counted = Counted(span, oldest_counted(span.now))
        hours = await self._hours_of_many(tool_id, max(counted.start, live), span, self._most_counted // tools)
        if hours is not None:
            counted = Counted(span, live, whole_hours=True)
            counted.add_hours(hours, max(counted.start, live))
        days = days_between(counted.start, span.until)
        stored, unreadable = await self._stored_days(tool_id, [day for day in days if day < live.date().isoformat()])
        progress = await self.progress() if counted.start < live else None
        from_mentions = counted_days(days, stored, span.now)
        for day in days:
            if day not in from_mentions:
                put_stored_day(counted, day, stored.get(day), progress)
        if hours is not None:
            from_mentions = {day for day in from_mentions if day < live.date().isoformat()}
        unreadable += await self._count(tool_id, counted, from_mentions)
        change = counted.change.shown() if counted.change else None
        coverage = (await self._coverage.of_tools([tool_id], span.now))[tool_id]
        points = with_coverage(counted.points(), span, coverage)
        is_known = span.start >= live
        total = {"coverage": coverage.share(span.start, span.until) if is_known else None}
        return ToolHistory(points, {**counted.total.count.figures(), **total}, change, tuple(unreadable))

    async def day(self, tool_id: str, day: date) -> tuple[HistoryDay | None, Point]:
        """The stored document of a day, and the day's present figures."""
        document = await self._store.read(CATALOG.name, tool_id, HistoryDay.id_of(day.isoformat()))
        span = Span("day", day_start(day), day_start(day) + STEPS["day"], self._clock())
        history = await self.canonical(tool_id, span)
        return readable(document, HistoryDay.from_document), history.points[0]

    async def progress(self) -> HistoryProgress | None:
        document = await self._store.read(CATALOG.name, HistoryProgress.PARTITION, HistoryProgress.ID)
        return readable(document, HistoryProgress.from_document)

    async def analyzers(self, tool_id: str) -> list[str]:
        """The analyzers that judged mentions of the last 30 days, as of the tool's last recount."""
        windows = await self._store.read(CATALOG.name, tool_id, WindowTables.ID)
        return analyzers_of(cast("WindowsDocument | None", windows))

    async def _hours_of_many(self, tool_id: str, since: datetime, span: Span, most: int) -> TimelineHours | None:
        """The hours of a tool with more than `most` mentions from `since` on; None for other tools."""
        hours = await self._timeline(tool_id)
        tallies = [hours.of_day(day.replace("-", "")) for day in days_between(since, span.until)]
        if sum(tally.total + tally.unscored for tally in tallies) <= most:
            return None
        await self._recount.recount_tool(tool_id, span.now)
        return await self._timeline(tool_id)

    async def _timeline(self, tool_id: str) -> TimelineHours:
        timeline = await self._store.read(CATALOG.name, tool_id, Timeline.ID)
        return hours_of(cast("TimelineDocument | None", timeline))

    async def _stored_days(self, tool_id: str, days: list[Day]) -> tuple[dict[Day, HistoryDay], list[str]]:
        """`days` are consecutive."""
        if not days:
            return {}, []
        first, last = HistoryDay.id_of(days[0]), HistoryDay.id_of(days[-1])
        query = Query((Where("id", "ge", first), Where("id", "le", last)), partition=tool_id, limit=_PAGE)
        found = await query_all(self._store, CATALOG.name, query)
        read = listed_documents(found, HistoryDay.from_document, "id")
        return {each.day: each for each in read.items}, list(read.unreadable)

    async def _count(self, tool_id: str, counted: Counted, days: Collection[Day]) -> list[str]:
        """Adds the mentions of these days. Returns the ids of those that cannot be counted."""
        if not days:
            return []
        since = max(counted.start, day_start(date.fromisoformat(min(days))))
        until = min(counted.span.until, day_start(date.fromisoformat(max(days))) + STEPS["day"])
        where = (
            Where("removed_at", "missing"),
            Where("published_at", "ge", format_time(since)),
            Where("published_at", "lt", format_time(until)),
        )
        unreadable: list[str] = []
        query = Query(where, partition=tool_id, order="by_published", limit=_PAGE)
        async for page in pages(self._store, MENTIONS.name, query):
            for mention in page.items:
                if mention["published_at"][:10] in days:
                    unreadable += _added(counted, mention)
        return unreadable


def with_coverage(points: Sequence[Point], span: Span, coverage: ToolCoverage) -> list[Point]:
    """The points of the span, those whose coverage was not stored with the present one."""
    found = []
    for point, start in zip(points, span.starts, strict=True):
        share = coverage.share(start, min(start + STEPS[span.step], span.until))
        found.append(replace(point, figures={"coverage": share, **point.figures}))
    return found


def _added(counted: Counted, mention: Document) -> list[str]:
    """Adds the mention; returns its id if it cannot be counted."""
    try:
        counted.add(mention)
    except ValueError:
        return [str(mention.get("source_id") or mention["id"])]
    return []
