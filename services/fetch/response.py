"""Reads a response: Retry-After, max-age, validators, the body, decoded within limits, and challenge pages. Pure.

Dates are compared with the server's own Date where it sends one, so that a wrong clock on either side cancels out.

Challenge pages are those by which a site keeps programs out. Only marks count that a service sends with a challenge and
with nothing else: many sites behind such a service serve usual pages with its script in them.
"""

from __future__ import annotations

import re
import zlib
from collections.abc import Iterator, Mapping
from dataclasses import replace
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime
from typing import Literal

from services.fetch.addresses import without_query
from services.fetch.outcome import FetchResult, FetchStatus

LONGEST_VALIDATOR = 1024
MAX_SECONDS = 10 * 365 * 86400.0

_MAX_AGE = re.compile(r"(?:^|[,\s])max-age\s*=\s*\"?([0-9]{1,12})", re.IGNORECASE)
_MUST_ASK = re.compile(r"(?:^|[,\s])no-(?:store|cache)(?:$|[,\s])", re.IGNORECASE)
_SENDABLE = re.compile(r"[\x20-\x7e\x80-\xff]+")

Problem = Literal["too_large", "corrupt", "unknown_encoding"]

STEP_BYTES = 256 * 1024
RATIO_FROM_BYTES = 1024 * 1024
MAX_RATIO = 100
"""A feed compresses to a tenth or twentieth, a bomb to a thousandth. For bodies of up to RATIO_FROM_BYTES, any ratio is
allowed."""
MAX_MEMBERS = 64

GZIP_MAGIC = b"\x1f\x8b"


def retry_after_seconds(headers: Mapping[str, str], now: datetime) -> float | None:
    """Retry-After in seconds from now, never negative; None if the header is missing or cannot be parsed."""
    value = headers.get("Retry-After", "").strip()
    seconds = _seconds(value)
    return _seconds_until(value, headers, now) if seconds is None else seconds


def max_age_seconds(headers: Mapping[str, str], now: datetime) -> float | None:
    """For how long the response stays fresh, less the time that it spent in caches; None if no header gives this."""
    control = headers.get("Cache-Control", "")
    if _MUST_ASK.search(control):
        return None
    if found := _MAX_AGE.search(control):
        age = _seconds(headers.get("Age", "").strip()) or 0.0
        return max(0.0, min(float(found[1]), MAX_SECONDS) - age)
    return _seconds_until(headers.get("Expires", "").strip(), headers, now)


def validator(value: str | None) -> str | None:
    """An ETag or Last-Modified that can be sent in a request; None for any other text."""
    if value is None or len(value) > LONGEST_VALIDATOR or not _SENDABLE.fullmatch(value):
        return None
    return value.strip() or None


def _seconds(value: str) -> float | None:
    return min(float(value[:12]), MAX_SECONDS) if value.isascii() and value.isdigit() else None


def _seconds_until(value: str, headers: Mapping[str, str], now: datetime) -> float | None:
    moment = _http_date(value)
    if moment is None:
        return None
    seconds = (moment - (_http_date(headers.get("Date", "")) or now)).total_seconds()
    return min(max(0.0, seconds), MAX_SECONDS)


def _http_date(value: str) -> datetime | None:
    if not value or len(value) > 64:
        return None
    try:
        moment = parsedate_to_datetime(value)
        return moment.replace(tzinfo=UTC) if moment.tzinfo is None else moment.astimezone(UTC)
    except (ValueError, OverflowError):
        return None


class Undecodable(Exception):
    """A body that cannot be read, or must not be, for this `problem`."""

    def __init__(self, problem: Problem) -> None:
        super().__init__(problem)
        self.problem = problem


