"""For which articles a feed asks for the page."""

from typing import Any

import pytest

from models.feed import FullTextChoice
from services.articles.identity import Source, SourceAttempt
from services.articles.merge import Merged
from services.articles.writing import Asked, asked_for, asks
from tests.documents import NOW, article


@pytest.mark.parametrize(
    ("choice", "length", "expected"),
    [
        ("never", 0, False),
        ("short", 0, True),
        ("short", 599, True),
        ("short", 600, False),
        ("always", 0, True),
        ("always", 4000, True),
    ],
)
def test_a_feed_asks_as_it_is_told(choice: FullTextChoice, length: int, expected: bool) -> None:
    assert asks(choice, "x" * length) is expected


STORED = article().to_document()
READING = STORED["canonical"]


def asked(choice: FullTextChoice, *merged: Merged, source: str = READING["source"]) -> list[Asked]:
    return asked_for(merged, SourceAttempt(Source(source, "News", 1, None, choice), "run-1", 1, NOW))


def merged(before: Any = None, after: Any = None) -> Merged:
    return Merged(before, after, None, (), False, None)


WANTED = [
    Asked(STORED["source_id"], READING["source"], READING["url"], READING["revision"], STORED["ttl_timestamp"]),
]


def test_an_article_that_stays_as_it_is_is_asked_for_too() -> None:
    assert asked("always", merged(before=STORED)) == WANTED


def test_the_article_after_the_attempt_counts() -> None:
    long = {**STORED, "text_for_analysis": "x" * 600}
    assert asked("short", merged(before=STORED, after=long)) == []
    assert [each.source_id for each in asked("short", merged(before=long, after={**STORED, "text_for_analysis": None}))]


def test_no_article_a_deleted_one_and_that_of_another_source_are_not_asked_for() -> None:
    deleted = {**STORED, "deleted_at": "2026-02-21T20:00:00Z"}
    assert asked("always", merged(), merged(after=deleted)) == []
    assert asked("always", merged(), merged(after=STORED)) == WANTED
    assert asked("always", merged(after=STORED), source="another") == []
    assert asked("always") == []
