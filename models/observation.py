"""The raw layer: what one source said about one article on one day. Written once, updated by the source's own edits."""

from __future__ import annotations

from datetime import datetime
from typing import ClassVar, Literal

from models.article import LOWEST_PRIORITY
from models.raw_item import PublishedFlag
from models.stored import StoredDocument
from models.values import (
    Count,
    Day,
    IdPart,
    SourceKey,
    Text,
    Time,
    UnixSeconds,
    WebUrl,
    day_key,
    lives,
)


def observation_id(source: str, observed_at: datetime) -> str:
    return f"obs:{source}:{day_key(observed_at)}"


class Observation(StoredDocument):
    """Unique per (source, article, observed day), since `id` within the article's partition says just that.

    `scraped_at` is when this source's present revision was first seen, `source_priority` what the source had then.
    `raw_value` is the entry's date as it was written, kept when it could not be read or had to be clamped;
    `parse_warnings` says that, and what else of the entry was mended, in the words of the feed's `parse_warnings`.
    """

    CONTAINER: ClassVar[str] = "articles"
    PARTITION_FIELD: ClassVar[str] = "source_id"

    entity_type: Literal["Observation"] = "Observation"
    ttl_timestamp: UnixSeconds | None = lives(days=30)
    source_id: IdPart
    source: SourceKey
    source_priority: Count = LOWEST_PRIORITY
    observed_day: Day
    scraped_at: Time
    article_id: Text
    url: WebUrl
    headline: Text
    text: str | None = None
    publisher: Text | None = None
    published_at: Time
    published_flag: PublishedFlag | None = None
    tags: tuple[Text, ...] = ()
    tickers: tuple[Text, ...] = ()
    revision: Text
    raw_value: str | None = None
    parse_warnings: tuple[Text, ...] = ()

    @property
    def partition(self) -> str:
        return self.source_id

    @property
    def id(self) -> str:
        return f"obs:{self.source}:{self.observed_day.replace('-', '')}"
