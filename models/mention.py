"""The mention of one tool by one article, with its sentiment. Every figure is counted from mentions."""

from __future__ import annotations

from typing import ClassVar, Literal, Self

from pydantic import Field, model_validator

from models.correction import AnalyzerJudgement, CorrectionVerdict
from models.scored import ScoredDocument, WordsJudgement
from models.tool import ReferenceRole
from models.values import Count, Flag, IdPart, SourceKey, Text, Time, UnixSeconds, Value, WebUrl, lives

MatchKind = Literal["NAME", "ALIAS", "TICKER", "KEYWORD", "SOURCE_TAG"]
MatchPart = Literal["HEADLINE", "TEXT", "TAGS"]


class Match(Value):
    """Why the tool was detected: the name as written, its kind, and the part of the article that has it.

    `positions` are where this part has the name: start and end in the headline of the mention, or in the text
    that was scored (the article's `scored_text`). Tags have none.
    """

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

    `analyzer` and `analyzer_version` are those that judged the text, or could not.
    `other_words`: by revision, what sources of the article say of the tool in other words than the canonical reading;
    null for words that do not name the tool.
    `verdict` is what a person said of the mention, while it applies. `corrected`: the sentiment is that of the person,
    with the score 1 and the polarity 1, -1 or 0; `analyzer_judgement` is then what the analyzer said.
    A mention with `removed_at` is a tombstone: it has no text, no window counts it, and it stays until it expires, so
    that exports can say that it was removed.
    """

    CONTAINER: ClassVar[str] = "mentions"
    PARTITION_FIELD: ClassVar[str] = "tool_id"

    entity_type: Literal["SentimentScore"] = "SentimentScore"
    ttl_timestamp: UnixSeconds | None = lives(days=45)
    tool_id: IdPart
    source_id: IdPart
    role: ReferenceRole = "TIMELINE_SOURCE"
    published_at: Time
    analyzer: Text
    analyzer_version: Text
    revision: Text | None = None
    other_words: dict[Text, WordsJudgement | None] | None = None
    matches: tuple[Match, ...] = ()
    source: SourceKey | None = None
    publisher: Text | None = None
    publisher_id: Text | None = None
    headline: Text | None = None
    url: WebUrl | None = None
    event_id: IdPart | None = None
    verdict: CorrectionVerdict | None = None
    corrected: Flag | None = None
    analyzer_judgement: AnalyzerJudgement | None = None
    removed_at: Time | None = None

    @property
    def partition(self) -> str:
        return self.tool_id

    @property
    def id(self) -> str:
        return self.source_id

    @property
    def scored_by(self) -> str:
        return scored_by(self.analyzer, self.analyzer_version)

    @property
    def counts(self) -> bool:
        return self.removed_at is None

    @model_validator(mode="after")
    def _is_judged(self) -> Self:
        if self.polarity is None and self.unscored_reason is None:
            raise ValueError("a mention must have a sentiment with its polarity, or an unscored_reason")
        return self


def what_it_says(mention: SentimentScore, revision: str | None) -> SentimentScore | WordsJudgement | None:
    """What a source says of the tool with the words of this revision: what the mention says, unless the words are
    others. None if they do not name the tool."""
    others = mention.other_words or {}
    return others[revision] if revision in others and revision != mention.revision else mention
