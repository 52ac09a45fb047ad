"""The mention of one tool by one article, with its sentiment. Every figure is counted from mentions."""

from __future__ import annotations

from datetime import datetime
from typing import ClassVar, Literal, Self

from pydantic import Field, model_validator

from models.correction import CorrectionVerdict, VersionedJudgement
from models.stored import ScoredDocument, WordsJudgement
from models.tool import ADDED_BY_WORKFLOW, ANALYZE, Reference, ReferenceRole
from models.values import (
    Count,
    Flag,
    IdPart,
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

MatchKind = Literal["NAME", "ALIAS", "TICKER", "KEYWORD", "SOURCE_TAG"]
MatchPart = Literal["HEADLINE", "TEXT", "TAGS"]


class Match(Value):
    """Why the tool was detected."""

    name: Text = Field(description="The name as it is written in the article.")
    kind: MatchKind = Field(description="`NAME`, `ALIAS`, `KEYWORD`, `TICKER` or `SOURCE_TAG`.")
    where: MatchPart = Field(description="`HEADLINE`, `TEXT` or `TAGS`.")
    positions: tuple[tuple[Count, Count], ...] = Field(
        default=(),
        description="The first ten places of the name: start and end, in characters (Unicode code points), in "
        "the mention's `headline` or in the text that was scored (`scored_text` of the article). "
        "Empty for tags.",
    )


def scored_by(analyzer: str, version: str) -> str:
    """The one name for an analyzer and its version, such as `embedded/3:ab12`."""
    return f"{analyzer}/{version}"


class SentimentScore(ScoredDocument):
    """One mention. `published_at` is fixed at the first analysis, and decides the windows that count the mention.

    A mention with `removed_at` is a tombstone: it has no text, no window counts it, and it stays until it expires, so
    that exports can say that it was removed.
    """

    CONTAINER: ClassVar[str] = "mentions"
    PARTITION_FIELD: ClassVar[str] = "tool_id"
    ID_OF: ClassVar[str] = "source_id"

    entity_type: Literal["SentimentScore"] = "SentimentScore"
    ttl_timestamp: UnixSeconds | None = lives(days=45)
    tool_id: IdPart = Field(description="The tool.")
    source_id: IdPart = Field(description="The article.")
    role: ReferenceRole = Field(
        default="TIMELINE_SOURCE",
        description="`DISCOVERY`: the first article that named the tool. `DOCUMENT_SOURCE`: the full text of the "
        "page names the tool, the headline does not. `OTHER`: only tags or tickers of the source name the tool. "
        "`TIMELINE_SOURCE`: all others.",
    )
    published_at: Time = Field(
        description="When the article was published or first seen, whichever is earlier. It decides which windows "
        "count the mention. It is fixed when the mention is first analysed."
    )
    analyzer: Text = Field(description="The analyzer that judged the mention, or could not.")
    analyzer_version: Text = Field(description="The version of that analyzer.")
    revision: Text | None = internal("The `revision` of the canonical reading that was judged.")
    other_words: dict[Text, WordsJudgement | None] | None = internal(
        "What sources that wrote other words say: sentiment, score, polarity and `unscored_reason` by `revision`; "
        "null for words that do not name the tool. Null if no listed source has other words."
    )
    matches: tuple[Match, ...] = Field(default=(), description="Why the article counts: the names that were found.")
    source: SourceKey | None = optional("The source of the canonical reading.")
    publisher: Text | None = optional("The publisher that the canonical reading names.")
    publisher_id: Text | None = optional(
        "The publisher of the canonical reading: the same for all outlets of one owner."
    )
    headline: Text | None = optional("The headline of the canonical reading.")
    url: WebUrl | None = optional("The link of the canonical reading.")
    event_id: IdPart | None = optional("The story of the article; null until the article is grouped.")
    verdict: CorrectionVerdict | None = optional("What a person said of the mention, while it applies: a correction.")
    corrected: Flag | None = optional(
        "True: `sentiment` is that of a person, with the `score` 1 and the `polarity` 1, -1 or 0; otherwise null."
    )
    analyzer_judgement: WordsJudgement | None = optional(
        "Of a corrected mention: `sentiment`, `score`, `polarity` and `unscored_reason` that the analyzer gave; "
        "otherwise null."
    )
    added_by_workflow: IdPart = Field(default=ANALYZE, description=ADDED_BY_WORKFLOW)
    removed_at: Time | None = internal("Null; a removed mention is never served.")

    @property
    def scored_by(self) -> str:
        return scored_by(self.analyzer, self.analyzer_version)

    @property
    def counts(self) -> bool:
        return self.removed_at is None

    @property
    def said_by_analyzer(self) -> VersionedJudgement:
        """Also if a person has corrected it."""
        own = self.analyzer_judgement or self
        said = {name: getattr(own, name) for name in WordsJudgement.model_fields}
        return VersionedJudgement(**said, analyzer=self.analyzer, analyzer_version=self.analyzer_version)

    def removed(self, now: datetime) -> Self:
        """The mention as a tombstone, without texts; the same object if it is one already."""
        return self.changed(now, removed_at=now, matches=(), **_NO_TEXTS) if self.counts else self

    @property
    def reference(self) -> Reference:
        return Reference(
            source_id=self.source_id,
            source=self.publisher or self.source,
            source_identifier=self.url or self.source_id,
            title=self.headline,
            published_at=self.published_at,
            role=self.role,
            event_id=self.event_id,
            added_by_workflow=self.added_by_workflow,
            created_at=self.created_at,
        )

    @model_validator(mode="after")
    def _is_judged(self) -> Self:
        if self.polarity is None and self.unscored_reason is None:
            raise ValueError("a mention must have a sentiment with its polarity, or an unscored_reason")
        return self


_NO_TEXTS = dict.fromkeys(
    ("headline", "url", "publisher", "publisher_id", "source", "other_words", "analyzer_judgement")
)


def what_it_says(mention: SentimentScore, revision: str | None) -> SentimentScore | WordsJudgement | None:
    """What a source says of the tool with the words of this revision: what the mention says, unless the words are
    others. None if they do not name the tool."""
    others = mention.other_words or {}
    return others[revision] if revision in others and revision != mention.revision else mention
