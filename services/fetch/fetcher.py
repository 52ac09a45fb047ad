"""Fetches one document over HTTP, politely and within bounds. Every outcome is a value; only bugs are exceptions.

It follows redirects, retries what may pass, keeps hosts from being crowded, and says what to save for next time. It
parses nothing, stores nothing and logs nothing. docs/adr/0007-fetching.md says why it is as it is.
"""

from __future__ import annotations

import asyncio
import base64
import hashlib
import itertools
import random
import ssl
import time
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass, replace

import httpx
from yarl import URL

from services.fetch.addresses import checked_url, is_loopback, odd_address, parsed, same_origin, shown
from services.fetch.headers import max_age_seconds, retry_after_seconds, validator
from services.fetch.hosts import Breaker, Turns
from services.fetch.outcome import (
    BasicCredential,
    Credential,
    Failure,
    FetchRequest,
    FetchResult,
    FetchStatus,
)
from services.fetch.transport import AbstractResolver, CheckedTransport
from services.fetch.wire import Answer, Wire
from services.ports import Clock, utc_now

__all__ = ["FetchRequest", "FetchResult", "FetchStatus", "Fetcher", "FetcherSettings"]

REDIRECTS = frozenset({301, 302, 303, 307, 308})
PERMANENT_REDIRECTS = frozenset({301, 308})

_STATUSES = {
    401: (FetchStatus.UNAUTHORIZED, "it wants a login"),
    403: (FetchStatus.UNAUTHORIZED, "it does not let us in"),
    404: (FetchStatus.NOT_FOUND, "there is nothing at this address"),
    407: (FetchStatus.UNAUTHORIZED, "a proxy wants a login"),
    408: (FetchStatus.TIMEOUT, "the server timed the request out"),
    410: (FetchStatus.GONE, "gone for good"),
    429: (FetchStatus.RATE_LIMITED, "asked too often"),
}
POLITE_PER_HOST = 2
_HOST_FAILS = frozenset({FetchStatus.TIMEOUT, FetchStatus.DNS, FetchStatus.CONNECTION})
_RETRIED = frozenset({FetchStatus.TIMEOUT, FetchStatus.DNS, FetchStatus.CONNECTION, FetchStatus.SERVER_ERROR})


@dataclass(frozen=True, slots=True)
class FetcherSettings:
    """`timeout_seconds` is for one attempt with all its redirects; `most_bytes` is after decompression.

    The wait before attempt n+1 is `backoff_base`^(n-1) seconds, shortened by up to half at random.
    `concurrent_per_host` holds for every host; 0 is two for other people's, and any number for this machine.
    """

    user_agents: Sequence[str]
    timeout_seconds: float = 10.0
    attempts: int = 3
    backoff_base: float = 2.0
    most_bytes: int = 10_000_000
    most_redirects: int = 5
    concurrent: int = 10
    concurrent_per_host: int = 0
    breaker_threshold: int = 5
    breaker_cooldown_seconds: float = 60.0
    allow_private_addresses: bool = False


