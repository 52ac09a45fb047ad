"""An article, and what one source published of it, as the API shows them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Self

from pydantic import Field, JsonValue

from models.article import Article, CanonicalReading, FullText, JoinRule, ScoredText, SourceAttribution
from models.observation import Observation
from models.raw_item import PublishedFlag
from models.resources.base import Shape, Stored, View, added, internal, links, path
from models.resources.mentions import Judged, MentionResource
from models.scored import ScoredDocument, WordsJudgement
from models.states import ArticleStatus
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
    WebUrl,
)


class SaidOfTool(Judged):
    """What the words of one source say of a tool."""

    tool_id: IdPart = Field(description="The tool.")
    tool: Text | None = Field(description="Its name.")


class ObservationResource(Judged, Stored):
    """What one source published of an article, as it was on one UTC day."""

    source_id: IdPart = Field(description="The article.")
    source: SourceKey = Field(description="The source.")
    source_priority: Count = Field(
        description="The source's priority at that time. A later change of priority is applied to the latest "
        "observation of each source after the first 20 of an article."
    )
    observed_day: Day = Field(
        description="The UTC day, such as `2026-02-21`. A later edit of the same day replaces the observation."
    )
    scraped_at: Time = Field(description="When this version was first seen.")
    article_id: Text = Field(description="The source's own id for the entry.")
    url: WebUrl = Field(description="The link of the entry.")
    headline: Text = Field(description="The headline that the source published, as plain text.")
    text: str | None = Field(description="The text that the source published, as plain text.")
    language: Language | None = Field(description="Its language, `und` if it is unknown.")
    publisher: Text | None = Field(description="The publisher that the source names.")
    publisher_url: WebUrl | None = Field(
        description="The address that the source gives for the publisher; null if it tells nothing beside `url`."
    )
    published_at: Time = Field(
        description="When it was published, as the source says; if that date cannot be used, when it was first seen."
    )
    published_flag: PublishedFlag | None = Field(
        description="Why the source's date cannot be used: `missing`, `unparsable` or `future`; null if it was used."
    )
    tags: tuple[Text, ...] = Field(description="The tags of the source.")
    tickers: tuple[Text, ...] = Field(description="The tickers that the source gives.")
    raw_value: str | None = Field(description="The date as the source wrote it, if it could not be used.")
    parse_warnings: tuple[Text, ...] = Field(description="Repairs of this entry, by kind.")
    created_article: Flag | None = Field(
        description="Whether the attempt that added the source also created the article."
    )
    joined_by: JoinRule | None = Field(
        description="On the first observation of a source: the rule by which the source is in the article, as "
        "in its attribution."
    )
    tools: list[SaidOfTool] | None = Field(
        description="What these words say of each tool that they name; null if they were not judged."
    )
    links: dict[str, str] = Field(description="Paths: the article, and the feed.")
    revision: Text | None = internal("Hash of headline, text and tags.")
    added_by_attempt: Text | None = internal(
        "On the first observation of a source: `run:feed:attempt` that added the source."
    )

    @classmethod
    def of(
        cls,
        observation: Observation,
        said: ScoredDocument | WordsJudgement | None,
        tools: Sequence[SaidOfTool] | None,
        view: View = "default",
    ) -> Self:
        """`said` is the judgement of its words in general, `tools` that for each tool; None if there is none."""
        judgement = {name: getattr(said, name, None) for name in WordsJudgement.model_fields}
        article, feed = path("articles", observation.source_id), path("feeds", observation.source)
        return cls.made(
            observation,
            view,
            **judgement,
            tools=None if tools is None else list(tools),
            links=links(article=article, feed=feed),
        )


class FullTextPart(Shape):
    """The text of the page behind an article."""

    characters: Count = Field(description="Its length.")
    revision: Text = Field(description="The revision of the article that it belongs to.")
    sha256: Sha256 = Field(description="By which the text can be checked.")
    extraction_profile_id: Text = Field(description="The profile and its version that found the text.")

    @classmethod
    def of(cls, text: FullText) -> Self:
        return cls.shaped({name: getattr(text, name) for name in cls.model_fields})


class ArticleResource(Judged, Stored):
    """One article across all sources."""

    source_id: str = Field(description="The id of the article: `dedup:` and `dedup_key`.")
    headline: Text = Field(description="The headline of the first source; it never changes.")
    timestamp: Time = Field(
        description="When the article was published, as the first source gave it; if that date cannot be used, "
        "when the article was first seen."
    )
    published_flag: PublishedFlag | None = Field(
        description="Why the date cannot be used: `missing`, `unparsable` or `future`; null if it was used."
    )
    dedup_key: Hex32 = Field(
        description="Hash of normalized headline and day, with the URL if the headline alone identifies no article."
    )
    normalized_headline: str = Field(
        description="The headline in lower case, without punctuation and without the publisher's name."
    )
    sources: tuple[SourceKey, ...] = Field(
        description="The ids of the sources that published the article, in the order in which they were fetched. "
        "A list of articles and an export have the first 20 of each article."
    )
    source_count: Count = Field(description="The number of all its sources, also those that `sources` leaves out.")
    source_attribution: dict[str, SourceAttribution] = Field(description="By source, what that source published.")
    canonical: CanonicalReading = Field(description="The canonical reading: the version that is shown and analysed.")
    publisher_id: Text | None = Field(
        description="The publisher of the canonical reading: the same for all outlets of one owner."
    )
    publisher_name: str | None = Field(description="The name of the publisher, or its id.")
    language: Language | None = Field(
        description="The language of the canonical reading, such as `en`; `und` if it is unknown."
    )
    status: ArticleStatus = Field(
        description="`pending`: not analysed yet, or tried again. `analyzed`. `error`: the analysis was given up after "
        "several tries; a redrive tries again. If it was that of an edit, the article keeps its scores and mentions "
        "meanwhile."
    )
    scored_headline: Text | None = Field(
        description="The headline that sentiment, score and polarity belong to. It differs from that of "
        "`canonical` after an edit, or after another source's reading became canonical, until the "
        "article is analysed again."
    )
    scored_text: ScoredText | None = Field(
        description="Which text was scored: `feed` (`text_for_analysis`) or `document` (the full text, its first "
        "20,000 characters); null before the first analysis. After an edit it is `feed` until the "
        "page was read again."
    )
    analyzer: Text | None = Field(description="The analyzer that judged the article.")
    analyzer_version: Text | None = Field(description="The version of that analyzer.")
    analyzed_at: Time | None = Field(description="When the result of the analysis last changed.")
    matched_tickers: tuple[Text, ...] = Field(
        description="Tickers of the article: those that sources gave, then those found in the text."
    )
    detected_tickers: tuple[Text, ...] = Field(description="Tickers found in the text only.")
    detected_tool_ids: tuple[IdPart, ...] = Field(description="The tools that have a mention in the article.")
    tags: tuple[Text, ...] = Field(description="Tags of the sources.")
    text_for_analysis: str | None = Field(
        description="Plain text of the canonical reading, at most 4,000 characters; blocks of code are between "
        "fences (three backticks)."
    )
    full_text: FullTextPart | None = Field(
        description="The text of the page that was acquired behind the entry; null if there is none."
    )
    event_id: IdPart | None = Field(description="The story of the article; null until the article is grouped.")
    near_duplicate_of: IdPart | None = Field(
        description="The first of the articles that this one repeats in almost the same words; null if it repeats none."
    )
    grouping_corrections: tuple[str, ...] = Field(
        description="The ids of the corrections of articles and stories that name the article."
    )
    metadata: dict[str, JsonValue] | None = Field(description="Not used; null.")
    links: dict[str, str] = Field(
        description="Paths: the article itself, its ledger, its story, the article that it repeats, its full text."
    )
    mentions: list[MentionResource] | None = added("The mentions of the article, alone in `GET articles/{article_id}`.")
    mention: MentionResource | None = added("The mention of the tool, in `GET tools/{tool}/articles`.")
    observations: list[ObservationResource] | None = added("What each source published, by day, with `layer=raw`.")
    unreadable: list[str] | None = added(
        "The ids of parts that cannot be read and were left out; absent if there are none."
    )
    url_in_key: Flag | None = internal("Whether the URL is part of `dedup_key`.")
    created_by_run: IdPart | None = internal("The run that stored the article.")
    analyzed_revision: Text | None = internal("The `revision` of the canonical reading that was analysed.")
    analysis_due_since: Time | None = internal("Since when an analysis is due; null if none is.")
    analysis_attempts: Count | None = internal("Failed analyses since the last success.")
    last_error_fingerprint: Text | None = internal("A short name of the last failure.")
    grouping_due_since: Time | None = internal(
        "Since when the article waits to be grouped into stories; null if it does not."
    )
    grouping_tries: Count | None = internal("Failed tries to group the article since the last success.")
    grouping_error: Text | None = internal("Why the last of these failed.")
    deleted_at: Time | None = internal("Null; a deleted article is never served.")

    @classmethod
    def of(cls, article: Article, publisher_name: str | None, view: View = "default") -> Self:
        own, text = path("articles", article.source_id), article.full_text
        repeated = article.near_duplicate_of
        return cls.made(
            article,
            view,
            source_id=article.source_id,
            publisher_name=publisher_name,
            source_count=len(article.sources) if article.source_count is None else article.source_count,
            scored_text=article.scored_text or ("feed" if article.analyzed_at is not None else None),
            full_text=FullTextPart.of(text) if text is not None else None,
            grouping_corrections=article.grouping_corrections or (),
            links=links(
                self=own,
                ledger=f"{own}/ledger",
                story=path("stories", article.event_id) if article.event_id else None,
                near_duplicate_of=path("articles", repeated) if repeated else None,
                document=f"{own}/document" if text is not None else None,
            ),
        )
