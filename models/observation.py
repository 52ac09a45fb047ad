"""The raw layer: what one source published of one article on one day. A later edit of that day replaces it."""

from __future__ import annotations

from typing import Any, ClassVar, Literal

from models.article import ARTICLE_KEPT, LOWEST_PRIORITY, JoinRule
from models.raw_item import PublishedFlag
from models.stored import StoredDocument
from models.values import Count, Day, Flag, IdPart, Language, SourceKey, Text, Time, UnixSeconds, WebUrl, lives


def attempt_key(run_id: str, feed_id: str, attempt_no: int) -> str:
    """Names one attempt of one run at one feed, in `added_by_attempt`."""
    return f"{run_id}:{feed_id}:{attempt_no}"


ObservationDocument = dict[str, Any]
"""Observation as it is stored."""


class Observation(StoredDocument):
    """What one source published of an article, as of one UTC day.

    Unique per (source, article, observed day): these three make its `id` within the article's partition.

    `scraped_at` is when the source's revision was first seen, `source_priority` the priority that the source had then.
    `raw_value` is the entry's date as it was written, kept when it could not be parsed or had to be clamped;
    `parse_warnings` names this and every other repair of the entry, in the words of the feed's `parse_warnings`.
    `added_by_attempt` is set on the first observation of a source: the attempt that added the source to the article
    (see `attempt_key`). `created_article`: the attempt also created the article. `joined_by` is set there too: the rule
    by which the source is in the article. `deleted_at` makes the document a tombstone, which is never served.
    `article_timestamp` is set on the first observation of a source that the article does not list itself: the article's
    `timestamp`, by which the articles of a source are found. The latest observation of such a source has its present
    `source_priority`.
    """

    CONTAINER: ClassVar[str] = "articles"
    PARTITION_FIELD: ClassVar[str] = "source_id"

    entity_type: Literal["Observation"] = "Observation"
    ttl_timestamp: UnixSeconds | None = lives(days=ARTICLE_KEPT.days)
    source_id: IdPart
    source: SourceKey
    source_priority: Count = LOWEST_PRIORITY
    observed_day: Day
    scraped_at: Time
    article_id: Text
    url: WebUrl
    headline: Text
    text: str | None = None
    language: Language | None = None
    publisher: Text | None = None
    publisher_url: WebUrl | None = None
    published_at: Time
    published_flag: PublishedFlag | None = None
    tags: tuple[Text, ...] = ()
    tickers: tuple[Text, ...] = ()
    revision: Text
    raw_value: str | None = None
    parse_warnings: tuple[Text, ...] = ()
    added_by_attempt: Text | None = None
    created_article: Flag | None = None
    joined_by: JoinRule | None = None
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
