"""Feeds, what is found at a URL, presets, what came of lists of feeds, and hosts, as the API shows them; and feeds,
changes, filters and bulk actions as it takes them. services/feeds/form.py checks the URLs in them."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Annotated, Any, ClassVar, Literal, Self
from urllib.parse import quote

from pydantic import AfterValidator, Field, StringConstraints, WithJsonSchema, model_validator

from models.article import LOWEST_PRIORITY
from models.errors import InvalidInput
from models.feed import (
    ADVICE,
    CREDENTIAL_NAME,
    SHORT_TEXT,
    Feed,
    FeedVerdict,
    FullTextChoice,
    HostState,
    host_of_address,
    words_of_name,
)
from models.request import FeedId, Request, each_once, one_line
from models.resources.base import Resource, Shape, Stored, View, added, links, path
from models.values import Count, Flag, Text, Time, optional, parse_time


class FeedResource(Stored):
    """A source of articles: its schedule, statistics and health."""

    DOCUMENTS = (Feed,)

    STORED_AS: ClassVar[Mapping[str, str]] = {"url": "feed_url", "priority": "priority_score"}

    host: str = Field(
        description="The host that the feed is fetched from, with its port, if that is not the usual one."
    )
    verdict_advice: str | None = Field(description="What to do next.")
    links: dict[str, str] = Field(description="Paths: the feed itself, its history, its articles, its runs.")
    run_id: str | None = added("The run that this request began, in the response to a change; null if it needed none.")

    @classmethod
    def of(cls, feed: Feed, view: View = "default") -> Self:
        own = path("feeds", feed.feed_id)
        return cls.made(
            feed,
            view,
            host=feed.host,
            verdict_advice=ADVICE[feed.verdict] if feed.verdict else None,
            links=links(
                self=own,
                history=f"{own}/history",
                articles=f"{path('articles')}?source={feed.feed_id}",
                runs=f"{path('runs')}?feed={feed.feed_id}",
            ),
        )


class PreviewedEntry(Shape):
    """One entry of a feed that is not registered."""

    headline: Text = Field(description="As the feed has it, without markup.")
    url: str = Field(description="As the feed has it: it may be no web address.")
    published_at: Time | None = optional("Null without a date.")


class FeedPreview(Shape):
    """What is at a URL. Without a feed, `is_feed` is false."""

    url: Text = Field(description="The URL that was given.")
    fetched_url: Text = Field(description="The URL that answered: of a redirect, or of the feed that a page names.")
    is_feed: Flag = Field(description="Whether a feed was found and read.")
    is_page: Flag = Field(description="Whether `url` is a web page, which names the feed.")
    feed_id: str | None = optional("The feed that is registered at one of these URLs already; null if none is.")
    error_type: str | None = optional("The kind of failure, as of an attempt; null if there is a feed.")
    error: str | None = optional("Why there is no feed, in words; null if there is one.")
    status_code: Count | None = optional("HTTP status of the last response.")
    duration_ms: Count = Field(default=0, description="How long the servers took.")
    format: str | None = optional("The format: `rss20`, `atom10`, `json1` and the like.")
    title: str | None = optional("The feed's own title.")
    site_url: str | None = optional("The web site that the feed names.")
    entries: Count = Field(default=0, description="Entries that could be read.")
    entries_skipped: Count = Field(default=0, description="Entries that could not be read.")
    parse_warnings: Count = Field(default=0, description="Values that were repaired.")
    oldest_entry_at: Time | None = optional("The date of the oldest entry, of those with a date in the past.")
    newest_entry_at: Time | None = optional("The date of the newest entry, of those with a date in the past.")
    samples: tuple[PreviewedEntry, ...] = Field(default=(), description="The 5 newest entries.")


class HostFailure(Shape):
    """The present failures of a host in a row."""

    since: Time = Field(description="When the first of them was.")
    failures: Count = Field(description="How many there were.")
    reason: Text = Field(description="The kind of the last one, such as `timeout`.")
    cools_until: Time | None = optional("Until then no feed of the host is fetched.")

    @classmethod
    def of(cls, state: HostState, *, is_cooling: bool) -> Self:
        until = state.open_until if is_cooling else None
        return cls(since=state.created_at, failures=state.failures, reason=state.reason, cools_until=until)


class HostResource(Resource):
    """A host that feeds are fetched from."""

    host: Text = Field(description="As in the `host` of a feed: with its port, if that is not the usual one.")
    feeds: Count = Field(description="Its feeds.")
    enabled_feeds: Count = Field(description="Those of its feeds that are enabled.")
    failing_feeds: Count = Field(description="Those of its feeds whose last fetch failed.")
    next_fetch_time: Time | None = Field(description="When the first of its enabled feeds is due; null without one.")
    last_successful_fetch: Time | None = Field(description="When one of its feeds was fetched last; null: never.")
    failing: HostFailure | None = Field(description="Null for a host that does not fail at present.")
    links: dict[str, str] = Field(description="Paths: the host itself, and its feeds.")

    @classmethod
    def of(cls, host: str, feeds: Sequence[Mapping[str, Any]], failing: HostFailure | None) -> Self:
        """The host, from its stored feeds."""
        due = [each["next_fetch_time"] for each in feeds if each["enabled"]]
        succeeded = [each["last_successful_fetch"] for each in feeds if each.get("last_successful_fetch")]
        return cls(
            host=host,
            feeds=len(feeds),
            enabled_feeds=len(due),
            failing_feeds=sum(bool(each.get("consecutive_errors")) for each in feeds),
            next_fetch_time=parse_time(min(due)) if due else None,
            last_successful_fetch=parse_time(max(succeeded)) if succeeded else None,
            failing=failing,
            links=links(self=path("hosts", host), feeds=f"{path('feeds')}?host={quote(host, safe='')}"),
        )


class PresetValue(Shape):
    """A value that a preset takes."""

    name: str = Field(description="Its name.")
    about: str = Field(description="What it is.")
    pattern: str = Field(description="A regular expression of all that is allowed.")
    example: str = Field(description="An example.")

    def checked(self, given: Any) -> str:
        text = given.strip() if isinstance(given, str) else ""
        if text in (".", ".."):  # the URL would lead to another path
            raise InvalidInput(f"values.{self.name}", f"must be {self.about}, not {text}")
        if not re.fullmatch(self.pattern, text):
            form = f"must be {self.about}, such as {self.example}; its form is {self.pattern}"
            raise InvalidInput(f"values.{self.name}", form)
        return text


class Preset(Shape):
    """A template for the feeds that a service has."""

    preset: str = Field(description="Its name.")
    about: str = Field(description="What its feeds have.")
    url: str = Field(description="The URL, with the values in braces.")
    source_name: str = Field(description="The name of the source, with the values in braces.")
    values: tuple[PresetValue, ...] = Field(description="The values that it takes.")

    def fields_of_feed(self, values: Any) -> dict[str, str]:
        """The URL and the name of the feed with these values. Raises InvalidInput that names the value."""
        names = [each.name for each in self.values]
        if not isinstance(values, Mapping):
            raise InvalidInput("values", f"must be an object with {', '.join(names)}")
        for name in values:
            if name not in names:
                raise InvalidInput(f"values.{name}", f"no such value; {self.preset} has {', '.join(names)}")
        given = {each.name: each.checked(values.get(each.name)) for each in self.values}
        encoded = {name: quote(value, safe="") for name, value in given.items()}
        name = self.source_name.format_map(given)[:LONGEST_NAME]
        return {"url": self.url.format_map(encoded), "source_name": name}


class NamedFeed(Shape):
    """A feed with its name."""

    feed_id: str = Field(description="The feed.")
    source_name: str = Field(description="Its name.")


class RefusedOutline(Shape):
    """An entry of a list that is no feed."""

    line: int | None = Field(description="The line in the document.")
    url: str | None = Field(description="Its URL.")
    source_name: str | None = Field(description="Its name.")
    reason: str = Field(description="Why it was refused.")


class FeedImport(Shape):
    """The result of importing an OPML document."""

    added: tuple[NamedFeed, ...] = Field(description="The new feeds.")
    known: tuple[NamedFeed, ...] = Field(description="Feeds that were there, which stay as they are.")
    refused: tuple[RefusedOutline, ...] = Field(description="Outlines that are no feeds.")


class FeedsApplied(FeedImport):
    """The result of applying a list of feeds."""

    added: tuple[NamedFeed, ...] = Field(description="The new feeds.")
    changed: tuple[NamedFeed, ...] = Field(description="Feeds that were there, and are as the list has them now.")
    known: tuple[NamedFeed, ...] = Field(description="Feeds that were so already.")
    refused: tuple[RefusedOutline, ...] = Field(description="Entries that were not applied.")
    runs: tuple[str, ...] = Field(description="The runs that do what follows from the changes.")


class BulkResult(Shape):
    """The result of a bulk action for one feed."""

    feed_id: str = Field(description="The feed.")
    outcome: Literal["changed", "unchanged", "refused"] = Field(
        description="`changed`; `unchanged`: the feed is so already, or `run_id` is about to fetch it."
    )
    reason: str | None = Field(description="Why it was refused.")
    run_id: str | None = Field(description="The run that fetches it.")


BulkAction = Literal["enable", "disable", "tag", "untag", "fetch"]


class BulkFacts(Shape):
    """The action of a bulk request."""

    action: BulkAction = Field(description="The action.")
    dry_run: bool = Field(description="True: nothing was changed.")


NOT_IDS = ("apply", "import", "export", "bulk", "preview")
"""Parts of paths, which no feed may have as its id."""
LONGEST_URL = 2000
LONGEST_NAME = 200
HIGHEST_PRIORITY = 1000.0
HIGHEST_LIMIT = 100_000
LONGEST_TAG = 100
MAX_TAGS = 20
MAX_WORDS_ASKED = 10
MAX_IDS = 500
_LONGEST_TEXT = 200


def tag_of(value: str) -> str:
    """The tag in its one spelling: single blanks, and slashes only between levels. Raises ValueError."""
    tag = "/".join(filter(None, (" ".join(level.split()) for level in value.split("/"))))
    if "," in tag or not 1 <= len(tag) <= LONGEST_TAG:
        raise ValueError(f"must be text of 1 to {LONGEST_TAG} characters on one line, without a comma")
    return one_line(tag)


def _credential(name: str) -> str:
    if not CREDENTIAL_NAME.fullmatch(name):
        raise ValueError("must be the name of a setting: FEED_CREDENTIAL_ and capitals, digits or _")
    return name


FeedUrl = Annotated[
    str,
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

    feed_id: FeedId = Field(
        default="",
        description="It never changes. If absent, it is 16 characters that follow from the URL. Not "
        f"{', '.join(f'`{each}`' for each in NOT_IDS)} or the name of a news API.",
    )
    id: FeedId = Field(default="", description="The same as `feed_id`.")
    preset: str = Field(
        default="", description="Instead of `url`: a preset by name.", json_schema_extra={"format": "preset"}
    )
    values: dict[str, str] = Field(default={}, description="The values of the preset, by name.")

    @model_validator(mode="after")
    def _with_one_id(self) -> Self:
        if self.feed_id and self.id and self.feed_id != self.id:
            raise ValueError(f"feed_id: must be the same as id: {self.feed_id!r} is not {self.id!r}")
        return self

    def given(self) -> dict[str, Any]:
        """The fields that the request has, with `feed_id` for `id`."""
        fields = super().given()
        return fields | {"feed_id": fields.pop("id")} if "id" in fields else fields


class FeedPreviewRequest(Request, examples={"a page": {"url": "https://example.com/news/"}}, null_is_absent=True):
    """The address to look at."""

    url: FeedUrl = Field(description=_ABOUT_URL)
    credential: Credential = Field(default="", description=_ABOUT_CREDENTIAL)


def _host(text: str) -> str:
    host = host_of_address(f"https://{text.strip().lower()}")
    if not host or len(text) > _LONGEST_TEXT or any(each in text.strip() for each in "/?#@ "):
        raise ValueError("the name of a host, such as example.com; with its port, if that is not the usual one")
    return host


def _words(text: str) -> str:
    if len(text) > _LONGEST_TEXT or not 1 <= len(words_of_name(text)) <= MAX_WORDS_ASKED:
        raise ValueError(f"1 to {MAX_WORDS_ASKED} words of the name, at most {_LONGEST_TEXT} characters")
    return text


class FeedQuery(Request):
    """Which feeds: all of these conditions hold."""

    verdict: FeedVerdict = Field(default="ok", description="Feeds in this condition.", examples=["ok"])
    tag: Tag = Field(default="", description="Feeds with this tag.", examples=["Python"])
    host: Annotated[str, AfterValidator(_host), Field(json_schema_extra={"minLength": 1, "format": "host"})] = Field(
        default="",
        description="Feeds that are fetched from this host; with its port, if that is not the usual one.",
        examples=["example.com"],
    )
    enabled: Flag = Field(default=True, description="Feeds that are fetched, or feeds that are not.")
    text: Annotated[
        str,
        AfterValidator(_words),
        Field(json_schema_extra={"minLength": 1, "maxLength": _LONGEST_TEXT, "format": "words"}),
    ] = Field(
        default="",
        description=f"Feeds whose `source_name` or `title` has all these words, in any case, 1 to {MAX_WORDS_ASKED}.",
        examples=["Python"],
    )
    ids: Annotated[tuple[FeedId, ...], Field(min_length=1, max_length=MAX_IDS), AfterValidator(each_once)] = Field(
        default=(), description="These feeds."
    )


class BulkActionBody(
    Request,
    examples={"dry run": {"action": "disable", "filter": {"host": "example.com"}, "dry_run": True}},
    rules={
        "if": {"properties": {"action": {"enum": ["tag", "untag"]}}},
        "then": {"required": ["tags"], "properties": {"tags": {"minItems": 1}}},
        "else": {"properties": {"tags": {"maxItems": 0}}},
    },
):
    """One action on many feeds. `tags` goes with `tag` and `untag`, and with no other action."""

    action: BulkAction = Field(description="What is done with each feed.")
    filter: FeedQuery = Field(
        description="Which feeds: all of these conditions hold.", json_schema_extra={"minProperties": 1}
    )
    tags: Tags = Field(
        default=(), description="The tags that `tag` adds and `untag` removes; absent with other actions."
    )
    dry_run: Flag = Field(default=False, description="True: nothing changes, and the response says what would.")
    limit: Annotated[int, Field(strict=True, ge=1, le=MAX_IDS)] | None = Field(
        default=None, description="How many feeds one request works on; with `ids`, all of them."
    )
    cursor: str | None = Field(default=None, description="`next` of the response before.")

    @model_validator(mode="after")
    def _joined(self) -> Self:
        if not self.filter.model_fields_set:
            raise ValueError('filter: an object with at least one filter, such as {"enabled": true}')
        if bool(self.tags) != (self.action in ("tag", "untag")):
            raise ValueError("tags: at least one tag with the actions tag and untag, none with others")
        return self
