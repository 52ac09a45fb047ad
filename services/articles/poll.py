"""Asking a source for what it has: one conditional fetch, and the document read out of what came back.

Whatever happens is an `PollResult`; only bugs are exceptions. Stores nothing, and decides nothing about
articles or schedules.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable, Iterable, Mapping, Sequence
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import replace
from datetime import datetime
from typing import Protocol

from models.errors import InvalidInput
from models.feed import Feed
from models.raw_item import ParsedDocument
from services.feeds.news_apis import EnabledApi, is_refused_alone, merged, nothing_asked, together
from services.feeds.outcome import PollResult
from services.fetch.addresses import checked_url
from services.fetch.limits import BodyBudget, ParsingBudget
from services.fetch.outcome import Credential, FetchRequest, FetchResult, FetchStatus
from services.parse.collected import Unreadable
from services.parse.feed import parse
from services.parse.page_links import discover

CHECKED_EVERY = 24
"""Fetches of a feed. One in as many is unconditional: validators lie, and only the body can tell."""

_OF_PAGE = "the feed of this page"
_DUPLICATE = "duplicate"

IN_THREAD_BYTES = 150_000
"""A larger body may take more than two milliseconds to read, or a hundred if feedparser must: others go on."""


class Fetches(Protocol):
    """The fetcher, as far as it is needed here."""

    async def fetch(self, request: FetchRequest) -> FetchResult:
        """What came of it; raises nothing that is to be foreseen."""
        ...


async def _nobodys() -> Sequence[str]:
    return ()


async def _nobody(url: str) -> str | None:
    return None


class FeedPoller:
    """`credentials` finds what a private feed's setting holds: InvalidInput if it is missing or says nothing usable.

    `watched` gives the tickers that news APIs are asked about besides those of the settings, `registered` the id of the
    feed that is at a URL. A body counts in the body budget from its first byte and in the parsing budget from its last,
    until its feed is ingested. A feed in the parsing budget never waits for the body budget, or feeds could wait for
    each other.
    """

    def __init__(
        self,
        fetcher: Fetches,
        apis: Mapping[str, EnabledApi],
        credentials: Callable[[str], Credential],
        watched: Callable[[], Awaitable[Sequence[str]]] = _nobodys,
        registered: Callable[[str], Awaitable[str | None]] = _nobody,
    ) -> None:
        self._fetcher = fetcher
        self._apis = apis
        self._credentials = credentials
        self._watched = watched
        self._parsing = ParsingBudget()
        self._bodies = BodyBudget()
        self._registered = registered

    @asynccontextmanager
    async def polled(self, feed: Feed, now: datetime) -> AsyncIterator[PollResult]:
        """The answer, while it is looked at."""
        async with AsyncExitStack() as budgets:
            yield await (self._ask_api(feed, now) if feed.is_of_news_api else self._ask_feed(feed, budgets))

    async def tickers(self, feeds: Iterable[str]) -> tuple[str, ...]:
        """What the news APIs among these feeds are asked about."""
        api = next((self._apis[feed] for feed in feeds if feed in self._apis), None)
        return (await self._with_watched(api)).tickers if api is not None else ()

    async def _ask_feed(self, feed: Feed, budgets: AsyncExitStack) -> PollResult:
        try:
            credential = self._credentials(feed.credential) if feed.credential else None
        except InvalidInput as error:
            result = FetchResult(FetchStatus.UNAUTHORIZED, feed.feed_url, error=str(error), fingerprint="credential")
            return PollResult(result)
        request = request_for(feed, credential)
        answer = await self._fetch_and_parse(request, budgets)
        if answer.problem is not None and answer.problem.kind == "html" and _may_be_page(feed):
            links = await asyncio.to_thread(discover, answer.result.body or b"", answer.result.url)
            answer = replace(answer, result=replace(answer.result, body=None))
            if links:
                await budgets.aclose()
                answer = await self._named_by(feed, answer, replace(request, url=links[0].url), budgets)
        unconditional = request.etag is None and request.last_modified is None
        moved = _moved(feed, answer)
        if moved and (twin := await self._twin(feed, moved, "it has moved to a feed that")):
            return twin
        lied = False
        if unconditional and answer.document is not None and _has_validators(feed) and feed.validators_trusted:
            lied = await self._is_lying(feed, request, answer.result)
        return replace(answer, lied=lied, unconditional=unconditional)

    async def _ask_api(self, feed: Feed, now: datetime) -> PollResult:
        """All its requests, one after the other: the limits of these APIs are counted in requests."""
        api = self._apis.get(feed.kind)
        if api is None:
            error = f"{feed.kind} has no token"
            return PollResult(FetchResult(FetchStatus.UNAUTHORIZED, feed.feed_url, error=error, fingerprint="no_token"))
        api = await self._with_watched(api)
        results: list[FetchResult] = []
        documents: list[ParsedDocument] = []
        problem: Unreadable | None = None
        for request in api.requests(feed, now):
            result = await self._fetcher.fetch(request)
            results.append(replace(result, body=None))
            if result.body is not None:
                try:
                    documents.append(api.api.parse(result.body))
                except Unreadable as unreadable:
                    problem = unreadable
            if problem is not None or not (result.ok or is_refused_alone(result)):
                break
        result = together(feed, results) if results else nothing_asked(feed)
        if not documents or (result.status is FetchStatus.UNCHANGED and problem is None):
            return PollResult(result, problem=problem)
        return PollResult(result, merged(documents, results, now), problem)

    async def _with_watched(self, api: EnabledApi) -> EnabledApi:
        return replace(api, tickers=tuple(dict.fromkeys((*api.tickers, *await self._watched()))))

    async def _fetch_and_parse(self, request: FetchRequest, budgets: AsyncExitStack) -> PollResult:
        reservation = budgets.enter_context(self._bodies.reservation())
        result = await self._fetcher.fetch(replace(request, reservation=reservation))
        if result.body is not None:
            await budgets.enter_async_context(self._parsing.reserve(len(result.body)))
        return await _read(result)

    async def _named_by(
        self, feed: Feed, page: PollResult, request: FetchRequest, budgets: AsyncExitStack
    ) -> PollResult:
        """What the feed says that a web page names as its own; the page itself if that is none.

        If it is here already it is fetched already: twice would be asking twice, and counting as two sources.
        """
        if twin := await self._twin(feed, request.url, _OF_PAGE):
            return twin
        found = await self._fetch_and_parse(replace(request, etag=None, last_modified=None, body_hash=None), budgets)
        if found.document is None:
            return page
        found_at = found.result.moved_to or request.url
        return await self._twin(feed, found_at, _OF_PAGE) or replace(found, found_at=found_at)

    async def _twin(self, feed: Feed, url: str, what: str) -> PollResult | None:
        """The end of a feed that is another one here."""
        name = await self._registered(url)
        if name is None or name == feed.feed_id:
            return None
        error = f"{what} is here already, as {name}"
        return PollResult(FetchResult(FetchStatus.DUPLICATE, feed.feed_url, error=error, fingerprint=_DUPLICATE))

    async def _is_lying(self, feed: Feed, request: FetchRequest, result: FetchResult) -> bool:
        """Whether the server would have called this body, which is not the last one, unmodified."""
        if feed.etag is not None and result.etag == feed.etag:
            return True
        conditional = replace(request, etag=feed.etag, last_modified=feed.last_modified, read_body=False)
        again = await self._fetcher.fetch(conditional)
        return again.status is FetchStatus.NOT_MODIFIED


async def _read(result: FetchResult) -> PollResult:
    if result.status is not FetchStatus.FETCHED or result.body is None:
        return PollResult(result)
    try:
        if len(result.body) > IN_THREAD_BYTES:
            document = await asyncio.to_thread(parse, result.body, result.url, result.content_type)
        else:
            document = parse(result.body, result.url, result.content_type)
    except Unreadable as problem:
        return PollResult(result, problem=problem)
    return PollResult(replace(result, body=None), document)


def request_for(feed: Feed, credential: Credential | None = None) -> FetchRequest:
    """Conditional, unless the feed's validators are not trusted or are to be checked."""
    conditional = feed.validators_trusted and not _is_checked(feed)
    return FetchRequest(
        feed.fetch_url,
        etag=feed.etag if conditional else None,
        last_modified=feed.last_modified if conditional else None,
        body_hash=feed.body_hash,
        credential=credential,
    )


def _is_checked(feed: Feed) -> bool:
    return feed.fetch_count % CHECKED_EVERY == CHECKED_EVERY - 1


def _moved(feed: Feed, answer: PollResult) -> str | None:
    """Where it says that it is from now on; and where it has long been, now and then: another may have gone there at
    the same moment. Not each time, since who is there is asked of all feeds."""
    if answer.found_at is not None:
        return None
    said = (answer.document.moved_to if answer.document else None) or answer.result.moved_to
    if said is None:
        return feed.redirect_url if answer.ok and _is_checked(feed) else None
    url = checked_url(said)  # spelled as it is stored
    return str(url) if not isinstance(url, str) and str(url) != feed.redirect_url else None


def _may_be_page(feed: Feed) -> bool:
    """Not one that has been a feed itself: this may be its server's error. One whose page named a feed goes back to the
    page when that feed turns out to be another one here."""
    return feed.last_successful_fetch is None or feed.last_error_fingerprint == _DUPLICATE


def _has_validators(feed: Feed) -> bool:
    return feed.etag is not None or feed.last_modified is not None
