"""What a comparison of analyzers reports: by label, before and after, and samples of what would change. Pure.

Each mention counts with the sentiment that is stored, and with the one that the analyzer gives now, from the article as
it is now. A mention is not compared if
    EXPIRED      its article is gone,
    UNREADABLE   the mention or its article cannot be read,
    NOT_NAMED    the article does not name the tool any more, or the tool is deprecated: its mentions keep their scores,
    NOT_JUDGED   the analyzer cannot judge the text.
"""

from __future__ import annotations

from typing import Any, Literal, get_args

from pydantic import Field

from models.mention import SentimentScore
from models.tally import Tally
from models.values import Count, Polarity, Sentiment, Text, Value
from services.mentions.analyzers.port import Analyzer, Judgement
from services.mentions.corrections import POLARITY
from services.mentions.scoring import Score

MOST_SAMPLES = 20
MOST_VERSIONS = 20
LONGEST_HEADLINE = 200
OTHER_VERSIONS = "others"

Label = Literal["positive", "negative", "neutral", "unscored"]
LABELS: tuple[Label, ...] = get_args(Label)
NotCompared = Literal["EXPIRED", "UNREADABLE", "NOT_NAMED", "NOT_JUDGED"]


class Rating(Value):
    """The sentiment of a mention, stored or as an analyzer gives it; null if it is unscored."""

    sentiment: Sentiment | None = None
    polarity: Polarity | None = None

    @classmethod
    def of_mention(cls, mention: SentimentScore) -> Rating:
        return cls(sentiment=mention.sentiment, polarity=mention.polarity)

    @classmethod
    def of_score(cls, score: Score) -> Rating:
        return cls(sentiment=score.sentiment, polarity=score.polarity) if isinstance(score, Judgement) else cls()

    @property
    def label(self) -> Label:
        return self.sentiment or "unscored"

    @property
    def tally(self) -> Tally:
        return Tally.of(self.sentiment, self.polarity)


def rating_of_confirmed(mention: SentimentScore, after: Rating) -> Rating:
    """`after`, unless a person has confirmed another sentiment: then that of the person."""
    confirmed = mention.sentiment if mention.verdict == "right" else None
    if confirmed is None or after.sentiment == confirmed:
        return after
    return Rating(sentiment=confirmed, polarity=POLARITY[confirmed])


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

    before: Tally = Tally()
    after: Tally = Tally()
    labels: dict[Label, dict[Label, Count]] = Field(default_factory=dict)
    not_compared: dict[NotCompared, Count] = Field(default_factory=dict)
    scored_by: dict[Text, Count] = Field(default_factory=dict)
    samples: tuple[Sample, ...] = ()

    @property
    def compared(self) -> int:
        return sum(sum(row.values()) for row in self.labels.values())

    @property
    def changed(self) -> int:
        return sum(count for old, row in self.labels.items() for new, count in row.items() if new != old)

    def with_rating(self, mention: SentimentScore, after: Rating) -> Comparison:
        """With this mention compared."""
        before = Rating.of_mention(mention)
        row = self.labels.get(before.label, {})
        version = f"{mention.analyzer}/{mention.analyzer_version}"
        if version not in self.scored_by and len(self.scored_by) >= MOST_VERSIONS:
            version = OTHER_VERSIONS
        samples = self.samples
        if after.label != before.label:
            headline = (mention.headline or "")[:LONGEST_HEADLINE] or mention.source_id
            sample = Sample(source_id=mention.source_id, headline=headline, before=before, after=after)
            samples = tuple(sorted((*samples, sample), key=lambda each: each.rank)[:MOST_SAMPLES])
        return Comparison(
            before=self.before.plus(before.tally),
            after=self.after.plus(after.tally),
            labels={**self.labels, before.label: {**row, after.label: row.get(after.label, 0) + 1}},
            not_compared=self.not_compared,
            scored_by={**self.scored_by, version: self.scored_by.get(version, 0) + 1},
            samples=samples,
        )

    def without(self, reason: NotCompared) -> Comparison:
        """With one more mention that is not compared."""
        return self.model_copy(
            update={"not_compared": {**self.not_compared, reason: self.not_compared.get(reason, 0) + 1}}
        )

    def report(self, analyzer: Analyzer) -> dict[str, Any]:
        """As the run shows it."""
        return {
            "analyzer": analyzer.name,
            "analyzer_version": analyzer.version,
            "compared": self.compared,
            "changed": self.changed,
            "share_changed": round(self.changed / self.compared, 4) if self.compared else None,
            "before": self.before.figures(),
            "after": self.after.figures(),
            "labels": {old: {new: self.labels.get(old, {}).get(new, 0) for new in LABELS} for old in LABELS},
            "not_compared": {reason: self.not_compared.get(reason, 0) for reason in get_args(NotCompared)},
            "scored_by": self.scored_by,
            "samples": [each.model_dump() for each in self.samples],
        }
