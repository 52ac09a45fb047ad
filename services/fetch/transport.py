"""One GET within limits of size and time, through httpx over aiohttp's connections. Neither retries nor redirects.

A socket factory makes every connection and checks its address, so that a name cannot resolve to another address between
the check and the connection. Each failure has its own status: errors are httpx's, with the system's own as their cause.
docs/adr/0007-fetching.md gives the reasons for not using httpx's own pool.
"""

from __future__ import annotations

import asyncio
import errno
import socket
import ssl
from collections.abc import AsyncIterator, Iterable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from functools import lru_cache

import aiohttp
import httpx
from aiohttp.abc import AbstractResolver, ResolveResult
from yarl import URL

from services.fetch.addresses import refused_address, without_query
from services.fetch.limits import BodyReservation
from services.fetch.outcome import FetchStatus
from services.fetch.response import BoundedDecoder, Undecodable
from services.setting import AddressRange

DNS_THREADS = 16
DNS_CACHE_SECONDS = 60
KEEP_ALIVE_SECONDS = 15.0
BUFFERED_BYTES = 32 * 1024
"""What is read of a body at a time, and received ahead. With aiohttp's default of 256 KB, 128 bodies that waited for
their budget took 120 MB."""

_NO_TIMEOUT = aiohttp.ClientTimeout(total=None, connect=None, sock_connect=None, sock_read=None)
_NO_BODY = httpx.ByteStream(b"")
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


async def send(
    transport: httpx.AsyncBaseTransport,
    url: URL,
    headers: Mapping[str, str],
    seconds: float,
    most_bytes: int,
    reservation: BodyReservation | None = None,
) -> Response | Failure:
    """The response within `seconds`, from looking up the name to the last byte. Waiting for the reservation to grow
    does not count. Not by httpx.AsyncClient, which would keep cookies and follow redirects."""
    responded = False
    try:
        request = _request(url, headers)
        async with asyncio.timeout(seconds) as deadline:
            response = await transport.handle_async_request(request)
            responded = True
            try:
                if not response.is_success:
                    return Response(response.status_code, response.headers)
                return await _read(response, most_bytes, reservation, deadline)
            finally:
                await response.aclose()
    except (TimeoutError, httpx.TimeoutException):
        late = "the body took longer than" if responded else "no response within"
        text = f"{late} {seconds:.3g} s from {without_query(url)}"
        return Failure(FetchStatus.TIMEOUT, text, "timeout", responded=responded)
    except httpx.InvalidURL:
        return Failure(FetchStatus.INVALID_URL, f"{without_query(url)}: not a URL", "invalid_url")
    except httpx.TransportError as error:
        return _failure(error, url, responded)


async def _read(
    response: httpx.Response, most_bytes: int, reservation: BodyReservation | None, deadline: asyncio.Timeout
) -> Response | Failure:
    encoding = response.headers.get("Content-Encoding", "")
    announced = response.headers.get("Content-Length", "")
    try:
        if announced.isdecimal() and int(announced[:20]) > most_bytes:
            raise Undecodable("too_large")
        decoder = BoundedDecoder(encoding, most_bytes)
        async for chunk in response.aiter_raw():
            for size in decoder.feed(chunk):
                if reservation is not None and size > reservation.granted_bytes:
                    await _grow(reservation, size, deadline)
        return Response(response.status_code, response.headers, decoder.finish())
    except Undecodable as error:
        if error.problem == "too_large":
            text = f"larger than {most_bytes / 1e6:.3g} MB, or compressed too much"
            return Failure(FetchStatus.TOO_LARGE, text, "too_large", responded=True)
        text = f"the body cannot be decoded (Content-Encoding: {encoding[:40] or 'none'})"
        return Failure(FetchStatus.BAD_RESPONSE, text, f"bad_response:{error.problem}", responded=True)


async def _grow(reservation: BodyReservation, size: int, deadline: asyncio.Timeout) -> None:
    """Stops the deadline while the reservation waits."""
    now, until = asyncio.get_running_loop().time, deadline.when()
    assert until is not None
    left = until - now()
    deadline.reschedule(None)
    await reservation.grow(size)
    deadline.reschedule(now() + left)


def _request(url: URL, headers: Mapping[str, str]) -> httpx.Request:
    # With a stream, even an empty one, httpx adds no headers of its own.
    pairs = [(n.encode(), v.encode()) for n, v in headers.items()]
    return httpx.Request("GET", _as_httpx(str(url)), headers=pairs, stream=_NO_BODY)


_as_httpx = lru_cache(maxsize=1024)(httpx.URL)  # feeds are fetched again and again


