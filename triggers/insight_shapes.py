"""What the endpoints of http_insights.py answer with, by the names of the contract."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from triggers import shapes
from triggers.declared import Schema

TIME: Schema = {"type": "string", "format": "date-time"}
COUNT: Schema = {"type": "integer", "minimum": 0}
MAYBE_NUMBER: Schema = {"type": ["number", "null"]}
MAYBE_COUNT: Schema = {"type": ["integer", "null"], "minimum": 0}
TEXT: Schema = {"type": "string"}
MAYBE_TEXT: Schema = {"type": ["string", "null"]}
COUNTS: Mapping[str, Schema] = dict.fromkeys(
    ("total_mentions", "positive_count", "negative_count", "neutral_count", "unscored_mentions"), COUNT
)


def _many(of: Schema) -> Schema:
    return {"type": "array", "items": of}


def _object(title: str, **fields: Schema) -> dict[str, Any]:
    return {"title": title, "type": "object", "properties": fields, "required": list(fields)}


def _maybe(shape: Schema) -> Schema:
    return {"anyOf": [shape, {"type": "null"}]}


COMPLETENESS: Mapping[str, Schema] = {
    "pending_articles": MAYBE_COUNT,
    "failed_articles": MAYBE_COUNT,
    "complete": {"type": "boolean"},
}
_COMPARED = _object(
    "Compared", present=MAYBE_NUMBER, previous=MAYBE_NUMBER, absolute=MAYBE_NUMBER, relative=MAYBE_NUMBER
)
_CHANGE = _object(
    "ChangeOfTrend", previous_from=TIME, previous_to=TIME, total_mentions=_COMPARED, average_sentiment=_COMPARED
)
_STEPS = _object(
    "StepsOfTrend",
    **{"from": TIME},
    step_seconds=COUNT,
    mentions=_many(COUNT),
    average_sentiment=_many(MAYBE_NUMBER),
)
TREND: Schema = _object(
    "Trend",
    tool=TEXT,
    aliases=_many(TEXT),
    tickers=_many(TEXT),
    tool_id=TEXT,
    period=TEXT,
    period_start_ts=COUNT,
    period_end_ts=COUNT,
    last_updated_ts=COUNT,
    **COUNTS,
    average_sentiment={"type": "number"},
    confidence_interval={"type": ["array", "null"], "items": {"type": "number"}},
    effective_sample_size=MAYBE_NUMBER,
    stories=MAYBE_COUNT,
    publishers=MAYBE_COUNT,
    largest_publisher=MAYBE_TEXT,
    largest_publisher_share=MAYBE_NUMBER,
    verdict=MAYBE_TEXT,
    verdict_text=MAYBE_TEXT,
    coverage=MAYBE_NUMBER,
    is_stale={"type": "boolean"},
    **COMPLETENESS,
    change=_maybe(_CHANGE),
    trend=_STEPS,
)
_TALLY = _object("MentionsOfTime", **COUNTS, average_sentiment={"type": "number"})
_PART: Mapping[str, Schema] = {
    "mentions": COUNT,
    "unscored_mentions": COUNT,
    "share": MAYBE_NUMBER,
    "positive_count": COUNT,
    "negative_count": COUNT,
    "neutral_count": COUNT,
    "average_sentiment": MAYBE_NUMBER,
    "entered": COUNT,
    "left": COUNT,
    "effect": MAYBE_NUMBER,
}
_NAME = _object("NameFound", name=TEXT, kind=TEXT, mentions=COUNT, in_headline=COUNT, in_text=COUNT, in_tags=COUNT)
_RESCORED = _object(
    "Rescored",
    source_id=TEXT,
    headline=MAYBE_TEXT,
    verdict=MAYBE_TEXT,
    before=MAYBE_TEXT,
    after=MAYBE_TEXT,
    effect=MAYBE_NUMBER,
)
MOVEMENT: Schema = _object(
    "Movement",
    tool_id=TEXT,
    tool=TEXT,
    **{"from": TIME},
    to=TIME,
    previous_from=TIME,
    previous_to=TIME,
    present=_TALLY,
    previous=_TALLY,
    difference=MAYBE_NUMBER,
    entered=COUNT,
    left=COUNT,
    stories=_many(_object("StoryMoved", event_id=MAYBE_TEXT, headline=MAYBE_TEXT, **_PART)),
    publishers=_many(_object("PublisherMoved", publisher=TEXT, **_PART)),
    sources=_many(_object("SourceMoved", source=TEXT, source_name=MAYBE_TEXT, **_PART)),
    names=_many(_NAME),
    rescored=_many(_RESCORED),
    languages=_many(_object("LanguageOfArticles", language=TEXT, articles=COUNT)),
    languages_of=COUNT,
    **COMPLETENESS,
)
_SPAN = _many(COUNT)
_WORD = _object("DecidingWord", start=COUNT, end=COUNT, word=TEXT, effect={"type": "number"})
_PASSAGE = _object(
    "Passage",
    text=TEXT,
    where={"type": "string", "enum": ["HEADLINE", "TEXT"]},
    weight={"type": "number"},
    sentiment=MAYBE_TEXT,
    score=MAYBE_NUMBER,
    polarity=MAYBE_NUMBER,
    names=_many(_SPAN),
    other_names=_many(_SPAN),
    deciding_words=_many(_WORD),
)
MENTION_ALONE: Mapping[str, Any] = {
    **_object("MentionByPassages", scored_text=TEXT, judged_by=MAYBE_TEXT, passages=_many(_PASSAGE), tool=TEXT),
}
MENTION_ALONE["properties"]["mention"] = shapes.MENTION
MENTION_ALONE["required"].append("mention")
