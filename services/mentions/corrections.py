"""What follows from the verdicts of people: for a mention, and for the figures of a tool's precision. Pure.
models/correction.py says which verdict counts; reading and writing corrections is in correction_documents.py.

A verdict `not_this_tool` holds for the article, whatever becomes of its text. A verdict on the sentiment is about
words: it holds while the article has the revision that was judged, or says the same about the tool, in the same
headline and sentences. Else it is outdated: not applied, and applied again if the words come back.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable, Mapping
from datetime import datetime
from typing import Any

from models.correction import Correction, JudgedPassage, VersionedJudgement
from models.mention import SentimentScore
from models.stored import WordsJudgement
from models.tool import Reviews, Tool
from models.values import Sentiment
from services.mentions.scoring import Questions

MAX_JUDGED_CHARACTERS = 8000
"""Of the passages that a correction keeps."""

POLARITY: Mapping[Sentiment, float] = {"positive": 1.0, "negative": -1.0, "neutral": 0.0}
"""Of a sentiment that a person gave; its score is 1."""

_JUDGEMENT_FIELDS = tuple(WordsJudgement.model_fields)


# What a verdict means for its mention.


def removes(correction: Correction | None) -> bool:
    """Whether the article does not mention the tool, though it names it."""
    return correction is not None and correction.is_active and correction.verdict == "not_this_tool"


def with_verdict(
    own: Mapping[str, Any], correction: Correction | None, revision: str | None, passages: Iterable[JudgedPassage]
) -> dict[str, Any]:
    """`own`, the fields that the analyzer gives a mention, after the correction. `revision` and `passages` are what the
    article says now."""
    if correction is None or not holds(correction, revision, passages):
        return {**own, "verdict": None, "corrected": None, "analyzer_judgement": None}
    return _applied(own, correction)


def holds(correction: Correction, revision: str | None, passages: Iterable[JudgedPassage]) -> bool:
    if not correction.is_active:
        return False
    return correction.revision == revision or correction.passages_hash == passages_hash(passages)


def _applied(own: Mapping[str, Any], correction: Correction) -> dict[str, Any]:
    """A confirmed sentiment stays as the analyzer gives it while the analyzer gives it: to confirm a mention changes no
    figure."""
    label = correction.label
    if label is None or (correction.verdict == "right" and own["sentiment"] == label):
        return {**own, "verdict": correction.verdict, "corrected": None, "analyzer_judgement": None}
    return {
        **own,
        "sentiment": label,
        "score": 1.0,
        "polarity": POLARITY[label],
        "unscored_reason": None,
        "verdict": correction.verdict,
        "corrected": True,
        "analyzer_judgement": WordsJudgement(**{name: own[name] for name in _JUDGEMENT_FIELDS}),
    }


# What is judged.


def judged_passages(questions: Questions, tool_id: str) -> tuple[JudgedPassage, ...]:
    """What an article says about the tool: the passages that count for its score."""
    found = []
    for weighed in questions.tools.get(tool_id, ()):
        passage = questions.passages[weighed.passage]
        others = {span for other, spans in passage.names.items() if other != tool_id for span in spans}
        names = tuple((span.start, span.end) for span in passage.names.get(tool_id, ()))
        found.append(
            JudgedPassage(
                text=passage.text,
                names=names,
                other_names=tuple(sorted((span.start, span.end) for span in others)),
            )
        )
    return tuple(found)


def passages_hash(passages: Iterable[JudgedPassage]) -> str:
    texts = [each.text.split() for each in passages]
    return hashlib.sha256(json.dumps(texts).encode()).hexdigest()[:32]


def kept_passages(passages: Iterable[JudgedPassage]) -> tuple[JudgedPassage, ...]:
    """The first passages, as many as a correction keeps."""
    kept, left = [], MAX_JUDGED_CHARACTERS
    for each in passages:
        left -= len(each.text)
        if left < 0:
            break
        kept.append(each)
    return tuple(kept)


def said_of(mention: SentimentScore) -> VersionedJudgement:
    """What the analyzer said of the mention, also if a person has corrected it."""
    own = mention.analyzer_judgement or mention
    fields = {name: getattr(own, name) for name in _JUDGEMENT_FIELDS}
    return VersionedJudgement(**fields, analyzer=mention.analyzer, analyzer_version=mention.analyzer_version)


# What follows for the tool.


def review(correction: Correction | None) -> tuple[str, Reviews] | None:
    """The analyzer and version that a verdict says something of, and what it counts for. None without a verdict on a
    mention."""
    if correction is None or correction.said is None or correction.subject != "MENTION" or not correction.is_active:
        return None
    said = correction.said
    is_about = correction.verdict != "not_this_tool"
    is_scored = is_about and said.sentiment is not None and correction.label is not None
    counts = Reviews(
        reviewed=1,
        about_tool=int(is_about),
        scored=int(is_scored),
        sentiment_right=int(is_scored and said.sentiment == correction.label),
    )
    return f"{said.analyzer}/{said.analyzer_version}", counts


def with_reviews(tool: Tool, changes: Iterable[tuple[Correction | None, Correction | None]], now: datetime) -> Tool:
    """The tool after its corrections changed from the first of each pair to the second. None: there is none."""
    reviews, count = dict(tool.reviews), tool.corrections
    for before, after in changes:
        count += any(each is not None and each.subject == "MENTION" for each in (before, after))
        for sign, found in ((-1, review(before)), (1, review(after))):
            if found is not None:
                version, counts = found
                reviews[version] = reviews.get(version, Reviews()).plus(counts, sign)
    kept = {version: each for version, each in reviews.items() if each.reviewed}
    return tool.changed(now, corrections=count, reviews=kept)
