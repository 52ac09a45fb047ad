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
from services.figures.points import compared, day_start, first_live_day
from services.figures.reader import Aggregate, Reader
from services.ports import Document, Listed, Store
from services.store.containers import CATALOG

log = logging.getLogger("toolpulse.cache")

_HOUR = timedelta(hours=1)
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
    mentions = [each.total for each in tallies]
    return {
        "from": format_time(start),
        "step_seconds": int(step.total_seconds()),
        "mentions": mentions,
        "average_sentiment": [each.average_sentiment if n else None for each, n in zip(tallies, mentions, strict=True)],
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
    return entry.tool_id, entry.period, entry.recounts, _trend_end(end), _whole_hour(end), since


@dataclass(slots=True)
class Trends:
    """Reads the trends of all tools.

    Few reads for any number of tools: entries with generations, what is incomplete, and of the tools that were
    recounted since, timelines.
    """

    store: Store
    reader: Reader
    _pasts: dict[object, Past] = field(default_factory=dict)

    async def of_tools(self, tools: Sequence[Tool], period: Period, now: datetime) -> Listed[dict[str, Any]]:
        """In the order of the tools. Those with a document that cannot be read are listed as unreadable."""
        served = await self.reader.read_all(tools, period)
        since = day_start(first_live_day(now))
        if now - 2 * PERIODS[period] < since:
            since = known_from(await stored_progress(self.store), now)
        versions = {each.entry.tool_id: version_of(each.entry, since) for each in served.items}
        pasts = {tool_id: self._pasts[version] for tool_id, version in versions.items() if version in self._pasts}
        keys = [(tool_id, Timeline.ID) for tool_id in versions if tool_id not in pasts]
        read = await self.store.read_many(CATALOG.name, keys) if keys else []
        timelines = {tool_id: document for (tool_id, _), document in zip(keys, read, strict=True)}
        made = await asyncio.to_thread(_made, [each.entry for each in served.items], timelines, since)
        for tool_id, past in made.items():
            while len(self._pasts) >= MAX_KEPT:
                del self._pasts[next(iter(self._pasts))]
            self._pasts[versions[tool_id]] = past
        pasts |= made
        by_id = {tool.tool_id: tool for tool in tools}
        known = [(each, by_id[each.entry.tool_id], pasts.get(each.entry.tool_id)) for each in served.items]
        rows = await asyncio.to_thread(lambda: [_row(each, tool, past, now) for each, tool, past in known if past])
        unread = [tool.tool_id for _, tool, past in known if past is None]
        return Listed(rows, unreadable=(*served.unreadable, *unread))


def _made(
    entries: Sequence[SentimentCacheEntry], timelines: Mapping[str, Document | None], since: datetime
) -> dict[str, Past]:
    """By tool, of those whose timeline can be read."""
    made: dict[str, Past] = {}
    for entry in (each for each in entries if each.tool_id in timelines):
        try:
            hours = TimelineHours(days_of(timelines[entry.tool_id]))
            trend = trend_of(hours, entry.period, entry.window.end)
            made[entry.tool_id] = Past(trend, before_of(hours, entry, since))
        except ValueError:
            log.exception("timeline_unreadable tool_id=%s", entry.tool_id)
    return made


def _row(each: Aggregate, tool: Tool, past: Past, now: datetime) -> dict[str, Any]:
    return (
        {"tool": each.name, "aliases": list(tool.aliases), "tickers": list(tool.tickers)}
        | each.entry.model_dump(mode="json", include=set(Trend.ONLY))
        | {"is_stale": each.entry.is_stale(now), **each.completeness.shown()}
        | {"change": change_of(each.entry, past.before), "trend": past.trend}
    )
