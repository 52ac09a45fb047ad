"""What Tiingo is asked, and what an article of its response is read as."""

from __future__ import annotations

from datetime import UTC, datetime

from services.parse.collected import Collected
from services.parse.news_apis import tiingo_collect

ARTICLE = {
    "id": 7,
    "title": "A &amp; B",
    "url": "https://x.example/1",
    "description": "a < b",
    "publishedDate": "2026-02-21T10:00:00Z",
    "crawlDate": "2026-02-21T11:00:00Z",
    "source": "x.example",
    "tags": ["News"],
    "tickers": ["aapl"],
}


def test_an_article_of_tiingo_has_plain_texts() -> None:
    collected = Collected()
    tiingo_collect(ARTICLE, collected)
    (item,) = collected.items()
    assert (item.article_id, item.url, item.headline, item.summary_html) == (
        "7",
        "https://x.example/1",
        "A & B",
        "a &lt; b",
    )
    assert (item.tags, item.tickers, item.publisher) == (("News",), ("AAPL",), "x.example")
    assert item.published == datetime(2026, 2, 21, 10, tzinfo=UTC)
    assert item.date_text == "2026-02-21T10:00:00Z"


def test_an_article_without_a_date_of_publication_has_that_of_its_discovery() -> None:
    collected = Collected()
    tiingo_collect({**ARTICLE, "publishedDate": None, "title": "A <thing> B"}, collected)
    (item,) = collected.items()
    assert (item.published, item.headline) == (datetime(2026, 2, 21, 11, tzinfo=UTC), "A <thing> B")
