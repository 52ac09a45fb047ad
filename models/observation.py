"""The raw layer: what one source published of one article on one day. A later edit of that day replaces it."""

from __future__ import annotations

from typing import Any, ClassVar, Literal

from pydantic import Field

from models.article import ARTICLE_KEPT, LOWEST_PRIORITY, JoinRule
from models.raw_item import PublishedFlag
from models.stored import StoredDocument
from models.values import (
    Count,
    Day,
    Flag,
    IdPart,
    Language,
    SourceKey,
    Text,
    Time,
    UnixSeconds,
    WebUrl,
    internal,
    lives,
    optional,
)


def attempt_key(run_id: str, feed_id: str, attempt_no: int) -> str:
    """Names one attempt of one run at one feed, in `added_by_attempt`."""
    return f"{run_id}:{feed_id}:{attempt_no}"


ObservationDocument = dict[str, Any]
"""Observation as it is stored."""


class Observation(StoredDocument):
    """What one source published of an article, as of one UTC day.

    Unique per (source, article, observed day): these three make its `id` within the article's partition.

    `raw_value` is also kept if the date had to be clamped. `joined_by` and `added_by_attempt` (see `attempt_key`) are
    set on the first observation of a source. `deleted_at` makes the document a tombstone, which is never served.
    `article_timestamp` is set on the first observation of a source that the article does not list itself: the article's
    `timestamp`, by which the articles of a source are found. The latest observation of such a source has its present
    `source_priority`.
    """

    CONTAINER: ClassVar[str] = "articles"
    PARTITION_FIELD: ClassVar[str] = "source_id"

    entity_type: Literal["Observation"] = "Observation"
    ttl_timestamp: UnixSeconds | None = lives(days=ARTICLE_KEPT.days)
    source_id: IdPart = Field(description="The article.")
    source: SourceKey = Field(description="The source.")
    source_priority: Count = Field(
        default=LOWEST_PRIORITY,
        description="The source's priority at that time. A later change of priority is applied to the latest "
        "observation of each source after the first 20 of an article.",
    )
    observed_day: Day = Field(
        description="The UTC day, such as `2026-02-21`. A later edit of the same day replaces the observation."
    )
    scraped_at: Time = Field(description="When this version was first seen.")
    article_id: Text = Field(description="The source's own id for the entry.")
    url: WebUrl = Field(description="The link of the entry.")
    headline: Text = Field(description="The headline that the source published, as plain text.")
    text: str | None = optional("The text that the source published, as plain text.")
    language: Language | None = optional("Its language, `und` if it is unknown.")
    publisher: Text | None = optional("The publisher that the source names.")
    publisher_url: WebUrl | None = optional(
        "The address that the source gives for the publisher; null if it tells nothing beside `url`."
    )
    published_at: Time = Field(
        description="When it was published, as the source says; if that date cannot be used, when it was first seen."
    )
    published_flag: PublishedFlag | None = optional(
        "Why the source's date cannot be used: `missing`, `unparsable` or `future`; null if it was used."
    )
    tags: tuple[Text, ...] = Field(default=(), description="The tags of the source.")
    tickers: tuple[Text, ...] = Field(default=(), description="The tickers that the source gives.")
    revision: Text = internal("Hash of headline, text and tags.", default=...)
    raw_value: str | None = optional("The date as the source wrote it, if it could not be used.")
    parse_warnings: tuple[Text, ...] = Field(default=(), description="Repairs of this entry, by kind.")
    added_by_attempt: Text | None = internal(
        "On the first observation of a source: `run:feed:attempt` that added the source."
    )
    created_article: Flag | None = optional("Whether the attempt that added the source also created the article.")
    joined_by: JoinRule | None = optional(
        "On the first observation of a source: the rule by which the source is in the article, as in its attribution."
    )
    article_timestamp: Time | None = None
    deleted_at: Time | None = None

    @property
    def partition(self) -> str:
        return self.source_id

    @property
    def id(self) -> str:
        return f"obs:{self.source}:{self.observed_day.replace('-', '')}"

    def shown(self) -> dict[str, Any]:
        fields = super().shown()
        del fields["article_timestamp"], fields["deleted_at"]
        return fields
