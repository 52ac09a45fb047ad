"""Fetches one URL over HTTP, within limits for hosts, bytes and time. Every outcome is a value; only bugs are
exceptions.

Follows redirects, retries what may succeed, limits the requests to each host, and returns what to save for the next
fetch. Parses, stores and logs nothing. docs/adr/0007-fetching.md gives the reasons.
"""

from __future__ import annotations

import asyncio
import base64
import hashlib
import itertools
import random
import time
from collections.abc import Awaitable, Callable
from dataclasses import replace

import httpx
from yarl import URL

from models.feed import host_of_address
from services import telemetry
from services.fetch.addresses import (
    checked_url,
    is_odd_address,
    parsed,
    same_origin,
    without_query,
)
from services.fetch.limits import Breaker, HostLimits, HostReport
from services.fetch.outcome import NO_ANSWER, BasicCredential, Credential, FetchRequest, FetchResult, FetchStatus
from services.fetch.response import blocked, challenge_in_headers, max_age_seconds, retry_after_seconds, validator
from services.fetch.transport import CheckedTransport, Failure, Response, send
from services.ports import Clock, utc_now
from services.settings import Settings

REDIRECTS = frozenset({301, 302, 303, 307, 308})
PERMANENT_REDIRECTS = frozenset({301, 308})

_STATUSES = {
    401: (FetchStatus.UNAUTHORIZED, "it needs a login"),
    403: (FetchStatus.UNAUTHORIZED, "access is forbidden"),
    404: (FetchStatus.NOT_FOUND, "there is nothing at this address"),
    407: (FetchStatus.UNAUTHORIZED, "a proxy needs a login"),
    408: (FetchStatus.TIMEOUT, "the server timed the request out"),
    410: (FetchStatus.GONE, "gone permanently"),
    429: (FetchStatus.RATE_LIMITED, "too many requests"),
}
MAX_BYTES = 10_000_000
MAX_REDIRECTS = 5
_CLOSED = frozenset({"connection:closed", "connection:reset"})
_RETRIED = NO_ANSWER - {FetchStatus.TLS} | {FetchStatus.SERVER_ERROR}


