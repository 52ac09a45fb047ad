"""Tiingo's news (https://www.tiingo.com/documentation/news): requests for some tickers, and an answer's articles."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime

from models.raw_item import ParsedDocument
from services.parse.collected import Collected, as_html
from services.parse.dates import first_date
from services.parse.news_api import ApiRequest, days, get, load_articles, text_of, texts_of, tickers_of

NAME = "tiingo"
BASE_URL = "https://api.tiingo.com"
MAX_TICKERS = 50
"""In one request, so that its URL stays short."""
PAGE = 100


def requests(
    tickers: Sequence[str], since: datetime, until: datetime, token: str, base_url: str = BASE_URL
) -> list[ApiRequest]:
    """What to ask for the articles about `tickers` in a window. None for no tickers: that would ask for everything."""
    first, last = days(since, until)
    wanted = [ticker.lower() for ticker in tickers_of(tickers)]
    return [
        get(
            base_url,
            "/tiingo/news",
            {
                "tickers": ",".join(wanted[start : start + MAX_TICKERS]),
                "startDate": first.isoformat(),
                "endDate": last.isoformat(),
                "limit": str(PAGE),
                "sortBy": "publishedDate",
            },
            {"Authorization": f"Token {token}", "Accept": "application/json"},
        )
        for start in range(0, len(wanted), MAX_TICKERS)
    ]


def parse(body: bytes) -> ParsedDocument:
    """The articles of one answer. Raises Unreadable for an error or whatever is no list of articles."""
    collected = Collected()
    for article in load_articles(body, "Tiingo", collected.warnings):
        if not isinstance(article, dict):
            collected.skipped["not_an_entry"] += 1
            continue
        dates = (text_of(article, "publishedDate"), text_of(article, "crawlDate"))
        collected.add(
            title=text_of(article, "title"),
            title_is_html=False,
            link=text_of(article, "url"),
            article_id=text_of(article, "id"),
            published=first_date(*dates),
            dates=dates,
            summary=as_html(text_of(article, "description"), is_html=False),
            tags=texts_of(article, "tags"),
            publisher=text_of(article, "source"),
            tickers=tickers_of(texts_of(article, "tickers")),
        )
    items = collected.finished()
    return ParsedDocument(NAME, items, "Tiingo", warnings=dict(collected.warnings), skipped=dict(collected.skipped))
