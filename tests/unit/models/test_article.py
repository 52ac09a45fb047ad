"""What the fields of an article must be together, and what a new article has."""

from __future__ import annotations

from typing import Any

import pytest

from tests.documents import article


@pytest.mark.parametrize(
    ("changes", "problem"),
    [
        ({"status": "analyzed", "sentiment": "positive"}, "a sentiment must have a score"),
        ({"status": "analyzed", "score": 0.5}, "score and polarity must be null without a sentiment"),
        ({"status": "analyzed"}, "an analyzed article must have a sentiment, or an unscored_reason"),
        ({"normalized_headline": ""}, "normalized_headline must not be empty"),
        ({"sources": ()}, "at least 1 item"),
        ({"source_attribution": {}}, "must name each source"),
    ],
)
def test_an_article_with_impossible_fields_is_refused(changes: dict[str, Any], problem: str) -> None:
    fields: dict[str, Any] = {"status": "pending", "sentiment": None, "score": None}
    with pytest.raises(ValueError, match=problem):
        article(**{**fields, **changes})


def test_an_analyzed_article_has_a_sentiment_and_a_score() -> None:
    assert article(status="analyzed", sentiment="positive", score=0.5).sentiment == "positive"


def test_an_analyzed_article_in_a_language_that_cannot_be_judged_has_neither() -> None:
    unscored = article(status="analyzed", unscored_reason="LANGUAGE")
    assert (unscored.is_scored, unscored.sentiment, unscored.score, unscored.polarity) == (False, None, None, None)


def test_an_article_without_a_headline_has_its_url_in_the_key() -> None:
    assert article(normalized_headline="", url_in_key=True).url_in_key


def test_a_new_article_waits_for_its_first_analysis() -> None:
    new = article()
    assert (new.status, new.analysis_attempts, new.sentiment) == ("pending", 0, None)
