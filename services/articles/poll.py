"""Polls a source: one conditional fetch, and the parsed document; the preview of a feed is such a poll.

Every outcome that can be foreseen is a `PollResult`; an exception is a bug. Stores nothing, and decides nothing about
articles or schedules.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable, Iterable, Mapping, Sequence
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass, field, replace
from datetime import datetime
from typing import Any, Protocol

from models.errors import InvalidInput
from models.feed import Feed
from models.raw_item import ParsedDocument
from models.resources.feeds import FeedPreview, PreviewedEntry
from services import deadline
from services.feeds.form import new_feed
from services.feeds.news_apis import EnabledApi, combined_document, combined_result, is_refused_alone, without_requests
from services.feeds.outcome import PollResult, failure_of
from services.fetch.addresses import checked_url, same_origin
from services.fetch.limits import BodyBudget, ParsingBudget
from services.fetch.outcome import Credential, FetchRequest, FetchResult, FetchStatus
from services.fetch.response import blocked, challenge_in_page
from services.parse.collected import Unreadable
from services.parse.feed import linked_feed, parse

CHECKED_EVERY = 24
"""One fetch of a feed in so many is unconditional: validators may be wrong, and only the body shows it."""

ERRORS_OF_MOVED = 3
"""After so many errors in a row, a feed that has moved is tried at its own URL, too."""

_DUPLICATE = "duplicate"

POSTPONED_SECONDS = 60.0
"""After so long, a feed that was postponed is due again."""

IN_THREAD_BYTES = 150_000
"""A larger body may take more than two milliseconds to parse, or a hundred if feedparser must parse it. A thread lets
other feeds go on."""


SAMPLES = 5
LONGEST_HEADLINE = 500
_UNNAMED = "a feed"


class Fetches(Protocol):
    """The part of the fetcher that polling needs."""

    async def fetch(self, request: FetchRequest) -> FetchResult:
        """A failure is a result, not an exception."""
        ...


@dataclass
class FeedPoller:
    """Polls feeds and news APIs.

    `credentials` reads the setting of a private feed; InvalidInput if the setting is missing or malformed.

    `watched` gives the tickers to request from news APIs besides those of the settings, `registered` the id of the
    feed that is registered at a URL. A body counts in the body budget from its first byte and in the parsing budget
    from its last, until its feed is ingested. A feed in the parsing budget never waits for the body budget: otherwise
    feeds could wait for each other.
    """

    fetcher: Fetches
    apis: Mapping[str, EnabledApi]
    credentials: Callable[[str], Credential]
    watched: Callable[[], Awaitable[Sequence[str]]]
    registered: Callable[[str], Awaitable[str | None]]
    _parsing: ParsingBudget = field(default_factory=ParsingBudget, init=False)
    _bodies: BodyBudget = field(default_factory=BodyBudget, init=False)
    _checking_moves: asyncio.Lock = field(default_factory=asyncio.Lock, init=False)

    @asynccontextmanager
    async def polled(self, feed: Feed, now: datetime) -> AsyncIterator[PollResult]:
        """The result of a poll. Its body counts in the budgets until the context ends."""
        async with AsyncExitStack() as budgets:
            yield await (self._poll_api(feed, now) if feed.is_of_news_api else self._poll_feed(feed, budgets))

    async def preview(self, fields: Mapping[str, Any], now: datetime) -> FeedPreview:
        """Raises InvalidInput for a URL or credential that cannot be registered. A URL without a feed is a result."""
        feed = new_feed({**fields, "source_name": _UNNAMED}, now)
        async with self.polled(feed, now) as polled:
            failure = failure_of(polled)
            found = {} if polled.document is None else found_in(polled.document, now)
            fetched = polled.result.url
        return FeedPreview(
            url=feed.feed_url,
            fetched_url=fetched,
            is_feed=failure is None and polled.document is not None,
            is_page=polled.found_at is not None,
            feed_id=await self.registered(feed.feed_url) or await self.registered(fetched),
            error_type=failure.kind if failure else None,
            error=failure.error if failure else None,
            status_code=polled.result.status_code,
            duration_ms=polled.result.duration_ms,
            **found,
        )

    async def tickers(self, feeds: Iterable[str]) -> tuple[str, ...]:
        """The tickers that are requested from the news APIs among these feeds."""
        api = next((self.apis[feed] for feed in feeds if feed in self.apis), None)
        return (await self._with_watched(api)).tickers if api is not None else ()

    async def _poll_feed(self, feed: Feed, budgets: AsyncExitStack) -> PollResult:
        try:
            credential = self.credentials(feed.credential) if feed.credential else None
        except InvalidInput as error:
            return _failed(FetchStatus.UNAUTHORIZED, feed.feed_url, str(error), "credential")
        request = request_for(feed, credential)
        polled = await self._poll_own_url(feed, credential, budgets) if tries_own_url(feed) else None
        if polled is None:
            polled = await self._fetch_and_parse(request, budgets)
        if polled.problem is not None and polled.problem.kind == "html" and may_be_page(feed):
            link = await asyncio.to_thread(linked_feed, polled.result.body or b"", polled.result.url)
            polled = replace(polled, result=replace(polled.result, body=None))
            if link is not None:
                await budgets.aclose()
                polled = await self._poll_feed_of_page(feed, polled, replace(request, url=link), budgets)
        if (named := named_by_document(feed, polled)) is not None:
            polled = await self._with_checked_move(feed, polled, named, credential)
        moved = moved_to(feed, polled)
        if moved and (duplicate := await self._duplicate(feed, moved, "it has moved to a feed that")):
            return duplicate
        unconditional = request.etag is None and request.last_modified is None
        has_validators = feed.etag is not None or feed.last_modified is not None
        lied = False
        if unconditional and polled.document is not None and has_validators and feed.validators_trusted:
            lied = await self._is_lying(feed, request, polled.result)
        return replace(polled, lied=lied)

    async def _poll_api(self, feed: Feed, now: datetime) -> PollResult:
        """Sends the requests one after the other: the limits of news APIs are counted in requests."""
        api = self.apis.get(feed.kind)
        if api is None:
            return _failed(FetchStatus.UNAUTHORIZED, feed.feed_url, f"{feed.kind} has no token", "no_token")
        api = await self._with_watched(api)
        results: list[FetchResult] = []
        documents: list[ParsedDocument] = []
        problem: Unreadable | None = None
        for request in api.requests(feed, now):
            result = await self.fetcher.fetch(request)
            results.append(replace(result, body=None))
            if result.body is not None:
                try:
                    documents.append(api.api.parse(result.body))
                except Unreadable as unreadable:
                    problem = unreadable
            if problem is not None or not (result.ok or is_refused_alone(result)):
                break
        result = combined_result(feed, results) if results else without_requests(feed)
        if not documents or (result.status is FetchStatus.UNCHANGED and problem is None):
            return PollResult(result, problem=problem)
        return PollResult(result, combined_document(documents, results, now), problem)

    async def _with_watched(self, api: EnabledApi) -> EnabledApi:
        return replace(api, tickers=tuple(dict.fromkeys((*api.tickers, *await self.watched()))))

    async def _fetch_and_parse(self, request: FetchRequest, budgets: AsyncExitStack) -> PollResult:
        """Large bodies wait for memory. Near the deadline, what still waits is postponed: its feed is fetched again."""
        try:
            async with asyncio.timeout(deadline.until_near()):
                reservation = budgets.enter_context(self._bodies.reservation())
                result = await self.fetcher.fetch(replace(request, reservation=reservation))
            if result.status is not FetchStatus.FETCHED or result.body is None:
                return PollResult(result)
            async with asyncio.timeout(deadline.until_near()):
                await budgets.enter_async_context(self._parsing.reserve(len(result.body)))
        except TimeoutError:
            error = "the worker had no time left for it"
            return _failed(FetchStatus.POSTPONED, request.url, error, "postponed", retry_after=POSTPONED_SECONDS)
        return await self._parsed(result)

    async def _parsed(self, result: FetchResult) -> PollResult:
        """The result with the feed document in its body, if it has one."""
        if result.body is None:
            return PollResult(result)
        try:
            if len(result.body) > IN_THREAD_BYTES:
                document = await asyncio.to_thread(parse, result.body, result.url, result.content_type)
            else:
                document = parse(result.body, result.url, result.content_type)
        except Unreadable as problem:
            service = challenge_in_page(result.body)
            return PollResult(result, problem=problem) if service is None else PollResult(blocked(result, service))
        return PollResult(replace(result, body=None), document)

    async def _poll_feed_of_page(
        self, feed: Feed, page: PollResult, request: FetchRequest, budgets: AsyncExitStack
    ) -> PollResult:
        """The result for the feed that a web page names; `page` itself if there is no feed.

        A feed that is registered already is not fetched again: it would count as two sources.
        """
        of_page = "the feed of this page"
        if duplicate := await self._duplicate(feed, request.url, of_page):
            return duplicate
        polled = await self._fetch_and_parse(replace(request, etag=None, last_modified=None, body_hash=None), budgets)
        if polled.document is None:
            return page
        found_at = polled.result.moved_to or request.url
        return await self._duplicate(feed, found_at, of_page) or replace(polled, found_at=found_at)

    async def _poll_own_url(
        self, feed: Feed, credential: Credential | None, budgets: AsyncExitStack
    ) -> PollResult | None:
        """The result for the feed's own URL if there is a feed; then the feed is fetched there again."""
        polled = await self._fetch_and_parse(FetchRequest(feed.feed_url, credential=credential), budgets)
        if polled.document is not None:
            return replace(polled, at_own_url=True)
        await budgets.aclose()
        return None

    async def _with_checked_move(
        self, feed: Feed, polled: PollResult, named: str, credential: Credential | None
    ) -> PollResult:
        """The result with the move that the feed document names, like that of a permanent redirect, if there is a feed
        at the new URL that is not registered and has not moved itself. The next request has no validators."""
        assert polled.document is not None
        request = FetchRequest(named, credential=credential_for(feed, named, credential))
        async with self._checking_moves:  # the body of the new URL counts in no budget
            there = await self._parsed(await self.fetcher.fetch(request))
        has_feed = there.document is not None and there.document.moved_to in (None, named)
        if has_feed and await self.registered(named) in (None, feed.feed_id):
            result = replace(polled.result, moved_to=named, etag=None, last_modified=None, body_hash=None)
            return replace(polled, result=result)
        warnings = {**polled.document.warnings, "move_refused": 1}
        return replace(polled, document=replace(polled.document, warnings=warnings))

    async def _duplicate(self, feed: Feed, url: str, which: str) -> PollResult | None:
        """The failure of a feed whose `url` is that of another registered feed; None for any other URL."""
        name = await self.registered(url)
        if name is None or name == feed.feed_id:
            return None
        return _failed(FetchStatus.DUPLICATE, feed.feed_url, f"{which} is registered already, as {name}", _DUPLICATE)

    async def _is_lying(self, feed: Feed, request: FetchRequest, result: FetchResult) -> bool:
        """Whether the server's validators are wrong: the body has changed, and a conditional request would not have got
        it."""
        if feed.etag is not None and result.etag == feed.etag:
            return True
        conditional = replace(request, etag=feed.etag, last_modified=feed.last_modified)
        return (await self.fetcher.fetch(conditional)).status is FetchStatus.NOT_MODIFIED


