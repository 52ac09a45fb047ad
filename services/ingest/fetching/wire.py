"""One GET over the wire: aiohttp behind our own rules. No retries, no redirects, no judgement of the status.

Every connection is made by a socket factory that checks the address it is about to connect to, so there is no time
between the check and the connection in which a name could come to mean something else.
"""

from __future__ import annotations

import asyncio
import errno
import socket
import ssl
from collections.abc import Mapping
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass

import aiohttp
from aiohttp.abc import AbstractResolver, ResolveResult
from yarl import URL

from services.ingest.fetching.addresses import refused_address, shown
from services.ingest.fetching.decoding import BoundedDecoder, Problem
from services.ingest.fetching.outcome import Failure, FetchStatus

DNS_THREADS = 16
DNS_CACHE_SECONDS = 60
KEEP_ALIVE_SECONDS = 15.0

_NOTHING_SET = aiohttp.ClientTimeout(total=None, connect=None, sock_connect=None, sock_read=None)
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
    """A response; `body` is there for 2xx only."""

    status_code: int
    headers: Mapping[str, str]
    body: bytes | None
    received_bytes: int


class RefusedAddress(OSError):
    """Raised in the middle of connecting, where only an OSError ends one address and goes on to the next."""


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


class Wire:
    """Owns the connections. `tls` and `resolver` stand in for the system's in tests."""

    def __init__(
        self,
        *,
        connections: int,
        most_bytes: int,
        allow_private_addresses: bool,
        tls: ssl.SSLContext | None = None,
        resolver: AbstractResolver | None = None,
    ) -> None:
        self._connections = connections
        self._most_bytes = most_bytes
        self._allow_private = allow_private_addresses
        self._tls = tls
        self._resolver = resolver
        self._session: aiohttp.ClientSession | None = None

    async def get(self, url: URL, headers: Mapping[str, str], seconds: float) -> Answer | Failure:
        """What the server answers within `seconds`, from looking up its name to the last byte."""
        answered = False
        try:
            async with (
                asyncio.timeout(seconds),
                self._opened().get(url, headers=headers, allow_redirects=False) as response,
            ):
                answered = True
                if not 200 <= response.status < 300:
                    return Answer(response.status, response.headers, None, 0)
                return await self._read(response)
        except TimeoutError:
            what = "the body took longer" if answered else "no answer"
            return Failure(
                FetchStatus.TIMEOUT, f"{what} than {seconds:.0f} s from {shown(url)}", "timeout", answered=answered
            )
        except aiohttp.InvalidURL:
            return Failure(FetchStatus.INVALID_URL, f"{shown(url)}: not a URL", "invalid_url")
        except (aiohttp.ClientError, ssl.SSLError) as error:
            return _failure(error, url, answered)

    async def close(self) -> None:
        session, self._session = self._session, None
        resolver, self._resolver = self._resolver, None
        if session is not None:
            await session.close()
        if resolver is not None:
            await resolver.close()

    def _opened(self) -> aiohttp.ClientSession:
        """Made inside the loop, at the first use."""
        if self._session is None:
            self._resolver = self._resolver or Resolver()
            self._session = aiohttp.ClientSession(
                connector=aiohttp.TCPConnector(
                    limit=self._connections,
                    resolver=self._resolver,
                    ttl_dns_cache=DNS_CACHE_SECONDS,
                    keepalive_timeout=KEEP_ALIVE_SECONDS,
                    ssl=self._tls or ssl.create_default_context(),
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

    async def _read(self, response: aiohttp.ClientResponse) -> Answer | Failure:
        decoder = BoundedDecoder(response.headers.get("Content-Encoding", ""), self._most_bytes)
        if (response.content_length or 0) > self._most_bytes:
            return self._unread("too_large", response)
        async for chunk in response.content.iter_any():
            if problem := decoder.feed(chunk):
                return self._unread(problem, response)
        body = decoder.finish()
        if body is None:
            return self._unread(decoder.problem or "corrupt", response)
        return Answer(response.status, response.headers, body, decoder.received_bytes)

    def _unread(self, problem: Problem, response: aiohttp.ClientResponse) -> Failure:
        # Not left to the pool: it would first have to read the rest.
        response.close()
        if problem == "too_large":
            text = f"larger than {self._most_bytes / 1e6:.3g} MB, or compressed beyond belief"
            return Failure(FetchStatus.TOO_LARGE, text, "too_large", answered=True)
        encoding = response.headers.get("Content-Encoding", "none")[:40]
        text = f"the body cannot be decoded (Content-Encoding: {encoding})"
        return Failure(FetchStatus.BAD_RESPONSE, text, f"bad_response:{problem}", answered=True)


def _failure(error: aiohttp.ClientError | ssl.SSLError, url: URL, answered: bool) -> Failure:
    cause = getattr(error, "certificate_error", None) or getattr(error, "os_error", None) or error
    where = url.raw_host or ""
    if isinstance(cause, RefusedAddress):
        return Failure(FetchStatus.REFUSED_ADDRESS, f"{where}: {cause.strerror}", "refused_address")
    if isinstance(cause, ssl.SSLCertVerificationError):
        text = f"{where}: the certificate is not accepted: {cause.verify_message}"
        return Failure(FetchStatus.TLS, text, f"tls:certificate_{cause.verify_code}")
    if isinstance(cause, ssl.SSLError):
        reason = (cause.reason or "handshake failed").lower().replace("_", " ")
        return Failure(FetchStatus.TLS, f"{where}: no TLS: {reason}", f"tls:{reason.replace(' ', '_')}"[:60])
    if isinstance(error, aiohttp.ClientConnectorDNSError):
        again = getattr(cause, "errno", None) == socket.EAI_AGAIN
        text = "the name could not be looked up just now" if again else "no such name"
        return Failure(FetchStatus.DNS, f"{where}: {text}", "dns:try_again" if again else "dns:unknown_name")
    if isinstance(error, aiohttp.ClientResponseError):
        return Failure(FetchStatus.BAD_RESPONSE, f"{where}: what it answers is not HTTP", "bad_response:http")
    kind, text = _CONNECTION_WORDS.get(getattr(cause, "errno", None) or 0, ("closed", "the connection ended early"))
    return Failure(FetchStatus.CONNECTION, f"{where}: {text}", f"connection:{kind}", answered=answered)
