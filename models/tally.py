"""Counts of mentions as numbers: a tally, and the hours of a timeline, which are stored as a text for each day.

Counting is in services/figures. Sums are of integers, so that they do not depend on the order in which mentions are
added.
"""

from __future__ import annotations

from collections.abc import Mapping
from datetime import date, datetime, timedelta
from functools import lru_cache
from typing import Annotated, Any, NamedTuple

import orjson
from pydantic import AfterValidator, Field

from models.values import Count, Sentiment

MILLIONTHS = 1_000_000


class Tally(NamedTuple):
    """Mentions by sentiment, the sum of their polarities in millionths, and the mentions that could not be scored."""

    positive: Count = 0
    negative: Count = 0
    neutral: Count = 0
    polarity_millionths: Annotated[int, Field(strict=True)] = 0
    unscored: Count = 0

    @classmethod
    def of(cls, sentiment: Sentiment | None, polarity: float | None) -> Tally:
        """The tally of one mention."""
        if sentiment is None or polarity is None:
            return cls(unscored=1)
        return cls(
            int(sentiment == "positive"),
            int(sentiment == "negative"),
            int(sentiment == "neutral"),
            round(polarity * MILLIONTHS),
        )

    def plus(self, other: Tally) -> Tally:
        return Tally(*(a + b for a, b in zip(self, other, strict=True)))

    @property
    def total(self) -> int:
        """The scored mentions."""
        return self.positive + self.negative + self.neutral

    @property
    def average_sentiment(self) -> float:
        """The mean polarity of the scored mentions, -1 to 1, four decimals; 0.0 without any."""
        scored = self.total
        return round(self.polarity_millionths / MILLIONTHS / scored, 4) if scored else 0.0

    def figures(self) -> dict[str, Any]:
        """These numbers under the names that entries and points of the history have for them."""
        return {
            "total_mentions": self.total,
            "positive_count": self.positive,
            "negative_count": self.negative,
            "neutral_count": self.neutral,
            "unscored_mentions": self.unscored,
            "average_sentiment": self.average_sentiment,
        }


def _possible(tally: Tally) -> Tally:
    if abs(tally.polarity_millionths) > tally.total * MILLIONTHS:
        raise ValueError("the sum of polarities must be within one per mention")
    return tally


CheckedTally = Annotated[Tally, AfterValidator(_possible)]

HOURS = 24
_NUMBERS = len(Tally())
_NUMBER = r"-?\d+"
_HOUR = rf"({_NUMBER}(,{_NUMBER}){{{_NUMBERS - 1}}})?"

DayText = Annotated[str, Field(pattern=rf"^{_HOUR}(;{_HOUR}){{{HOURS - 1}}}$")]
"""A day as a timeline stores it: its 24 hours in order, with semicolons between them. An hour has the numbers of a
Tally, or nothing without mentions."""


def day_text(hours: Mapping[int, Tally]) -> str:
    """A day with these hours."""
    return ";".join(",".join(map(str, hours[hour])) if hour in hours else "" for hour in range(HOURS))


def _parsed(text: str) -> list[list[int]]:
    hours: list[list[int]] = orjson.loads(f"[[{text.replace(';', '],[')}]]")
    if len(hours) != HOURS or not {*map(len, hours)} <= {0, _NUMBERS}:
        raise ValueError(f"a day must be a text of {HOURS} hours, each of {_NUMBERS} numbers or none")
    return hours


@lru_cache(maxsize=16)
def _day_names(first: date, number: int) -> tuple[str, ...]:
    return tuple(f"{first + timedelta(days=at):%Y%m%d}" for at in range(number))


class TimelineHours:
    """The hours of a timeline, to be read: `stored` has the text of each day. A day is parsed when one of its hours is
    needed; all methods raise ValueError if it cannot be."""

    def __init__(self, stored: Mapping[str, str]) -> None:
        self._stored = stored
        self._days: dict[str, list[list[int]]] = {}

    def numbers(self, hour: str) -> Tally:
        """Zeros for an hour without mentions."""
        hours = self._day(hour[:8])
        return Tally(*hours[int(hour[8:])]) if hours else Tally()

    def steps(self, start: datetime, hours: int, number: int) -> list[Tally]:
        """The sums of `number` steps of so many hours, from the hour `start` on. Days without mentions cost nothing."""
        found = [[0] * _NUMBERS for _ in range(number)]
        for at, day in enumerate(_day_names(start.date(), 1 + (start.hour + hours * number - 1) // HOURS)):
            for hour, numbers in enumerate(self._day(day), HOURS * at - start.hour):
                step = hour // hours
                if numbers and 0 <= step < number:
                    found[step] = [a + b for a, b in zip(found[step], numbers, strict=True)]
        return [Tally(*each) for each in found]

    def _day(self, day: str) -> list[list[int]]:
        if day not in self._days:
            self._days[day] = _parsed(self._stored[day]) if day in self._stored else []
        return self._days[day]
