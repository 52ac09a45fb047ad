"""Figures of a tool as the API shows them: of a window, by hour and day, of a close, and their evidence."""

from __future__ import annotations

from typing import Annotated, Any, Generic, Literal, Self, TypeVar

from pydantic import Field

from models.cache import FRESH_MINUTES, SentimentCacheEntry
from models.resources.base import Shape, Stored, View, added, links, path
from models.values import Count, Time

Number = TypeVar("Number")


class Completeness(Shape):
    """Whether figures count every article that is ingested."""

    pending_articles: Count | None = Field(
        description="Articles that are ingested and not analysed, or were edited since. The number is that of the "
        "whole app: before an article is analysed, nobody can know which tools it names. Null if it could not be "
        "counted within a second."
    )
    failed_articles: Count | None = Field(
        description="Articles of the whole app whose analysis was given up (`status` is `error`). An article whose "
        "edit could not be analysed keeps the figures of the version before, and is not counted. Null as above."
    )
    complete: bool = Field(
        description="Whether the figures count every article that is ingested. False if `pending_articles` or "
        "`failed_articles` is not 0, or if mentions were added, changed or removed that the figures do not count yet. "
        "It is as of the request; on Cosmos DB, one that is true is as of a moment at most two seconds and "
        "`CACHE_MEMORY_SECONDS` ago."
    )


class Counts(Shape, Generic[Number]):
    """Numbers of mentions."""

    total_mentions: Number = Field(
        description="Number of scored mentions. An article counts once for a tool, however many sources published it."
    )
    positive_count: Number = Field(description="The positive ones. The three counts add up to `total_mentions`.")
    negative_count: Number = Field(description="The negative ones.")
    neutral_count: Number = Field(description="The neutral ones.")
    unscored_mentions: Number = Field(
        description="Number of mentions that could not be scored, such as those in a language that the analyzer cannot "
        "judge. No other figure contains them."
    )


class Figures(Counts[Count | None]):
    """The figures of a time. Null: not known."""

    average_sentiment: float | None = Field(
        description="Mean `polarity` of the scored mentions, -1 to 1, four decimals."
    )
    analyzers: tuple[str, ...] | None = added("The analyzers that judged the mentions, with their versions.")
    coverage: float | None = added(
        "Of the fetches that were expected, the share that succeeded, as in an aggregate. Null for hours and days "
        "over 32 days ago, unless the daily close has kept it."
    )
    stories: int | None = added("How many stories the scored mentions are of.")
    publishers: int | None = added("How many publishers they are of.")
    ungrouped_mentions: int | None = added("How many of them have no story yet.")
    largest_publisher: str | None = added("The publisher with the most of them.")
    largest_publisher_share: float | None = added("Its share, 0 to 1.")
    largest_source: str | None = added("The source with the most of them.")
    largest_source_share: float | None = added("Its share, 0 to 1.")
    average_sentiment_by_story: float | None = added("The mean of the stories' means.")
    effective_sample_size: float | None = added("As many independent mentions say as much.")
    confidence_interval: tuple[float, ...] | None = added(
        "The 95 % confidence interval of `average_sentiment`: lowest and highest value."
    )
    verdict: str | None = added("Whether the average can be relied on: `OK`, or why not.")
    verdict_text: str | None = added("The same in words.")


DayState = Annotated[
    Literal["live", "frozen", "closed", "unknown"],
    added(
        "`live`: a day of the last 32, whose figures follow late articles, analyses and corrections. `frozen`: an "
        "earlier day, with its last figures. `closed`: an earlier day with the figures of its close. `unknown`: the "
        "app has kept nothing of that day; all figures are null."
    ),
]


class Point(Figures):
    """The figures of a day or an hour. With `layer=raw`, those of one source, without what is counted from stories.
    Null: not known."""

    day: str = added("With `step=day`: the UTC day.")
    hour: Time = added("With `step=hour`: when the hour begins.")
    source: str = added("With `layer=raw`: the source.")
    state: DayState


class TotalOfHistory(Figures):
    """The figures of the whole time, with the fields of a point."""


class ComparedFigure(Shape):
    """One figure of two times, and how they differ. Null: not known."""

    present: float | None = Field(description="Of the time that was asked for.")
    previous: float | None = Field(description="Of the same length before it.")
    absolute: float | None = Field(description="The difference.")
    relative: float | None = Field(
        description="The difference as a share of `previous`; null for an average, and if `previous` is 0."
    )


