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
from typing import Annotated, Any
from urllib.parse import quote, urlsplit

from pydantic import AfterValidator, Field, StringConstraints, ValidationError, WithJsonSchema

from models.article import LOWEST_PRIORITY
from models.errors import InvalidInput, WrongSettings
from models.feed import HASH_LENGTH, SHORT_TEXT, UNCONDITIONAL, Feed, FullTextChoice, feed_id_of
from models.request import FeedId, Request, one_line
from models.resources.feeds import FeedResource, Preset, PresetValue
from models.values import Flag, is_web_url
from services.feeds.outcome import ENABLED, NO_ERRORS
from services.feeds.verdicts import judged
from services.fetch import addresses
from services.fetch.outcome import CREDENTIAL_NAME
from services.parse.news_apis import NEWS_APIS
from services.parse.urls import normalize_url, without_feed_scheme
from services.parse.yaml_lists import read_entries

RESERVED_IDS = (*(api.name for api in NEWS_APIS), "apply", "import", "export", "bulk", "preview")
DISABLED_BY_HAND = "disabled by an administrator"

LONGEST_URL = 2000
LONGEST_NAME = 200
HIGHEST_PRIORITY = 1000.0
HIGHEST_LIMIT = 100_000
LONGEST_TAG = 100
MAX_TAGS = 20
PRESET_FIELDS = ("preset", "values")
"""What is posted instead of a URL."""

_NOT_IN_URLS = re.compile(r"[\s\x00-\x1f\x7f-\x9f\ud800-\udfff\ufffe\uffff<>\"\\]")
_FEED_ID = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,63}")


def feed_address(value: str) -> str:
    """The URL of a feed. Raises ValueError for one that cannot be stored or fetched, so that it is refused at once and
    not at its first fetch."""
    url = without_feed_scheme(value.strip())
    try:
        has_user = urlsplit(url).username is not None  # "" if there is a password alone
        normalize_url(url)
        fits = len(url) <= LONGEST_URL and not _NOT_IN_URLS.search(url)
    except ValueError:
        fits = has_user = False
    if has_user:
        raise ValueError(
            "must not have a user or password in it: put them into a setting named FEED_CREDENTIAL_… and give that "
            "name as credential"
        )
    if not fits or not is_web_url(url) or isinstance(addresses.checked_url(url), str):
        allowed = f"an http:// or https:// URL with a host, without spaces, of at most {LONGEST_URL:,} characters"
        raise ValueError(f"must be {allowed}")
    return url


def address_of(url: str) -> str:
    """A hash of the normalized URL: a feed is written at each poll, and its size is paid for. Raises ValueError."""
    return hashlib.sha256(normalize_url(url).encode()).hexdigest()[:HASH_LENGTH]


def tag_of(value: str) -> str:
    """The tag in its one spelling: single blanks, and slashes only between levels. Raises ValueError."""
    tag = "/".join(filter(None, (" ".join(level.split()) for level in value.split("/"))))
    if "," in tag or not 1 <= len(tag) <= LONGEST_TAG:
        raise ValueError(f"must be text of 1 to {LONGEST_TAG} characters on one line, without a comma")
    return one_line(tag)


def _not_reserved(feed_id: str) -> str:
    if feed_id.lower() in RESERVED_IDS:
        raise ValueError(f"must not be one of {', '.join(RESERVED_IDS)}, which have a meaning of their own")
    return feed_id


def _credential(name: str) -> str:
    if not CREDENTIAL_NAME.fullmatch(name):
        raise ValueError("must be the name of a setting: FEED_CREDENTIAL_ and capitals, digits or _")
    return name


