"""An article: what all sources together say happened once, with who said it and which reading counts.

Which items are one article (models/headline.py has the key) and which reading wins are decided in services/articles.
"""

from __future__ import annotations

from collections.abc import Mapping
from itertools import pairwise
from typing import ClassVar, Literal, Self

from pydantic import Field, JsonValue, model_validator

from models.headline import source_id
from models.raw_item import PublishedFlag
from models.states import ARTICLE, ArticleStatus, Machine
from models.stored import StoredDocument
from models.values import (
    Count,
    Flag,
    Hex32,
    IdPart,
    Polarity,
    Sentiment,
    Share,
    SourceKey,
    Text,
    Time,
    UnixSeconds,
    Value,
    WebUrl,
    lives,
)

LOWEST_PRIORITY = 999


class SourceAttribution(Value):
    """What one source calls the article. `source_name` is the publisher behind it (a wire service, a site).

    The rest is what choosing the canonical reading takes; `scraped_at` is when the present `revision` was first seen.
    """

    article_id: Text
    url: WebUrl
    crawl_timestamp: Time
    original_headline: Text
    source_name: Text | None = None
    source_priority: Count | None = None
    published_at: Time | None = None
    scraped_at: Time | None = None
    revision: Text | None = None


class CanonicalReading(Value):
    """The version of the source that counts most: what views show and analysis reads."""

    source: SourceKey
    source_priority: Count = LOWEST_PRIORITY
    observation_id: IdPart
    headline: Text
    url: WebUrl
    published_at: Time
    scraped_at: Time
    revision: Text
    publisher: Text | None = None


class Article(StoredDocument):
    """One article across all sources. `timestamp` is when it was published; it and `headline` are the first source's.

    `matched_tickers` are its sources' own and `detected_tickers`, which analysis found in its words.
    `tool_ids_ever_detected` only grows: whoever is about to write a mention lists its tool there first, so that no
    mention is ever forgotten.
    `deleted_at` makes it a tombstone: known, so that it is not taken in again, and shown to nobody.
    """

    CONTAINER: ClassVar[str] = "articles"
    PARTITION_FIELD: ClassVar[str] = "source_id"
    STATES: ClassVar[Mapping[str, Machine]] = {"status": ARTICLE}
    ID: ClassVar[str] = "article"

    entity_type: Literal["Article"] = "Article"
    ttl_timestamp: UnixSeconds = lives(days=30)
    dedup_key: Hex32
    timestamp: Time
    published_flag: PublishedFlag | None = None
    headline: Text
    normalized_headline: str
    url_in_key: Flag = False
    sources: tuple[SourceKey, ...] = Field(min_length=1)
    source_attribution: dict[str, SourceAttribution]
    canonical: CanonicalReading
    status: ArticleStatus = "pending"
    sentiment: Sentiment | None = None
    score: Share | None = None
    polarity: Polarity | None = None
    analyzer: Text | None = None
    analyzer_version: Text | None = None
    analyzed_at: Time | None = None
    analyzed_revision: Text | None = None
    analysis_attempts: Count = 0
    last_error_fingerprint: Text | None = None
    resent_at: Time | None = None
    resends: Count | None = None
    matched_tickers: tuple[Text, ...] = ()
    detected_tickers: tuple[Text, ...] = ()
    detected_tool_ids: tuple[IdPart, ...] = ()
    tool_ids_ever_detected: tuple[IdPart, ...] = ()
    tags: tuple[Text, ...] = ()
    text_for_analysis: str | None = None
    event_id: IdPart | None = None
    metadata: dict[str, JsonValue] | None = None
    deleted_at: Time | None = None

    @property
    def source_id(self) -> str:
        return source_id(self.dedup_key)

    @property
    def partition(self) -> str:
        return self.source_id

    @property
    def id(self) -> str:
        return self.ID

    @model_validator(mode="after")
    def _sources_fit(self) -> Self:
        if not self.normalized_headline and not self.url_in_key:
            raise ValueError("normalized_headline must not be empty unless the URL is in the key")
        attribution = self.source_attribution
        if len(attribution) != len(self.sources) or attribution.keys() != set(self.sources):
            raise ValueError("sources must name each source of source_attribution once")
        if any(attribution[a].crawl_timestamp > attribution[b].crawl_timestamp for a, b in pairwise(self.sources)):
            raise ValueError("sources must be in the order of their crawl_timestamp")
        if self.canonical.source not in attribution:
            raise ValueError("canonical must be the reading of one of the sources")
        if self.status == "analyzed" and (self.sentiment is None or self.score is None):
            raise ValueError("an analyzed article must have sentiment and score")
        return self