class BoundedDecoder:
    """Decodes one body step by step, so that a bomb is noticed before it has cost memory or time.

    Some servers send a wrong Content-Encoding. So a body is decompressed as gzip if, and only if, it begins as gzip
    does. Everything raises Undecodable.
    """

    def __init__(self, encoding: str, most_bytes: int) -> None:
        self._encoding = encoding.strip().lower()
        self._most = most_bytes
        self._received_bytes = 0
        self._decoded = bytearray()
        self._start: bytes | None = b""
        self._inflater: zlib._Decompress | None = None
        self._members = 0
        if self._encoding not in ("", "identity", "gzip", "x-gzip", "deflate"):
            raise Undecodable("unknown_encoding")

    def feed(self, chunk: bytes) -> Iterator[int]:
        """Decodes a chunk while it is iterated over, and yields the size of the body after each step."""
        self._received_bytes += len(chunk)
        if self._received_bytes > self._most:
            raise Undecodable("too_large")
        if self._start is not None:
            chunk = self._start + chunk
            self._start = chunk if len(chunk) < 2 else None
            if self._start is not None:
                return
            self._inflater = self._inflater_of(chunk)
        if self._inflater is None:
            yield self._keep(chunk)
            return
        decoded = b""
        # zlib may have read all input and still have output left: only a step that was not full was the last.
        while chunk or len(decoded) == STEP_BYTES:
            if self._inflater.eof:
                if not chunk.startswith(GZIP_MAGIC):
                    return  # what follows is padding
                self._inflater = self._next_member()
            try:
                decoded = self._inflater.decompress(chunk, STEP_BYTES)
            except zlib.error:
                raise Undecodable("corrupt") from None
            yield self._keep(decoded)
            chunk = self._inflater.unused_data if self._inflater.eof else self._inflater.unconsumed_tail

    def finish(self) -> bytes:
        """The whole body."""
        if self._start:
            self._keep(self._start)
        if self._inflater is not None and not self._inflater.eof:
            raise Undecodable("corrupt")
        return bytes(self._decoded)

    def _inflater_of(self, start: bytes) -> zlib._Decompress | None:
        if start.startswith(GZIP_MAGIC):
            return zlib.decompressobj(zlib.MAX_WBITS | 16)
        if self._encoding != "deflate":
            return None
        # RFC 9110 defines deflate as zlib's format, but many servers send the bare stream.
        wrapped = start[0] & 0x0F == 8 and (start[0] << 8 | start[1]) % 31 == 0
        return zlib.decompressobj(zlib.MAX_WBITS if wrapped else -zlib.MAX_WBITS)

    def _next_member(self) -> zlib._Decompress:
        self._members += 1
        if self._members > MAX_MEMBERS:
            raise Undecodable("corrupt")
        return zlib.decompressobj(zlib.MAX_WBITS | 16)

    def _keep(self, decoded: bytes) -> int:
        """The size of the body with these bytes."""
        size = len(self._decoded) + len(decoded)
        if size > self._most or size > max(RATIO_FROM_BYTES, self._received_bytes * MAX_RATIO):
            raise Undecodable("too_large")
        self._decoded += decoded
        return size


LOOKED_AT_BYTES = 50_000

_HEADERS: tuple[tuple[str, str | None, str], ...] = (
    ("cf-mitigated", "challenge", "cloudflare"),
    ("x-amzn-waf-action", None, "aws_waf"),
    ("x-vercel-mitigated", None, "vercel"),
    ("x-sucuri-block", None, "sucuri"),
)
"""Header, its value (None: any), and the service."""

_MARKS = (
    (b"<title>just a moment...</title>", "cloudflare"),
    (b"_cf_chl_opt", "cloudflare"),
    (b"cf-browser-verification", "cloudflare"),
    (b"<title>attention required! | cloudflare</title>", "cloudflare"),
    (b"captcha-delivery.com", "datadome"),
    (b"px-captcha", "perimeterx"),
    (b"_incapsula_resource", "imperva"),
    (b"sucuri_cloudproxy_js", "sucuri"),
    (b"token.awswaf.com", "aws_waf"),
    (b"errors.edgesuite.net", "akamai"),
    (b"/.within.website/x/cmd/anubis", "anubis"),
    (b"vercel security checkpoint", "vercel"),
    (b"check.ddos-guard.net", "ddos_guard"),
)


def challenge_in_headers(headers: Mapping[str, str]) -> str | None:
    """The service that challenges this app, by the headers of its response."""
    for name, value, service in _HEADERS:
        given = headers.get(name)
        if given and value in (None, given.lower()):
            return service
    return None


def challenge_in_page(body: bytes) -> str | None:
    """The service that challenges this app, by the page that it sent instead of a feed."""
    start = body[:LOOKED_AT_BYTES].lower()
    return next((service for mark, service in _MARKS if mark in start), None)


def blocked(result: FetchResult, service: str, retry_after: float | None = None) -> FetchResult:
    """The result of a response by which `service` keeps programs out."""
    return replace(
        result,
        status=FetchStatus.BLOCKED,
        body=None,
        retry_after=retry_after,
        error=f"{result.status_code} from {without_query(result.url)}: a page of {service} that keeps programs out",
        fingerprint=f"{FetchStatus.BLOCKED}:{service}",
    )
