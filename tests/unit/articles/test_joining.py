"""By which rule a source is in an article."""

from __future__ import annotations

from typing import get_args

import pytest

from models.article import ArticleDocument, JoinRule
from services.articles.merge import JOINED_BY_FIELDS, join_rule
from tests.unit.articles.builders import article_after, attempt, candidate, match, source

WEAK = "Weekly notes"


def article() -> ArticleDocument:
    return article_after(attempt(), candidate(1))


def test_every_rule_says_what_was_in_common() -> None:
    assert set(JOINED_BY_FIELDS) == set(get_args(JoinRule))


@pytest.mark.parametrize(
    ("fields", "matched", "rule"),
    [
        ({}, {}, "headline_and_day"),
        ({"headline": WEAK}, {}, "url_in_key"),
        ({"headline": "Another headline of theirs"}, {"claimed_by": "a"}, "url"),
        ({}, {"claimed_by": "a"}, "url"),
        ({}, {"claimed_by": "b"}, "headline_and_day"),
        ({"headline": "Another headline of theirs"}, {"source_id": "dedup:" + "0" * 32}, "own_id"),
        ({"article_id": None}, {"source_id": "dedup:" + "0" * 32}, "url"),
    ],
)
def test_the_rule_follows_from_the_match(fields, matched, rule) -> None:  # type: ignore[no-untyped-def]
    entry = candidate(1, of=source("b"), **fields)
    found = match(entry)._replace(**matched)
    assert join_rule(found, article(), "b") == rule
    assert join_rule(found, None, "b") == "first"
