"""An article: one piece of news, with every source that published it and the canonical reading.

services/articles decides which entries are one article (identity.py, matching.py) and which reading is canonical
(merge.py).
"""

from __future__ import annotations

from collections.abc import Mapping
from datetime import timedelta
from itertools import pairwise
from typing import Any, ClassVar, Literal, Self

from pydantic import Field, JsonValue, model_validator

from models.raw_item import PublishedFlag
from models.scored import ScoredDocument, WordsJudgement
from models.states import ARTICLE, ArticleStatus, Machine
from models.values import (
    Count,
    Flag,
    Hex32,
    IdPart,
    Language,
    Sha256,
    SourceKey,
    Text,
    Time,
    UnixSeconds,
    Value,
    WebUrl,
    lives,
)

LOWEST_PRIORITY = 999
ARTICLE_KEPT = timedelta(days=30)
JoinRule = Literal["first", "own_id", "url", "headline_and_day", "url_in_key", "person"]
"""Why a source is in an article: it was the first; the article had its own id, or an entry with its URL; headline and
day are the same, or these and the URL; a person said so."""
ScoredText = Literal["feed", "document"]
"""Which text was scored: the feed's, or the full text of the page."""
LISTED_SOURCES = 20
"""The sources that an article lists itself. A document that every further source changed would grow without end, and
its writers would wait for each other."""


def source_id(dedup_key: str) -> str:
    """The article's id across all sources."""
    return f"dedup:{dedup_key}"


AttributionDocument = dict[str, Any]
"""SourceAttribution as it is stored."""
ReadingDocument = dict[str, Any]
"""CanonicalReading as it is stored."""
ArticleDocument = dict[str, Any]
"""Article as it is stored."""


class SourceAttribution(Value):
    """The article as one source has it. `source_name` is the publisher behind the source (a wire service, a site),
    `publisher_url` its address, if the source gives one that is on another host than `url`, or one that names the
    account on a platform, which `url` does not.

    `crawl_timestamp` is when an attempt first found the article at the source, `scraped_at` when its present `revision`
    was first seen. `added_by_run` is the run that added the source to the article, `joined_by` the rule by which it is
    the same article.
    """

    article_id: Text = Field(description="The source's own id for the entry; the URL if the source gives none.")
    url: WebUrl = Field(description="The link of the entry.")
    crawl_timestamp: Time = Field(description="When the article was first seen at this source.")
    original_headline: Text = Field(description="The source's headline when the article was first seen there.")
    source_name: Text | None = Field(
        default=None, description="The publisher, if the source names another one than itself."
    )
    publisher_url: WebUrl | None = Field(
        default=None,
        description="The address that the source gives for that publisher; null if it tells nothing beside `url`.",
    )
    source_priority: Count | None = Field(default=None, description="The source's priority.")
    published_at: Time | None = Field(default=None, description="The publication time that the source gives.")
    scraped_at: Time | None = Field(default=None, description="When the source's present version was first seen.")
    revision: Text | None = Field(default=None, description="Hash of headline, text and tags of that version.")
    language: Language | None = Field(default=None, description="The language of that version.")
    added_by_run: IdPart | None = Field(default=None, description="The run that added the source to the article.")
    joined_by: JoinRule | None = Field(
        default=None,
        description="The rule by which the source is in the article: `first` brought it; or it has in common "
        "with it `own_id` (the source's own id for the entry), `url` (the link of an entry of "
        "another source), `headline_and_day` (normalized headline and day of publication), or "
        "`url_in_key` (these and the link: the headline is too short, or the source had another "
        "article with it). `person`: a person made the source an article of its own.",
    )


class FullText(Value):
    """The text of the page behind the article. It is scored while `revision` is that of the canonical reading.

    It is in the archive under `archive_key`, and can be checked with `sha256`.
    """

    archive_key: Text
    sha256: Sha256
    characters: Count
    revision: Text
    extraction_profile_id: Text


class CanonicalReading(Value):
    """The reading of the source with the lowest priority number: views show it, and the analysis reads it.

    `article_id` is the source's id for the article.
    """

    source: SourceKey = Field(
        description="The source with the lowest `source_priority`, of equal ones the one with the latest `scraped_at`."
    )
    source_priority: Count = Field(default=LOWEST_PRIORITY, description="Its priority.")
    observation_id: IdPart = Field(description="The observation with the text.")
    article_id: Text | None = Field(default=None, description="The source's own id for the entry.")
    headline: Text = Field(description="As the source wrote it.")
    url: WebUrl = Field(description="The link of the entry.")
    published_at: Time = Field(description="The publication time that the source gives.")
    scraped_at: Time = Field(description="When this version was first seen.")
    revision: Text = Field(description="Hash of headline, text and tags.")
    publisher: Text | None = Field(
        default=None, description="The publisher that the source names; null if it is the source itself."
    )
    publisher_url: WebUrl | None = Field(
        default=None,
        description="The address that the source gives for the publisher; null if it tells nothing beside `url`.",
    )
    language: Language | None = Field(default=None, description="Its language.")


