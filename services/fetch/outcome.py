"""What is asked of the fetcher and what it answers. Values only; no rule is decided here."""

from __future__ import annotations

from dataclasses import dataclass, field
from enum import StrEnum

from services.fetch.room import Place

FEED_TYPES = (
    "application/atom+xml, application/rss+xml, application/feed+json, application/rdf+xml, "
    "application/xml;q=0.9, text/xml;q=0.9, */*;q=0.5"
)


class FetchStatus(StrEnum):
    """What came of a fetch; the comment says what the feed should make of it."""

    FETCHED = "fetched"
    UNCHANGED = "unchanged"  # a 200 with the bytes of last time: nothing to parse
    NOT_MODIFIED = "not_modified"
    GONE = "gone"  # 410, disables
    NOT_FOUND = "not_found"  # 404, disables
    UNAUTHORIZED = "unauthorized"  # 401, 403, 407
    RATE_LIMITED = "rate_limited"
    CLIENT_ERROR = "client_error"  # any other 4xx
    SERVER_ERROR = "server_error"
    BAD_RESPONSE = "bad_response"  # no HTTP, or a body that cannot be decoded
    TOO_LARGE = "too_large"
    REDIRECT_LOOP = "redirect_loop"
    TIMEOUT = "timeout"
    DNS = "dns"
    TLS = "tls"
    CONNECTION = "connection"
    REFUSED_ADDRESS = "refused_address"
    INVALID_URL = "invalid_url"
    DUPLICATE = "duplicate"  # its page names, or it has moved to, another feed here: disables
    BREAKER_OPEN = "breaker_open"  # not asked: the host fails too often just now


READABLE = frozenset({FetchStatus.FETCHED, FetchStatus.UNCHANGED, FetchStatus.NOT_MODIFIED})
PERMANENT = frozenset({FetchStatus.GONE, FetchStatus.NOT_FOUND, FetchStatus.DUPLICATE})


@dataclass(frozen=True, slots=True)
class BasicCredential:
    username: str
    password: str = field(repr=False)


@dataclass(frozen=True, slots=True)
class HeaderCredential:
    name: str
    value: str = field(repr=False)


Credential = BasicCredential | HeaderCredential


@dataclass(frozen=True, slots=True)
class FetchRequest:
    """`etag` and `last_modified` make it conditional; `body_hash` is what an unchanged body is told by.

    The credential goes to the URL's own origin and never beyond it. The repr holds no URL: a query may be a secret.
    `place` is where a large body is kept until whoever asked is through with it. One that is not to be `read` is called
    a bad response: only whether it is another status is asked.
    """

    url: str = field(repr=False)
    etag: str | None = None
    last_modified: str | None = None
    body_hash: str | None = None
    credential: Credential | None = field(default=None, repr=False)
    accept: str = FEED_TYPES
    place: Place | None = field(default=None, repr=False, compare=False)
    read: bool = True


@dataclass(frozen=True, slots=True)
class FetchResult:
    """What came of a fetch, and what to save of it.

    `etag`, `last_modified` and `body_hash` are those to save, whatever came of it: a 304 or an error keeps the ones
    that were asked with, a body brings its own. `max_age` is what this answer said: a 304 that says nothing leaves it
    None. `moved_to` is where permanent redirects, and only such, led: to be kept once the body has proved to be a feed.
    BREAKER_OPEN is no failure of the feed, which was not asked; `retry_after` says when the host may be again.
    `duration_ms` is time spent with servers, without waiting for a turn or between attempts. `error` names no query and
    no secret; `fingerprint` is one of few, for counting.
    """

    status: FetchStatus
    url: str = field(repr=False)
    status_code: int | None = None
    body: bytes | None = field(default=None, repr=False)
    content_type: str | None = None
    etag: str | None = None
    last_modified: str | None = None
    body_hash: str | None = None
    retry_after: float | None = None
    max_age: float | None = None
    moved_to: str | None = field(default=None, repr=False)
    duration_ms: int = 0
    attempts: int = 0
    received_bytes: int = 0
    error: str | None = None
    fingerprint: str | None = None

    @property
    def ok(self) -> bool:
        return self.status in READABLE


@dataclass(frozen=True, slots=True)
class Failure:
    """What one step came to instead of an answer. `answered`: the host did speak HTTP, so it is not to be avoided."""

    status: FetchStatus
    error: str
    fingerprint: str
    retry_after: float | None = None
    answered: bool = False
