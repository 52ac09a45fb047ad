"""A mention or an article is scored or unscored, and its label agrees with its polarity."""

from __future__ import annotations

from typing import Any

import pytest

from models.scored import ScoredDocument
from tests import documents

UNSCORED: dict[str, Any] = {"sentiment": None, "score": None, "polarity": None, "unscored_reason": "LANGUAGE"}


@pytest.mark.parametrize(
    ("sentiment", "polarity"),
    [("positive", 0.0001), ("positive", 1.0), ("negative", -0.0001), ("negative", -1.0), ("neutral", 0.0)],
)
def test_a_label_with_a_polarity_that_agrees_is_taken(sentiment: str, polarity: float) -> None:
    for document in (documents.mention, documents.article):
        scored: ScoredDocument = document(sentiment=sentiment, polarity=polarity, score=0.5)
        assert (scored.is_scored, scored.polarity) == (True, polarity)


@pytest.mark.parametrize(
    ("sentiment", "polarity"),
    [("positive", 0.0), ("positive", -0.1), ("negative", 0.0), ("negative", 0.1), ("neutral", 0.1), ("neutral", -0.1)],
)
def test_a_label_that_its_polarity_contradicts_is_refused(sentiment: str, polarity: float) -> None:
    for document in (documents.mention, documents.article):
        with pytest.raises(ValueError, match="polarity must be above 0 for positive, below 0 for negative, 0 for neu"):
            document(sentiment=sentiment, polarity=polarity, score=0.5)


@pytest.mark.parametrize(
    "changes", [{"score": 0.5}, {"polarity": 0.0}, {"sentiment": "neutral", "score": 0.5, "polarity": 0.0}]
)
def test_an_unscored_document_has_no_sentiment_score_or_polarity(changes: dict[str, Any]) -> None:
    for document in (documents.mention, documents.article):
        assert not document(**UNSCORED).is_scored
        with pytest.raises(ValueError, match="must be null"):
            document(**{**UNSCORED, **changes})


def test_a_mention_is_scored_or_says_why_not() -> None:
    for changes in ({**UNSCORED, "unscored_reason": None}, {"sentiment": "neutral", "score": 0.5, "polarity": None}):
        with pytest.raises(ValueError, match="a sentiment with its polarity, or an unscored_reason"):
            documents.mention(**changes)
    with pytest.raises(ValueError, match="LANGUAGE"):
        documents.mention(**{**UNSCORED, "unscored_reason": "TIRED"})
