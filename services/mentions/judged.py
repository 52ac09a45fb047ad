"""The fields of a judgement, as mentions and articles have them. Pure."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from models.article import Article
from models.mention import SentimentScore
from models.scored import WordsJudgement
from services.mentions.analyzers.port import NotJudged
from services.mentions.scoring import Score, Unscored

Version = tuple[str, str]
"""The analyzer's name and version."""


def judged_fields(score: Score, analyzer: Version) -> dict[str, Any]:
    """The fields that mentions and articles have in common."""
    assert not isinstance(score, NotJudged), "an article that cannot be judged has failed before"
    name, version = analyzer
    fields: dict[str, Any] = {"analyzer": name, "analyzer_version": version}
    if isinstance(score, Unscored):
        return {**fields, "sentiment": None, "score": None, "polarity": None, "unscored_reason": score.reason}
    return {
        **fields,
        "sentiment": score.sentiment,
        "score": score.score,
        "polarity": score.polarity,
        "unscored_reason": None,
    }


def has_fields(document: Article | SentimentScore, fields: Mapping[str, Any]) -> bool:
    return all(getattr(document, name) == value for name, value in fields.items())


def words_judgement(fields: Mapping[str, Any]) -> WordsJudgement:
    return WordsJudgement(**{name: fields[name] for name in WordsJudgement.model_fields})