class Fetcher:
    """One per worker: it owns the connections, the turns and the breaker, until `close`.

    A `transport` stands in for the network: no address is then checked, and `tls` and `resolver` are not used.
    """

    def __init__(
        self,
        settings: FetcherSettings,
        *,
        clock: Clock = utc_now,
        monotonic: Callable[[], float] = time.monotonic,
        sleep: Callable[[float], Awaitable[None]] = asyncio.sleep,
        chance: Callable[[], float] = random.random,
        tls: ssl.SSLContext | None = None,
        resolver: AbstractResolver | None = None,
        transport: httpx.AsyncBaseTransport | None = None,
    ) -> None:
        self._settings = settings
        self._clock = clock
        self._monotonic = monotonic
        self._sleep = sleep
        self._chance = chance
        self._agents = itertools.cycle(settings.user_agents)
        self._turns = Turns(settings.concurrent, settings.concurrent_per_host or POLITE_PER_HOST)
        self._breaker = Breaker(settings.breaker_threshold, settings.breaker_cooldown_seconds)
        transport = transport or CheckedTransport(
            connections=settings.concurrent,
            allow_private_addresses=settings.allow_private_addresses,
            tls=tls,
            resolver=resolver,
        )
        self._wire = Wire(transport, settings.most_bytes)

    async def fetch(self, request: FetchRequest) -> FetchResult:
        """What came of it. Cancelling it leaves nothing behind."""
        agent = next(self._agents)
        spent, attempt = 0.0, 0
        failed: FetchResult | None = None
        while True:
            trip = _Trip(request, agent, self._settings.timeout_seconds)
            result = await self._travel(trip)
            spent += trip.spent
            if failed is not None and result.status is FetchStatus.BREAKER_OPEN:
                # Not asked again: what it failed of says more.
                return replace(failed, attempts=attempt, duration_ms=round(spent * 1000))
            attempt += 1
            if attempt >= self._settings.attempts or not _may_pass(result):
                return replace(result, attempts=attempt, duration_ms=round(spent * 1000))
            if request.place is not None:
                request.place.leave()
            failed = result
            wait: float = self._settings.backoff_base ** (attempt - 1)
            await self._sleep(wait * (1 - self._chance() / 2))

    async def close(self) -> None:
        await self._wire.close()

    async def _travel(self, trip: _Trip) -> FetchResult:
        """One attempt: from the URL over its redirects to an answer."""
        request = trip.request
        target = trip.step_to(request.url)
        while isinstance(target, URL):
            answer = await self._ask(target, trip)
            if isinstance(answer, Failure):
                target = answer
            elif answer.status_code in REDIRECTS:
                target = trip.redirected(answer, self._settings.most_redirects)
            else:
                return self._read(answer, target, trip)
        return FetchResult(
            target.status,
            request.url,
            etag=request.etag,
            last_modified=request.last_modified,
            body_hash=request.body_hash,
            retry_after=target.retry_after,
            error=target.error,
            fingerprint=target.fingerprint,
        )

    async def _ask(self, url: URL, trip: _Trip) -> Answer | Failure:
        """One hop, in turn, past the breaker."""
        host = f"{url.raw_host}:{url.port}"
        unbounded = not self._settings.concurrent_per_host and is_loopback(url.raw_host or "")
        async with self._turns.turn(None if unbounded else host):
            pause = self._breaker.admit(host, self._monotonic())
            if pause is not None:
                text = f"{url.raw_host} fails too often just now"
                return Failure(FetchStatus.BREAKER_OPEN, text, "breaker_open", retry_after=pause)
            started = self._monotonic()
            waited = trip.request.place.waited_seconds if trip.request.place else 0.0
            reported = False
            try:
                left = max(trip.timeout - trip.spent, 0.001)
                answer = await self._wire.get(url, trip.headers, left, trip.request.place, read=trip.request.read)
                self._report(host, answer)
                reported = True
                return answer
            finally:
                # Waiting for room is no time of the server's.
                waited = trip.request.place.waited_seconds - waited if trip.request.place else 0.0
                trip.spent += max(self._monotonic() - started - waited, 0.0)
                if not reported:
                    self._breaker.abandoned(host)

    def _report(self, host: str, answer: Answer | Failure) -> None:
        if isinstance(answer, Answer) and answer.status_code == 429:
            asked = retry_after_seconds(answer.headers, self._clock()) or 0.0
            self._breaker.failed(host, self._monotonic(), asked)
        elif isinstance(answer, Failure) and answer.status in _HOST_FAILS and not answer.answered:
            self._breaker.failed(host, self._monotonic())
        elif isinstance(answer, Answer) or answer.answered:
            self._breaker.succeeded(host)
        else:
            self._breaker.abandoned(host)

    def _read(self, answer: Answer, url: URL, trip: _Trip) -> FetchResult:
        request, headers, now = trip.request, answer.headers, self._clock()
        result = FetchResult(
            FetchStatus.FETCHED,
            str(url),
            status_code=answer.status_code,
            content_type=headers.get("Content-Type"),
            etag=request.etag,
            last_modified=request.last_modified,
            body_hash=request.body_hash,
            received_bytes=answer.received_bytes,
        )
        if answer.status_code == 304 and (request.etag or request.last_modified):
            return replace(
                result,
                status=FetchStatus.NOT_MODIFIED,
                etag=validator(headers.get("ETag")) or request.etag,
                last_modified=validator(headers.get("Last-Modified")) or request.last_modified,
                max_age=max_age_seconds(headers, now),
                moved_to=trip.moved_to,
            )
        if answer.body is None or answer.status_code == 206:
            status, text = _judged(answer.status_code)
            error = f"{answer.status_code} from {shown(url)}: {text}"
            wait = retry_after_seconds(headers, now)
            return replace(
                result, status=status, retry_after=wait, error=error, fingerprint=f"{status}:{answer.status_code}"
            )
        body_hash = hashlib.sha256(answer.body).hexdigest()
        unchanged = body_hash == request.body_hash
        return replace(
            result,
            status=FetchStatus.UNCHANGED if unchanged else FetchStatus.FETCHED,
            body=None if unchanged else answer.body,
            body_hash=body_hash,
            etag=validator(headers.get("ETag")),
            last_modified=validator(headers.get("Last-Modified")),
            max_age=max_age_seconds(headers, now),
            moved_to=trip.moved_to,
        )


