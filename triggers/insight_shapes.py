"""What the endpoints of http_insights.py answer with, by the names of the contract."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from triggers import shapes
from triggers.declared import Schema
from triggers.schemas import an_object

TIME: Schema = {"type": "string", "format": "date-time"}
COUNT: Schema = {"type": "integer", "minimum": 0}
MAYBE_NUMBER: Schema = {"type": ["number", "null"]}
MAYBE_COUNT: Schema = {"type": ["integer", "null"], "minimum": 0}
TEXT: Schema = {"type": "string"}
MAYBE_TEXT: Schema = {"type": ["string", "null"]}


def _said(schema: Schema, about: str) -> Schema:
    return {**schema, "description": about}


def _many(of: Schema, about: str) -> Schema:
    return {"type": "array", "items": of, "description": about}


def _object(title: str, **fields: Schema) -> dict[str, Any]:
    return an_object(title, fields)


def _maybe(shape: Schema, about: str) -> Schema:
    return {"anyOf": [shape, {"type": "null"}], "description": about}


COUNTS: Mapping[str, Schema] = {
    "total_mentions": _said(COUNT, "Number of scored mentions."),
    "positive_count": _said(COUNT, "The positive ones."),
    "negative_count": _said(COUNT, "The negative ones."),
    "neutral_count": _said(COUNT, "The neutral ones."),
    "unscored_mentions": _said(COUNT, "Number of mentions that could not be scored."),
}
AVERAGE: Schema = {
    "type": "number",
    "description": "Mean `polarity` of the scored mentions, -1 to 1, four decimals; 0 without any.",
}
COMPLETENESS: Mapping[str, Schema] = {
    "pending_articles": _said(
        MAYBE_COUNT,
        "Articles of the whole app that are ingested and not analysed, or were edited since. Null if they could not "
        "be counted within a second.",
    ),
    "failed_articles": _said(MAYBE_COUNT, "Articles of the whole app whose analysis was given up. Null as above."),
    "complete": {"type": "boolean", "description": "Whether the figures count every article that is ingested."},
}
_COMPARED = {
    **_object(
        "Compared",
        present=_said(MAYBE_NUMBER, "Of the present time."),
        previous=_said(MAYBE_NUMBER, "Of the same length before it."),
        absolute=_said(MAYBE_NUMBER, "The difference."),
        relative=_said(
            MAYBE_NUMBER, "The difference as a share of `previous`; null for an average, and if `previous` is 0."
        ),
    ),
    "description": "One figure of two times, and how they differ.",
}
_CHANGE = _object(
    "ChangeOfTrend",
    previous_from=_said(TIME, "Where the time before begins, a whole hour."),
    previous_to=_said(TIME, "Where it ends."),
    total_mentions=_COMPARED,
    average_sentiment=_COMPARED,
)
_STEPS = {
    **_object(
        "StepsOfTrend",
        **{"from": _said(TIME, "Where the first step begins.")},
        step_seconds=_said(COUNT, "How long a step is."),
        mentions=_many(COUNT, "Scored mentions of each step, oldest first."),
        average_sentiment=_many(MAYBE_NUMBER, "Their mean polarity; null for a step without scored mentions."),
    ),
    "description": "24 steps of an hour, 14 of twelve hours, or 30 of a day; the last ends with the present hour.",
}
TREND: Schema = _object(
    "Trend",
    tool=_said(TEXT, "The name of the tool."),
    aliases=_many(TEXT, "Its other names."),
    tickers=_many(TEXT, "Its tickers."),
    tool_id=_said(TEXT, "The tool."),
    period=_said(TEXT, "`HOUR_24`, `DAY_7` or `DAY_30`."),
    period_start_ts=_said(COUNT, "Where the window begins, in Unix seconds."),
    period_end_ts=_said(COUNT, "Where it ends; it counts mentions that were published before."),
    last_updated_ts=_said(COUNT, "When the figures were computed, in Unix seconds."),
    **COUNTS,
    average_sentiment=AVERAGE,
    confidence_interval={
        "type": ["array", "null"],
        "items": {"type": "number"},
        "description": "The 95 % confidence interval of `average_sentiment`: lowest and highest value. Null with fewer "
        "than two stories, or if all stories have the same mean.",
    },
    effective_sample_size=_said(
        MAYBE_NUMBER, "As many independent mentions say as much, since mentions of one story depend on each other."
    ),
    stories=_said(MAYBE_COUNT, "How many stories the scored mentions are of."),
    publishers=_said(MAYBE_COUNT, "How many publishers they are of."),
    largest_publisher=_said(MAYBE_TEXT, "The publisher with the most of them."),
    largest_publisher_share=_said(MAYBE_NUMBER, "Its share of them, 0 to 1."),
    verdict=_said(MAYBE_TEXT, "Whether the average can be relied on: `OK`, or why not, as in an aggregate."),
    verdict_text=_said(MAYBE_TEXT, "The verdict in words."),
    coverage=_said(MAYBE_NUMBER, "Of the fetches that were expected, the share that succeeded, as in an aggregate."),
    is_stale={"type": "boolean", "description": "Whether the figures were computed more than 30 minutes ago."},
    **COMPLETENESS,
    change=_maybe(
        _CHANGE,
        "Compares the time with the same length before it. Null for `DAY_30` until the app has "
        "run for 60 days, and for a time without mentions that was "
        "not searched for the tool.",
    ),
    trend=_STEPS,
)
_TALLY = {
    **_object("MentionsOfTime", **COUNTS, average_sentiment=AVERAGE),
    "description": "The mentions of one of the two times.",
}
_PART: Mapping[str, Schema] = {
    "mentions": _said(COUNT, "Scored mentions in the present time."),
    "unscored_mentions": _said(COUNT, "Mentions in the present time that could not be scored."),
    "share": _said(MAYBE_NUMBER, "Its share of the scored mentions, 0 to 1."),
    "positive_count": _said(COUNT, "The positive ones in the present time."),
    "negative_count": _said(COUNT, "The negative ones in the present time."),
    "neutral_count": _said(COUNT, "The neutral ones in the present time."),
    "average_sentiment": _said(MAYBE_NUMBER, "Their mean polarity; null without scored mentions."),
    "entered": _said(COUNT, "Scored mentions in the present time only."),
    "left": _said(COUNT, "Scored mentions in the previous time only."),
    "effect": _said(
        MAYBE_NUMBER,
        "What its mentions changed in the average. An entering mention moves the average by its distance from the "
        "previous one, divided by the number of present mentions; a leaving one moves it back. The effects of all "
        "stories add up to `difference`, and so do those of all publishers.",
    ),
}
_NAME = _object(
    "NameFound",
    name=_said(TEXT, "The name as it is written."),
    kind=_said(TEXT, "`NAME`, `ALIAS`, `KEYWORD`, `TICKER` or `SOURCE_TAG`."),
    mentions=_said(COUNT, "How many mentions it made count."),
    in_headline=_said(COUNT, "How often it was found in headlines."),
    in_text=_said(COUNT, "How often it was found in texts."),
    in_tags=_said(COUNT, "How often it was found in tags."),
)
_RESCORED = _object(
    "Rescored",
    source_id=_said(TEXT, "The article."),
    headline=_said(MAYBE_TEXT, "Its headline."),
    verdict=_said(MAYBE_TEXT, "What the person said."),
    before=_said(MAYBE_TEXT, "The sentiment that the analyzer gave; null if it gave none."),
    after=_said(MAYBE_TEXT, "The sentiment that counts."),
    effect=_said(MAYBE_NUMBER, "What the verdict changed in the average."),
)
_LANGUAGE = _object(
    "LanguageOfArticles",
    language=_said(TEXT, "The language; `und` if it is unknown."),
    articles=_said(COUNT, "How many articles are in it."),
)
MOVEMENT: Schema = _object(
    "Movement",
    tool_id=_said(TEXT, "The tool."),
    tool=_said(TEXT, "Its name."),
    **{"from": _said(TIME, "Where the present time begins.")},
    to=_said(TIME, "Where it ends; it is not in it."),
    previous_from=_said(TIME, "Where the previous time begins."),
    previous_to=_said(TIME, "Where it ends."),
    present=_TALLY,
    previous=_TALLY,
    difference=_said(
        MAYBE_NUMBER, "The present average less the previous one; null if one of them has no scored mention."
    ),
    entered=_said(COUNT, "Scored mentions in the present time only."),
    left=_said(COUNT, "Scored mentions in the previous time only."),
    stories=_many(
        _object(
            "StoryMoved",
            event_id=_said(MAYBE_TEXT, "The story; null for an article without one."),
            headline=_said(MAYBE_TEXT, "Its headline."),
            **_PART,
        ),
        "The 50 stories that moved the figure most.",
    ),
    publishers=_many(
        _object("PublisherMoved", publisher=_said(TEXT, "The publisher."), **_PART),
        "The 50 publishers with the most mentions.",
    ),
    sources=_many(
        _object(
            "SourceMoved",
            source=_said(TEXT, "The feed."),
            source_name=_said(MAYBE_TEXT, "Its name; null if the feed was deleted."),
            **_PART,
        ),
        "The 50 sources with the most mentions.",
    ),
    names=_many(_NAME, "The names that made the articles count."),
    rescored=_many(_RESCORED, "Mentions whose sentiment is that of a person."),
    languages=_many(_LANGUAGE, "The languages of the latest 200 articles."),
    languages_of=_said(COUNT, "How many articles were looked at for this."),
    **COMPLETENESS,
)
_SPAN = {"type": "array", "items": COUNT}
_WORD = _object(
    "DecidingWord",
    start=_said(COUNT, "Where the word begins in `text`, in characters."),
    end=_said(COUNT, "Where it ends."),
    word=_said(TEXT, "The word."),
    effect={
        "type": "number",
        "description": "With 1, the word doubles the odds of positive to negative; with -1, it halves them.",
    },
)
_PASSAGE = _object(
    "Passage",
    text=_said(TEXT, "The prose of the passage."),
    where={"type": "string", "enum": ["HEADLINE", "TEXT"], "description": "The part of the article that has it."},
    weight={"type": "number", "description": "Its share in the mention's score."},
    sentiment=_said(MAYBE_TEXT, "What the analyzer says of the tool in this passage; null without `judged_by`."),
    score=_said(MAYBE_NUMBER, "Confidence in `sentiment`, 0 to 1."),
    polarity=_said(MAYBE_NUMBER, "-1 (negative) to 1 (positive)."),
    names=_many(_SPAN, "Start and end of each name of the tool in `text`."),
    other_names=_many(_SPAN, "Start and end of each name of another tool in `text`."),
    deciding_words=_many(
        _WORD, "The words without which the analyzer would be less sure, or say something else, at most 6."
    ),
)
MENTION_ALONE: Mapping[str, Any] = {
    **_object(
        "MentionByPassages",
        scored_text=_said(TEXT, "Which text was scored, as in the article: `feed` or `document`."),
        judged_by=_said(
            MAYBE_TEXT,
            "The present analyzer: null if it cannot be asked here (Azure AI Language), or does not know the language.",
        ),
        passages=_many(_PASSAGE, "The headline and the sentences that count."),
        tool=_said(TEXT, "The name of the tool."),
    ),
}
MENTION_ALONE["properties"]["mention"] = shapes.MENTION
MENTION_ALONE["required"].append("mention")
