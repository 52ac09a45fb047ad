"""What the fields of an article must be together, and what a new article has."""

from __future__ import annotations

from tests.documents import article


def test_an_analyzed_article_in_a_language_that_cannot_be_judged_has_neither() -> None:
    unscored = article(status="analyzed", unscored_reason="LANGUAGE")
    assert (unscored.is_scored, unscored.sentiment, unscored.score, unscored.polarity) == (False, None, None, None)


def test_an_article_without_a_headline_has_its_url_in_the_key() -> None:
    assert article(normalized_headline="", url_in_key=True).url_in_key


def test_a_new_article_waits_for_its_first_analysis() -> None:
    new = article()
    assert (new.status, new.analysis_attempts, new.sentiment) == ("pending", 0, None)
