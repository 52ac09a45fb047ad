"""From tables of counts to the four entries of a tool. Pure.

Whole hours come from the timeline, the hours that a window begins and ends within from their minutes.
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Mapping
from datetime import datetime

from models.cache import PERIODS, Period, SentimentCacheEntry, percentages
from models.timeline import Tally
from models.values import hour_key, unix_seconds
from services.cache.coverage import Shares
from services.cache.periods import seconds_of, window_of
from services.cache.tables import Table, total

FIGURES = (
    "total_mentions",
    "positive_count",
    "negative_count",
    "neutral_count",
    "average_sentiment",
    "coverage",
)


def edge_hours(now: datetime) -> list[str]:
    """The hours of which only a part is in some window: none on the full hour."""
    windows = [window_of(period, now) for period in PERIODS]
    if windows[0].end.minute == 0:
        return []
    return sorted({hour_key(edge) for window in windows for edge in (window.start, window.end)})


def tallies(hours: Table, minutes: Mapping[str, Table], now: datetime) -> dict[Period, Tally]:
    """The counts of each period; `minutes` are those of the edge hours."""
    end = window_of("HOUR_1", now).end
    last, minute = hour_key(end), f"{end.minute:02}"
    head = total(numbers for at, numbers in minutes.get(last, {}).items() if at < minute) if end.minute else Tally()
    found: dict[Period, Tally] = {}
    listed = sorted(hours)
    whole, until = Tally(), bisect_left(listed, last)
    # Each window holds the shorter ones, so that every hour is added once.
    for period, span in PERIODS.items():
        first = hour_key(end - span)
        at_edge = minutes.get(first, {}).items() if end.minute else ()
        tail = total(numbers for at, numbers in at_edge if at >= minute)
        since = bisect_right(listed, first) if end.minute else bisect_left(listed, first)
        whole = whole.plus(total(hours[hour] for hour in listed[since:until]))
        until = since
        found[period] = whole.plus(head).plus(tail)
    return found


def entries_of(
    tool_id: str,
    made_at: datetime,
    generation: int,
    counted: Mapping[Period, Tally],
    shares: Shares,
    now: datetime,
) -> dict[Period, SentimentCacheEntry]:
    entries: dict[Period, SentimentCacheEntry] = {}
    for period, tally in counted.items():
        positive, negative, neutral = percentages(tally.positive, tally.negative, tally.neutral)
        start, end = seconds_of(window_of(period, now))
        entries[period] = SentimentCacheEntry(
            created_at=now,
            updated_at=now,
            tool_id=tool_id,
            period=period,
            total_mentions=tally.total,
            positive_count=tally.positive,
            negative_count=tally.negative,
            neutral_count=tally.neutral,
            positive_percentage=positive,
            negative_percentage=negative,
            neutral_percentage=neutral,
            average_sentiment=tally.average_sentiment,
            period_start_ts=start,
            period_end_ts=end,
            last_updated_ts=unix_seconds(now),
            generation=generation,
            coverage=shares.of(period, made_at),
        )
    return entries


def same_figures(one: SentimentCacheEntry, other: SentimentCacheEntry) -> bool:
    return all(getattr(one, name) == getattr(other, name) for name in FIGURES)
