"""Of many tools at once: their aggregates, each with its trend over the period and its change against the one before.

Both come from the hours of a tool's timeline, one stored document for each tool. A timeline has 32 days: of the longest
period, the period before is not known.

`Trends` reads, all other functions are pure.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import Any, cast

from models.cache import PERIODS, Period, SentimentCacheEntry
from models.tally import Tally, TimelineHours
from models.timeline import Timeline, TimelineDocument
from models.tool import Tool
from models.values import format_time, hour_key
from services.figures.count_documents import hours_of
from services.figures.points import compared
from services.figures.reader import Reader, Served
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
KEPT = timedelta(days=31)


@dataclass(frozen=True, slots=True)
class Trend:
    """`mentions` are the scored ones of each step, oldest first; `averages` their average sentiment, None without any.
    The last step ends with the present hour."""

    start: datetime
    step: timedelta
    mentions: tuple[int, ...]
    averages: tuple[float | None, ...]

    def shown(self) -> dict[str, Any]:
        return {
            "from": format_time(self.start),
            "step_seconds": int(self.step.total_seconds()),
            "mentions": list(self.mentions),
            "average_sentiment": list(self.averages),
        }


def trend_of(hours: TimelineHours, period: Period, end: datetime) -> Trend:
    """`end` is that of the aggregate's window. Raises ValueError if the timeline cannot be read."""
    number, step = STEPS[period]
    last = end.replace(minute=0, second=0, microsecond=0)
    last += _HOUR if end > last else timedelta(0)
    start = last - number * step
    tallies = [between(hours, start + at * step, start + (at + 1) * step) for at in range(number)]
    averages = tuple(each.average_sentiment if each.total else None for each in tallies)
    return Trend(start, step, tuple(each.total for each in tallies), averages)


def between(hours: TimelineHours, start: datetime, end: datetime) -> Tally:
    """The mentions of the whole hours from `start` up to, but without, `end`."""
    return hours.total(hour_key(start - _HOUR), hour_key(end))


def change_of(hours: TimelineHours, entry: SentimentCacheEntry) -> dict[str, Any] | None:
    """The aggregate compared with the same length before it, in whole hours. None if the timeline does not go back so
    far, or if it has no mentions of a time that was not searched for the tool."""
    length = PERIODS[entry.period]
    start = entry.window.start.replace(minute=0, second=0, microsecond=0)
    since = entry.searched_since_ts
    if 2 * length > KEPT:
        return None
    before = between(hours, start - length, start)
    is_searched = since is None or datetime.fromtimestamp(since, UTC) <= start - length
    if not (is_searched or before.total):
        return None
    had = before.average_sentiment if before.total else None
    has = entry.average_sentiment if entry.total_mentions else None
    return {
        "previous_from": format_time(start - length),
        "previous_to": format_time(start),
        "total_mentions": compared("total_mentions", entry.total_mentions, before.total),
        "average_sentiment": compared("average_sentiment", has, had),
    }


_FIELDS = (
    *("tool_id", "period", "period_start_ts", "period_end_ts", "last_updated_ts"),
    *("total_mentions", "positive_count", "negative_count", "neutral_count", "unscored_mentions"),
    *("average_sentiment", "confidence_interval", "effective_sample_size", "stories", "publishers"),
    *("largest_publisher", "largest_publisher_share", "verdict", "verdict_text", "coverage"),
)


@dataclass(frozen=True, slots=True)
class Trends:
    """Three reads for any number of tools: entries with generations, what is incomplete, and timelines."""

    store: Store
    reader: Reader

    async def of_tools(self, tools: Sequence[Tool], period: Period, now: datetime) -> Listed[dict[str, Any]]:
        """In the order of the tools. Those with a document that cannot be read are listed as unreadable."""
        served = await self.reader.read_all(tools, period)
        by_id = {tool.tool_id: tool for tool in tools}
        found = await self.store.read_many(
            CATALOG.name, [(each.aggregate.entry.tool_id, Timeline.ID) for each in served.items]
        )
        rows = await asyncio.to_thread(_rows, served.items, found, by_id, now)
        unreadable = [each.aggregate.entry.tool_id for each, row in zip(served.items, rows, strict=True) if row is None]
        return Listed([row for row in rows if row is not None], unreadable=(*served.unreadable, *unreadable))


def _rows(
    served: Sequence[Served], timelines: Sequence[Document | None], tools: Mapping[str, Tool], now: datetime
) -> list[dict[str, Any] | None]:
    rows: list[dict[str, Any] | None] = []
    for each, timeline in zip(served, timelines, strict=True):
        entry = each.aggregate.entry
        try:
            hours = hours_of(cast("TimelineDocument | None", timeline))
            trend = trend_of(hours, entry.period, entry.window.end)
            change = change_of(hours, entry)
        except ValueError:
            log.exception("timeline_unreadable tool_id=%s", entry.tool_id)
            rows.append(None)
            continue
        figures = entry.model_dump(mode="json", include=set(_FIELDS))
        tool = tools[entry.tool_id]
        rows.append(
            {"tool": each.aggregate.name, "aliases": list(tool.aliases), "tickers": list(tool.tickers)}
            | {name: figures[name] for name in _FIELDS}
            | {"is_stale": entry.is_stale(now), **each.aggregate.completeness.shown()}
            | {"change": change, "trend": trend.shown()}
        )
    return rows
