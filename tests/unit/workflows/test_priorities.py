"""What a changed source priority changes in a stored article."""

from __future__ import annotations

from typing import Any

import pytest

from models.article import ArticleDocument
from models.errors import UnreadableDocument
from services.workflows.priorities import with_present_priority
from tests.documents import NOW, article, attribution

NOW_TEXT = "2026-02-21T21:00:00Z"
SOURCES = {
    "tiingo": attribution(source_priority=5, published_at=NOW, scraped_at=NOW, revision="r1"),
    "finnhub": attribution(source_priority=7, published_at=NOW, scraped_at=NOW, revision="r2"),
}


def stored(**changes: Any) -> ArticleDocument:
    fields = {"sources": ("tiingo", "finnhub"), "source_attribution": SOURCES, **changes}
    return article(**fields).to_document()


def test_the_source_with_the_lowest_number_gives_the_reading() -> None:
    after = with_present_priority(stored(), "finnhub", 4, NOW_TEXT)
    assert after["source_attribution"]["finnhub"]["source_priority"] == 4
    assert (after["canonical"]["source"], after["canonical"]["revision"]) == ("finnhub", "r2")
    assert with_present_priority(stored(), "finnhub", 6, NOW_TEXT)["canonical"]["source"] == "tiingo"


def test_an_article_that_has_the_priority_or_is_deleted_stays_as_it_is() -> None:
    present, deleted = stored(), stored(deleted_at=NOW)
    assert with_present_priority(present, "finnhub", 7, NOW_TEXT) is present
    assert with_present_priority(deleted, "finnhub", 4, NOW_TEXT) is deleted


def test_an_article_that_cannot_be_read_is_not_changed() -> None:
    with pytest.raises(UnreadableDocument):
        with_present_priority({**stored(), "status": "odd"}, "finnhub", 4, NOW_TEXT)
    with pytest.raises(KeyError):
        with_present_priority(stored(), "another", 4, NOW_TEXT)
