"""Feeds, what is found at a URL, presets, what came of lists of feeds, and hosts, as the API shows them."""

from __future__ import annotations

from collections.abc import Mapping
from typing import ClassVar, Literal, Self

from pydantic import Field

from models.feed import ADVICE, Feed
from models.resources.base import Resource, Shape, Stored, View, added, links, path
from models.values import Count, Flag, Text, Time, optional


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


class PresetValue(Shape):
    """A value that a preset takes."""

    name: str = Field(description="Its name.")
    about: str = Field(description="What it is.")
    pattern: str = Field(description="A regular expression of all that is allowed.")
    example: str = Field(description="An example.")


class Preset(Shape):
    """A template for the feeds that a service has."""

    preset: str = Field(description="Its name.")
    about: str = Field(description="What its feeds have.")
    url: str = Field(description="The URL, with the values in braces.")
    source_name: str = Field(description="The name of the source, with the values in braces.")
    values: tuple[PresetValue, ...] = Field(description="The values that it takes.")


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


class BulkFacts(Shape):
    """The action of a bulk request."""

    action: Literal["enable", "disable", "tag", "untag", "fetch"] = Field(description="The action.")
    dry_run: bool = Field(description="True: nothing was changed.")
