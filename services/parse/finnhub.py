"""Finnhub's company news (https://finnhub.io/docs/api/company-news): a request for each symbol, and the articles.

An unknown symbol is answered with an empty list, as one without news is: neither is an error.
"""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime

from models.raw_item import ParsedDocument
from services.parse.collected import Collected, as_html
from services.parse.news_api import ApiRequest, days, get, load_articles, moment_of, text_of, tickers_of

NAME = "finnhub"
BASE_URL = "https://finnhub.io/api/v1"


def requests(
    tickers: Sequence[str], since: datetime, until: datetime, token: str, base_url: str = BASE_URL
) -> list[ApiRequest]:
    """What to ask for the articles about `tickers` in a window: the API takes one symbol at a time."""
    first, last = days(since, until)
    return [
        get(
            base_url,
            "/company-news",
            {"symbol": ticker, "from": first.isoformat(), "to": last.isoformat()},
            {"X-Finnhub-Token": token, "Accept": "application/json"},
        )
        for ticker in tickers_of(tickers)
    ]


def parse(body: bytes) -> ParsedDocument:
    """The articles of one answer. Raises Unreadable for an error or whatever is no list of articles."""
    collected = Collected()
    for article in load_articles(body, "Finnhub", collected.warnings):
        if not isinstance(article, dict):
            collected.skipped["not_an_entry"] += 1
            continue
        category = text_of(article, "category")
        article_id = text_of(article, "id")
        collected.add(
            title=text_of(article, "headline"),
            title_is_html=False,
            link=text_of(article, "url"),
            article_id="" if article_id == "0" else article_id,
            published=moment_of(article.get("datetime")),
            dates=[str(article.get("datetime") or "")],
            summary=as_html(text_of(article, "summary"), is_html=False),
            tags=[category] if category else [],
            publisher=text_of(article, "source"),
            tickers=tickers_of(text_of(article, "related").split(",")),
        )
    items = collected.finished()
    return ParsedDocument(NAME, items, "Finnhub", warnings=dict(collected.warnings), skipped=dict(collected.skipped))
