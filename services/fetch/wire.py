"""One GET through httpx, within bounds of size and time. No retries, no redirects, no judgement of the status.

How bytes travel is the transport's: the real one checks the address of every connection, a test's may make answers up.
"""

from __future__ import annotations

import asyncio
import errno
import socket
import ssl
from collections.abc import Mapping
from dataclasses import dataclass
from functools import lru_cache

import httpx
from yarl import URL

from services.fetch.addresses import shown
from services.fetch.decoding import BoundedDecoder, Problem
from services.fetch.outcome import Failure, FetchStatus
from services.fetch.room import Place
from services.fetch.transport import LookupFailed, RefusedAddress

_NOTHING = httpx.ByteStream(b"")
_TOO_LARGE_A_HEAD = ("Got more than", "Too many headers")
"""How aiohttp's reasons begin: it has no type for them. Another wording reads as what is not HTTP."""

_CONNECTION_WORDS = {
    errno.ECONNREFUSED: ("refused", "nobody listens there"),
    errno.ECONNRESET: ("reset", "the server broke the connection off"),
    errno.EPIPE: ("reset", "the server broke the connection off"),
    errno.EHOSTUNREACH: ("unreachable", "no way to the host"),
    errno.ENETUNREACH: ("unreachable", "no way to the host's network"),
    errno.EADDRNOTAVAIL: ("unreachable", "no way to the address"),
}


@dataclass(frozen=True, slots=True)
class Answer:
    """A response; `body` is there for 2xx only, `location` where one is named."""

    status_code: int
    headers: Mapping[str, str]
    location: str
    body: bytes | None
    received_bytes: int


class Wire:
    """Owns the transport from now on, and closes it."""

    def __init__(self, transport: httpx.AsyncBaseTransport, most_bytes: int) -> None:
        # Without httpx's client around it, which would keep cookies and work out where redirects lead.
        self._transport = transport
        self._most_bytes = most_bytes

    async def get(
        self, url: URL, headers: Mapping[str, str], seconds: float, place: Place | None = None, *, read: bool = True
    ) -> Answer | Failure:
        """What the server answers within `seconds`, from looking up its name to the last byte.

        A body that is large waits for its `place`, which takes nothing from its time; one that is not to be `read` is
        left where it is.
        """
        answered = False
        try:
            request = _request(url, headers)
            async with asyncio.timeout(seconds) as deadline:
                response = await self._transport.handle_async_request(request)
                answered = True
                try:
                    return await self._read(response, place, deadline, read)
                finally:
                    await response.aclose()
        except (TimeoutError, httpx.TimeoutException):
            what = "the body took longer than" if answered else "no answer within"
            text = f"{what} {seconds:.3g} s from {shown(url)}"
            return Failure(FetchStatus.TIMEOUT, text, "timeout", answered=answered)
        except httpx.InvalidURL:
            return Failure(FetchStatus.INVALID_URL, f"{shown(url)}: not a URL", "invalid_url")
        except httpx.TransportError as error:
            return _failure(error, url, answered)

    async def close(self) -> None:
        await self._transport.aclose()

    async def _read(
        self, response: httpx.Response, place: Place | None, deadline: asyncio.Timeout, read: bool
    ) -> Answer | Failure:
        location = response.headers.get("Location", "")
        if not response.is_success or not read:
            return Answer(response.status_code, response.headers, location, None, 0)
        decoder = BoundedDecoder(response.headers.get("Content-Encoding", ""), self._most_bytes)
        announced = response.headers.get("Content-Length", "")
        if announced.isdecimal() and int(announced[:20]) > self._most_bytes:
            return self._unread("too_large", response)
        async for chunk in response.aiter_raw():
            for held in decoder.feed(chunk):
                if place is not None and held > place.granted_bytes:
                    await _room_for(place, held, deadline)
            if decoder.problem:
                return self._unread(decoder.problem, response)
        body = decoder.finish()
        if body is None:
            return self._unread(decoder.problem or "corrupt", response)
        return Answer(response.status_code, response.headers, location, body, decoder.received_bytes)

    def _unread(self, problem: Problem, response: httpx.Response) -> Failure:
        if problem == "too_large":
            text = f"larger than {self._most_bytes / 1e6:.3g} MB, or compressed beyond belief"
            return Failure(FetchStatus.TOO_LARGE, text, "too_large", answered=True)
        encoding = response.headers.get("Content-Encoding", "none")[:40]
        text = f"the body cannot be decoded (Content-Encoding: {encoding})"
        return Failure(FetchStatus.BAD_RESPONSE, text, f"bad_response:{problem}", answered=True)


async def _room_for(place: Place, held: int, deadline: asyncio.Timeout) -> None:
    """Meanwhile the clock stands still."""
    now, until = asyncio.get_running_loop().time, deadline.when()
    assert until is not None
    left = until - now()
    deadline.reschedule(None)
    await place.grow(held)
    deadline.reschedule(now() + left)


def _request(url: URL, headers: Mapping[str, str]) -> httpx.Request:
    # With a stream, though an empty one, httpx adds nothing to the headers: whom to name as Host is the transport's.
    return httpx.Request(
        "GET", _as_httpx(str(url)), headers=[(n.encode(), v.encode()) for n, v in headers.items()], stream=_NOTHING
    )


_as_httpx = lru_cache(maxsize=1024)(httpx.URL)  # a feed is asked again and again


def _failure(error: httpx.TransportError, url: URL, answered: bool) -> Failure:
    cause, where = error.__cause__, url.raw_host or ""
    if isinstance(cause, RefusedAddress):
        return Failure(FetchStatus.REFUSED_ADDRESS, f"{where}: {cause.strerror}", "refused_address")
    if isinstance(cause, ssl.SSLCertVerificationError):
        text = f"{where}: the certificate is not accepted: {cause.verify_message}"
        return Failure(FetchStatus.TLS, text, f"tls:certificate_{cause.verify_code}")
    if isinstance(cause, ssl.SSLError):
        reason = (cause.reason or "handshake failed").lower().replace("_", " ")
        return Failure(FetchStatus.TLS, f"{where}: no TLS: {reason}", f"tls:{reason.replace(' ', '_')}"[:60])
    number = getattr(cause, "errno", None)
    if isinstance(error, LookupFailed):
        again = number == socket.EAI_AGAIN
        text = "the name could not be looked up just now" if again else "no such name"
        return Failure(FetchStatus.DNS, f"{where}: {text}", "dns:try_again" if again else "dns:unknown_name")
    if isinstance(error, httpx.RemoteProtocolError):
        large = str(getattr(cause, "message", "")).startswith(_TOO_LARGE_A_HEAD)
        kind, text = ("headers", "its headers are too large") if large else ("http", "what it answers is not HTTP")
        return Failure(FetchStatus.BAD_RESPONSE, f"{where}: {text}", f"bad_response:{kind}")
    kind, text = _CONNECTION_WORDS.get(number or 0, ("closed", "the connection ended early"))
    return Failure(FetchStatus.CONNECTION, f"{where}: {text}", f"connection:{kind}", answered=answered)
