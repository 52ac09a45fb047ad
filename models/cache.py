"""What is kept in `sentiment_cache`: entries, their generation, and the cache's own figures.

How figures are counted is services/figures's; here is what a right figure looks like.
"""

from __future__ import annotations

from collections.abc import Mapping
from datetime import UTC, datetime, timedelta
from typing import ClassVar, Final, Literal, Self

from pydantic import Field, model_validator

from models.errors import InvalidInput
from models.states import CacheState
from models.stored import StoredDocument
from models.values import (
    Count,
    Hour,
    IdPart,
    Percentage,
    Polarity,
    Share,
    UnixSeconds,
    hour_key,
    lives,
    unix_seconds,
)

Period = Literal["HOUR_1", "HOUR_24", "DAY_7", "DAY_30"]
PERIODS: Mapping[Period, timedelta] = {
    "HOUR_1": timedelta(hours=1),
    "HOUR_24": timedelta(hours=24),
    "DAY_7": timedelta(days=7),
    "DAY_30": timedelta(days=30),
}
FRESH_FOR = timedelta(minutes=30)
METADATA_PARTITION: Final = "metadata"
MOST_TOOLS_LISTED = 1000


def entry_id(tool_id: str, period: Period) -> str:
    return f"{tool_id}:{period}"


def percentages(positive: int, negative: int, neutral: int) -> tuple[float, float, float]:
    """Shares in per cent with one decimal that add to 100.0: largest remainder, ties to the first. All 0 of nothing."""
    counts = (positive, negative, neutral)
    total = sum(counts)
    if total == 0:
        return 0.0, 0.0, 0.0
    tenths = [count * 1000 // total for count in counts]
    by_remainder = sorted(range(3), key=lambda index: -(counts[index] * 1000 % total))
    for index in by_remainder[: 1000 - sum(tenths)]:
        tenths[index] += 1
    return tenths[0] / 10, tenths[1] / 10, tenths[2] / 10


class _Cached(StoredDocument):
    CONTAINER: ClassVar[str] = "sentiment_cache"
    PARTITION_FIELD: ClassVar[str] = "tool_id"


class SentimentCacheEntry(_Cached):
    """The aggregate of one tool over one period, as of `period_end_ts`.

    `generation` is the tool's when counting began: of another one, it must not be served. `recounts` is how often the
    tool's timeline had been counted for it: of another number, something was said or taken away since.
    """

    entity_type: Literal["SentimentCacheEntry"] = "SentimentCacheEntry"
    tool_id: IdPart
    period: Period
    total_mentions: Count
    positive_count: Count
    negative_count: Count
    neutral_count: Count
    positive_percentage: Percentage
    negative_percentage: Percentage
    neutral_percentage: Percentage
    average_sentiment: Polarity
    period_start_ts: UnixSeconds
    period_end_ts: UnixSeconds
    last_updated_ts: UnixSeconds
    generation: Count = 0
    recounts: Count = 0
    coverage: Share | None = None

    @property
    def partition(self) -> str:
        return self.tool_id

    @property
    def id(self) -> str:
        return entry_id(self.tool_id, self.period)

    @model_validator(mode="after")
    def _figures_fit(self) -> Self:
        if self.total_mentions != self.positive_count + self.negative_count + self.neutral_count:
            raise ValueError("total_mentions must be positive_count + negative_count + neutral_count")
        tenths = round(10 * (self.positive_percentage + self.negative_percentage + self.neutral_percentage))
        if self.total_mentions and not 999 <= tenths <= 1001:
            raise ValueError("the percentages must sum to 100.0, within 0.1")
        if not self.total_mentions and (tenths or self.average_sentiment):
            raise ValueError("without mentions, percentages and average_sentiment must be 0")
        if self.period_start_ts >= self.period_end_ts:
            raise ValueError("period_start_ts must be less than period_end_ts")
        return self

    def require_not_after(self, now: datetime) -> None:
        """Raises InvalidInput if this claims to have been updated later than `now`."""
        if self.last_updated_ts > unix_seconds(now):
            raise InvalidInput("last_updated_ts", "must be less than or equal to the current time")

    def age_seconds(self, now: datetime) -> int:
        return max(0, unix_seconds(now) - self.last_updated_ts)

    def is_stale(self, now: datetime) -> bool:
        return self.age_seconds(now) > FRESH_FOR.total_seconds()

    def state(self, now: datetime, generation: int) -> CacheState:
        """Where this entry stands, given the tool's present generation."""
        if self.generation != generation:
            return "INVALIDATED"
        return "STALE" if self.is_stale(now) else "FRESH"


class CacheGeneration(_Cached):
    """Raised by whatever makes a tool's entries wrong. Never deleted; a tool without one is at 0."""

    entity_type: Literal["CacheGeneration"] = "CacheGeneration"
    tool_id: IdPart
    generation: Count = 0

    @property
    def partition(self) -> str:
        return self.tool_id

    @property
    def id(self) -> str:
        return f"{self.tool_id}:generation"


class CacheMetadata(_Cached):
    """The cache's health, as of its last refresh; the 24-hour figures are sums of hourly counters.

    Created by the first refresh and updated by each: the specification's Initialized and Updated.
    """

    PARTITION: ClassVar[str] = METADATA_PARTITION
    ID: ClassVar[str] = "metadata"
    COMPUTED: ClassVar[tuple[str, ...]] = ("cache_hit_rate",)

    entity_type: Literal["CacheMetadata"] = "CacheMetadata"
    last_refresh_ts: UnixSeconds
    last_refresh_duration_ms: Count
    total_entries: Count
    cache_hits_24h: Count
    cache_misses_24h: Count
    error_count_24h: Count
    tools_refreshed: tuple[IdPart, ...] = Field(max_length=MOST_TOOLS_LISTED)
    tools_refreshed_count: Count = Field(default_factory=lambda data: len(data["tools_refreshed"]))
    last_refresh_status: Literal["SUCCEEDED", "PARTIAL"] = "SUCCEEDED"
    last_refresh_run_id: IdPart | None = None

    @property
    def partition(self) -> str:
        return self.PARTITION

    @property
    def id(self) -> str:
        return self.ID

    @property
    def cache_hit_rate(self) -> float:
        """Hits among all reads of the last 24 hours, three decimals; 0.0 while nobody has read."""
        reads = self.cache_hits_24h + self.cache_misses_24h
        return round(self.cache_hits_24h / reads, 3) if reads else 0.0

    @property
    def last_refresh_at(self) -> datetime:
        return datetime.fromtimestamp(self.last_refresh_ts, UTC)


class CacheCounters(_Cached):
    """One hour's reads and errors, raised by increments. `cache_stale` counts hits that were stale."""

    entity_type: Literal["CacheCounters"] = "CacheCounters"
    ttl_timestamp: UnixSeconds | None = lives(hours=48)
    hour: Hour
    cache_hits: Count = 0
    cache_misses: Count = 0
    cache_stale: Count = 0
    error_count: Count = 0

    @classmethod
    def at(cls, now: datetime) -> Self:
        """The empty counters of the hour of `now`: the seed of an increment."""
        return cls(created_at=now, updated_at=now, hour=hour_key(now))

    @property
    def partition(self) -> str:
        return METADATA_PARTITION

    @property
    def id(self) -> str:
        return f"{METADATA_PARTITION}:{self.hour}"


class RefreshAsked(_Cached):
    """That a refresh of this tool was asked for, less than a minute ago: whoever creates it sends the message."""

    entity_type: Literal["RefreshAsked"] = "RefreshAsked"
    ttl_timestamp: UnixSeconds | None = lives(minutes=1)
    tool_id: IdPart

    @property
    def partition(self) -> str:
        return self.tool_id

    @property
    def id(self) -> str:
        return f"{self.tool_id}:asked"
