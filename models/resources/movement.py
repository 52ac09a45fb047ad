"""Trends, what moved a figure, and a mention passage by passage, as the API shows them."""

from __future__ import annotations

from typing import Literal

from pydantic import Field

from models.cache import FRESH_MINUTES, SentimentCacheEntry
from models.resources.articles import MentionResource
from models.resources.base import Resource, Shape
from models.resources.figures import ComparedFigure, Completeness, Counts
from models.values import Count, Time


class ChangeOfTrend(Shape):
    """Compares a trend with the same length before it."""

    previous_from: Time = Field(description="Where the time before begins, a whole hour.")
    previous_to: Time = Field(description="Where it ends.")
    total_mentions: ComparedFigure = Field(description="One figure of two times, and how they differ.")
    average_sentiment: ComparedFigure = Field(description="One figure of two times, and how they differ.")


class StepsOfTrend(Shape):
    """24 steps of an hour, 14 of twelve hours, or 30 of a day; the last ends with the present hour."""

    from_: Time = Field(description="Where the first step begins.", alias="from")
    step_seconds: Count = Field(description="How long a step is.")
    mentions: tuple[Count, ...] = Field(description="Scored mentions of each step, oldest first.")
    average_sentiment: tuple[float | None, ...] = Field(
        description="Their mean polarity; null for a step without scored mentions."
    )


class Trend(Counts[Count], Completeness, Resource):
    """The figures of a tool with their course."""

    DOCUMENTS = (SentimentCacheEntry,)
    ONLY = (
        *("tool_id", "period", "period_start_ts", "period_end_ts", "last_updated_ts"),
        *("total_mentions", "positive_count", "negative_count", "neutral_count", "unscored_mentions"),
        *("average_sentiment", "confidence_interval", "effective_sample_size", "stories", "publishers"),
        *("largest_publisher", "largest_publisher_share", "verdict", "verdict_text", "coverage"),
    )

    tool: str = Field(description="The name of the tool.")
    aliases: tuple[str, ...] = Field(description="Its other names.")
    tickers: tuple[str, ...] = Field(description="Its tickers.")
    period: str = Field(description="`HOUR_24`, `DAY_7` or `DAY_30`.")
    is_stale: bool = Field(description=f"Whether the figures were computed more than {FRESH_MINUTES} minutes ago.")
    change: ChangeOfTrend | None = Field(
        description="Compares the time with the same length before it. Null for `DAY_30` until the app has run for 60"
        " days, and for a time without mentions that was not searched for the tool."
    )
    trend: StepsOfTrend = Field(
        description="24 steps of an hour, 14 of twelve hours, or 30 of a day; the last ends with the present hour."
    )


class MentionsOfTime(Counts[Count]):
    """The mentions of one of the two times."""

    average_sentiment: float = Field(
        description="Mean `polarity` of the scored mentions, -1 to 1, four decimals; 0 without any."
    )


class PartOfMovement(Shape):
    """The share of a story, publisher or source in a movement."""

    mentions: Count = Field(description="Scored mentions in the present time.")
    unscored_mentions: Count = Field(description="Mentions in the present time that could not be scored.")
    share: float | None = Field(description="Its share of the scored mentions, 0 to 1.")
    positive_count: Count = Field(description="The positive ones in the present time.")
    negative_count: Count = Field(description="The negative ones in the present time.")
    neutral_count: Count = Field(description="The neutral ones in the present time.")
    average_sentiment: float | None = Field(description="Their mean polarity; null without scored mentions.")
    entered: Count = Field(description="Scored mentions in the present time only.")
    left: Count = Field(description="Scored mentions in the previous time only.")
    effect: float | None = Field(
        description="What its mentions changed in the average. An entering mention moves the average by its distance "
        "from the previous one, divided by the number of present mentions; a leaving one moves it back. "
        "The effects of all stories add up to `difference`, and so do those of all publishers."
    )


class StoryMoved(PartOfMovement):
    """A story in a movement."""

    event_id: str | None = Field(description="The story; null for an article without one.")
    headline: str | None = Field(description="Its headline.")


class PublisherMoved(PartOfMovement):
    """A publisher in a movement."""

    publisher: str = Field(description="The publisher.")


class SourceMoved(PartOfMovement):
    """A feed in a movement."""

    source: str = Field(description="The feed.")
    source_name: str | None = Field(description="Its name; null if the feed was deleted.")


