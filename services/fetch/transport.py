"""One GET within limits of size and time, through aiohttp. Neither retries nor redirects.

A socket factory makes every connection and checks its address, so that a name cannot resolve to another address between
the check and the connection. Each failure has its own status. docs/adr/0007-fetching.md gives the reasons.
"""

from __future__ import annotations

import asyncio
import errno
import socket
import ssl
from collections.abc import Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass

import aiohttp
from aiohttp.abc import AbstractResolver, ResolveResult
from yarl import URL

from services.fetch.addresses import PrivateAddresses, refused_address, without_query
from services.fetch.limits import BodyReservation
from services.fetch.outcome import FetchStatus
from services.fetch.response import BoundedDecoder, Problem

__all__ = ["AbstractResolver", "Failure", "HttpClient", "Response"]

MAX_BYTES = 10_000_000
DNS_THREADS = 16
DNS_CACHE_SECONDS = 60
KEEP_ALIVE_SECONDS = 15.0

_NO_TIMEOUT = aiohttp.ClientTimeout(total=None, connect=None, sock_connect=None, sock_read=None)
_ROBOTS = "X-Robots-Tag"
_TOO_LARGE_HEADERS = ("Got more than", "Too many headers")
"""How aiohttp's messages for these errors begin, which have no type of their own. If aiohttp changes the wording, the
failure becomes `bad_response:http`."""

_CONNECTION_ERRORS = {
    errno.ECONNREFUSED: ("refused", "the connection was refused"),
    errno.ECONNRESET: ("reset", "the server broke the connection off"),
    errno.EPIPE: ("reset", "the server broke the connection off"),
    errno.EHOSTUNREACH: ("unreachable", "the host is unreachable"),
    errno.ENETUNREACH: ("unreachable", "the host's network is unreachable"),
    errno.EADDRNOTAVAIL: ("unreachable", "the address is unreachable"),
}


@dataclass(frozen=True, slots=True)
class Response:
    """The response to one request. `body` is set for a 2xx whose body was to be read."""

    status_code: int
    headers: Mapping[str, str]
    body: bytes | None = None


@dataclass(frozen=True, slots=True)
class Failure:
    """A step without a usable response. `responded`: the host sent a response, so the breaker does not count the
    failure."""

    status: FetchStatus
    error: str
    fingerprint: str
    retry_after: float | None = None
    responded: bool = False


class HttpClient:
    """Sends single GET requests over checked connections, which it owns.

    `most_bytes` is after decompression. `tls` and `resolver` replace the system's in tests.
    """

    def __init__(
        self,
        connections: int,
        allow_private_addresses: bool | Sequence[str],
        *,
        most_bytes: int = MAX_BYTES,
        tls: ssl.SSLContext | None = None,
        resolver: AbstractResolver | None = None,
    ) -> None:
        self._most_bytes = most_bytes
        self._connections = connections
        self._private = PrivateAddresses(allow_private_addresses)
        self._tls = tls
        self._resolver = resolver
        self._session: aiohttp.ClientSession | None = None
        self._closed = False

    async def send(
        self,
        url: URL,
        headers: Mapping[str, str],
        seconds: float,
        reservation: BodyReservation | None = None,
    ) -> Response | Failure:
        """The response within `seconds`, from looking up the name to the last byte. Waiting for the reservation to grow
        does not count."""
        responded = False
        session = self._open_session()
        try:
            async with asyncio.timeout(seconds) as deadline:
                received = await session.get(url, headers=headers, allow_redirects=False)
                responded = True
                try:
                    if not 200 <= received.status < 300:
                        return Response(received.status, _headers(received))
                    return await self._read(received, reservation, deadline)
                finally:
                    received.release()  # closes the connection, if the body was not read to its end
        except TimeoutError:
            late = "the body took longer than" if responded else "no response within"
            text = f"{late} {seconds:.3g} s from {without_query(url)}"
            return Failure(FetchStatus.TIMEOUT, text, "timeout", responded=responded)
        except aiohttp.InvalidURL:
            return Failure(FetchStatus.INVALID_URL, f"{without_query(url)}: not a URL", "invalid_url")
        except (aiohttp.ClientError, ssl.SSLError) as error:
            return _failure(error, url, responded)

    async def close(self) -> None:
        self._closed = True
        session, self._session = self._session, None
        resolver, self._resolver = self._resolver, None
        if session is not None:
            await session.close()
        if resolver is not None:
            await resolver.close()

    async def _read(
        self, received: aiohttp.ClientResponse, reservation: BodyReservation | None, deadline: asyncio.Timeout
    ) -> Response | Failure:
        headers = _headers(received)
        encoding, announced = headers.get("Content-Encoding", ""), headers.get("Content-Length", "")
        if announced.isdecimal() and int(announced[:20]) > self._most_bytes:
            return self._unread("too_large", encoding)
        decoder = BoundedDecoder(encoding, self._most_bytes)
        async for chunk in received.content.iter_any():
            for size in decoder.feed(chunk):
                if reservation is not None and size > reservation.granted_bytes:
                    await _grow(reservation, size, deadline)
            if decoder.problem:
                return self._unread(decoder.problem, encoding)
        body = decoder.finish()
        if body is None:
            return self._unread(decoder.problem or "corrupt", encoding)
        return Response(received.status, headers, body)

    def _unread(self, problem: Problem, encoding: str) -> Failure:
        if problem == "too_large":
            text = f"larger than {self._most_bytes / 1e6:.3g} MB, or compressed too much"
            return Failure(FetchStatus.TOO_LARGE, text, "too_large", responded=True)
        text = f"the body cannot be decoded (Content-Encoding: {encoding[:40] or 'none'})"
        return Failure(FetchStatus.BAD_RESPONSE, text, f"bad_response:{problem}", responded=True)

    def _open_session(self) -> aiohttp.ClientSession:
        """The session, made inside the loop at the first use. After `close` a retry gets an error instead: connections
        of a new session would never be closed."""
        if self._closed:
            raise RuntimeError("this client is closed")
        if self._session is None:
            self._resolver = self._resolver or Resolver()
            self._session = aiohttp.ClientSession(
                connector=aiohttp.TCPConnector(
                    limit=self._connections,
                    resolver=self._resolver,
                    ttl_dns_cache=DNS_CACHE_SECONDS,
                    keepalive_timeout=KEEP_ALIVE_SECONDS,
                    ssl=self._tls or True,  # the default context, made when aiohttp was imported
                    socket_factory=self._checked_socket,
                ),
                cookie_jar=aiohttp.DummyCookieJar(),
                auto_decompress=False,
                trust_env=False,
                timeout=_NO_TIMEOUT,
                skip_auto_headers=("User-Agent", "Accept", "Accept-Encoding"),
            )
        return self._session

    def _checked_socket(self, target: aiohttp.AddrInfoType) -> socket.socket:
        family, kind, protocol, _, address = target
        host, port = str(address[0]), int(address[1])
        if reason := refused_address(host, self._private.allow(host, port)):
            raise RefusedAddress(errno.EACCES, reason)
        return socket.socket(family, kind, protocol)