class Fetcher:
    """Fetches URLs.

    One per worker: owns the connections, the limits and the breaker of hosts, until `close`.

    The timeout in the settings is for one attempt with all its redirects. The wait before attempt n+1 is base^(n-1)
    seconds, shortened by up to half at random. `most_bytes` is after decompression. A `transport` replaces that of
    the settings in tests, and its check of addresses.
    """

    def __init__(
        self,
        settings: Settings,
        *,
        most_bytes: int = MAX_BYTES,
        clock: Clock = utc_now,
        monotonic: Callable[[], float] = time.monotonic,
        sleep: Callable[[float], Awaitable[None]] = asyncio.sleep,
        chance: Callable[[], float] = random.random,
        transport: httpx.AsyncBaseTransport | None = None,
    ) -> None:
        self._settings = settings
        self._clock = clock
        self._monotonic = monotonic
        self._sleep = sleep
        self._chance = chance
        self._agents = itertools.cycle(settings.fetch_user_agent)
        self._limits = HostLimits(settings.max_concurrent_requests, settings.max_concurrent_requests_per_host)
        self._breaker = Breaker()
        self._most_bytes = most_bytes
        self._transport = transport or CheckedTransport(
            connections=settings.max_concurrent_requests,
            allow_private_addresses=settings.allow_private_addresses,
        )

    async def fetch(self, request: FetchRequest) -> FetchResult:
        """The outcome after all tries. A cancelled call releases its connection and its slot."""
        with telemetry.span("fetch", kind="client") as span:
            url = checked_url(request.url)
            span.set("server.address", url.raw_host or "" if isinstance(url, URL) else "")
            result = await self._fetch(request)
            span.set("toolpulse.fetch.status", result.status.value)
            span.set("toolpulse.fetch.attempts", result.attempts)
            if result.status_code is not None:
                span.set("http.response.status_code", result.status_code)
            return result

    async def _fetch(self, request: FetchRequest) -> FetchResult:
        agent = next(self._agents)
        spent, attempt = 0.0, 0
        failed: FetchResult | None = None
        while True:
            attempt += 1
            hops = _Hops(request, agent)
            result = await self._follow(hops)
            spent += hops.spent_seconds
            if failed is not None and result.status is FetchStatus.BREAKER_OPEN:
                # Returned instead of BREAKER_OPEN: the failure that opened the breaker shows the cause.
                return replace(failed, attempts=attempt - 1, duration_ms=round(spent * 1000))
            retryable = result.status in _RETRIED and result.retry_after is None
            if attempt >= self._settings.retry_attempts or not retryable:
                return replace(result, attempts=attempt, duration_ms=round(spent * 1000))
            failed = result
            if request.reservation is not None:
                request.reservation.release()
            wait: float = self._settings.retry_backoff_base ** (attempt - 1)
            await self._sleep(wait * (1 - self._chance() / 2))

    def host_reports(self) -> dict[str, HostReport]:
        """What requests have shown of their hosts since the last call, by name."""
        return self._breaker.take_reports()

    async def close(self) -> None:
        await self._transport.aclose()

    async def _follow(self, hops: _Hops) -> FetchResult:
        """One attempt: from the URL over its redirects to a response."""
        target = hops.to(hops.request.url)
        while isinstance(target, URL):
            response = await self._send(target, hops)
            if isinstance(response, Failure):
                target = response
            elif response.status_code in REDIRECTS:
                target = hops.redirected(response, MAX_REDIRECTS)
            else:
                return self._result(response, target, hops)
        return FetchResult(
            target.status,
            hops.request.url,
            retry_after=target.retry_after,
            error=target.error,
            fingerprint=target.fingerprint,
        )

    async def _send(self, url: URL, hops: _Hops) -> Response | Failure:
        """One hop, within the limits of its host."""
        host, reservation = host_of_address(str(url)), hops.request.reservation
        async with self._limits.slot(host):
            pause = self._breaker.pause(host, self._monotonic())
            if pause is not None:
                text = f"{url.raw_host} keeps failing"
                return Failure(FetchStatus.BREAKER_OPEN, text, "breaker_open", retry_after=pause)
            started = self._monotonic()
            waited = reservation.waited_seconds if reservation else 0.0
            try:
                left = max(self._settings.request_timeout_seconds - hops.spent_seconds, 0.001)
                response = await send(self._transport, url, hops.headers, left, self._most_bytes, reservation)
            finally:
                # Waiting for the reservation is not time of the server.
                waited = reservation.waited_seconds - waited if reservation else 0.0
                hops.spent_seconds += max(self._monotonic() - started - waited, 0.0)
            self._report(host, response)
            return response

    def _report(self, host: str, response: Response | Failure) -> None:
        """Counts the request for its host. A response is a success, unless it asks to wait."""
        now = self._monotonic()
        if isinstance(response, Response):
            wait = retry_after_seconds(response.headers, self._clock())
            if response.status_code == 429 or (response.status_code == 503 and wait is not None):
                self._breaker.failed(host, now, str(response.status_code), wait or 0.0)
            else:
                self._breaker.succeeded(host, now)
        elif response.responded:
            self._breaker.succeeded(host, now)
        elif response.status is FetchStatus.TIMEOUT or response.fingerprint in _CLOSED:
            self._breaker.unanswered(host, now, response.fingerprint)
        elif response.status in NO_ANSWER:
            self._breaker.failed(host, now, response.fingerprint)

    def _result(self, response: Response, url: URL, hops: _Hops) -> FetchResult:
        request, headers, now = hops.request, response.headers, self._clock()
        result = FetchResult(
            FetchStatus.FETCHED,
            str(url),
            status_code=response.status_code,
            content_type=headers.get("Content-Type"),
            robots_tag=headers.get("X-Robots-Tag"),
        )
        if response.status_code == 304 and (request.etag or request.last_modified):
            return replace(
                result,
                status=FetchStatus.NOT_MODIFIED,
                etag=validator(headers.get("ETag")) or request.etag,
                last_modified=validator(headers.get("Last-Modified")) or request.last_modified,
                body_hash=request.body_hash,
                max_age=max_age_seconds(headers, now),
                moved_to=hops.moved_to,
            )
        if (service := challenge_in_headers(headers)) is not None:
            return blocked(result, service, retry_after_seconds(headers, now))
        if response.body is None or response.status_code == 206:
            status, text = _failed_status(response.status_code)
            return replace(
                result,
                status=status,
                retry_after=retry_after_seconds(headers, now),
                error=f"{response.status_code} from {without_query(url)}: {text}",
                fingerprint=f"{status}:{response.status_code}",
            )
        body_hash = hashlib.sha256(response.body).hexdigest()
        unchanged = body_hash == request.body_hash
        return replace(
            result,
            status=FetchStatus.UNCHANGED if unchanged else FetchStatus.FETCHED,
            body=None if unchanged else response.body,
            body_hash=body_hash,
            etag=validator(headers.get("ETag")),
            last_modified=validator(headers.get("Last-Modified")),
            max_age=max_age_seconds(headers, now),
            moved_to=hops.moved_to,
        )