class NameFound(Shape):
    """A name that made articles count."""

    name: str = Field(description="The name as it is written.")
    kind: str = Field(description="`NAME`, `ALIAS`, `KEYWORD`, `TICKER` or `SOURCE_TAG`.")
    mentions: Count = Field(description="How many mentions it made count.")
    in_headline: Count = Field(description="How often it was found in headlines.")
    in_text: Count = Field(description="How often it was found in texts.")
    in_tags: Count = Field(description="How often it was found in tags.")


class Rescored(Shape):
    """A mention whose sentiment is that of a person."""

    source_id: str = Field(description="The article.")
    headline: str | None = Field(description="Its headline.")
    verdict: str | None = Field(description="What the person said.")
    before: str | None = Field(description="The sentiment that the analyzer gave; null if it gave none.")
    after: str | None = Field(description="The sentiment that counts.")
    effect: float | None = Field(description="What the verdict changed in the average.")


class LanguageOfArticles(Shape):
    """How many articles are in a language."""

    language: str = Field(description="The language; `und` if it is unknown.")
    articles: Count = Field(description="How many articles are in it.")


class Movement(Completeness):
    """What a figure is made of, and what moved it."""

    tool_id: str = Field(description="The tool.")
    tool: str = Field(description="Its name.")
    from_: Time = Field(description="Where the present time begins.", alias="from")
    to: Time = Field(description="Where it ends; it is not in it.")
    previous_from: Time = Field(description="Where the previous time begins.")
    previous_to: Time = Field(description="Where it ends.")
    present: MentionsOfTime = Field(description="The mentions of one of the two times.")
    previous: MentionsOfTime = Field(description="The mentions of one of the two times.")
    difference: float | None = Field(
        description="The present average less the previous one; null if one of them has no scored mention."
    )
    entered: Count = Field(description="Scored mentions in the present time only.")
    left: Count = Field(description="Scored mentions in the previous time only.")
    stories: tuple[StoryMoved, ...] = Field(description="The 50 stories that moved the figure most.")
    publishers: tuple[PublisherMoved, ...] = Field(description="The 50 publishers with the most mentions.")
    sources: tuple[SourceMoved, ...] = Field(description="The 50 sources with the most mentions.")
    names: tuple[NameFound, ...] = Field(description="The names that made the articles count.")
    rescored: tuple[Rescored, ...] = Field(description="Mentions whose sentiment is that of a person.")
    languages: tuple[LanguageOfArticles, ...] = Field(description="The languages of the latest 200 articles.")
    languages_of: Count = Field(description="How many articles were looked at for this.")


class DecidingWord(Shape):
    """A word that decides a sentiment."""

    start: Count = Field(description="Where the word begins in `text`, in characters.")
    end: Count = Field(description="Where it ends.")
    word: str = Field(description="The word.")
    effect: float = Field(
        description="With 1, the word doubles the odds of positive to negative; with -1, it halves them."
    )


class Passage(Shape):
    """A passage that counts for a mention."""

    text: str = Field(description="The prose of the passage.")
    where: Literal["HEADLINE", "TEXT"] = Field(description="The part of the article that has it.")
    weight: float = Field(description="Its share in the mention's score.")
    sentiment: str | None = Field(
        description="What the analyzer says of the tool in this passage; null without `judged_by`."
    )
    score: float | None = Field(description="Confidence in `sentiment`, 0 to 1.")
    polarity: float | None = Field(description="-1 (negative) to 1 (positive).")
    names: tuple[tuple[Count, ...], ...] = Field(description="Start and end of each name of the tool in `text`.")
    other_names: tuple[tuple[Count, ...], ...] = Field(
        description="Start and end of each name of another tool in `text`."
    )
    deciding_words: tuple[DecidingWord, ...] = Field(
        description="The words without which the analyzer would be less sure, or say something else, at most 6."
    )


class MentionByPassages(Shape):
    """A mention, passage by passage."""

    scored_text: str = Field(description="Which text was scored, as in the article: `feed` or `document`.")
    judged_by: str | None = Field(
        description="The present analyzer: null if it cannot be asked here (Azure AI Language), or does not know the "
        "language."
    )
    passages: tuple[Passage, ...] = Field(description="The headline and the sentences that count.")
    tool: str = Field(description="The name of the tool.")
    mention: MentionResource = Field(description="The mention.")
