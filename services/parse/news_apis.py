"""The news APIs, one entry each: the name, the parameters of a request, and how a response is read. Sends nothing.

To add an API, write a module with `query` and `collect`, as tiingo.py and finnhub.py have, and add an entry to
NEWS_APIS. The settings <NAME>_TOKEN and <NAME>_BASE_URL, the API's feed and its requests follow from the entry.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, date, datetime
from typing import Any
from urllib.parse import urlencode

from models.raw_item import ParsedDocument
from services.parse import finnhub, tiingo
from services.parse.collected import Collected, Unreadable, normalized_tickers
from services.parse.json_documents import load_json

_LONGEST_QUOTE = 200


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
        query=tiingo.query,
        collect=tiingo.collect,
    ),
    NewsApi(
        name="finnhub",
        title="Finnhub",
        base_url="https://finnhub.io/api/v1",
        path="/company-news",
        auth_header="X-Finnhub-Token",
        auth_format="{}",
        tickers_per_request=1,
        query=finnhub.query,
        collect=finnhub.collect,
    ),
)