async def _grow(reservation: BodyReservation, size: int, deadline: asyncio.Timeout) -> None:
    """Stops the deadline while the reservation waits."""
    now, until = asyncio.get_running_loop().time, deadline.when()
    assert until is not None
    left = until - now()
    deadline.reschedule(None)
    await reservation.grow(size)
    deadline.reschedule(now() + left)


def _failure(error: Exception, url: URL, responded: bool) -> Failure:
    # The error of the system that aiohttp's error wraps, if it wraps one.
    cause = getattr(error, "certificate_error", None) or getattr(error, "os_error", None) or error
    host = url.raw_host or ""
    if isinstance(cause, RefusedAddress):
        return Failure(FetchStatus.REFUSED_ADDRESS, f"{host}: {cause.strerror}", "refused_address")
    if isinstance(cause, ssl.SSLCertVerificationError):
        text = f"{host}: the certificate is not accepted: {cause.verify_message}"
        return Failure(FetchStatus.TLS, text, f"tls:certificate_{cause.verify_code}")
    if isinstance(cause, ssl.SSLError):
        reason = (cause.reason or "handshake failed").lower().replace("_", " ")
        return Failure(FetchStatus.TLS, f"{host}: no TLS: {reason}", f"tls:{reason.replace(' ', '_')}"[:60])
    number = getattr(cause, "errno", None)
    if isinstance(error, aiohttp.ClientConnectorDNSError):
        again = number == socket.EAI_AGAIN
        text = "the name could not be looked up just now" if again else "no such name"
        return Failure(FetchStatus.DNS, f"{host}: {text}", "dns:try_again" if again else "dns:unknown_name")
    if isinstance(error, aiohttp.ClientResponseError):
        large = str(error.message).startswith(_TOO_LARGE_HEADERS)
        kind, text = ("headers", "its headers are too large") if large else ("http", "the response is not HTTP")
        return Failure(FetchStatus.BAD_RESPONSE, f"{host}: {text}", f"bad_response:{kind}")
    kind, text = _CONNECTION_ERRORS.get(number or 0, ("closed", "the connection ended early"))
    return Failure(FetchStatus.CONNECTION, f"{host}: {text}", f"connection:{kind}", responded=responded)


class RefusedAddress(OSError):
    """The error for an address that is not allowed.

    Raised while connecting. An OSError, since aiohttp tries the next address only after an OSError.
    """


class Resolver(AbstractResolver):
    """Looks names up in its own threads, so that lookups that hang do not block other work in threads."""

    def __init__(self) -> None:
        self._threads = ThreadPoolExecutor(DNS_THREADS, thread_name_prefix="dns")

    async def resolve(
        self, host: str, port: int = 0, family: socket.AddressFamily = socket.AF_UNSPEC
    ) -> list[ResolveResult]:
        loop = asyncio.get_running_loop()
        return await loop.run_in_executor(self._threads, self._look_up, host, port, family)

    async def close(self) -> None:
        self._threads.shutdown(wait=False, cancel_futures=True)

    @staticmethod
    def _look_up(host: str, port: int, family: socket.AddressFamily) -> list[ResolveResult]:
        try:
            found = socket.getaddrinfo(host, port, family=family, type=socket.SOCK_STREAM, flags=socket.AI_ADDRCONFIG)
        except UnicodeError:
            raise socket.gaierror(socket.EAI_NONAME, "no name that DNS knows") from None
        return [
            ResolveResult(
                hostname=host, host=str(address[0]), port=port, family=kind, proto=proto, flags=socket.AI_NUMERICHOST
            )
            for kind, _, proto, _, address in found
            if kind in (socket.AF_INET, socket.AF_INET6)
        ]


MAX_JOINED = 20_000


def _headers(received: aiohttp.ClientResponse) -> Mapping[str, str]:
    """The headers as text that can be stored, of each name the first. Rules for robots are joined: each of them
    counts."""
    headers = received.headers.copy()
    if robots := headers.getall(_ROBOTS, []):
        headers[_ROBOTS] = ", ".join(robots)[:MAX_JOINED]
    for name, value in received.headers.items():
        if not value.isascii():  # aiohttp keeps bytes that are not UTF-8 as halves of characters
            headers[name] = headers[name].encode("utf-8", "surrogateescape").decode("utf-8", "replace")
    return headers
