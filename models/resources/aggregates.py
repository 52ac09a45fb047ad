"""An aggregate of sentiment (SentimentCacheEntry) as the API shows it."""

from __future__ import annotations

from typing import Any, Self

from pydantic import Field

from models.cache import (
    FEWEST,
    FRESH_MINUTES,
    MOSTLY_UNSCORED,
    ONE_PUBLISHER,
    ONE_STORY,
    AggregateVerdict,
    Period,
    SentimentCacheEntry,
)
from models.resources.base import Stored, View, internal, links, path
from models.resources.figures import Completeness, Counts
from models.values import Amount, Count, Flag, IdPart, Percentage, Polarity, Share, Text, UnixSeconds


class AggregateResource(Counts[Count], Completeness, Stored):
    """The sentiment of one tool over one period."""

    id: str = Field(description="`tool_id` and `period`.")
    tool: str = Field(description="The tool's name.")
    tool_id: IdPart = Field(description="The tool's id.")
    period: Period = Field(description="`HOUR_1`, `HOUR_24`, `DAY_7` or `DAY_30`.")
    period_start_ts: UnixSeconds = Field(
        description="Where the window begins: it counts mentions that were published from here up to, but "
        "without, `period_end_ts`. A whole minute, in Unix seconds."
    )
    period_end_ts: UnixSeconds = Field(
        description="Where the window ends: at the end of the minute in which the entry was computed, in Unix seconds."
    )
    positive_percentage: Percentage = Field(
        description="The positive mentions as a percentage with one decimal. The three add up to exactly "
        "100.0; without mentions all are 0.0."
    )
    negative_percentage: Percentage = Field(description="The negative mentions as a percentage with one decimal.")
    neutral_percentage: Percentage = Field(description="The neutral mentions as a percentage with one decimal.")
    average_sentiment: Polarity = Field(
        description="Mean `polarity` of the scored mentions, -1 (negative) to 1 (positive), four decimals. Only "
        "positive mentions raise it, and only negative ones lower it: a neutral mention counts as "
        "exactly 0, and a mention whose sentiment a person has given as 1, -1 or 0. So it agrees with "
        "the counts: without negative mentions it is never negative, without positive ones never "
        "positive. 0: the mentions are neutral or balance out, or there are none (`total_mentions` is "
        "0)."
    )
    verdict: AggregateVerdict | None = Field(
        description="Whether `average_sentiment` can be relied on; if not, the first of these that applies: "
        f"`MOSTLY_UNSCORED`: more mentions are unscored than scored, and at least {MOSTLY_UNSCORED}. `TOO_FEW`: fewer "
        f"than {FEWEST} scored mentions. `ONE_PUBLISHER`: one publisher has at least {ONE_PUBLISHER:.0%} of them. "
        f"`ONE_STORY`: `effective_sample_size` is below {ONE_STORY:g}, so that one story has most of them. "
        f"`TOO_FEW`: it is below {FEWEST}. Else `OK`."
    )
    verdict_text: Text | None = Field(description="The verdict in words.")
    analyzers: tuple[Text, ...] = Field(
        description="The analyzers that judged the mentions of the window, scored or unscored, each with its "
        "version, such as `embedded/3:ab12`. Exact for every window, also after a reanalysis: an "
        "analyzer is named as long as the window has a mention that it judged."
    )
    stories: Count | None = Field(
        description="How many stories the scored mentions are of. A mention that has no story yet counts as a "
        "story of its own."
    )
    publishers: Count | None = Field(
        description="How many publishers the scored mentions are of: a mention is of the publisher of the "
        "article's canonical reading, however many sources published the article. Outlets of one "
        "owner are one publisher; where the publisher of a mention is not known, its source stands "
        "for it (`source:` and the source's id)."
    )
    ungrouped_mentions: Count | None = Field(
        description="How many scored mentions have no story yet. New articles are grouped within minutes."
    )
    largest_publisher: Text | None = Field(
        description="The publisher with the most scored mentions, of equal ones the first by name; null "
        "without mentions."
    )
    largest_publisher_share: Share | None = Field(
        description="The share of the scored mentions that the largest publisher has, 0 to 1, four decimals; "
        "null without mentions."
    )
    largest_source: Text | None = Field(
        description="The source with the most scored mentions, of equal ones the first by name; null without mentions."
    )
    largest_source_share: Share | None = Field(
        description="The share of the scored mentions that the largest source has, 0 to 1, four decimals; "
        "null without mentions."
    )
    average_sentiment_by_story: Polarity | None = Field(
        description="The mean of the stories' means: each story counts once, however many articles repeat it. "
        "Four decimals; 0 without mentions."
    )
    effective_sample_size: Amount | None = Field(
        description="The square of the scored mentions divided by the sum of the squares of the stories' "
        "mentions: as many independent mentions say as much. It is `total_mentions` if each has a "
        "story of its own, and 1 if all have the same. Two decimals."
    )
    confidence_interval: tuple[Polarity, Polarity] | None = Field(
        description="The 95 % confidence interval of `average_sentiment`, as a list of the lowest and highest "
        "value, with the mentions of a story taken as dependent. Null with fewer than two stories, or "
        "if all stories have the same mean."
    )
    last_updated_ts: UnixSeconds = Field(description="When the entry was computed, in Unix seconds.")
    coverage: Share | None = Field(
        description="Of the fetches that were expected in the clock hours of the window, the share that "
        "succeeded, 0 to 1, four decimals. It counts the tool's relevant feeds, each once in an hour. "
        "A response 304 is a success. A feed is expected in each hour in which it is fetched, or is "
        "due for 15 minutes and not fetched; after an error it stays due until a fetch succeeds, also "
        "if the app disabled it, but not if a person did. With low coverage, few mentions may mean "
        "that few articles were fetched. Null if no fetch was made in all of these hours, as in a "
        "standstill of the app or without feeds; 0 if all that were made failed. If the window has a "
        "standstill and fetches, those that were due in the standstill count as missed. Null also in "
        "a new app, until the feeds are looked at (every five minutes), and after a standstill of "
        "more than two days for the hours before these."
    )
    searched_since_ts: UnixSeconds | None = Field(
        description="Since when articles are searched for the tool: since it was created or, after a backfill, "
        "since 30 days before that began. Earlier hours do not count in `coverage`."
    )
    backfilled: Flag = Field(
        description="Whether the window has time before the tool was created that a backfill has searched. In "
        "that time `coverage` is that of the feeds of then."
    )
    oldest_mention_ts: UnixSeconds | None = Field(
        description="For `HOUR_1`, the minute of the oldest mention that is counted, in Unix seconds; null "
        "without mentions and for the other periods. When that minute is over an hour ago, the next "
        "read computes the aggregate again: `HOUR_1` is the last hour. An aggregate of another period "
        f"counts up to {FRESH_MINUTES} minutes too long."
    )
    is_stale: bool = Field(description=f"Whether the entry was computed more than {FRESH_MINUTES} minutes ago.")
    reanalysis_offered: bool = Field(
        description="Whether one of `analyzers` is not the present analyzer and version. `POST "
        "tools/{tool}/reanalyze` then brings all mentions of the figure to one version."
    )
    links: dict[str, str] = Field(description="Paths: the aggregate itself, its evidence, its history, its tool.")
    generation: Count | None = internal(
        "How often all entries of the tool had been invalidated when this one was computed: by a reanalysis, a "
        "backfill, a merge, a changed source priority, the deletion of an article, or `DELETE "
        "tools/{tool}/cache`. An entry of another generation than the tool's present one is never served."
    )
    recounts: Count | None = internal(
        "How often the tool's mentions had been recounted when this entry was computed. A recount follows every "
        "change of a mention: if the tool's number is higher now, the entry does not contain the latest changes."
    )

    @classmethod
    def of(
        cls,
        entry: SentimentCacheEntry,
        tool: str,
        view: View = "default",
        *,
        is_stale: bool,
        reanalysis_offered: bool,
        **completeness: Any,
    ) -> Self:
        """`tool` is the name of the tool; `completeness` has pending_articles, failed_articles and complete."""
        own = path("tools", entry.tool_id)
        period = f"?period={entry.period}"
        return cls.made(
            entry,
            view,
            id=entry.id,
            tool=tool,
            is_stale=is_stale,
            reanalysis_offered=reanalysis_offered,
            **completeness,
            links=links(
                self=f"{own}/sentiment{period}",
                evidence=f"{own}/sentiment/evidence{period}",
                history=f"{own}/history",
                tool=own,
            ),
        )
