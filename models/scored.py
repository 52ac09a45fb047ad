"""The sentiment of a mention or an article: scored, or unscored with the reason."""

from __future__ import annotations

from typing import Self

from pydantic import model_validator

from models.stored import StoredDocument
from models.values import Polarity, Sentiment, Share, UnscoredReason, Value, agrees, optional


class WordsJudgement(Value):
    """A sentiment of words, or why there is none."""

    sentiment: Sentiment | None = optional(
        "`positive`, `negative` or `neutral`: the most probable of the three. Of a mention: on the sentences that name "
        "the tool, and the headline if it names the tool; on the headline alone if only tags or tickers do. Null if "
        "there is none."
    )
    score: Share | None = optional("Confidence in `sentiment`, 0 to 1: its probability; null without a sentiment.")
    polarity: Polarity | None = optional(
        "-1 (negative) to 1 (positive). Above 0 if `sentiment` is `positive`, below 0 if `negative`, exactly 0 if "
        "`neutral`; null without a sentiment."
    )
    unscored_reason: UnscoredReason | None = optional(
        "Why there is no sentiment: `LANGUAGE` if the analyzer cannot judge the language. Null if there is one, or if "
        "nothing was judged yet."
    )


class ScoredDocument(StoredDocument, WordsJudgement):
    """A document with a sentiment. `sentiment`, `score` and `polarity` are all set, or all null; only articles that the
    analysis did not write may lack the polarity alone. The score is 1 if a person has given the sentiment.
    """

    @property
    def is_scored(self) -> bool:
        return self.sentiment is not None

    @model_validator(mode="after")
    def _sentiment_fits(self) -> Self:
        if self.sentiment is None:
            if self.score is not None or self.polarity is not None:
                raise ValueError("score and polarity must be null without a sentiment")
            return self
        if self.score is None:
            raise ValueError("a sentiment must have a score")
        if self.unscored_reason is not None:
            raise ValueError("unscored_reason must be null if there is a sentiment")
        if self.polarity is not None and not agrees(self.sentiment, self.polarity):
            raise ValueError("polarity must be above 0 for positive, below 0 for negative, 0 for neutral")
        return self
