"""The fields of a feed that people post: checked for their form, with errors that name the field. Pure.

The first fetch shows whether there is a feed at the URL. A person may name a preset and give its values instead of a
URL: the presets are the feeds that well-known services have for a tool, as templates in config/presets.yaml.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Mapping, Sequence
from datetime import datetime
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

from models.errors import InvalidInput
from models.feed import HASH_LENGTH, UNCONDITIONAL, Feed, feed_id_of
from models.resources.feeds import LONGEST_URL, NOT_IDS, FeedChange, FeedResource, NewFeed, Preset
from models.values import is_web_url
from services.feeds.outcome import ENABLED, NO_ERRORS
from services.feeds.verdicts import judged
from services.fetch import addresses
from services.parse.news_apis import NEWS_APIS
from services.parse.urls import normalize_url, without_feed_scheme
from services.yaml_lists import load_entries

RESERVED_IDS = (*(api.name for api in NEWS_APIS), *NOT_IDS)
DISABLED_BY_HAND = "disabled by an administrator"

PRESET_FIELDS = ("preset", "values")
"""What is posted instead of a URL."""

_NOT_IN_URLS = re.compile(r"[\s\x00-\x1f\x7f-\x9f\ud800-\udfff\ufffe\uffff<>\"\\]")


def feed_address(value: str) -> str:
    """The URL of a feed. Raises InvalidInput for one that cannot be stored or fetched, so that it is refused at once
    and not at its first fetch."""
    url = without_feed_scheme(value.strip())
    try:
        has_user = urlsplit(url).username is not None  # "" if there is a password alone
        normalize_url(url)
        fits = len(url) <= LONGEST_URL and not _NOT_IN_URLS.search(url)
    except ValueError:
        fits = has_user = False
    if has_user:
        allowed = "put them into a setting named FEED_CREDENTIAL_… and give that name as credential"
        raise InvalidInput("url", f"must not have a user or password in it: {allowed}")
    if not fits or not is_web_url(url) or isinstance(addresses.checked_url(url), str):
        allowed = f"an http:// or https:// URL with a host, without spaces, of at most {LONGEST_URL:,} characters"
        raise InvalidInput("url", f"must be {allowed}")
    return url


def address_of(url: str) -> str:
    """A hash of the normalized URL: a feed is written at each poll, and its size is paid for. Raises ValueError."""
    return hashlib.sha256(normalize_url(url).encode()).hexdigest()[:HASH_LENGTH]


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
    "max_age_seconds": None,
    "ttl_minutes": None,
    "skip_hours": (),
    "skip_days": (),
}
"""The fields that depend on the URL, with their values for a new URL."""


def new_feed(fields: Mapping[str, Any], now: datetime) -> Feed:
    """The feed as it is stored, due at once. Its id follows from the URL unless an id was posted.

    Raises InvalidInput that names the field and what is allowed.
    """
    given = _with_checked_url(NewFeed.checked(fields))
    if given.get("feed_id", "").lower() in RESERVED_IDS:
        allowed = f"must not be one of {', '.join(RESERVED_IDS)}, which have a meaning of their own"
        raise InvalidInput("feed_id", allowed)
    for name in ("url", "source_name"):
        if name not in given:
            raise InvalidInput(name, "is needed")
    stored = {FeedResource.stored_name(name): value for name, value in given.items() if name not in PRESET_FIELDS}
    stored.setdefault("feed_id", feed_id_of(stored["feed_url"]))
    stored["address"] = address_of(stored["feed_url"])
    stored |= _enabled(stored.get("enabled", True), now)
    return judged(Feed(created_at=now, next_fetch_time=now, **stored))


def feed_change(fields: Mapping[str, Any]) -> dict[str, Any]:
    """The fields to change, by their posted names. Null removes a credential or limit, and is refused for others."""
    return _with_checked_url(FeedChange.checked(fields))


def _with_checked_url(posted: FeedChange) -> dict[str, Any]:
    given = posted.given()
    return {**given, "url": feed_address(given["url"])} if "url" in given else given


def changed_feed(feed: Feed, change: Mapping[str, Any], now: datetime) -> Feed:
    """`feed` with a change that `feed_change` returned. Enabling a disabled feed clears its errors and makes it due.
    Disabling a feed that the app disabled makes it the person's decision: the feed is not probed any more.

    So does the URL of a feed that has moved. The next fetch of a feed that has moved tries its own URL first, since
    its body is not known any more.
    """
    if feed.is_of_news_api and {"url", "credential"} & change.keys():
        raise InvalidInput("url", f"of {feed.feed_id} comes from the settings, and so does its token")
    wanted = {FeedResource.stored_name(name): value for name, value in change.items()}
    has_moved = wanted.get("feed_url", feed.feed_url) != feed.feed_url
    enabled = change.get("enabled", feed.enabled)
    if has_moved:
        wanted |= {**_NEW_URL, "address": address_of(wanted["feed_url"])}
    moves_back = "feed_url" in wanted and feed.redirect_url is not None
    if enabled and (has_moved or moves_back or not feed.enabled):
        wanted |= {"next_fetch_time": now, **NO_ERRORS, "retry_after_until": None}
        wanted |= UNCONDITIONAL if feed.redirect_url is not None else {}
    if enabled != feed.enabled or ("enabled" in change and not enabled and feed.disabled_by == "app"):
        wanted |= _enabled(enabled, now)
    if all(getattr(feed, name) == value for name, value in wanted.items()):
        return feed
    return judged(feed.changed(now, **wanted), feed)


def _enabled(enabled: bool, now: datetime) -> dict[str, Any]:
    if enabled:
        return dict(ENABLED)
    by_person = {"disabled_reason": DISABLED_BY_HAND, "disabled_at": now, "disabled_by": "person"}
    return {**ENABLED, "enabled": False, **by_person}


PRESETS_FILE = Path(__file__).resolve().parents[2] / "config" / "presets.yaml"


class Presets:
    """The presets."""

    def __init__(self, presets: Sequence[Preset] = ()) -> None:
        self.every = tuple(presets)
        self._by_name = {each.preset: each for each in presets}

    def resolved(self, fields: Mapping[str, Any]) -> Mapping[str, Any]:
        """The posted fields of a feed, with the URL of the preset if they name one, and its name unless they have one.
        Raises InvalidInput that names the field and what is allowed."""
        name = fields.get("preset")
        if name is None:
            if fields.get("values") is not None:
                raise InvalidInput("preset", "is needed for values")
            return {field: value for field, value in fields.items() if field not in PRESET_FIELDS}
        if fields.get("url") is not None:
            raise InvalidInput("url", "must not be given with a preset, which has the URL")
        preset = self._by_name.get(name) if isinstance(name, str) else None
        if preset is None:
            raise InvalidInput("preset", f"must be one of {', '.join(self._by_name)}")
        posted = {field: value for field, value in fields.items() if field not in PRESET_FIELDS and value is not None}
        values = fields.get("values")
        return {**preset.fields_of_feed({} if values is None else values), **posted}


def load_presets(file: Path = PRESETS_FILE) -> Presets:
    """The presets of the file; none if there is no file. Raises WrongSettings, which names the field and the rule."""
    return load_entries(file, "presets", Preset, lambda found: Presets([Preset.model_validate(each) for each in found]))