class Article(ScoredDocument):
    """One article across all sources. `timestamp` (the publication time) and `headline` are those of the first source.

    `sources` and `source_attribution` have the first sources. `has_further_sources`: more sources published the
    article; they have observations only, and `source_attribution` is made from these where it is served.
    `source_count` is the number of all sources. It is set where an article is served, and never stored.
    `language` is that of the canonical reading, `und` if it is unknown. It is a field of the article so that articles
    are found by it.
    `created_by_run` is the run that created the article.
    `other_words`: by revision, the sentiment of the words of listed sources that differ from the canonical reading, as
    of the last analysis.
    `analysis_due_since` is set while an analysis is due: the article is new, or was edited since it was last analysed.
    It is written with the change that makes the analysis due, so that a lost message is noticed.
    `sentiment`, `score` and `polarity` are those of `scored_headline` and its text: after an edit, or after another
    source's reading became canonical, they stay until the analysis has judged the canonical reading. An article whose
    analysis was given up (status `error`) keeps them too.
    `matched_tickers` are the tickers that sources gave, `detected_tickers` those that the analysis found in the text.
    `tool_ids_ever_detected` only grows: a tool is listed there before its mention is written, so that every mention
    can be found from the article. `muted_tool_ids` are tools that the article names and does not mention, since all its
    sources are muted for them: with another source, it is analysed again.
    `words` are those of the headlines and of the text, as of the last analysis: searches find the article by them.
    `text_for_analysis` is the feed's text; `full_text` names that of the page, if there is one. `scored_text` says
    which of them the last analysis scored; it is stored for a full text only.
    `publisher_id` is the publisher of the canonical reading, the same for all outlets of one owner.
    `event_id` is the story of the article, `near_duplicate_of` the first of the articles that it repeats. Both are set
    by the grouping (services/stories), which is due while `grouping_due_since` is set: an analysis sets it in its own
    write if it changed the article's revision, its mentions or its deletion. `grouping_tries` counts its failures.
    `grouping_corrections` are the corrections of people that name the article. `split_links` are the links that a
    person split off, each with the article that entries with this link are; while there is one, no further source joins
    the article by headline and day alone.
    `deleted_at` makes the document a tombstone: kept so that the article is not ingested again, and never served.
    """

    CONTAINER: ClassVar[str] = "articles"
    PARTITION_FIELD: ClassVar[str] = "source_id"
    STATES: ClassVar[Mapping[str, Machine]] = {"status": ARTICLE}
    ID: ClassVar[str] = "article"

    entity_type: Literal["Article"] = "Article"
    ttl_timestamp: UnixSeconds = lives(days=ARTICLE_KEPT.days)
    dedup_key: Hex32
    timestamp: Time
    published_flag: PublishedFlag | None = None
    headline: Text
    normalized_headline: str
    url_in_key: Flag = False
    sources: tuple[SourceKey, ...] = Field(min_length=1)
    source_attribution: dict[str, SourceAttribution]
    has_further_sources: Flag | None = None
    source_count: Count | None = None
    canonical: CanonicalReading
    language: Language | None = None
    created_by_run: IdPart | None = None
    status: ArticleStatus = "pending"
    scored_headline: Text | None = None
    analyzer: Text | None = None
    analyzer_version: Text | None = None
    analyzed_at: Time | None = None
    analyzed_revision: Text | None = None
    other_words: dict[Text, WordsJudgement] | None = None
    analysis_due_since: Time | None = None
    analysis_attempts: Count = 0
    last_error_fingerprint: Text | None = None
    matched_tickers: tuple[Text, ...] = ()
    detected_tickers: tuple[Text, ...] = ()
    detected_tool_ids: tuple[IdPart, ...] = ()
    tool_ids_ever_detected: tuple[IdPart, ...] = ()
    muted_tool_ids: tuple[IdPart, ...] | None = None
    tags: tuple[Text, ...] = ()
    text_for_analysis: str | None = None
    words: tuple[Text, ...] | None = None
    full_text: FullText | None = None
    scored_text: ScoredText | None = None
    publisher_id: Text | None = None
    event_id: IdPart | None = None
    near_duplicate_of: IdPart | None = None
    grouping_due_since: Time | None = None
    grouping_tries: Count | None = None
    grouping_error: Text | None = None
    grouping_corrections: tuple[IdPart, ...] | None = None
    split_links: dict[Text, IdPart] | None = None
    metadata: dict[str, JsonValue] | None = None
    deleted_at: Time | None = None

    @property
    def source_id(self) -> str:
        return source_id(self.dedup_key)

    @property
    def partition(self) -> str:
        return self.source_id

    @property
    def text_to_score(self) -> FullText | None:
        """The full text, if it is that of the canonical reading; None if the feed's text is to be scored."""
        text = self.full_text
        return text if text is not None and text.revision == self.canonical.revision else None

    def shown(self) -> dict[str, Any]:
        fields = super().shown()
        hidden = ("tool_ids_ever_detected", "muted_tool_ids", "has_further_sources", "split_links")
        for name in (*hidden, "other_words", "words"):
            del fields[name]
        if self.full_text is not None:
            del fields["full_text"]["archive_key"]
        fields["scored_text"] = self.scored_text or ("feed" if self.analyzed_at is not None else None)
        fields["grouping_corrections"] = list(self.grouping_corrections or ())
        if self.source_count is None:
            fields["source_count"] = len(self.sources)
        return {"source_id": self.source_id, **fields}

    @model_validator(mode="after")
    def _sources_fit(self) -> Self:
        if not self.normalized_headline and not self.url_in_key:
            raise ValueError("normalized_headline must not be empty unless the URL is in the key")
        attribution = self.source_attribution
        if len(attribution) != len(self.sources) or attribution.keys() != set(self.sources):
            raise ValueError("sources must name each source of source_attribution once")
        if any(attribution[a].crawl_timestamp > attribution[b].crawl_timestamp for a, b in pairwise(self.sources)):
            raise ValueError("sources must be in the order of their crawl_timestamp")
        if self.canonical.source not in attribution and not self.has_further_sources:
            raise ValueError("canonical must be the reading of one of the sources")
        if self.status == "analyzed" and not self.is_scored and self.unscored_reason is None:
            raise ValueError("an analyzed article must have a sentiment, or an unscored_reason")
        return self
