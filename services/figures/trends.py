"""Of many tools at once: their aggregates, each with its trend over the period and its change against the one before.

Both come from the hours of a tool's timeline, one stored document for each tool. What was made of them is kept in
memory until the tool is recounted or the hour ends, so that tools without news are not read again.

`Trends` reads, all other functions are pure.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from typing import Any, NamedTuple

from models.cache import PERIODS, Period, SentimentCacheEntry
from models.resources.movement import Trend
from models.tally import Tally, TimelineHours
from models.timeline import HistoryProgress, Timeline
from models.tool import Tool
from models.values import format_time
from services.figures.counting import days_of
from services.figures.daily_close import stored_progress
from services.figures.points import LIVE_DAYS, compared, day_start, first_live_day
from services.figures.reader import Aggregate, Reader
from services.ports import Document, Listed, Store
from services.store.containers import CATALOG

log = logging.getLogger("toolpulse.cache")

_HOUR = timedelta(hours=1)
_ALWAYS = datetime.min.replace(tzinfo=UTC)
"""From when on the hours of the shorter periods are known: the live days are twice as long."""
STEPS: Mapping[Period, tuple[int, timedelta]] = {
    "HOUR_24": (24, _HOUR),
    "DAY_7": (14, 12 * _HOUR),
    "DAY_30": (30, 24 * _HOUR),
}
"""The number of steps of a trend, and their length. An hour has no trend: a timeline knows whole hours only."""
MAX_KEPT = 3000
"""Trends in memory: those of 1,000 tools over each period."""


def trend_of(hours: TimelineHours, period: Period, end: datetime) -> dict[str, Any]:
    """The scored mentions of each step, oldest first, and their average, None without any. The last step ends with the
    present hour; `end` is that of the aggregate's window. Raises ValueError if the timeline cannot be read."""
    number, step = STEPS[period]
    start = _trend_end(end) - number * step
    tallies = hours.steps(start, step // _HOUR, number)
    return {
        "from": format_time(start),
        "step_seconds": int(step.total_seconds()),
        "mentions": [each.total for each in tallies],
        "average_sentiment": [each.average_sentiment if each.total else None for each in tallies],
    }


def _trend_end(end: datetime) -> datetime:
    last = _whole_hour(end)
    return last + _HOUR if end > last else last


def known_from(progress: HistoryProgress | None, now: datetime) -> datetime:
    """From when on every hour is known: since the app has run, or as far back as feeds reached then."""
    live = day_start(first_live_day(now))
    return live if progress is None else min(live, day_start(progress.created_at.date()))


def previous_of(entry: SentimentCacheEntry) -> tuple[datetime, datetime]:
    """The same length before the aggregate, in whole hours."""
    start = _whole_hour(entry.window.start)
    return start - PERIODS[entry.period], start


def before_of(hours: TimelineHours, entry: SentimentCacheEntry, since: datetime) -> Tally | None:
    """The mentions of the time before the aggregate. None if some of it is before `since`, from when on `hours` are
    known."""
    start, end = previous_of(entry)
    return None if start < since else hours.steps(start, (end - start) // _HOUR, 1)[0]


def change_of(entry: SentimentCacheEntry, before: Tally | None) -> dict[str, Any] | None:
    """The aggregate compared with the time before it. None if that is not known, or if it has no mentions and articles
    were not searched for the tool then."""
    start, end = previous_of(entry)
    since = entry.searched_since_ts
    is_searched = since is None or datetime.fromtimestamp(since, UTC) <= start
    if before is None or not (is_searched or before.total):
        return None
    had = before.average_sentiment if before.total else None
    has = entry.average_sentiment if entry.total_mentions else None
    return {
        "previous_from": format_time(start),
        "previous_to": format_time(end),
        "total_mentions": compared("total_mentions", entry.total_mentions, before.total),
        "average_sentiment": compared("average_sentiment", has, had),
    }


def _is_long(period: Period) -> bool:
    """Whether the time before goes back behind the live days, which are known at once."""
    return 2 * PERIODS[period] > timedelta(days=LIVE_DAYS)


def _whole_hour(moment: datetime) -> datetime:
    return moment.replace(minute=0, second=0, microsecond=0)


class Past(NamedTuple):
    """What the hours of a tool say beside one of its aggregates; `before` is None if not all of that time is known."""

    trend: dict[str, Any]
    before: Tally | None


def version_of(entry: SentimentCacheEntry, since: datetime) -> tuple[object, ...]:
    """What is made of a tool's hours beside this entry stays the same until it is recounted or the hour ends. `since`
    is from when on the hours are known."""
    end = entry.window.end
    return entry.recounts, _trend_end(end), _whole_hour(end), since


@dataclass(slots=True)
class Trends:
    """Reads the trends of all tools.

    Few reads for any number of tools: entries with generations, what is incomplete, and of the tools that were
    recounted since, timelines.
    """

    store: Store
    reader: Reader
    _pasts: dict[tuple[str, Period], tuple[object, Past]] = field(default_factory=dict)

    async def of_tools(self, tools: Sequence[Tool], period: Period, now: datetime) -> Listed[dict[str, Any]]:
        """In the order of the tools. Those with a document that cannot be read are listed as unreadable."""
        served = await self.reader.read_all(tools, period)
        by_id = {tool.tool_id: tool for tool in tools}
        pasts = await self._pasts_of([each.entry for each in served.items], period, now)
        known = [(each, past) for each, past in zip(served.items, pasts, strict=True) if past is not None]
        rows = await asyncio.to_thread(_rows, known, by_id, now)
        unread = [each.entry.tool_id for each, past in zip(served.items, pasts, strict=True) if past is None]
        return Listed(rows, unreadable=(*served.unreadable, *unread))

    async def _pasts_of(
        self, entries: Sequence[SentimentCacheEntry], period: Period, now: datetime
    ) -> list[Past | None]:
        """None for a tool whose timeline cannot be read."""
        since = _ALWAYS
        if _is_long(period):
            since = known_from(await stored_progress(self.store), now)
        versions = {entry.tool_id: version_of(entry, since) for entry in entries}
        kept = {tool_id: self._pasts.get((tool_id, period)) for tool_id in versions}
        found = {tool_id: each[1] for tool_id, each in kept.items() if each and each[0] == versions[tool_id]}
        left = [entry for entry in entries if entry.tool_id not in found]
        keys = [(entry.tool_id, Timeline.ID) for entry in left]
        read = await self.store.read_many(CATALOG.name, keys) if keys else []
        for tool_id, past in (await asyncio.to_thread(_made, left, read, since)).items():
            found[tool_id] = past
            self._pasts.pop((tool_id, period), None)
            while len(self._pasts) >= MAX_KEPT:
                del self._pasts[next(iter(self._pasts))]
            self._pasts[tool_id, period] = versions[tool_id], past
        return [found.get(entry.tool_id) for entry in entries]


def _made(
    entries: Sequence[SentimentCacheEntry], timelines: Sequence[Document | None], since: datetime
) -> dict[str, Past]:
    """By tool, of those whose timeline can be read."""
    made: dict[str, Past] = {}
    for entry, timeline in zip(entries, timelines, strict=True):
        try:
            hours = TimelineHours(days_of(timeline))
            trend = trend_of(hours, entry.period, entry.window.end)
            made[entry.tool_id] = Past(trend, before_of(hours, entry, since))
        except ValueError:
            log.exception("timeline_unreadable tool_id=%s", entry.tool_id)
    return made


def _rows(served: Sequence[tuple[Aggregate, Past]], tools: Mapping[str, Tool], now: datetime) -> list[dict[str, Any]]:
    rows: list[dict[str, Any]] = []
    for each, past in served:
        entry = each.entry
        tool = tools[entry.tool_id]
        rows.append(
            {"tool": each.name, "aliases": list(tool.aliases), "tickers": list(tool.tickers)}
            | entry.model_dump(mode="json", include=set(Trend.ONLY))
            | {"is_stale": entry.is_stale(now), **each.completeness.shown()}
            | {"change": change_of(entry, past.before), "trend": past.trend}
        )
    return rows
