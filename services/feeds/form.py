"""The fields of a feed that people post: checked for their form, with errors that name the field. Pure.

The first fetch shows whether there is a feed at the URL.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from datetime import datetime
from typing import Any, get_args
from urllib.parse import urlsplit

from models.article import LOWEST_PRIORITY
from models.errors import InvalidInput
from models.feed import UNCONDITIONAL, Feed, FullTextChoice, feed_id_of
from models.values import is_web_url
from services.feeds.leases import RELEASED
from services.feeds.probing import ENABLED
from services.feeds.verdicts import judged
from services.fetch import addresses
from services.fetch.outcome import CREDENTIAL_NAME
from services.parse.news_apis import NEWS_APIS
from services.parse.urls import normalize_url, without_feed_scheme

FIELDS = (
    *("url", "source_name", "feed_id", "priority", "source_priority", "enabled", "credential", "daily_limit"),
    *("full_text", "tags"),
)
CHANGEABLE = tuple(name for name in FIELDS if name != "feed_id")
STORED_AS: Mapping[str, str] = {name: name for name in FIELDS} | {
    "url": "feed_url",
    "priority": "priority_score",
}
"""The field of Feed by the name under which it is posted."""

RESERVED_IDS = (*(api.name for api in NEWS_APIS), "apply", "import", "export", "bulk", "preview")
DISABLED_BY_HAND = "disabled by an administrator"

_REMOVABLE = ("credential", "daily_limit")

LONGEST_URL = 2000
LONGEST_NAME = 200
HIGHEST_PRIORITY = 1000.0
HIGHEST_LIMIT = 100_000
LONGEST_TAG = 100
MOST_TAGS = 20

_UNPRINTABLE = r"\x00-\x1f\x7f-\x9f\ud800-\udfff\ufffe\uffff"
_NAME = re.compile(rf"[^{_UNPRINTABLE}]{{1,{LONGEST_NAME}}}")
_NOT_IN_URLS = re.compile(rf"[\s{_UNPRINTABLE}<>\"\\]")
_TAG = re.compile(rf"[^,{_UNPRINTABLE}]{{1,{LONGEST_TAG}}}")
_FEED_ID = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,63}")

_NEW_URL: Mapping[str, Any] = {
    "redirect_url": None,
    "moved_at": None,
    "empty_since": None,
    "average_duration_ms": None,
    "title": None,
    "site_url": None,
    "etag": None,
    "last_modified": None,
    "body_hash": None,
    "validators_trusted": True,
    "last_unconditional_fetch": None,
    "max_age_seconds": None,
    "ttl_minutes": None,
    "skip_hours": (),
    "skip_days": (),
}
"""The fields that depend on the URL, with their values for a new URL."""

_NEW_START: Mapping[str, Any] = {
    "consecutive_errors": 0,
    "failing_since": None,
    "blocked_since": None,
    "last_error": None,
    "last_error_fingerprint": None,
    "retry_after_until": None,
    # A worker that has the claim now fetches the old URL.
    **RELEASED,
}


def new_feed(fields: Mapping[str, Any], now: datetime) -> Feed:
    """The feed as it is stored, due at once. Its id follows from the URL unless an id was posted.

    Raises InvalidInput that names the field and what is allowed.
    """
    _refuse_unknown(fields, FIELDS)
    for name in ("url", "source_name"):
        if fields.get(name) is None:
            raise InvalidInput(name, "is needed")
    checked = {STORED_AS[name]: _CHECKS[name](value) for name, value in fields.items() if value is not None}
    checked.setdefault("feed_id", feed_id_of(checked["feed_url"]))
    checked |= _enabled(checked.get("enabled", True), now)
    return judged(Feed(created_at=now, updated_at=now, next_fetch_time=now, **checked))


def feed_change(fields: Mapping[str, Any]) -> dict[str, Any]:
    """The fields to change, by their posted names. Null removes a credential or limit, and is refused for others."""
    _refuse_unknown(fields, CHANGEABLE)
    return {
        name: None if name in _REMOVABLE and value is None else _CHECKS[name](value) for name, value in fields.items()
    }


def changed_feed(feed: Feed, change: Mapping[str, Any], now: datetime) -> Feed:
    """`feed` with a change that `feed_change` returned. Enabling a disabled feed clears its errors and makes it due.
    Disabling a feed that the app disabled makes it the person's decision: the feed is not probed any more.

    So does the URL of a feed that has moved. The next fetch of a feed that has moved tries its own URL first, since
    its body is not known any more.
    """
    if feed.is_of_news_api and {"url", "credential"} & change.keys():
        raise InvalidInput("url", f"of {feed.feed_id} comes from the settings, and so does its token")
    wanted = {STORED_AS[name]: value for name, value in change.items()}
    has_moved = wanted.get("feed_url", feed.feed_url) != feed.feed_url
    enabled = change.get("enabled", feed.enabled)
    if has_moved:
        wanted |= _NEW_URL
    moves_back = "feed_url" in wanted and feed.redirect_url is not None
    if enabled and (has_moved or moves_back or not feed.enabled):
        wanted |= {"next_fetch_time": now, **_NEW_START, **(UNCONDITIONAL if feed.redirect_url is not None else {})}
        if feed.current_attempt is not None:
            wanted["interrupted_attempts"] = (*feed.interrupted_attempts, feed.current_attempt)
            wanted["recheck_entries"] = True
    if enabled != feed.enabled or ("enabled" in change and not enabled and feed.disabled_by == "app"):
        wanted |= _enabled(enabled, now)
    if all(getattr(feed, name) == value for name, value in wanted.items()):
        return feed
    return judged(feed.changed(now, **wanted), feed)


def is_feed_id(value: Any) -> bool:
    """Whether a feed could have this id at all."""
    return isinstance(value, str) and bool(_FEED_ID.fullmatch(value))


def checked_url(value: Any) -> str:
    url = without_feed_scheme(value.strip()) if isinstance(value, str) else ""
    try:
        has_user = urlsplit(url).username is not None  # "" if there is a password alone
        normalize_url(url)
        fits = len(url) <= LONGEST_URL and not _NOT_IN_URLS.search(url)
    except ValueError:
        fits = has_user = False
    if has_user:
        raise InvalidInput(
            "url",
            "must not have a user or password in it: put them into a setting named FEED_CREDENTIAL_… and give that "
            "name as credential",
        )
    # A URL that cannot be stored or fetched is refused here, not at its first fetch.
    if not fits or not is_web_url(url) or isinstance(addresses.checked_url(url), str):
        allowed = f"an http:// or https:// URL with a host, without spaces, of at most {LONGEST_URL:,} characters"
        raise InvalidInput("url", f"must be {allowed}")
    return url


def checked_tag(value: Any, field: str = "tag") -> str:
    """The tag in its one spelling: single blanks, and slashes only between levels."""
    levels = [" ".join(level.split()) for level in value.split("/")] if isinstance(value, str) else []
    tag = "/".join(filter(None, levels))
    if not _TAG.fullmatch(tag):
        raise InvalidInput(field, f"must be text of 1 to {LONGEST_TAG} characters on one line, without a comma")
    return tag


def checked_tags(value: Any) -> tuple[str, ...]:
    """The tags sorted, each once."""
    tags = {checked_tag(each, "tags") for each in value} if isinstance(value, list | tuple) else None
    if tags is None or len(tags) > MOST_TAGS:
        raise InvalidInput("tags", f"must be a list of at most {MOST_TAGS} tags")
    return tuple(sorted(tags))


def _checked_name(value: Any) -> str:
    name = value.strip() if isinstance(value, str) else ""
    if not _NAME.fullmatch(name):
        raise InvalidInput("source_name", f"must be text of 1 to {LONGEST_NAME} characters on one line")
    return name


def _checked_id(value: Any) -> str:
    if not is_feed_id(value):
        raise InvalidInput("feed_id", "must be 1 to 64 letters, digits, dots, hyphens or underscores, no sign first")
    if value.lower() in RESERVED_IDS:
        raise InvalidInput(
            "feed_id", f"must not be one of {', '.join(RESERVED_IDS)}, which have a meaning of their own"
        )
    return str(value)


def _checked_priority(value: Any) -> float:
    is_number = isinstance(value, int | float) and not isinstance(value, bool)
    if not is_number or not 0 < value <= HIGHEST_PRIORITY:  # NaN is in no range
        raise InvalidInput("priority", f"must be a number over 0, at most {HIGHEST_PRIORITY:,.0f}; higher goes first")
    return float(value)


def _checked_source_priority(value: Any) -> int:
    if not isinstance(value, int) or isinstance(value, bool) or not 1 <= value <= LOWEST_PRIORITY:
        raise InvalidInput("source_priority", f"must be a whole number from 1, the best, to {LOWEST_PRIORITY}")
    return value


def _checked_flag(value: Any) -> bool:
    if not isinstance(value, bool):
        raise InvalidInput("enabled", "must be true or false")
    return value


def _checked_credential(value: Any) -> str:
    if not isinstance(value, str) or not CREDENTIAL_NAME.fullmatch(value):
        raise InvalidInput("credential", "must be the name of a setting: FEED_CREDENTIAL_ and capitals, digits or _")
    return value


def _checked_limit(value: Any) -> int:
    if not isinstance(value, int) or isinstance(value, bool) or not 1 <= value <= HIGHEST_LIMIT:
        raise InvalidInput("daily_limit", f"must be a whole number of articles from 1 to {HIGHEST_LIMIT:,}")
    return value


def _checked_full_text(value: Any) -> FullTextChoice:
    if value not in get_args(FullTextChoice):
        raise InvalidInput("full_text", f"must be one of {', '.join(get_args(FullTextChoice))}")
    return value  # type: ignore[no-any-return]


_CHECKS: Mapping[str, Callable[[Any], Any]] = {
    "url": checked_url,
    "source_name": _checked_name,
    "feed_id": _checked_id,
    "priority": _checked_priority,
    "source_priority": _checked_source_priority,
    "enabled": _checked_flag,
    "credential": _checked_credential,
    "daily_limit": _checked_limit,
    "full_text": _checked_full_text,
    "tags": checked_tags,
}


def _enabled(enabled: bool, now: datetime) -> dict[str, Any]:
    if enabled:
        return dict(ENABLED)
    by_person = {"disabled_reason": DISABLED_BY_HAND, "disabled_at": now, "disabled_by": "person"}
    return {**ENABLED, "enabled": False, **by_person}


def _refuse_unknown(fields: Mapping[str, Any], known: tuple[str, ...]) -> None:
    for name in fields:
        if name not in known:
            raise InvalidInput(str(name), f"no such field; there are {', '.join(known)}")
