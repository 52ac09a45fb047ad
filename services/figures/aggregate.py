"""From a tool's windows to its four entries. Pure."""

from __future__ import annotations

from datetime import datetime

from models.cache import Period, SentimentCacheEntry, percentages
from models.values import unix_seconds
from services.feeds.coverage import Shares
from services.figures.windows import Windows

Entries = dict[Period, SentimentCacheEntry]

FIGURES = (
    "total_mentions",
    "positive_count",
    "negative_count",
    "neutral_count",
    "average_sentiment",
    "coverage",
)


def entries_of(
    tool_id: str, made_at: datetime, generation: int, windows: Windows, shares: Shares, now: datetime
) -> Entries:
    entries: Entries = {}
    updated_ts = unix_seconds(now)
    for period, tally in windows.tallies(now).items():
        positive, negative, neutral = percentages(tally.positive, tally.negative, tally.neutral)
        start, end = shares.seconds[period]
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
            last_updated_ts=updated_ts,
            generation=generation,
            recounts=windows.recounts,
            coverage=shares.of(period, made_at),
        )
    return entries


def same_figures(one: SentimentCacheEntry, other: SentimentCacheEntry) -> bool:
    return all(getattr(one, name) == getattr(other, name) for name in FIGURES)
