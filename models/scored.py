"""The sentiment of a mention or an article: scored, or unscored with the reason."""

from __future__ import annotations

from typing import Self

from pydantic import Field, model_validator

from models.stored import StoredDocument
from models.values import Polarity, Sentiment, Share, UnscoredReason, Value, agrees


class WordsJudgement(Value):
    """The sentiment of words that some source wrote: the fields of a ScoredDocument under the same names."""

    sentiment: Sentiment | None = Field(
        default=None,
        description="`positive`, `negative` or `neutral`: the most probable of the three; null if the words "
        "could not be scored.",
    )
    score: Share | None = Field(
        default=None, description="Confidence in `sentiment`, 0 to 1: its probability; null without a sentiment."
    )
    polarity: Polarity | None = Field(
        default=None, description="-1 (negative) to 1 (positive), exactly 0 if `neutral`; null without a sentiment."
    )
    unscored_reason: UnscoredReason | None = Field(
        default=None,
        description="Why there is no sentiment: `LANGUAGE` if the analyzer cannot judge the language; null if "
        "there is one.",
    )


class ScoredDocument(StoredDocument):
    """A document with a sentiment. `sentiment`, `score` and `polarity` are all set, or all null; only articles that the
    analysis did not write may lack the polarity alone.

    * `score`: the probability of the sentiment, 0 to 1. 1 if a person has given the sentiment.
    * `polarity`: above 0 for positive, up to 1; below 0 for negative, down to -1; exactly 0 for neutral.
    * `unscored_reason`: set if the three are null because the text cannot be judged. LANGUAGE: the analyzer does not
      know its language.
    """

    sentiment: Sentiment | None = None
    score: Share | None = None
    polarity: Polarity | None = None
    unscored_reason: UnscoredReason | None = None

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
