"""Tiingo's news: https://www.tiingo.com/documentation/news."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import date
from typing import Any

from services.parse.collected import Collected, as_html
from services.parse.dates import first_date
from services.parse.json_documents import text_of, texts_of

PAGE = 100


def query(tickers: Sequence[str], first: date, last: date) -> Mapping[str, str]:
    return {
        "tickers": ",".join(tickers).lower(),
        "startDate": first.isoformat(),
        "endDate": last.isoformat(),
        "limit": str(PAGE),
        "sortBy": "publishedDate",
    }


def collect(article: Mapping[str, Any], collected: Collected) -> None:
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
        tickers=texts_of(article, "tickers"),
    )