class ChangeOfHistory(Counts[ComparedFigure]):
    """Compares a time with the same length before it, in whole steps."""

    from_: Time = Field(alias="from", description="Where the time begins.")
    to: Time = Field(description="Where it ends.")
    previous_from: Time = Field(description="Where the time before begins.")
    previous_to: Time = Field(description="Where it ends.")
    average_sentiment: ComparedFigure = Field(description="The averages.")
    stories: ComparedFigure = Field(description="The numbers of stories.")
    publishers: ComparedFigure = Field(description="The numbers of publishers.")


class SpanFacts(Completeness):
    """The time of a history."""

    step: Literal["hour", "day"] = Field(description="How long a point is.")
    from_: Time = Field(description="Where the history begins.", alias="from")
    to: Time = Field(description="Where it ends.")


class WindowFacts(Shape):
    """The figures of the whole time of a history."""

    total: TotalOfHistory | None = Field(
        description="The figures of the whole time. A story that goes over midnight counts once; so does a publisher."
        " Null if an unknown day is in it."
    )
    change: ChangeOfHistory | None = Field(
        description="Compares the time with the same length before it. A step that is not over is compared with the "
        "same part of the earlier one. Null if nothing can be compared."
    )
    reanalysis_offered: bool = Field(
        description="Whether another analyzer or version than the present one judged some mentions."
    )


class HistoryFacts(SpanFacts, WindowFacts):
    """The other fields of a list of points."""


class HistoryOfTool(WindowFacts):
    """The history of one tool."""

    tool_id: str = Field(description="The tool.")
    tool: str = Field(description="Its name.")
    points: tuple[Point, ...] = Field(description="Oldest first.")


class Close(Shape):
    """The figures of a day as they were six hours after its end. It never changes, so a report can cite it."""

    id: str = Field(description="Its id, for a citation.")
    tool_id: str = Field(description="The tool.")
    day: str = Field(description="The UTC day.")
    closed_at: Time = Field(description="When it was closed.")
    figures: Figures = Field(description="The fields of a point.")
    sha256: str = Field(
        description="The hash of the other five as JSON in UTF-8, with sorted keys and without spaces: "
        '`json.dumps(…, sort_keys=True, separators=(",", ":"), ensure_ascii=False)` in Python.'
    )


class PresentFigures(Figures):
    """The fields of a point as they are now."""

    state: DayState
    frozen_at: Time | None = added("When it was frozen; null before.")


class ClosedDay(Shape):
    """The close of a day beside its present figures."""

    tool_id: str = Field(description="The tool. Named by its id, a tool that was merged shows its own closes.")
    tool: str = Field(description="Its name.")
    merged_into: str | None = Field(description="The tool that it was merged into.")
    day: str = Field(description="The UTC day.")
    closed: Close | None = Field(description="Null if the day is not closed yet, or the tool had no mentions then.")
    present: PresentFigures = Field(description="The fields of a point as they are now.")
    differing: tuple[str, ...] = Field(description="The names of the figures in which `closed` and `present` differ.")


class EvidenceFacts(Completeness):
    """The window that mentions are the evidence of."""

    period_start_ts: int = Field(description="Where the window of the pages begins, in Unix seconds.")
    period_end_ts: int = Field(description="Where it ends. All pages keep the window of the first one.")
    figures_updated_ts: int | None = Field(
        description="`last_updated_ts` of the aggregate of this window; null if the aggregate has a later window by "
        "now."
    )
    changed_since: bool = Field(
        description="Whether any mention of the tool was added, changed or removed after the aggregate was computed. "
        "If false, evidence and aggregate agree."
    )


class AggregateResource(Counts[Count], Completeness, Stored):
    """The sentiment of one tool over one period."""

    DOCUMENTS = (SentimentCacheEntry,)

    id: str = Field(description="`tool_id` and `period`.")
    tool: str = Field(description="The tool's name.")
    is_stale: bool = Field(description=f"Whether the entry was computed more than {FRESH_MINUTES} minutes ago.")
    reanalysis_offered: bool = Field(
        description="Whether one of `analyzers` is not the present analyzer and version. `POST "
        "tools/{tool}/reanalyze` then brings all mentions of the figure to one version."
    )
    links: dict[str, str] = Field(description="Paths: the aggregate itself, its evidence, its history, its tool.")

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
