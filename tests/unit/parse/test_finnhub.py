"""What Finnhub is asked, and what an article of its response is read as."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any

from models.raw_item import RawItem
from services.parse.collected import Collected
from services.parse.news_apis import finnhub_collect

ARTICLE = {
    "id": 7,
    "headline": "A <thing> B",
    "url": "https://x.example/1",
    "summary": "a < b",
    "datetime": 1771668000,
    "source": "X",
    "category": "company",
    "related": "AAPL,msft",
}


def collected(**changes: Any) -> RawItem:
    found = Collected()
    finnhub_collect({**ARTICLE, **changes}, found)
    (item,) = found.items()
    return item


def test_an_article_of_finnhub_has_plain_texts() -> None:
    item = collected()
    assert (item.article_id, item.url, item.headline, item.summary_html) == (
        "7",
        "https://x.example/1",
        "A <thing> B",
        "a &lt; b",
    )
    assert (item.tags, item.tickers, item.publisher) == (("company",), ("AAPL", "MSFT"), "X")
    assert (item.published, item.date_text) == (datetime(2026, 2, 21, 10, tzinfo=UTC), "1771668000")


def test_the_id_0_identifies_nothing_and_the_date_0_is_none() -> None:
    item = collected(id=0, datetime=0)
    assert (item.article_id, item.date_text) == (None, "")
