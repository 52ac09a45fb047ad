"""News APIs as feeds: what they are in the registry, what is asked of them, and their answers taken together. Pure."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime, timedelta

from models.feed import Feed
from models.raw_item import ParsedDocument, RawItem
from services.fetch.outcome import FetchRequest, FetchResult, FetchStatus, HeaderCredential
from services.parse import finnhub, tiingo
from services.parse.news_api import ApiRequest, within
from services.settings import Settings

FIRST_WINDOW = timedelta(days=7)
OVERLAP = timedelta(days=1)
OLDEST = timedelta(days=3 * 366)
"""APIs may ignore the window that they were asked for. What is older than this is an archive, and no news."""

Requests = Callable[[Sequence[str], datetime, datetime, str, str], list[ApiRequest]]


@dataclass(frozen=True, slots=True)
class NewsApi:
    """One API that is switched on."""

    name: str
    title: str
    feed_url: str
    requests: Requests
    parse: Callable[[bytes], ParsedDocument]
    token: str
    base_url: str
    tickers: tuple[str, ...]

    def feed(self, now: datetime) -> Feed:
        return Feed(
            created_at=now,
            updated_at=now,
            feed_id=self.name,
            kind="tiingo" if self.name == tiingo.NAME else "finnhub",
            feed_url=self.feed_url,
            source_name=self.title,
            next_fetch_time=now,
        )

    def asked(self, feed: Feed, now: datetime) -> list[FetchRequest]:
        """The requests for what is new since the last time; none without tickers."""
        since = feed.last_successful_fetch or now - FIRST_WINDOW
        wanted = self.requests(self.tickers, since - OVERLAP, now, self.token, self.base_url)
        return [_request(each) for each in wanted]


def news_apis(settings: Settings) -> Mapping[str, NewsApi]:
    """Those that have a token."""
    tickers = settings.api_tickers
    apis = (
        NewsApi(
            tiingo.NAME,
            "Tiingo",
            f"{settings.tiingo_base_url.rstrip('/')}/tiingo/news",
            tiingo.requests,
            tiingo.parse,
            settings.tiingo_token,
            settings.tiingo_base_url,
            tickers,
        ),
        NewsApi(
            finnhub.NAME,
            "Finnhub",
            f"{settings.finnhub_base_url.rstrip('/')}/company-news",
            finnhub.requests,
            finnhub.parse,
            settings.finnhub_token,
            settings.finnhub_base_url,
            tickers,
        ),
    )
    return {api.name: api for api in apis if api.token}


def nothing_asked(feed: Feed) -> FetchResult:
    """The result without tickers: there was nothing to ask for, so nothing has changed."""
    return FetchResult(FetchStatus.UNCHANGED, feed.feed_url, body_hash=feed.body_hash)


def is_refused_alone(result: FetchResult) -> bool:
    """Whether the API minds this request only, as one about a symbol that the plan does not cover."""
    return result.status_code in (400, 403, 404, 422)


def together(feed: Feed, results: Sequence[FetchResult]) -> FetchResult:
    """One result of several: the first that failed, else a success with the sum of their bodies as its hash.

    Requests that were refused alone count as failed only if there was no other.
    """
    duration_ms = sum(each.duration_ms for each in results)
    results = [each for each in results if not is_refused_alone(each)] or results
    for each in results:
        if not each.ok:
            return replace(each, duration_ms=duration_ms, body=None)
    hashes = "|".join(sorted(each.body_hash or "" for each in results))
    body_hash = hashlib.sha256(hashes.encode()).hexdigest()
    status = FetchStatus.UNCHANGED if body_hash == feed.body_hash else FetchStatus.FETCHED
    return replace(
        results[0],
        status=status,
        body=None,
        body_hash=body_hash,
        duration_ms=duration_ms,
        etag=None,
        last_modified=None,
        moved_to=None,
    )


def merged(documents: Sequence[ParsedDocument], results: Sequence[FetchResult], now: datetime) -> ParsedDocument:
    """All items that are news, each once: an article about two tickers is in both answers."""
    items: dict[tuple[str | None, str], RawItem] = {}
    for item in (each for document in documents for each in document.items):
        known = items.setdefault((item.article_id, item.url), item)
        if known.tickers != item.tickers:
            # Each answer may name no more than the ticker that was asked about.
            both = tuple(dict.fromkeys((*known.tickers, *item.tickers)))
            items[item.article_id, item.url] = known._replace(tickers=both)
    warnings: dict[str, int] = {}
    skipped: dict[str, int] = {}
    for document in documents:
        for total, counts in ((warnings, document.warnings), (skipped, document.skipped)):
            for name, count in counts.items():
                total[name] = total.get(name, 0) + count
    if refused := sum(is_refused_alone(each) for each in results):
        warnings["request_refused"] = refused
    kept = within(items.values(), now - OLDEST, now + OVERLAP)
    if len(kept) < len(items):
        skipped["out_of_window"] = len(items) - len(kept)
    return replace(documents[0], items=kept, warnings=warnings, skipped=skipped)


def _request(asked: ApiRequest) -> FetchRequest:
    """The token goes as the credential, so that it never leaves the API's own origin."""
    ((name, value),) = [(name, value) for name, value in asked.headers.items() if name != "Accept"]
    return FetchRequest(asked.url, credential=HeaderCredential(name, value), accept=asked.headers["Accept"])
