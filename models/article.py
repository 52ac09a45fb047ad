"""An article: one piece of news, with every source that published it and the canonical reading; and the observations,
the raw layer: what one source published of it on one day.

services/articles decides which entries are one article (identity.py, matching.py) and which reading is canonical
(merge.py).
"""

from __future__ import annotations

from collections.abc import Mapping
from datetime import timedelta
from itertools import pairwise
from typing import Any, ClassVar, Literal, Self

from pydantic import Field, model_validator

from models.raw_item import PublishedFlag
from models.states import ARTICLE, ArticleStatus, Machine
from models.stored import ScoredDocument, StoredDocument, WordsJudgement
from models.values import (
    Count,
    Day,
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
    internal,
    lives,
    optional,
)

LOWEST_PRIORITY = 999
ARTICLE_KEPT = timedelta(days=30)
JoinRule = Literal["first", "own_id", "url", "headline_and_day", "url_in_key", "person"]
"""Why a source is in an article: it was the first; the article had its own id, or an entry with its URL; headline and
day are the same, or these and the URL; a person said so."""
ScoredText = Literal["feed", "document"]
"""Which text was scored: the feed's, or the full text of the page."""
LISTED_SOURCES = 20
"""The sources that a list shows of an article, and whose own words are judged."""


_DEDUP = "dedup:"


def source_id(dedup_key: str) -> str:
    """The article's id across all sources."""
    return _DEDUP + dedup_key


AttributionDocument = dict[str, Any]
"""SourceAttribution as it is stored."""
ReadingDocument = dict[str, Any]
"""CanonicalReading as it is stored."""
ArticleDocument = dict[str, Any]
"""Article as it is stored."""


_STORED_MS = (
    "When this version was stored, in Unix milliseconds; later than any version that the article listed then. Of "
    "versions with equal `source_priority` and `scraped_at`, the one that was stored last is the canonical reading."
)


class SourceAttribution(Value):
    """The article as one source has it."""

    article_id: Text = Field(description="The source's own id for the entry; the URL if the source gives none.")
    url: WebUrl = Field(description="The link of the entry.")
    crawl_timestamp: Time = Field(description="When the article was first seen at this source.")
    original_headline: Text = Field(description="The source's headline when the article was first seen there.")
    headline: Text | None = optional("The source's present headline; null if it is `original_headline`.")
    source_name: Text | None = optional("The publisher, if the source names another one than itself.")
    publisher_url: WebUrl | None = optional(
        "The address that the source gives for that publisher; null if it tells nothing beside `url`."
    )
    source_priority: Count | None = optional("The source's priority.")
    published_at: Time | None = optional("The publication time that the source gives.")
    scraped_at: Time | None = optional("When the source's present version was first seen.")
    stored_ms: Count | None = internal(_STORED_MS)
    revision: Text | None = optional("Hash of headline, text and tags of that version.")
    language: Language | None = optional("The language of that version.")
    added_by_run: IdPart | None = optional("The run that added the source to the article.")
    joined_by: JoinRule | None = optional(
        "The rule by which the source is in the article: `first` brought it; or it has in common "
        "with it `own_id` (the source's own id for the entry), `url` (the link of an entry of "
        "another source), `headline_and_day` (normalized headline and day of publication), or "
        "`url_in_key` (these and the link: the headline is too short, or the source had another "
        "article with it). `person`: a person made the source an article of its own."
    )


class FullText(Value):
    """The text of the page behind the article. It is scored while `revision` is that of the canonical reading.

    It is in the archive under `archive_key`, and can be checked with `sha256`.
    """

    archive_key: Text
    sha256: Sha256 = Field(description="By which the text can be checked.")
    characters: Count = Field(description="Its length.")
    revision: Text = Field(description="The revision of the article that it belongs to.")
    extraction_profile_id: Text = Field(description="The profile and its version that found the text.")


class CanonicalReading(Value):
    """The reading of the source with the lowest priority number: views show it, and the analysis reads it."""

    source: SourceKey = Field(
        description="The source with the lowest `source_priority`, of equal ones the one with the latest `scraped_at`, "
        "and of these the one that was stored last."
    )
    source_priority: Count = Field(default=LOWEST_PRIORITY, description="Its priority.")
    observation_id: IdPart = Field(description="The observation with the text.")
    article_id: Text | None = optional("The source's own id for the entry.")
    headline: Text = Field(description="As the source wrote it.")
    url: WebUrl = Field(description="The link of the entry.")
    published_at: Time = Field(description="The publication time that the source gives.")
    scraped_at: Time = Field(description="When this version was first seen.")
    stored_ms: Count | None = internal(_STORED_MS)
    revision: Text = Field(description="Hash of headline, text and tags.")
    publisher: Text | None = optional("The publisher that the source names; null if it is the source itself.")
    publisher_url: WebUrl | None = optional(
        "The address that the source gives for the publisher; null if it tells nothing beside `url`."
    )
    language: Language | None = optional("Its language.")


