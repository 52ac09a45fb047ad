"""The documents of `sentiment_cache`: a tool's entries and generation, and the cache's metadata and counters.

Also the four periods and their windows. services/figures counts mentions.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from functools import lru_cache
from typing import ClassVar, Final, Literal, Self, cast

from pydantic import Field, model_validator

from models.errors import InvalidInput
from models.states import RunStatus
from models.stored import StoredDocument
from models.values import (
    Amount,
    Count,
    Flag,
    Hour,
    IdPart,
    Percentage,
    Polarity,
    Share,
    Text,
    Time,
    UnixSeconds,
    hour_key,
    internal,
    is_ahead,
    lives,
    optional,
    unix_seconds,
)

Period = Literal["HOUR_1", "HOUR_24", "DAY_7", "DAY_30"]
PERIODS: Mapping[Period, timedelta] = {
    "HOUR_1": timedelta(hours=1),
    "HOUR_24": timedelta(hours=24),
    "DAY_7": timedelta(days=7),
    "DAY_30": timedelta(days=30),
}
DEFAULT_PERIOD: Period = "HOUR_24"
AggregateVerdict = Literal["TOO_FEW", "MOSTLY_UNSCORED", "ONE_PUBLISHER", "ONE_STORY", "OK"]
PERIOD_BY_HOURS: Mapping[str, Period] = {
    str(int(span.total_seconds()) // 3600): period for period, span in PERIODS.items()
}
FRESH_MINUTES = 30
FRESH_FOR = timedelta(minutes=FRESH_MINUTES)
FEWEST = 5
"""With fewer mentions, or with an effective sample size below this, an average says too little."""
ONE_STORY = 2.0
"""Below this effective sample size, one story has more than 70 % of the mentions."""
ONE_PUBLISHER = 0.8
"""From this share on, the figures are those of one publisher."""
METADATA_PARTITION: Final = "metadata"
MAX_TOOLS_LISTED = 1000
MAX_FAILED_LISTED = 100
MOSTLY_UNSCORED = 10
"""Fewer unscored mentions in a week say nothing of a tool."""


def period_named(hours: str | None, period: str | None) -> Period:
    """The period with this number of hours or with this name; HOUR_24 if neither is given.

    Raises InvalidInput for an unknown period, or if the two differ.
    """
    if hours is not None and hours not in PERIOD_BY_HOURS:
        raise InvalidInput("hours", f"one of {', '.join(PERIOD_BY_HOURS)}")
    if period is not None and period not in PERIODS:
        raise InvalidInput("period", f"one of {', '.join(PERIODS)}")
    if hours is None:
        return DEFAULT_PERIOD if period is None else cast("Period", period)
    if period not in (None, PERIOD_BY_HOURS[hours]):
        raise InvalidInput("period", f"{PERIOD_BY_HOURS[hours]}, which hours={hours} names, or absent")
    return PERIOD_BY_HOURS[hours]


def window_end(now: datetime) -> datetime:
    """The end of all windows at `now`: the end of its minute, so that a mention counts in the minute in which it is
    published."""
    return now.replace(second=0, microsecond=0) + timedelta(minutes=1)


@dataclass(frozen=True, slots=True)
class Window:
    """The time from `start` up to, but without, `end`; both are whole minutes."""

    start: datetime
    end: datetime

    @classmethod
    def at(cls, period: Period, now: datetime) -> Window:
        """The period's window at `now`."""
        return cls.ending(period, window_end(now))

    @classmethod
    def ending(cls, period: Period, end: datetime) -> Window:
        return cls(end - PERIODS[period], end)

    @property
    def seconds(self) -> tuple[int, int]:
        """Start and end in Unix seconds."""
        return unix_seconds(self.start), unix_seconds(self.end)


def entry_id(tool_id: str, period: Period) -> str:
    return f"{tool_id}:{period}"


def generation_id(tool_id: str) -> str:
    return f"{tool_id}:generation"


