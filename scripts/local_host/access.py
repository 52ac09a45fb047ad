"""Who may use the host: programs and pages of this machine, or whoever has a key. Pure.

Without keys the host serves this machine only. With keys it serves any client, and asks for a key where Azure does: for
functions whose level is FUNCTION, in `x-functions-key` or `code`. A host without keys does not listen elsewhere.
"""

from __future__ import annotations

import hmac
import ipaddress
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from urllib.parse import SplitResult, urlsplit

from . import Refused

KEYS = "FUNCTION_KEYS"
"""The setting with the keys, separated by commas: two while one replaces the other."""
MIN_CHARACTERS = 20
_SAFE = re.compile(r"[A-Za-z0-9._~=+/-]+")
_NEW_KEY = 'python3 -c "import secrets; print(secrets.token_urlsafe(32))" prints a new one'
NOT_LOCAL = "Only programs and pages of this machine are served, at http://127.0.0.1 or http://localhost.\n"
NOT_THIS_SITE = "A page of another site cannot use this app.\n"
NOT_BY_PROXY = (
    "This request came through a proxy, and a host without keys serves only its own machine: set "
    f"{KEYS}, and start the host with --public-url URL, which names the other keys that it needs.\n"
)


@dataclass(frozen=True, slots=True)
class Caller:
    """What a request says of its sender. `host`, `origin` and `fetch_site` are headers."""

    address: str | None
    host: str
    origin: str | None
    fetch_site: str | None = None
    is_forwarded: bool = False


@dataclass(frozen=True, slots=True)
class Access:
    """`keys` is empty for a host that serves its machine only. `public` is the URL that clients use, with a proxy."""

    keys: tuple[str, ...] = ()
    public: SplitResult | None = None

    def refusal(self, caller: Caller) -> str | None:
        """Why no address of the host answers this caller; None if they do.

        A browser sends `Origin` with a request that a page of another site makes, and the name of that site as `Host`
        if the site's name was made to resolve to this machine (DNS rebinding).
        """
        if not self.keys:
            if caller.is_forwarded:
                return NOT_BY_PROXY
            here = is_loopback(caller.address) and is_loopback(_hostname(f"//{caller.host}"))
            local_page = caller.origin is None or is_loopback(_hostname(caller.origin))
            return None if here and local_page else NOT_LOCAL
        return None if self._is_of_this_site(caller) else NOT_THIS_SITE

    def refusal_of_own(self, caller: Caller) -> str | None:
        """Why the host's own addresses do not answer a caller that `refusal` lets through. A page of another port of
        this machine can send them what needs no preflight: a GET that takes messages, or a POST of plain text."""
        is_own = self._is_of_this_site(caller) and caller.fetch_site in (None, "same-origin", "none")
        return None if is_own else NOT_THIS_SITE

    def _is_of_this_site(self, caller: Caller) -> bool:
        return caller.origin is None or _authority(caller.origin) == self.authority(caller.host).lower()

    def lets(self, level: str, key: str | None) -> bool:
        """Whether a caller with this key may call a function of this level, as azure.functions names levels.

        There is no master key, so nobody may call a function of the level ADMIN.
        """
        if not self.keys or level == "ANONYMOUS":
            return True
        if level != "FUNCTION" or key is None:
            return False
        # Each is compared, so that the time does not tell which one is nearly right.
        return sum(hmac.compare_digest(key.encode(), each.encode()) for each in self.keys) > 0

    def authority(self, host: str) -> str:
        """The host and port of the URL that the client used."""
        return self.public.netloc if self.public is not None else host

    def origin(self, host: str) -> str:
        return f"{self.public.scheme}://{self.public.netloc}" if self.public is not None else f"http://{host}"


def access_of(address: str, public: str | None, environment: Mapping[str, str], needed: Sequence[str] = ()) -> Access:
    """For a host that listens on `address`. Raises Refused without the keys that it needs, `needed` of the app too."""
    url = None if public is None else _public(public)
    keys = tuple(key for each in environment.get(KEYS, "").split(",") if (key := each.strip()))
    if not keys and url is None and is_loopback(address):
        return Access()
    given = {KEYS: keys, **{name: tuple(filter(None, [environment.get(name, "")])) for name in needed}}
    if missing := [name for name, values in given.items() if not values]:
        where = f"on {address}" if url is None else f"for {public}"
        raise Refused(
            f"{' and '.join(missing)} must be set to serve {where}, where others than this machine reach the app: "
            f"to a secret of {MIN_CHARACTERS} or more characters ({_NEW_KEY})"
        )
    for name, values in given.items():
        if any(len(value) < MIN_CHARACTERS or not _SAFE.fullmatch(value) for value in values):
            raise Refused(
                f"{name} must be {MIN_CHARACTERS} or more characters of A-Z, a-z, 0-9 and . _ ~ = + / - ({_NEW_KEY})"
            )
    return Access(keys, url)


def _public(text: str) -> SplitResult:
    try:
        url = urlsplit(text)
        right = url.scheme in ("http", "https") and bool(url.hostname) and (url.port is None or url.port > 0)
    except ValueError:
        right = False
    if not right or url.path not in ("", "/") or url.query or url.fragment or url.username is not None:
        raise Refused(f"--public-url must be as https://news.example.com, without a path, not {text}")
    return url


def _authority(origin: str) -> str | None:
    try:
        return urlsplit(origin).netloc.lower()
    except ValueError:
        return None


def _hostname(url: str) -> str | None:
    try:
        return urlsplit(url).hostname
    except ValueError:
        return None


def is_loopback(name: str | None) -> bool:
    if name == "localhost":
        return True
    try:
        return name is not None and ipaddress.ip_address(name).is_loopback
    except ValueError:
        return False