FeedUrl = Annotated[
    str,
    AfterValidator(feed_address),
    WithJsonSchema({"type": "string", "minLength": 1, "maxLength": LONGEST_URL, "format": "web-url"}),
]
Tag = Annotated[
    str,
    AfterValidator(tag_of),
    WithJsonSchema({"type": "string", "minLength": 1, "maxLength": LONGEST_TAG, "format": "tag"}),
]
Tags = Annotated[tuple[Tag, ...], Field(max_length=MAX_TAGS), AfterValidator(lambda tags: tuple(sorted(set(tags))))]
"""Sorted, each once."""
Credential = Annotated[
    str, AfterValidator(_credential), Field(json_schema_extra={"pattern": "^FEED_CREDENTIAL_[A-Z0-9_]+$"})
]
SourceName = Annotated[
    str,
    StringConstraints(strip_whitespace=True, min_length=1, max_length=LONGEST_NAME),
    AfterValidator(one_line),
    Field(json_schema_extra={"format": "single-line"}),
]
_ABOUT_URL = (
    "The URL of a feed, or of a web page that links to its feed: `http` or `https`, without user or password. "
    "`feed:https://…` and `feed://…` mean `https://…` and `http://…`. Only its form is checked at once."
)
_ABOUT_CREDENTIAL = (
    "The name of a setting with the value `basic USER:PASSWORD` or `header NAME: VALUE`. 400 if the app has no such "
    "setting: add the setting first. Null in a change removes it."
)
_ABOUT_TAGS = "Tags, none of them with a comma. A slash separates levels, as in News/World. A change replaces all."


class FeedChange(Request, examples={"tags": {"tags": ["Python"]}}, changes=FeedResource):
    """The fields to change; or what `GET` returned, with changes. Null removes `credential` or `daily_limit`."""

    url: FeedUrl = Field(default="", description=_ABOUT_URL)
    source_name: SourceName = Field(default="", description="The name that people know the source by.")
    priority: Annotated[float, Field(strict=True, gt=0, le=HIGHEST_PRIORITY)] = Field(
        default=1.0,
        description="Of the feeds that are due, those with the highest priority are fetched first. 1 if absent.",
    )
    source_priority: Annotated[int, Field(strict=True, ge=1, le=LOWEST_PRIORITY)] = Field(
        default=LOWEST_PRIORITY,
        description="The source with the lowest number gives an article its canonical reading. "
        f"{LOWEST_PRIORITY} if absent. A change applies to stored articles too.",
    )
    enabled: Flag = Field(
        default=True,
        description="Whether the feed is fetched; true if absent. Enabling a disabled feed sets its errors to 0 and "
        "makes it due at once.",
    )
    credential: Credential | None = Field(default=None, description=_ABOUT_CREDENTIAL)
    daily_limit: Annotated[int, Field(strict=True, ge=1, le=HIGHEST_LIMIT)] | None = Field(
        default=None,
        description="The new articles that the feed may bring in a day. If absent, the limit follows from its history. "
        "Null in a change removes it.",
    )
    full_text: FullTextChoice = Field(
        default="never",
        description="Whether the text of the page behind an entry is acquired and scored: `never` (if absent), `short` "
        f"(if the entry has fewer than {SHORT_TEXT} characters of text), or `always`. It holds for entries that are "
        "new or edited from then on.",
    )
    tags: Tags = Field(default=(), description=_ABOUT_TAGS)


class NewFeed(
    FeedChange,
    examples={
        "a feed": {"url": "https://example.com/feed.xml", "source_name": "Example", "tags": ["News/World"]},
        "a preset": {"preset": "github-releases", "values": {"owner": "astral-sh", "repository": "uv"}, "tags": ["uv"]},
    },
    null_is_absent=True,
    rules={
        "oneOf": [
            {
                "required": ["url", "source_name"],
                "properties": {
                    "url": {"type": "string"},
                    "source_name": {"type": "string"},
                    "preset": {"type": "null"},
                    "values": {"type": "null"},
                },
            },
            {
                "required": ["preset", "values"],
                "properties": {"preset": {"type": "string"}, "values": {"type": "object"}, "url": {"type": "null"}},
            },
        ]
    },
):
    """A feed to add. It needs `url` and `source_name`, or `preset` with its `values`."""

    feed_id: Annotated[FeedId, AfterValidator(_not_reserved)] = Field(
        default="",
        description="It never changes. If absent, it is 16 characters that follow from the URL. Not "
        f"{', '.join(f'`{each}`' for each in RESERVED_IDS)}.",
    )
    preset: str = Field(
        default="", description="Instead of `url`: a preset by name.", json_schema_extra={"format": "preset"}
    )
    values: dict[str, str] = Field(default={}, description="The values of the preset, by name.")


