"""The news APIs, one entry each: the name, the parameters of a request, and how a response is read. Sends nothing.

To add an API, write two functions, as Tiingo and Finnhub have, and add an entry to NEWS_APIS. The settings
<NAME>_TOKEN and <NAME>_BASE_URL, the API's feed and its requests follow from the entry.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, date, datetime
from typing import Any
from urllib.parse import urlencode

from models.raw_item import ParsedDocument
from services.parse.collected import Collected, Unreadable, as_html, normalized_tickers
from services.parse.dates import first_date, from_unix_seconds
from services.parse.json_documents import load_json, text_of, texts_of

_LONGEST_QUOTE = 200
TIINGO_PAGE = 100


@dataclass(frozen=True, slots=True)
class NewsApi:
    """One API. Its `name` is also the id and the kind of its feed; the limits of a request are part of its entry."""

    name: str
    title: str
    base_url: str
    path: str
    auth_header: str
    auth_format: str
    """The value of `auth_header`, with {} for the token. The URL has no token, since URLs are logged."""
    tickers_per_request: int
    query: Callable[[Sequence[str], date, date], Mapping[str, str]]
    """The query parameters for these tickers, from the first to the last UTC day."""
    collect: Callable[[Mapping[str, Any], Collected], None]
    """Adds one article of a response."""

    def feed_url(self, base_url: str) -> str:
        return f"{base_url.rstrip('/')}{self.path}"

    def request_urls(self, tickers: Sequence[str], since: datetime, until: datetime, base_url: str) -> list[str]:
        """The URLs that request the articles about the tickers in a window; none without tickers, since a request
        without them would return all articles."""
        first, last = since.astimezone(UTC).date(), max(since, until).astimezone(UTC).date()
        wanted = normalized_tickers(tickers)
        return [
            f"{self.feed_url(base_url)}?{urlencode(self.query(wanted[start : start + step], first, last))}"
            for step in (self.tickers_per_request,)
            for start in range(0, len(wanted), step)
        ]

    def parse(self, body: bytes) -> ParsedDocument:
        """The articles of one response. Raises Unreadable for any JSON but a list: "refused", with the API's message,
        for an error, "not_json" otherwise."""
        collected = Collected()
        collected.version = self.name
        document = load_json(body, collected.warnings)
        if isinstance(document, dict):
            words = next((text for name in _ERROR_FIELDS if isinstance(text := document.get(name), str)), "")
            quote = " ".join(words.split())[:_LONGEST_QUOTE] or "no articles"
            raise Unreadable("refused", f"{self.title} answered: {quote}")
        if not isinstance(document, list):
            raise Unreadable("not_json", f"the response of {self.title} has neither articles nor an error")
        for article in document:
            if isinstance(article, dict):
                self.collect(article, collected)
            else:
                collected.skipped["not_an_entry"] += 1
        return collected.document(self.title)


def tiingo_query(tickers: Sequence[str], first: date, last: date) -> Mapping[str, str]:
    """As of https://www.tiingo.com/documentation/news."""
    return {
        "tickers": ",".join(tickers).lower(),
        "startDate": first.isoformat(),
        "endDate": last.isoformat(),
        "limit": str(TIINGO_PAGE),
        "sortBy": "publishedDate",
    }


def tiingo_collect(article: Mapping[str, Any], collected: Collected) -> None:
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


def finnhub_query(tickers: Sequence[str], first: date, last: date) -> Mapping[str, str]:
    """As of https://finnhub.io/docs/api/company-news. The response for an unknown symbol is an empty list, as for a
    symbol without news. Neither is an error."""
    return {"symbol": ",".join(tickers), "from": first.isoformat(), "to": last.isoformat()}


def finnhub_collect(article: Mapping[str, Any], collected: Collected) -> None:
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


_ERROR_FIELDS = ("error", "detail", "message")

NEWS_APIS = (
    NewsApi(
        name="tiingo",
        title="Tiingo",
        base_url="https://api.tiingo.com",
        path="/tiingo/news",
        auth_header="Authorization",
        auth_format="Token {}",
        tickers_per_request=50,  # so that the URL stays short
        query=tiingo_query,
        collect=tiingo_collect,
    ),
    NewsApi(
        name="finnhub",
        title="Finnhub",
        base_url="https://finnhub.io/api/v1",
        path="/company-news",
        auth_header="X-Finnhub-Token",
        auth_format="{}",
        tickers_per_request=1,
        query=finnhub_query,
        collect=finnhub_collect,
    ),
)
