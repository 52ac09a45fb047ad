"""News APIs as feeds: their documents in the registry, the requests to send, and their responses merged. Pure.

services/parse/news_apis.py defines the parameters and the response format of each API.
"""

from __future__ import annotations

import hashlib
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime, timedelta

from models.feed import Feed
from models.raw_item import ParsedDocument, RawItem
from services.feeds.verdicts import judged
from services.fetch.outcome import FetchRequest, FetchResult, FetchStatus, HeaderCredential
from services.parse.news_apis import NEWS_APIS, NewsApi
from services.settings import Settings

FIRST_WINDOW = timedelta(days=7)
OVERLAP = timedelta(days=1)
OLDEST = timedelta(days=3 * 366)
"""APIs may ignore the window of a request. Older articles are from an archive, and are skipped."""


@dataclass(frozen=True, slots=True)
class EnabledApi:
    """A news API that has a token."""

    api: NewsApi
    token: str = field(repr=False)
    base_url: str
    tickers: tuple[str, ...]

    def feed(self, now: datetime) -> Feed:
        made = Feed(
            created_at=now,
            feed_id=self.api.name,
            kind=self.api.name,
            feed_url=self.api.feed_url(self.base_url),
            source_name=self.api.title,
            next_fetch_time=now,
        )
        return judged(made)

    def requests(self, feed: Feed, now: datetime) -> list[FetchRequest]:
        """The requests for articles since the last successful poll; none without tickers."""
        since = (feed.last_successful_fetch or now - FIRST_WINDOW) - OVERLAP
        # As a credential, the token never leaves the API's own origin.
        credential = HeaderCredential(self.api.auth_header, self.api.auth_format.format(self.token))
        return [
            FetchRequest(url, credential=credential, accept="application/json")
            for url in self.api.request_urls(self.tickers, since, now, self.base_url)
        ]


def enabled_apis(settings: Settings, apis: Iterable[NewsApi] = NEWS_APIS) -> Mapping[str, EnabledApi]:
    """Those of `apis` that have a token, by name."""
    found = {}
    for api in apis:
        access = settings.news_apis.get(api.name)
        if access is not None and access.token:
            found[api.name] = EnabledApi(api, access.token, access.base_url or api.base_url, settings.api_tickers)
    return found


def without_requests(feed: Feed) -> FetchResult:
    """The result of a poll without tickers: no request is sent, and nothing has changed."""
    return FetchResult(FetchStatus.UNCHANGED, feed.feed_url, body_hash=feed.body_hash)


def is_refused_alone(result: FetchResult) -> bool:
    """Whether the API refuses this request only, for example about a symbol that the plan does not cover."""
    return result.status_code in (400, 403, 404, 422)


def combined_result(feed: Feed, results: Sequence[FetchResult]) -> FetchResult:
    """One result of several: the first that failed, else a success whose body hash is made of all body hashes.

    A request that was refused alone counts as failed only if all requests were.
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


def combined_document(
    documents: Sequence[ParsedDocument], results: Sequence[FetchResult], now: datetime
) -> ParsedDocument:
    """All recent items, each once: an article about two tickers is in both responses."""
    items: dict[tuple[str | None, str], RawItem] = {}
    for item in (each for document in documents for each in document.items):
        known = items.setdefault((item.article_id, item.url), item)
        if known.tickers != item.tickers:
            # A response may name only the ticker of its request.
            both = tuple(dict.fromkeys((*known.tickers, *item.tickers)))
            items[item.article_id, item.url] = known._replace(tickers=both)
    warnings: Counter[str] = Counter()
    skipped: Counter[str] = Counter()
    for document in documents:
        warnings.update(document.warnings)
        skipped.update(document.skipped)
    if refused := sum(is_refused_alone(each) for each in results):
        warnings["request_refused"] = refused
    kept = tuple(
        item for item in items.values() if item.published is None or now - OLDEST <= item.published <= now + OVERLAP
    )
    if len(kept) < len(items):
        skipped["out_of_window"] = len(items) - len(kept)
    return replace(documents[0], items=kept, warnings=dict(warnings), skipped=dict(skipped))
