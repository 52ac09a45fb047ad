"""Counts the mentions of one period: an hour, a day, or any window. Pure.

Periods add up: the stories and publishers of several days are those that occur in any of them.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any, NamedTuple

from models.history import MOST_STORIES_KEPT, FrozenDay
from models.mention import scored_by
from models.tally import Tally
from services.figures.breadth import (
    Breadth,
    Row,
    Sums,
    figures_of,
    of_story,
    of_ungrouped,
    row_of,
    shown,
    story_key,
)
from services.ports import Document

_COLUMN = {"positive": 0, "negative": 1, "neutral": 2}
_UNSCORED = 4
_MILLIONTHS_OF_POLARITY = 100
"""A polarity is counted in ten-thousandths, and a tally has millionths."""


class CountedMention(NamedTuple):
    """What of a mention is counted: `column` is that of its sentiment in a Tally, `row` is None if it is unscored."""

    analyzer: str
    column: int
    row: Row | None = None
    story_key: str = ""

    @classmethod
    def of(cls, mention: Document) -> CountedMention:
        """Raises ValueError for a document that is not a mention."""
        try:
            analyzer = scored_by(mention["analyzer"], mention["analyzer_version"])
            if mention.get("unscored_reason") is not None:
                return cls(analyzer, _UNSCORED)
            column, row = _COLUMN[mention["sentiment"]], row_of(mention)
            if row is None:
                raise KeyError("polarity")
        except (KeyError, TypeError) as error:
            raise ValueError(f"mention {mention.get('id')!r} cannot be counted: {error}") from error
        return cls(analyzer, column, row, story_key(row.story) if row.story else "")


@dataclass(slots=True)
class Details:
    """What tells the stories, publishers and sources of scored mentions apart (services/figures/breadth.py).

    `stories` has by key the number of mentions and the sum of their polarities; `ungrouped` the same for the mentions
    without a story, and the sum of the squared polarities; `publishers` and `sources` have the number of mentions.
    """

    stories: dict[str, list[int]] = field(default_factory=dict)
    ungrouped: list[int] = field(default_factory=lambda: [0] * 3)
    publishers: dict[str, int] = field(default_factory=dict)
    sources: dict[str, int] = field(default_factory=dict)

    def add(self, row: Row, key: str) -> None:
        """Adds one mention; `key` is that of its story."""
        if key:
            story = self.stories.setdefault(key, [0, 0])
            story[0] += 1
            story[1] += row.polarity
        else:
            _add(self.ungrouped, (1, row.polarity, row.squares))
        self.publishers[row.publisher] = self.publishers.get(row.publisher, 0) + 1
        self.sources[row.source] = self.sources.get(row.source, 0) + 1

    def merge(self, other: Details) -> None:
        for key, story in other.stories.items():
            _add(self.stories.setdefault(key, [0, 0]), story)
        _add(self.ungrouped, other.ungrouped)
        for counts, others in ((self.publishers, other.publishers), (self.sources, other.sources)):
            for name, mentions in others.items():
                counts[name] = counts.get(name, 0) + mentions

    def breadth(self) -> Breadth:
        sums = Sums().plus(of_ungrouped(*self.ungrouped), *(of_story(*story) for story in self.stories.values()))
        return figures_of(sums, self.publishers, self.sources)


@dataclass(slots=True)
class PeriodCount:
    """The mentions of a period: `numbers` as in a Tally, the analyzers that judged them, and their `details`, None if
    these are not known. `is_known` is False if nothing is known of some part of the period."""

    numbers: list[int] = field(default_factory=lambda: [0] * 5)
    analyzers: set[str] = field(default_factory=set)
    details: Details | None = field(default_factory=Details)
    is_known: bool = True

    @classmethod
    def of_tally(cls, tally: Tally, analyzers: set[str]) -> PeriodCount:
        """A count without details, unless there are no mentions."""
        return cls(list(tally), set(analyzers), None) if any(tally) else cls()

    @classmethod
    def frozen(cls, day: FrozenDay) -> PeriodCount:
        details = None
        if day.stories is not None:
            stories = {key: list(story) for key, story in day.stories.items()}
            details = Details(stories, list(day.ungrouped), dict(day.publishers or {}), dict(day.sources or {}))
        return cls(list(day.tally), set(day.analyzers), details)

    @classmethod
    def unknown(cls) -> PeriodCount:
        return cls(details=None, is_known=False)

    @property
    def tally(self) -> Tally:
        return Tally(*self.numbers)

    @property
    def mentions(self) -> int:
        return self.tally.total + self.tally.unscored

    def add(self, mention: CountedMention) -> None:
        self.analyzers.add(mention.analyzer)
        self.numbers[mention.column] += 1
        if mention.row is not None:
            self.numbers[3] += mention.row.polarity * _MILLIONTHS_OF_POLARITY
            if self.details is not None:
                self.details.add(mention.row, mention.story_key)

    def merge(self, other: PeriodCount) -> None:
        """Adds the mentions of another period."""
        self.is_known = self.is_known and other.is_known
        _add(self.numbers, other.numbers)
        self.analyzers |= other.analyzers
        if self.details is None or other.details is None:
            self.details = None
        else:
            self.details.merge(other.details)

    def figures(self) -> dict[str, Any]:
        """The numbers as points and windows of a history show them; all null if they are not known."""
        tally = self.tally
        found: dict[str, Any] = tally.figures()
        found |= shown(tally, None if self.details is None else self.details.breadth())
        if found["confidence_interval"] is not None:
            found["confidence_interval"] = list(found["confidence_interval"])
        found["analyzers"] = sorted(self.analyzers)
        return found if self.is_known else dict.fromkeys(found)

    def to_frozen(self, figures: Mapping[str, Any], now: datetime) -> FrozenDay:
        day = FrozenDay(frozen_at=now, figures=dict(figures), tally=self.tally, analyzers=tuple(sorted(self.analyzers)))
        details = self.details
        if details is None or len(details.stories) > MOST_STORIES_KEPT:
            return day
        kept = {
            "stories": {key: tuple(story) for key, story in details.stories.items()},
            "ungrouped": tuple(details.ungrouped),
            "publishers": details.publishers,
            "sources": details.sources,
        }
        return FrozenDay(**{**day.__dict__, **kept})


def _add(numbers: list[int], others: Sequence[int]) -> None:
    for at, number in enumerate(others):
        numbers[at] += number