class Article(ScoredDocument):
    """One article across all sources.

    `source_count` is the number of all sources, set where fewer are served, and never stored.
    `language` is a field of the article so that articles are found by it.
    `other_words`: by revision, the sentiment of the words of the first sources that differ from the canonical reading,
    as of the last analysis.
    `analysis_due_since` is written with the change that makes the analysis due, so that a lost message is noticed.
    `sentiment`, `score` and `polarity` are those of `scored_headline` and its text: they stay until the analysis has
    judged the canonical reading. An article whose analysis was given up (status `error`) keeps them too.
    `tool_ids_ever_detected` only grows: a tool is listed there before its mention is written, so that every mention
    can be found from the article. `muted_tool_ids` are tools that the article names and does not mention, since all its
    sources are muted for them: with another source, it is analysed again.
    `words` are those of the headlines and of the text, as of the last analysis: searches find the article by them.
    Those that begin with `#` are what backfills find it by: further words that the detector reads, also of tags and
    tickers, and each of `tool_ids_ever_detected`; a `#` alone says that a full text was analysed.
    `scored_text` is stored for a full text only.
    `event_id` and `near_duplicate_of` are set by the grouping (services/stories), which is due while
    `grouping_due_since` is set: an analysis sets it in its own write if it changed the article's revision, its mentions
    or its deletion.
    `grouping_corrections` are the corrections of people that name the article. `split_links` are the links that a
    person split off, each with the article that entries with this link are; while there is one, no further source joins
    the article by headline and day alone.
    `deleted_at` makes the document a tombstone: kept so that the article is not ingested again, and never served.
    """

    CONTAINER: ClassVar[str] = "articles"
    HIDDEN: ClassVar[frozenset[str]] = frozenset(
        {"tool_ids_ever_detected", "muted_tool_ids", "split_links", "other_words", "words"}
    )
    PARTITION_FIELD: ClassVar[str] = "source_id"
    STATES: ClassVar[Mapping[str, Machine]] = {"status": ARTICLE}
    ID: ClassVar[str] = "article"

    entity_type: Literal["Article"] = "Article"
    ttl_timestamp: UnixSeconds = lives(days=ARTICLE_KEPT.days)
    dedup_key: Hex32 = Field(
        description="Hash of normalized headline and day, with the URL if the headline alone identifies no article."
    )
    timestamp: Time = Field(
        description="When the article was published, as the first source gave it; if that date cannot be used, when "
        "the article was first seen."
    )
    published_flag: PublishedFlag | None = optional(
        "Why the date cannot be used: `missing`, `unparsable` or `future`; null if it was used."
    )
    headline: Text = Field(description="The headline of the first source; it never changes.")
    normalized_headline: str = Field(
        description="The headline in lower case, without punctuation and without the publisher's name."
    )
    url_in_key: Flag = internal("Whether the URL is part of `dedup_key`.", default=False)
    sources: tuple[SourceKey, ...] = Field(
        min_length=1,
        description="The ids of the sources that published the article, in the order in which they were fetched. A "
        "list of articles and an export have 20 of each article, the article itself 500: the first ones, and that of "
        "its canonical reading.",
    )
    source_attribution: dict[str, SourceAttribution] = Field(description="By source, what that source published.")
    source_count: Count | None = None
    canonical: CanonicalReading = Field(description="The canonical reading: the version that is shown and analysed.")
    language: Language | None = optional("The language of the canonical reading, such as `en`; `und` if it is unknown.")
    created_by_run: IdPart | None = internal("The run that stored the article.")
    status: ArticleStatus = Field(
        default="pending",
        description="`pending`: not analysed yet, or tried again. `analyzed`. `error`: the analysis was given up "
        "after several tries; a redrive tries again. If it was that of an edit, the article keeps its scores and "
        "mentions meanwhile.",
    )
    scored_headline: Text | None = optional(
        "The headline that sentiment, score and polarity belong to. It differs from that of `canonical` after an "
        "edit, or after another source's reading became canonical, until the article is analysed again."
    )
    analyzer: Text | None = optional("The analyzer that judged the article.")
    analyzer_version: Text | None = optional("The version of that analyzer.")
    analyzed_at: Time | None = optional("When the result of the analysis last changed.")
    analyzed_revision: Text | None = internal("The `revision` of the canonical reading that was analysed.")
    other_words: dict[Text, WordsJudgement] | None = None
    analysis_due_since: Time | None = internal("Since when an analysis is due; null if none is.")
    analysis_attempts: Count = internal("Failed analyses since the last success.", default=0)
    last_error_fingerprint: Text | None = internal("A short name of the last failure.")
    matched_tickers: tuple[Text, ...] = Field(
        default=(), description="Tickers of the article: those that sources gave, then those found in the text."
    )
    detected_tickers: tuple[Text, ...] = Field(default=(), description="Tickers found in the text only.")
    detected_tool_ids: tuple[IdPart, ...] = Field(
        default=(), description="The tools that have a mention in the article."
    )
    tool_ids_ever_detected: tuple[IdPart, ...] = ()
    muted_tool_ids: tuple[IdPart, ...] | None = None
    tags: tuple[Text, ...] = Field(default=(), description="Tags of the sources.")
    text_for_analysis: str | None = optional(
        "Plain text of the canonical reading, at most 4,000 characters; blocks of code are between fences (three "
        "backticks)."
    )
    words: tuple[Text, ...] | None = None
    full_text: FullText | None = None
    scored_text: ScoredText | None = optional(
        "Which text was scored: `feed` (`text_for_analysis`) or `document` (the full text, its first 20,000 "
        "characters); null before the first analysis. After an edit it is `feed` until the page was read again."
    )
    publisher_id: Text | None = optional(
        "The publisher of the canonical reading: the same for all outlets of one owner."
    )
    event_id: IdPart | None = optional("The story of the article; null until the article is grouped.")
    near_duplicate_of: IdPart | None = optional(
        "The first of the articles that this one repeats in almost the same words; null if it repeats none."
    )
    grouping_due_since: Time | None = internal(
        "Since when the article waits to be grouped into stories; null if it does not."
    )
    grouping_tries: Count | None = internal("Failed tries to group the article since the last success.")
    grouping_error: Text | None = internal("Why the last of these failed.")
    grouping_corrections: tuple[IdPart, ...] | None = None
    split_links: dict[Text, IdPart] | None = None
    metadata: dict[str, str | None] | None = optional(
        "What the entry that created the article said besides: `published_as_written`, its date in the source's own "
        "form and time zone, and `declared_language`; what it did not say is absent. Null for an article that a person "
        "split off."
    )
    deleted_at: Time | None = internal("Null; a deleted article is never served.")

    @property
    def source_id(self) -> str:
        return _DEDUP + self.dedup_key

    @property
    def source_tickers(self) -> tuple[str, ...]:
        """The tickers that sources gave the article. The analysis found the other tickers in the text, which may have
        been edited since."""
        return tuple(each for each in self.matched_tickers if each not in self.detected_tickers)

    @property
    def text_to_score(self) -> FullText | None:
        """The full text, if it is that of the canonical reading; None if the feed's text is to be scored."""
        text = self.full_text
        return text if text is not None and text.revision == self.canonical.revision else None

    def shown(self) -> dict[str, Any]:
        fields = super().shown()
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
        if self.canonical.source not in attribution:
            raise ValueError("canonical must be the reading of one of the sources")
        if self.status == "analyzed" and not self.is_scored and self.unscored_reason is None:
            raise ValueError("an analyzed article must have a sentiment, or an unscored_reason")
        return self


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
    """

    CONTAINER: ClassVar[str] = "articles"
    HIDDEN: ClassVar[frozenset[str]] = frozenset({"deleted_at"})
    PARTITION_FIELD: ClassVar[str] = "source_id"

    entity_type: Literal["Observation"] = "Observation"
    ttl_timestamp: UnixSeconds | None = lives(days=ARTICLE_KEPT.days)
    source_id: IdPart = Field(description="The article.")
    source: SourceKey = Field(description="The source.")
    source_priority: Count = Field(
        default=LOWEST_PRIORITY,
        description="The source's priority at that time.",
    )
    observed_day: Day = Field(
        description="The UTC day, such as `2026-02-21`. A later edit of the same day replaces the observation."
    )
    scraped_at: Time = Field(description="When this version was first seen.")
    article_id: Text = Field(description="The source's own id for the entry.")
    url: WebUrl = Field(description="The link of the entry.")
    headline: Text = Field(description="The headline that the source published, as plain text.")
    original_headline: Text | None = optional(
        "The headline that the source had first on that day; null if it is `headline`."
    )
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
    stored_ms: Count | None = internal(_STORED_MS)
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
    deleted_at: Time | None = None

    @property
    def id(self) -> str:
        return f"obs:{self.source}:{self.observed_day.replace('-', '')}"