class _Hops:
    """The hops of one attempt: the URLs so far, the headers for the next, and the time spent with servers."""

    def __init__(self, request: FetchRequest, agent: str) -> None:
        self.request = request
        self.spent_seconds = 0.0
        self.moved_to: str | None = None
        self.headers = {"User-Agent": agent, "Accept": request.accept, "Accept-Encoding": "gzip, deflate"}
        if etag := validator(request.etag):
            self.headers["If-None-Match"] = etag
        if last_modified := validator(request.last_modified):
            self.headers["If-Modified-Since"] = last_modified
        self._secret = request.credential and _credential_header(request.credential)
        if self._secret:
            self.headers.update([self._secret])
        self._urls: list[URL] = []
        self._all_permanent = True

    def to(self, text: str) -> URL | Failure:
        """The URL of the next hop, or the reason why it is refused."""
        url = checked_url(text)
        if isinstance(url, str):
            return Failure(FetchStatus.INVALID_URL, f"{without_query(text)}: {url}", "invalid_url")
        if is_odd_address(url.raw_host or ""):
            text = f"{url.raw_host}: address in an odd notation"
            return Failure(FetchStatus.REFUSED_ADDRESS, text, "refused_address")
        if url in self._urls:
            return Failure(FetchStatus.REDIRECT_LOOP, f"{without_query(url)} redirects in a circle", "redirect_loop")
        if self._secret and self._urls and not same_origin(url, self._urls[0]):
            # For all further hops: another origin could redirect back, and choose the path to which the secret is sent.
            del self.headers[self._secret[0]]
            self._secret = None
        self._urls.append(url)
        return url

    def redirected(self, response: Response, most: int) -> URL | Failure:
        here = self._urls[-1]
        location = response.headers.get("Location", "").strip()
        if not location:
            text = f"{without_query(here)} redirects ({response.status_code}) without a Location"
            return Failure(FetchStatus.BAD_RESPONSE, text, "bad_response:no_location")
        if len(self._urls) > most:
            return Failure(FetchStatus.REDIRECT_LOOP, f"more than {most} redirects", "redirect_loop:too_many")
        try:
            target = str(here.join(parsed(location)))
        except ValueError:
            error = f"{without_query(here)} redirects to what is not a URL"
            return Failure(FetchStatus.INVALID_URL, error, "invalid_url")
        url = self.to(target)
        self._all_permanent = self._all_permanent and response.status_code in PERMANENT_REDIRECTS
        self.moved_to = str(url) if self._all_permanent and isinstance(url, URL) else None
        return url


def _failed_status(status_code: int) -> tuple[FetchStatus, str]:
    if status_code in _STATUSES:
        return _STATUSES[status_code]
    if status_code >= 500:
        return FetchStatus.SERVER_ERROR, "the server has a problem"
    if status_code >= 400:
        return FetchStatus.CLIENT_ERROR, "the server does not accept the request"
    return FetchStatus.BAD_RESPONSE, "not a response to this request"


def _credential_header(credential: Credential) -> tuple[str, str]:
    if isinstance(credential, BasicCredential):
        pair = f"{credential.username}:{credential.password}".encode()
        return "Authorization", f"Basic {base64.b64encode(pair).decode()}"
    # Secrets that were saved from files end in a newline.
    return credential.name, credential.value.strip()