class FeedPreviewRequest(Request, examples={"a page": {"url": "https://example.com/news/"}}, null_is_absent=True):
    """The address to look at."""

    url: FeedUrl = Field(description=_ABOUT_URL)
    credential: Credential = Field(default="", description=_ABOUT_CREDENTIAL)


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

_NEW_START: Mapping[str, Any] = {
    **NO_ERRORS,
    "retry_after_until": None,
    "worker_deaths": 0,
}


def new_feed(fields: Mapping[str, Any], now: datetime) -> Feed:
    """The feed as it is stored, due at once. Its id follows from the URL unless an id was posted.

    Raises InvalidInput that names the field and what is allowed.
    """
    given = NewFeed.checked(fields).given()
    for name in ("url", "source_name"):
        if name not in given:
            raise InvalidInput(name, "is needed")
    stored = {FeedResource.stored_name(name): value for name, value in given.items() if name not in PRESET_FIELDS}
    stored.setdefault("feed_id", feed_id_of(stored["feed_url"]))
    stored["address"] = address_of(stored["feed_url"])
    stored |= _enabled(stored.get("enabled", True), now)
    return judged(Feed(created_at=now, updated_at=now, next_fetch_time=now, **stored))


def feed_change(fields: Mapping[str, Any]) -> dict[str, Any]:
    """The fields to change, by their posted names. Null removes a credential or limit, and is refused for others."""
    return FeedChange.checked(fields).given()


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
        wanted |= {"next_fetch_time": now, **_NEW_START, **(UNCONDITIONAL if feed.redirect_url is not None else {})}
    if enabled != feed.enabled or ("enabled" in change and not enabled and feed.disabled_by == "app"):
        wanted |= _enabled(enabled, now)
    if all(getattr(feed, name) == value for name, value in wanted.items()):
        return feed
    return judged(feed.changed(now, **wanted), feed)


def is_feed_id(value: Any) -> bool:
    """Whether a feed could have this id at all."""
    return isinstance(value, str) and bool(_FEED_ID.fullmatch(value))


def _enabled(enabled: bool, now: datetime) -> dict[str, Any]:
    if enabled:
        return dict(ENABLED)
    by_person = {"disabled_reason": DISABLED_BY_HAND, "disabled_at": now, "disabled_by": "person"}
    return {**ENABLED, "enabled": False, **by_person}


PRESETS_FILE = Path(__file__).resolve().parents[2] / "config" / "presets.yaml"


def fields_of(preset: Preset, values: Any) -> dict[str, Any]:
    """The URL and the name of the feed with these values. Raises InvalidInput that names the value."""
    names = [each.name for each in preset.values]
    if not isinstance(values, Mapping):
        raise InvalidInput("values", f"must be an object with {', '.join(names)}")
    for name in values:
        if name not in names:
            raise InvalidInput(f"values.{name}", f"no such value; {preset.preset} has {', '.join(names)}")
    given = {each.name: _checked_value(each, values.get(each.name)) for each in preset.values}
    encoded = {name: quote(value, safe="") for name, value in given.items()}
    return {
        "url": preset.url.format_map(encoded),
        "source_name": preset.source_name.format_map(given)[:LONGEST_NAME],
    }


def _checked_value(value: PresetValue, given: Any) -> str:
    text = given.strip() if isinstance(given, str) else ""
    if not re.fullmatch(value.pattern, text):
        raise InvalidInput(
            f"values.{value.name}", f"must be {value.about}, such as {value.example}; its form is {value.pattern}"
        )
    return text


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
        return {**fields_of(preset, {} if values is None else values), **posted}


def load_presets(file: Path = PRESETS_FILE) -> Presets:
    """The presets of the file; none if there is no file. Raises WrongSettings, which names the field and the rule."""
    try:
        entries = read_entries(file.read_bytes(), "presets", ", ".join(Preset.model_fields))
        return Presets([Preset.model_validate(each.fields) for each in entries])
    except FileNotFoundError:
        return Presets()
    except (InvalidInput, ValidationError) as error:
        raise WrongSettings(f"config/{file.name}: {error}") from None