class _Trip:
    """One attempt on its way: where it has been, what it still may send, the time it used."""

    def __init__(self, request: FetchRequest, agent: str, timeout: float) -> None:
        self.request = request
        self.timeout = timeout
        self.spent = 0.0
        self.moved_to: str | None = None
        self.headers = {"User-Agent": agent, "Accept": request.accept, "Accept-Encoding": "gzip, deflate"}
        if etag := validator(request.etag):
            self.headers["If-None-Match"] = etag
        if last_modified := validator(request.last_modified):
            self.headers["If-Modified-Since"] = last_modified
        self._secret = request.credential and _credential_header(request.credential)
        if self._secret:
            self.headers.update([self._secret])
        self._seen: list[URL] = []
        self._all_permanent = True

    def step_to(self, text: str) -> URL | Failure:
        url = checked_url(text)
        if isinstance(url, str):
            return Failure(FetchStatus.INVALID_URL, f"{shown(text)}: {url}", "invalid_url")
        if odd_address(url):
            return Failure(
                FetchStatus.REFUSED_ADDRESS, f"{url.raw_host}: address in an odd notation", "refused_address"
            )
        if url in self._seen:
            return Failure(FetchStatus.REDIRECT_LOOP, f"{shown(url)} redirects in a circle", "redirect_loop")
        if self._secret and self._seen and not same_origin(url, self._seen[0]):
            # For good: whoever sent us abroad may not choose where at home the secret is shown next.
            del self.headers[self._secret[0]]
            self._secret = None
        self._seen.append(url)
        return url

    def redirected(self, answer: Answer, most: int) -> URL | Failure:
        here = self._seen[-1]
        location = answer.location.strip()
        if not location:
            text = f"{shown(here)} redirects ({answer.status_code}) without saying where"
            return Failure(FetchStatus.BAD_RESPONSE, text, "bad_response:no_location")
        if len(self._seen) > most:
            return Failure(FetchStatus.REDIRECT_LOOP, f"more than {most} redirects", "redirect_loop:too_many")
        try:
            target = str(here.join(parsed(location)))
        except ValueError:
            return Failure(FetchStatus.INVALID_URL, f"{shown(here)} redirects to what is not a URL", "invalid_url")
        step = self.step_to(target)
        self._all_permanent = self._all_permanent and answer.status_code in PERMANENT_REDIRECTS
        self.moved_to = str(step) if self._all_permanent and isinstance(step, URL) else None
        return step


def _judged(status_code: int) -> tuple[FetchStatus, str]:
    if status_code in _STATUSES:
        return _STATUSES[status_code]
    if status_code >= 500:
        return FetchStatus.SERVER_ERROR, "the server has a problem"
    if status_code >= 400:
        return FetchStatus.CLIENT_ERROR, "it does not accept the request"
    return FetchStatus.BAD_RESPONSE, "no answer to what was asked"


def _may_pass(result: FetchResult) -> bool:
    """Whether trying again at once makes sense: not where the server said when to come back."""
    return result.status in _RETRIED and result.retry_after is None


def _credential_header(credential: Credential) -> tuple[str, str]:
    if isinstance(credential, BasicCredential):
        pair = f"{credential.username}:{credential.password}".encode()
        return "Authorization", f"Basic {base64.b64encode(pair).decode()}"
    # Secrets that were saved from files end in a newline.
    return credential.name, credential.value.strip()
