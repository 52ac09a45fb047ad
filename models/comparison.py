"""What a comparison of analyzers has found: how many mentions of a tool would change, and which change most."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Literal, Self, TypeVar

from pydantic import Field

from models.mention import SentimentScore
from models.tally import Tally
from models.values import Count, Polarity, Sentiment, Text, Value

MAX_SAMPLES = 20
LONGEST_HEADLINE = 200

Label = Literal["positive", "negative", "neutral", "unscored"]
ReasonNotCompared = Literal["EXPIRED", "UNREADABLE", "NOT_NAMED", "NOT_JUDGED"]
K = TypeVar("K")


class Rating(Value):
    """The sentiment of a mention, stored or as an analyzer gives it; null if it is unscored."""

    sentiment: Sentiment | None = None
    polarity: Polarity | None = None

    @property
    def label(self) -> Label:
        return self.sentiment or "unscored"

    @property
    def tally(self) -> Tally:
        return Tally.of(self.sentiment, self.polarity)


class Sample(Value):
    """A mention whose sentiment would change."""

    source_id: Text
    headline: Text
    before: Rating
    after: Rating

    @property
    def rank(self) -> tuple[float, str]:
        """Samples that change most come first."""
        return -abs((self.after.polarity or 0.0) - (self.before.polarity or 0.0)), self.source_id


class Comparison(Value):
    """What was found so far. `labels` counts compared mentions by their stored and their new label, `scored_by` by the
    analyzer and version that had scored them."""

    analyzer: Text
    analyzer_version: Text
    before: Tally = Tally()
    after: Tally = Tally()
    labels: dict[Label, dict[Label, Count]] = Field(default_factory=dict)
    not_compared: dict[ReasonNotCompared, Count] = Field(default_factory=dict)
    scored_by: dict[Text, Count] = Field(default_factory=dict)
    samples: tuple[Sample, ...] = ()

    @property
    def compared(self) -> int:
        return sum(sum(row.values()) for row in self.labels.values())

    @property
    def changed(self) -> int:
        return sum(count for old, row in self.labels.items() for new, count in row.items() if new != old)

    def with_rating(self, mention: SentimentScore, after: Rating) -> Self:
        """With this mention compared."""
        before = Rating(sentiment=mention.sentiment, polarity=mention.polarity)
        row = self.labels.get(before.label, {})
        samples = self.samples
        if after.label != before.label:
            headline = (mention.headline or "")[:LONGEST_HEADLINE] or mention.source_id
            sample = Sample(source_id=mention.source_id, headline=headline, before=before, after=after)
            samples = tuple(sorted((*samples, sample), key=lambda each: each.rank)[:MAX_SAMPLES])
        counts = {
            "before": self.before.plus(before.tally),
            "after": self.after.plus(after.tally),
            "labels": {**self.labels, before.label: _one_more(row, after.label)},
            "scored_by": _one_more(self.scored_by, f"{mention.analyzer}/{mention.analyzer_version}"),
        }
        return self.model_copy(update={**counts, "samples": samples})

    def without(self, reason: ReasonNotCompared) -> Self:
        """With one more mention that is not compared."""
        return self.model_copy(update={"not_compared": _one_more(self.not_compared, reason)})


def _one_more(counts: Mapping[K, int], key: K) -> dict[K, int]:
    return {**counts, key: counts.get(key, 0) + 1}
