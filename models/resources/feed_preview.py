"""What was found at a URL that could be registered as a feed: nothing of it is stored."""

from __future__ import annotations

from pydantic import Field

from models.resources.base import Shape
from models.values import Count, Flag, Text, Time


class PreviewedEntry(Shape):
    """One entry of a feed that is not registered."""

    headline: Text = Field(description="As the feed has it, without markup.")
    url: str = Field(description="As the feed has it: it may be no web address.")
    published_at: Time | None = Field(default=None, description="Null without a date.")


class FeedPreview(Shape):
    """What is at a URL. Without a feed, `is_feed` is false."""

    url: Text = Field(description="The URL that was given.")
    fetched_url: Text = Field(description="The URL that answered: of a redirect, or of the feed that a page names.")
    is_feed: Flag = Field(description="Whether a feed was found and read.")
    is_page: Flag = Field(description="Whether `url` is a web page, which names the feed.")
    feed_id: str | None = Field(
        default=None, description="The feed that is registered at one of these URLs already; null if none is."
    )
    error_type: str | None = Field(
        default=None, description="The kind of failure, as of an attempt; null if there is a feed."
    )
    error: str | None = Field(default=None, description="Why there is no feed, in words; null if there is one.")
    status_code: Count | None = Field(default=None, description="HTTP status of the last response.")
    duration_ms: Count = Field(default=0, description="How long the servers took.")
    format: str | None = Field(default=None, description="The format: `rss20`, `atom10`, `json1` and the like.")
    title: str | None = Field(default=None, description="The feed's own title.")
    site_url: str | None = Field(default=None, description="The web site that the feed names.")
    entries: Count = Field(default=0, description="Entries that could be read.")
    entries_skipped: Count = Field(default=0, description="Entries that could not be read.")
    parse_warnings: Count = Field(default=0, description="Values that were repaired.")
    oldest_entry_at: Time | None = Field(
        default=None, description="The date of the oldest entry, of those with a date in the past."
    )
    newest_entry_at: Time | None = Field(
        default=None, description="The date of the newest entry, of those with a date in the past."
    )
    samples: tuple[PreviewedEntry, ...] = Field(default=(), description="The 5 newest entries.")
