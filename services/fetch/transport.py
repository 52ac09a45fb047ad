"""httpx over aiohttp's connections. For requests without a body; it keeps no time, since whoever calls it does.

Every connection is made by a socket factory that checks the address it is about to connect to, so there is no time
between the check and the connection in which a name could come to mean something else. What fails is told apart: each
error is one of httpx's, with the system's own as its cause. docs/adr/0007-fetching.md says why not httpx's own pool.
"""

from __future__ import annotations

import asyncio
import errno
import socket
import ssl
from collections.abc import AsyncIterator, Iterable
from concurrent.futures import ThreadPoolExecutor

import aiohttp
import httpx
from aiohttp.abc import AbstractResolver, ResolveResult
from yarl import URL

from services.fetch.addresses import refused_address

__all__ = ["AbstractResolver", "CheckedTransport", "LookupFailed", "RefusedAddress"]

DNS_THREADS = 16
DNS_CACHE_SECONDS = 60
KEEP_ALIVE_SECONDS = 15.0

_NOTHING_SET = aiohttp.ClientTimeout(total=None, connect=None, sock_connect=None, sock_read=None)


class RefusedAddress(OSError):
    """Raised in the middle of connecting, where only an OSError ends one address and goes on to the next."""


class LookupFailed(httpx.ConnectError):
    """There is no address for the name, or none can be had now. httpx has no class of its own for that."""


class Resolver(AbstractResolver):
    """Names to addresses in threads of its own: lookups that hang must not hold up everybody else's threads."""

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
    """Owns the connections. `tls` and `resolver` stand in for the system's in tests."""

    def __init__(
        self,
        *,
        connections: int,
        allow_private_addresses: bool,
        tls: ssl.SSLContext | None = None,
        resolver: AbstractResolver | None = None,
    ) -> None:
        self._connections = connections
        self._allow_private = allow_private_addresses
        self._tls = tls
        self._resolver = resolver
        self._session: aiohttp.ClientSession | None = None
        self._closed = False

    async def handle_async_request(self, request: httpx.Request) -> httpx.Response:
        headers = [(name.decode(), value.decode()) for name, value in request.headers.raw]
        url = URL(str(request.url), encoded=True)
        try:
            response = await self._opened().request(request.method, url, headers=headers, allow_redirects=False)
        except (aiohttp.ClientError, ssl.SSLError) as error:
            raise _named(error) from _reason(error)
        answer = httpx.Response(response.status, headers=_readable(response.raw_headers), stream=_Body(response))
        answer.headers.encoding = "utf-8"
        return answer

    async def aclose(self) -> None:
        self._closed = True
        session, self._session = self._session, None
        resolver, self._resolver = self._resolver, None
        if session is not None:
            await session.close()
        if resolver is not None:
            await resolver.close()

    def _opened(self) -> aiohttp.ClientSession:
        """Made inside the loop, at the first use; not for a late retry, whose connections nobody would close."""
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
                    socket_factory=self._socket,
                ),
                cookie_jar=aiohttp.DummyCookieJar(),
                auto_decompress=False,
                trust_env=False,
                timeout=_NOTHING_SET,
                skip_auto_headers=("User-Agent", "Accept", "Accept-Encoding"),
            )
        return self._session

    def _socket(self, target: aiohttp.AddrInfoType) -> socket.socket:
        family, kind, protocol, _, address = target
        if reason := refused_address(str(address[0]), self._allow_private):
            raise RefusedAddress(errno.EACCES, reason)
        return socket.socket(family, kind, protocol)


class _Body(httpx.AsyncByteStream):
    """The bytes as they come. Closed before its end, it closes the connection, which else would have to be read out."""

    def __init__(self, response: aiohttp.ClientResponse) -> None:
        self._response = response

    async def __aiter__(self) -> AsyncIterator[bytes]:
        try:
            async for chunk in self._response.content.iter_any():
                yield chunk
        except (aiohttp.ClientError, ssl.SSLError) as error:
            raise _named(error) from _reason(error)

    async def aclose(self) -> None:
        self._response.release()


def _readable(headers: Iterable[tuple[bytes, bytes]]) -> list[tuple[bytes, bytes]]:
    """The first of each name, since httpx joins them and two dates are none; in UTF-8, since httpx else guesses."""
    first: dict[bytes, bytes] = {}
    for name, value in headers:
        first.setdefault(name.lower(), value if value.isascii() else value.decode("utf-8", "replace").encode())
    return list(first.items())


def _named(error: Exception) -> httpx.TransportError | httpx.InvalidURL:
    # Without the error's own text, which may hold a URL with its query.
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


def _reason(error: Exception) -> Exception:
    """The system's own error, where aiohttp's is wrapped around one."""
    reason: Exception | None = getattr(error, "certificate_error", None) or getattr(error, "os_error", None)
    return reason or error
