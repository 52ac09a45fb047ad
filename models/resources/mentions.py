"""A mention of a tool by an article as the API shows it."""

from __future__ import annotations

from typing import Self

from pydantic import Field

from models.correction import AnalyzerJudgement, CorrectionVerdict
from models.mention import Match, SentimentScore
from models.resources.base import Shape, Stored, View, added, internal, links, path
from models.scored import WordsJudgement
from models.tool import ReferenceRole
from models.values import (
    Flag,
    IdPart,
    Polarity,
    Sentiment,
    Share,
    SourceKey,
    Text,
    Time,
    UnscoredReason,
    WebUrl,
)


class Judged(Shape):
    """A sentiment, or why there is none."""

    sentiment: Sentiment | None = Field(
        description="`positive`, `negative` or `neutral`: the most probable of the three. Of a mention: on the "
        "sentences that name the tool, and the headline if it names the tool; on the headline alone if only tags or "
        "tickers do. Null if there is none."
    )
    score: Share | None = Field(
        description="Confidence in `sentiment`, 0 to 1: its probability; null without a sentiment."
    )
    polarity: Polarity | None = Field(
        description="-1 (negative) to 1 (positive). Above 0 if `sentiment` is `positive`, below 0 if `negative`, "
        "exactly 0 if `neutral`; null without a sentiment."
    )
    unscored_reason: UnscoredReason | None = Field(
        description="Why there is no sentiment: `LANGUAGE` if the analyzer cannot judge the language. Null if there is "
        "one, or if nothing was judged yet."
    )


class MentionResource(Judged, Stored):
    """What one article says of one tool."""

    tool_id: IdPart = Field(description="The tool.")
    source_id: IdPart = Field(description="The article.")
    headline: Text | None = Field(description="The headline of the canonical reading.")
    url: WebUrl | None = Field(description="The link of the canonical reading.")
    published_at: Time = Field(
        description="When the article was published or first seen, whichever is earlier. It decides which windows "
        "count the mention. It is fixed when the mention is first analysed."
    )
    role: ReferenceRole = Field(
        description="`DISCOVERY`: the first article that named the tool. `DOCUMENT_SOURCE`: the full text of the "
        "page names the tool, the headline does not. `OTHER`: only tags or tickers of the source name "
        "the tool. `TIMELINE_SOURCE`: all others."
    )
    matches: tuple[Match, ...] = Field(description="Why the article counts: the names that were found.")
    source: SourceKey | None = Field(description="The source of the canonical reading.")
    publisher: Text | None = Field(description="The publisher that the canonical reading names.")
    publisher_id: Text | None = Field(
        description="The publisher of the canonical reading: the same for all outlets of one owner."
    )
    event_id: IdPart | None = Field(description="The story of the article; null until the article is grouped.")
    analyzer: Text = Field(description="The analyzer that judged the mention, or could not.")
    analyzer_version: Text = Field(description="The version of that analyzer.")
    verdict: CorrectionVerdict | None = Field(
        description="What a person said of the mention, while it applies: a correction."
    )
    corrected: Flag | None = Field(
        description="True: `sentiment` is that of a person, with the `score` 1 and the `polarity` 1, -1 or 0; "
        "otherwise null."
    )
    analyzer_judgement: AnalyzerJudgement | None = Field(
        description="Of a corrected mention: `sentiment`, `score`, `polarity` and `unscored_reason` that the "
        "analyzer gave; otherwise null."
    )
    links: dict[str, str] = Field(description="Paths: the mention itself, the article, the tool, the story.")
    tool: str | None = added("The name of the tool, in `GET articles/{article_id}`.")
    revision: Text | None = internal("The `revision` of the canonical reading that was judged.")
    other_words: dict[Text, WordsJudgement | None] | None = internal(
        "What sources that wrote other words say: sentiment, score, polarity and `unscored_reason` by `revision`; "
        "null for words that do not name the tool. Null if no listed source has other words."
    )
    removed_at: Time | None = internal("Null; a removed mention is never served.")

    @classmethod
    def of(cls, mention: SentimentScore, view: View = "default") -> Self:
        own = path("tools", mention.tool_id, "mentions", mention.source_id)
        return cls.made(
            mention,
            view,
            links=links(
                self=own,
                article=path("articles", mention.source_id),
                tool=path("tools", mention.tool_id),
                story=path("stories", mention.event_id) if mention.event_id else None,
            ),
        )