def request_for(feed: Feed, credential: Credential | None = None) -> FetchRequest:
    """Conditional, unless the feed's validators are not trusted or are to be checked."""
    conditional = feed.validators_trusted and not is_checked(feed)
    return FetchRequest(
        feed.fetch_url,
        etag=feed.etag if conditional else None,
        last_modified=feed.last_modified if conditional else None,
        body_hash=feed.body_hash,
        credential=credential_for(feed, feed.fetch_url, credential),
    )


def credential_for(feed: Feed, url: str, credential: Credential | None) -> Credential | None:
    """The credential, for URLs of the origin that the feed was registered with; None for any other: a feed that moves
    must not take its secret along."""
    own, there = checked_url(feed.feed_url), checked_url(url)
    known = not isinstance(own, str) and not isinstance(there, str) and same_origin(own, there)
    return credential if known else None


def tries_own_url(feed: Feed) -> bool:
    """Whether a feed that has moved is fetched at its own URL first: after several errors, and while no body is known,
    as after a person has enabled the feed or posted its URL again."""
    return feed.redirect_url is not None and (feed.consecutive_errors >= ERRORS_OF_MOVED or feed.body_hash is None)


def named_by_document(feed: Feed, polled: PollResult) -> str | None:
    """The URL that the feed document names as its new one, if the feed is not fetched there already."""
    named = checked_url((polled.document.moved_to if polled.document else None) or "")
    known = (feed.fetch_url, polled.result.url, polled.found_at)
    return str(named) if not isinstance(named, str) and str(named) not in known else None