@lru_cache(maxsize=4096)
def percentages(positive: int, negative: int, neutral: int) -> tuple[float, float, float]:
    """Percentages with one decimal that add up to exactly 100.0; all three are 0.0 if there are no mentions.

    Each is rounded down to a tenth. The missing tenths go to the percentages with the largest remainders, the first of
    equal ones.
    """
    counts = (positive, negative, neutral)
    total = sum(counts)
    if total == 0:
        return 0.0, 0.0, 0.0
    tenths = [count * 1000 // total for count in counts]
    by_remainder = sorted(range(3), key=lambda index: -(counts[index] * 1000 % total))
    for index in by_remainder[: 1000 - sum(tenths)]:
        tenths[index] += 1
    return tenths[0] / 10, tenths[1] / 10, tenths[2] / 10


def is_mostly_unscored(scored: int, unscored: int) -> bool:
    return unscored >= MOSTLY_UNSCORED and unscored > scored


def hit_rate(hits: int, misses: int) -> float:
    """The share of hits among all reads, 0 to 1, three decimals; 0.0 without reads."""
    reads = hits + misses
    return round(hits / reads, 3) if reads else 0.0


class _Cached(StoredDocument):
    """A document of the container `sentiment_cache`."""

    CONTAINER: ClassVar[str] = "sentiment_cache"
    PARTITION_FIELD: ClassVar[str] = "tool_id"


class SentimentCacheEntry(_Cached):
    """The aggregate of one tool over one period: of the mentions published from `period_start_ts` up to, but without,
    `period_end_ts`. `total_mentions` is `positive_count + negative_count + neutral_count`; the percentages are shares
    of it, and no other figure counts the `unscored_mentions`.

    services/figures/breadth.py defines `stories` and the following fields, down to `verdict`; they are null if an hour
    of the window is crowded (models/timeline.py). services/figures/coverage.py defines `coverage`. An entry that is
    stale is served, and refreshed soon. Once the minute `oldest_mention_ts` has left the window of HOUR_1, the entry is
    computed again when it is read: up to 30 minutes are half of an hour, and little of a day.
    """

    entity_type: Literal["SentimentCacheEntry"] = "SentimentCacheEntry"
    tool_id: IdPart = Field(description="The tool's id.")
    period: Period = Field(description="`HOUR_1`, `HOUR_24`, `DAY_7` or `DAY_30`.")
    total_mentions: Count
    positive_count: Count
    negative_count: Count
    neutral_count: Count
    unscored_mentions: Count = 0
    analyzers: tuple[Text, ...] = Field(
        default=(),
        description="The analyzers that judged the mentions of the window, scored or unscored, each with its "
        "version, such as `embedded/3:ab12`. Exact for every window, also after a reanalysis: an analyzer is named as "
        "long as the window has a mention that it judged.",
    )
    positive_percentage: Percentage = Field(
        description="The positive mentions as a percentage with one decimal. The three add up to exactly 100.0; "
        "without mentions all are 0.0."
    )
    negative_percentage: Percentage = Field(description="The negative mentions as a percentage with one decimal.")
    neutral_percentage: Percentage = Field(description="The neutral mentions as a percentage with one decimal.")
    average_sentiment: Polarity = Field(
        description="Mean `polarity` of the scored mentions, -1 (negative) to 1 (positive), four decimals. Only "
        "positive mentions raise it, and only negative ones lower it: a neutral mention counts as exactly 0, and a "
        "mention whose sentiment a person has given as 1, -1 or 0. So it agrees with the counts: without negative "
        "mentions it is never negative, without positive ones never positive. 0: the mentions are neutral or balance "
        "out, or there are none (`total_mentions` is 0)."
    )
    stories: Count | None = optional(
        "How many stories the scored mentions are of. A mention that has no story yet counts as a story of its own."
    )
    publishers: Count | None = optional(
        "How many publishers the scored mentions are of: a mention is of the publisher of the article's canonical "
        "reading, however many sources published the article. Outlets of one owner are one publisher; where the "
        "publisher of a mention is not known, its source stands for it (`source:` and the source's id)."
    )
    ungrouped_mentions: Count | None = optional(
        "How many scored mentions have no story yet. New articles are grouped within minutes."
    )
    largest_publisher: Text | None = optional(
        "The publisher with the most scored mentions, of equal ones the first by name; null without mentions."
    )
    largest_publisher_share: Share | None = optional(
        "The share of the scored mentions that the largest publisher has, 0 to 1, four decimals; null without mentions."
    )
    largest_source: Text | None = optional(
        "The source with the most scored mentions, of equal ones the first by name; null without mentions."
    )
    largest_source_share: Share | None = optional(
        "The share of the scored mentions that the largest source has, 0 to 1, four decimals; null without mentions."
    )
    average_sentiment_by_story: Polarity | None = optional(
        "The mean of the stories' means: each story counts once, however many articles repeat it. Four decimals; 0 "
        "without mentions."
    )
    effective_sample_size: Amount | None = optional(
        "The square of the scored mentions divided by the sum of the squares of the stories' mentions: as many "
        "independent mentions say as much. It is `total_mentions` if each has a story of its own, and 1 if all have "
        "the same. Two decimals."
    )
    confidence_interval: tuple[Polarity, Polarity] | None = optional(
        "The 95 % confidence interval of `average_sentiment`, as a list of the lowest and highest value, with the "
        "mentions of a story taken as dependent. Null with fewer than two stories, or if all stories have the same "
        "mean."
    )
    verdict: AggregateVerdict | None = optional(
        "Whether `average_sentiment` can be relied on; if not, the first of these that applies: "
        f"`MOSTLY_UNSCORED`: more mentions are unscored than scored, and at least {MOSTLY_UNSCORED}. `TOO_FEW`: fewer "
        f"than {FEWEST} scored mentions. `ONE_PUBLISHER`: one publisher has at least {ONE_PUBLISHER:.0%} of them. "
        f"`ONE_STORY`: `effective_sample_size` is below {ONE_STORY:g}, so that one story has most of them. "
        f"`TOO_FEW`: it is below {FEWEST}. Else `OK`."
    )
    verdict_text: Text | None = optional("The verdict in words.")
    period_start_ts: UnixSeconds = Field(
        description="Where the window begins: it counts mentions that were published from here up to, but without, "
        "`period_end_ts`. A whole minute, in Unix seconds."
    )
    period_end_ts: UnixSeconds = Field(
        description="Where the window ends: at the end of the minute in which the entry was computed, in Unix seconds."
    )
    last_updated_ts: UnixSeconds = Field(description="When the entry was computed, in Unix seconds.")
    generation: Count = internal(
        "How often all entries of the tool had been invalidated when this one was computed: by a "
        "reanalysis, a backfill, a merge, a changed source priority, the deletion of an article, or `DELETE "
        "tools/{tool}/cache`. An entry of another generation than the tool's present one is never served.",
        default=0,
    )
    recounts: Count = internal(
        "How often the tool's mentions had been recounted when this entry was computed. A recount "
        "follows every change of a mention: if the tool's number is higher now, the entry does not contain the latest "
        "changes.",
        default=0,
    )
    coverage: Share | None = optional(
        "Of the fetches that were expected in the clock hours of the window, the share that succeeded, 0 to 1, four "
        "decimals. It counts the tool's relevant feeds, each once in an hour. A response 304 is a success. A feed is "
        "expected in each hour in which it is fetched, or is due for 15 minutes and not fetched; after an error it "
        "stays due until a fetch succeeds, also if the app disabled it, but not if a person did. With low coverage, "
        "few mentions may mean that few articles were fetched. Null if no fetch was made in all of these hours, as in "
        "a standstill of the app or without feeds; 0 if all that were made failed. If the window has a standstill and "
        "fetches, those that were due in the standstill count as missed. Null also in a new app, until the feeds are "
        "looked at (every five minutes), and after a standstill of more than two days for the hours before these."
    )
    searched_since_ts: UnixSeconds | None = optional(
        "Since when articles are searched for the tool: since it was created or, after a backfill, since 30 days "
        "before that began. Earlier hours do not count in `coverage`."
    )
    backfilled: Flag = Field(
        default=False,
        description="Whether the window has time before the tool was created that a backfill has searched. In that "
        "time `coverage` is that of the feeds of then.",
    )
    oldest_mention_ts: UnixSeconds | None = optional(
        "For `HOUR_1`, the minute of the oldest mention that is counted, in Unix seconds; null "
        "without mentions and for the other periods. When that minute is over an hour ago, the next "
        "read computes the aggregate again: `HOUR_1` is the last hour. An aggregate of another period "
        f"counts up to {FRESH_MINUTES} minutes too long."
    )

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

    @property
    def window(self) -> Window:
        return Window.ending(self.period, datetime.fromtimestamp(self.period_end_ts, UTC))

    def age_seconds(self, now: datetime) -> int:
        return max(0, unix_seconds(now) - self.last_updated_ts)

    def is_stale(self, now: datetime) -> bool:
        return self.age_seconds(now) > FRESH_FOR.total_seconds()

    @property
    def fresh_until(self) -> datetime:
        """From then on it is stale, or counts a mention that is over an hour old."""
        ends = self.last_updated_ts + int(FRESH_FOR.total_seconds()) + 1
        if self.oldest_mention_ts is not None:
            ends = min(ends, self.oldest_mention_ts + int(PERIODS["HOUR_1"].total_seconds()))
        return datetime.fromtimestamp(ends, UTC)

    def is_ahead(self, now: datetime) -> bool:
        """Whether a wrong clock chose the window: it has not ended by now."""
        return is_ahead(datetime.fromtimestamp(self.last_updated_ts, UTC), now)

    def counts_too_many(self, now: datetime) -> bool:
        """Whether a mention of this HOUR_1 is over an hour old by now."""
        return self.oldest_mention_ts is not None and self.oldest_mention_ts < Window.at(self.period, now).seconds[0]


class CacheGeneration(_Cached):
    """How often all entries of a tool have been invalidated. Never deleted; a tool without this document is at 0."""

    entity_type: Literal["CacheGeneration"] = "CacheGeneration"
    tool_id: IdPart
    generation: Count = 0

    @property
    def id(self) -> str:
        return generation_id(self.tool_id)


class CacheMetadata(_Cached):
    """The last successful refresh of all tools, written when it ends. The specification's CacheMetadata.

    * `last_refresh_ts`: when the last batch of that refresh ended. `last_refresh_duration_ms`: from the start of the
      refresh to that end, in milliseconds; both times are read from the workers' clocks with fractions of a second.
    * `total_entries`: the entries that were stored then, of all tools and periods.
    * `cache_hits_24h`, `cache_misses_24h`: reads in the clock hour of that end and the 23 before. A hit was stored
      or in memory, stale or not; a miss had to be computed. A read is counted within about ten seconds.
    * `cache_hit_rate`, computed: hits / (hits + misses), 0 to 1, three decimals; 0.0 without reads.
    * `error_count_24h`: reads that failed, and failed attempts to refresh a tool, in the same 24 hours.
    * `tools_refreshed`: the ids of the refreshed tools, at most 1,000; `tools_refreshed_count` counts all of them.
    * `last_refresh_run_id`: the run of that refresh.
    * `mentions_7d`: the mentions of the refreshed tools in their DAY_7, by sentiment, and the `unscored` ones.
    * `mostly_unscored_tools`: the ids of the tools of which more mentions of these 7 days could not be scored than were
      scored, and at least MOSTLY_UNSCORED; at most 100. `mostly_unscored_count` counts all of them.
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
    tools_refreshed: tuple[IdPart, ...] = Field(max_length=MAX_TOOLS_LISTED)
    tools_refreshed_count: Count = Field(default_factory=lambda data: len(data["tools_refreshed"]))
    last_refresh_run_id: IdPart | None = None
    mentions_7d: dict[Text, Count] = Field(default_factory=dict)
    mostly_unscored_tools: tuple[IdPart, ...] = Field(default=(), max_length=MAX_FAILED_LISTED)
    mostly_unscored_count: Count = 0

    @property
    def cache_hit_rate(self) -> float:
        return hit_rate(self.cache_hits_24h, self.cache_misses_24h)

    @property
    def last_refresh_at(self) -> datetime:
        return datetime.fromtimestamp(self.last_refresh_ts, UTC)


class LastRefresh(_Cached):
    """How the last refresh of all tools ended, whether it succeeded or not.

    * `status`: SUCCEEDED; PARTIAL if a tool was not refreshed, or a batch did not end in time; FAILED if no batch did.
    * `failed_tools`: why tools were not refreshed, by tool id, at most 100; `failed_tools_count` counts all of them.
      Tools of a batch that did not end are not among them: `errors` has the number of these batches, and why they
      failed.
    """

    PARTITION: ClassVar[str] = METADATA_PARTITION
    ID: ClassVar[str] = "last_refresh"

    entity_type: Literal["LastRefresh"] = "LastRefresh"
    run_id: IdPart
    status: RunStatus
    ended_at: Time
    failed_tools: dict[IdPart, Text] = Field(default_factory=dict, max_length=MAX_FAILED_LISTED)
    failed_tools_count: Count = 0
    errors: tuple[Text, ...] = Field(default=(), max_length=MAX_FAILED_LISTED)


class CacheCounters(_Cached):
    """The reads of the cache in one clock hour. `errors` are failed reads and failed attempts to
    refresh a tool."""

    PARTITION: ClassVar[str] = METADATA_PARTITION

    entity_type: Literal["CacheCounters"] = "CacheCounters"
    ttl_timestamp: UnixSeconds | None = lives(hours=48)
    hour: Hour
    hits: Count = 0
    misses: Count = 0
    errors: Count = 0

    @classmethod
    def at(cls, now: datetime) -> Self:
        """The counters of the hour of `now`, without any count."""
        return cls(created_at=now, hour=hour_key(now))

    @property
    def id(self) -> str:
        return f"{METADATA_PARTITION}:{self.hour}"
