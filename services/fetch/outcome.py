"""The requests and results of the fetcher, and the credentials of private feeds."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from enum import StrEnum

from models.errors import InvalidInput
from models.feed import CREDENTIAL_NAME
from services.fetch.limits import BodyReservation

FEED_TYPES = (
    "application/atom+xml, application/rss+xml, application/feed+json, application/rdf+xml, "
    "application/xml;q=0.9, text/xml;q=0.9, */*;q=0.5"
)


class FetchStatus(StrEnum):
    """The outcome of a fetch; a comment gives its meaning for the feed."""

    FETCHED = "fetched"
    UNCHANGED = "unchanged"  # a 200 with the bytes of the last fetch: nothing to parse
    NOT_MODIFIED = "not_modified"
    GONE = "gone"  # 410, disables
    NOT_FOUND = "not_found"  # 404, disables
    UNAUTHORIZED = "unauthorized"  # 401, 403, 407
    BLOCKED = "blocked"  # a page that keeps programs out
    RATE_LIMITED = "rate_limited"
    CLIENT_ERROR = "client_error"  # any other 4xx
    SERVER_ERROR = "server_error"
    BAD_RESPONSE = "bad_response"  # not HTTP, or a body that cannot be decoded
    TOO_LARGE = "too_large"
    REDIRECT_LOOP = "redirect_loop"
    TIMEOUT = "timeout"
    DNS = "dns"
    TLS = "tls"
    CONNECTION = "connection"
    REFUSED_ADDRESS = "refused_address"
    INVALID_URL = "invalid_url"
    DUPLICATE = "duplicate"  # the page or a redirect of the feed leads to another registered feed: disables
    BREAKER_OPEN = "breaker_open"  # no request was sent, because the host keeps failing
    POSTPONED = "postponed"  # the worker had no time left for a large body


READABLE = frozenset({FetchStatus.FETCHED, FetchStatus.UNCHANGED, FetchStatus.NOT_MODIFIED})
NOT_TRIED = frozenset({FetchStatus.BREAKER_OPEN, FetchStatus.POSTPONED})
"""No failures of the feed."""
NO_ANSWER = frozenset({FetchStatus.TIMEOUT, FetchStatus.DNS, FetchStatus.CONNECTION, FetchStatus.TLS})
"""The fault of the host, or of this installation."""
PERMANENT = frozenset({FetchStatus.GONE, FetchStatus.NOT_FOUND, FetchStatus.DUPLICATE})

_BASIC = re.compile(r"basic\s+([^:\s]+):(.+)", re.IGNORECASE)
_HEADER = re.compile(r"header\s+([A-Za-z0-9!#$%&'*+.^_`|~-]+):\s*([\x20-\x7e]+)", re.IGNORECASE)


@dataclass(frozen=True, slots=True)
class BasicCredential:
    """A user name and a password."""

    username: str
    password: str = field(repr=False)


@dataclass(frozen=True, slots=True)
class HeaderCredential:
    """A header with a secret."""

    name: str
    value: str = field(repr=False)


Credential = BasicCredential | HeaderCredential


def credentials_in(environment: Mapping[str, str]) -> Callable[[str], Credential]:
    """A function that reads the credential in a setting. It raises InvalidInput, which never quotes the value, for a
    setting that is missing or malformed. On Azure such a setting is a Key Vault reference."""

    def credential(name: str) -> Credential:
        # services/feeds/form.py checks the name too, but a feed's document may have been written in another way.
        if not CREDENTIAL_NAME.fullmatch(name):
            raise InvalidInput("credential", f"{name!r} must be the name of a setting FEED_CREDENTIAL_…")
        text = environment.get(name, "").strip()
        if basic := _BASIC.fullmatch(text):
            return BasicCredential(basic[1], basic[2])
        if header := _HEADER.fullmatch(text):
            return HeaderCredential(header[1], header[2])
        form = "with the value `basic user:password` or `header Name: value`"
        if not text:
            raise InvalidInput("credential", f"the app has no setting {name}: add it, {form}, and restart the app")
        raise InvalidInput("credential", f"the setting {name} is malformed: set it again, {form}, and restart the app")

    return credential


@dataclass(frozen=True, slots=True)
class FetchRequest:
    """The request for one fetch.

    `etag` and `last_modified` make the request conditional; `body_hash` is the hash of the last body.

    The credential goes to the URL's own origin only. The repr has no URL, whose query may be a secret. `reservation` is
    the body's share of the memory for bodies.
    """

    url: str = field(repr=False)
    etag: str | None = None
    last_modified: str | None = None
    body_hash: str | None = None
    credential: Credential | None = field(default=None, repr=False)
    accept: str = FEED_TYPES
    reservation: BodyReservation | None = field(default=None, repr=False, compare=False)


@dataclass(frozen=True, slots=True)
class FetchResult:
    """The outcome of a fetch, with the values to save.

    `etag`, `last_modified` and `body_hash` are those of the body, or after a 304 those of the request. `max_age` is
    that of the response; a 304 may have none. `moved_to` is set if all redirects were permanent; save it once the body
    has proved to be a feed. BREAKER_OPEN is not a failure of the feed; `retry_after` is then the wait until the host
    may be tried again. `duration_ms` is time spent with servers, without waiting for a slot or between attempts.
    `error` has no query and no secret; `fingerprint` is a class of failures, for counting. `robots_tag` is the header
    X-Robots-Tag.
    """

    status: FetchStatus
    url: str = field(repr=False)
    status_code: int | None = None
    body: bytes | None = field(default=None, repr=False)
    content_type: str | None = None
    robots_tag: str | None = None
    etag: str | None = None
    last_modified: str | None = None
    body_hash: str | None = None
    retry_after: float | None = None
    max_age: float | None = None
    moved_to: str | None = field(default=None, repr=False)
    duration_ms: int = 0
    attempts: int = 0
    error: str | None = None
    fingerprint: str | None = None

    @property
    def ok(self) -> bool:
        return self.status in READABLE