def is_checked(feed: Feed) -> bool:
    """Whether this fetch of the feed is the one that checks its validators and its redirect."""
    return feed.fetch_count % CHECKED_EVERY == CHECKED_EVERY - 1


def moved_to(feed: Feed, polled: PollResult) -> str | None:
    """The URL to which the feed has moved, which must not be that of another feed.

    At a checking fetch also the URL of an earlier move, since another feed may have moved there at the same moment. Not
    at each fetch: the registry searches all feeds for the URL.
    """
    if polled.found_at is not None:
        return None
    named = polled.result.moved_to
    if named is None:
        return feed.redirect_url if polled.ok and is_checked(feed) else None
    url = checked_url(named)  # spelled as the registry stores it
    return str(url) if not isinstance(url, str) and str(url) != feed.redirect_url else None


def may_be_page(feed: Feed) -> bool:
    """Whether a web page at the feed's URL may name the feed.

    If the URL was a feed before, a page may be an error of the server. If the last fetch found a duplicate, the page is
    searched again, since it may name another feed by now.
    """
    return feed.last_successful_fetch is None or feed.last_error_fingerprint == _DUPLICATE


def _failed(
    status: FetchStatus, url: str, error: str, fingerprint: str, retry_after: float | None = None
) -> PollResult:
    return PollResult(FetchResult(status, url, error=error, fingerprint=fingerprint, retry_after=retry_after))


def found_in(document: ParsedDocument, now: datetime) -> dict[str, Any]:
    """What the preview says of a feed document. Dates in the future say nothing of the past."""
    dates = [item.published for item in document.items if item.published is not None and item.published <= now]
    newest = sorted(document.items, key=lambda item: (item.published is not None, item.published or now), reverse=True)
    return {
        "format": document.version,
        "title": document.title or None,
        "site_url": document.site_url,
        "entries": len(document.items),
        "entries_skipped": sum(document.skipped.values()),
        "parse_warnings": sum(document.warnings.values()),
        "oldest_entry_at": min(dates, default=None),
        "newest_entry_at": max(dates, default=None),
        "samples": tuple(
            PreviewedEntry(headline=item.headline[:LONGEST_HEADLINE], url=item.url, published_at=item.published)
            for item in newest[:SAMPLES]
        ),
    }
