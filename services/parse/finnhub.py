"""Finnhub's company news: https://finnhub.io/docs/api/company-news.

The response for an unknown symbol is an empty list, as for a symbol without news. Neither is an error.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import date
from typing import Any

from services.parse.collected import Collected, as_html
from services.parse.dates import from_unix_seconds
from services.parse.json_documents import text_of


def query(tickers: Sequence[str], first: date, last: date) -> Mapping[str, str]:
    return {"symbol": ",".join(tickers), "from": first.isoformat(), "to": last.isoformat()}


def collect(article: Mapping[str, Any], collected: Collected) -> None:
    article_id = text_of(article, "id")
    collected.add(
        title=text_of(article, "headline"),
        title_is_html=False,
        link=text_of(article, "url"),
        article_id="" if article_id == "0" else article_id,
        published=from_unix_seconds(article.get("datetime")),
        dates=[str(article.get("datetime") or "")],
        summary=as_html(text_of(article, "summary"), is_html=False),
        tags=[text_of(article, "category")],
        publisher=text_of(article, "source"),
        tickers=text_of(article, "related").split(","),
    )