def _failure(error: httpx.TransportError, url: URL, responded: bool) -> Failure:
    cause, host = error.__cause__, url.raw_host or ""
    if isinstance(cause, RefusedAddress):
        return Failure(FetchStatus.REFUSED_ADDRESS, f"{host}: {cause.strerror}", "refused_address")
    if isinstance(cause, ssl.SSLCertVerificationError):
        text = f"{host}: the certificate is not accepted: {cause.verify_message}"
        return Failure(FetchStatus.TLS, text, f"tls:certificate_{cause.verify_code}")
    if isinstance(cause, ssl.SSLError):
        reason = (cause.reason or "handshake failed").lower().replace("_", " ")
        return Failure(FetchStatus.TLS, f"{host}: no TLS: {reason}", f"tls:{reason.replace(' ', '_')}"[:60])
    number = getattr(cause, "errno", None)
    if isinstance(error, LookupFailed):
        again = number == socket.EAI_AGAIN
        text = "the name could not be looked up just now" if again else "no such name"
        return Failure(FetchStatus.DNS, f"{host}: {text}", "dns:try_again" if again else "dns:unknown_name")
    if isinstance(error, httpx.RemoteProtocolError):
        large = str(getattr(cause, "message", "")).startswith(_TOO_LARGE_HEADERS)
        kind, text = ("headers", "its headers are too large") if large else ("http", "the response is not HTTP")
        return Failure(FetchStatus.BAD_RESPONSE, f"{host}: {text}", f"bad_response:{kind}")
    kind, text = _CONNECTION_ERRORS.get(number or 0, ("closed", "the connection ended early"))
    return Failure(FetchStatus.CONNECTION, f"{host}: {text}", f"connection:{kind}", responded=responded)


class RefusedAddress(OSError):
    """The error for an address that is not allowed.

    Raised while connecting. An OSError, since aiohttp tries the next address only after an OSError.
    """


class LookupFailed(httpx.ConnectError):
    """The name has no address, or the lookup failed. httpx has no class for these errors."""


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


class CheckedTransport(httpx.AsyncBaseTransport):
    """A transport of httpx over aiohttp that checks addresses.

    Owns the connections. Sends GET requests, and has no timeout of its own. `tls` and `resolver` replace the system's
    in tests.
    """

    def __init__(
        self,
        *,
        connections: int,
        allow_private_addresses: bool | Sequence[str],
        tls: ssl.SSLContext | None = None,
        resolver: AbstractResolver | None = None,
    ) -> None:
        self._connections = connections
        allowed = allow_private_addresses
        self._private = allowed if isinstance(allowed, bool) else tuple(map(AddressRange.of, allowed))
        self._tls = tls
        self._resolver = resolver
        self._session: aiohttp.ClientSession | None = None
        self._closed = False

    async def handle_async_request(self, request: httpx.Request) -> httpx.Response:
        headers = [(name.decode(), value.decode()) for name, value in request.headers.raw]
        url = URL(str(request.url), encoded=True)
        try:
            received = await self._open_session().get(url, headers=headers, allow_redirects=False)
        except (aiohttp.ClientError, ssl.SSLError) as error:
            raise _as_httpx_error(error) from _system_error(error)
        response = httpx.Response(received.status, headers=_headers(received.raw_headers), stream=_Body(received))
        response.headers.encoding = "utf-8"
        return response

    async def aclose(self) -> None:
        self._closed = True
        session, self._session = self._session, None
        resolver, self._resolver = self._resolver, None
        if session is not None:
            await session.close()
        if resolver is not None:
            await resolver.close()

    def _open_session(self) -> aiohttp.ClientSession:
        """The session, made inside the loop at the first use. After `aclose` a retry gets an error instead: connections
        of a new session would never be closed."""
        if self._closed:
            raise RuntimeError("this transport is closed")
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
                read_bufsize=BUFFERED_BYTES,
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
        if reason := refused_address(host, self._private, port):
            raise RefusedAddress(errno.EACCES, reason)
        return socket.socket(family, kind, protocol)


class _Body(httpx.AsyncByteStream):
    """The bytes of a body as they arrive. Closing the stream early closes the connection too."""

    def __init__(self, response: aiohttp.ClientResponse) -> None:
        self._response = response

    async def __aiter__(self) -> AsyncIterator[bytes]:
        try:
            async for chunk in self._response.content.iter_chunked(BUFFERED_BYTES):
                yield chunk
        except (aiohttp.ClientError, ssl.SSLError) as error:
            raise _as_httpx_error(error) from _system_error(error)

    async def aclose(self) -> None:
        self._response.release()


_JOINED = b"x-robots-tag"
MAX_JOINED = 20_000


def _headers(headers: Iterable[tuple[bytes, bytes]]) -> list[tuple[bytes, bytes]]:
    """The first header of each name, since httpx would join two; in UTF-8, since httpx would guess the encoding. Rules
    for robots are joined: each of them counts."""
    first: dict[bytes, bytes] = {}
    for name, value in headers:
        key, text = name.lower(), value if value.isascii() else value.decode("utf-8", "replace").encode()
        if key == _JOINED and key in first and len(first[key]) < MAX_JOINED:
            first[key] += b", " + text
        else:
            first.setdefault(key, text)
    return list(first.items())


def _as_httpx_error(error: Exception) -> httpx.TransportError | httpx.InvalidURL:
    # The type only: the text of the error may have a URL with its query.
    text = type(error).__name__
    if isinstance(error, aiohttp.InvalidURL):
        return httpx.InvalidURL(text)
    if isinstance(error, aiohttp.ClientConnectorDNSError):
        return LookupFailed(text)
    if isinstance(error, aiohttp.ClientConnectorError):
        return httpx.ConnectError(text)
    if isinstance(error, aiohttp.ClientResponseError):
        return httpx.RemoteProtocolError(text)
    return httpx.ReadError(text)


def _system_error(error: Exception) -> Exception:
    """The error of the system that aiohttp's error wraps, if it wraps one."""
    reason: Exception | None = getattr(error, "certificate_error", None) or getattr(error, "os_error", None)
    return reason or error
