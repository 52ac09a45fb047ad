"""Counts of mentions as numbers: a tally, and the hours of a timeline, which are stored as a text for each day.

Counting is in services/figures. Sums are of integers, so that they do not depend on the order in which mentions are
added.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
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
        return round(self.polarity_millionths / MILLIONTHS / self.total, 4) if self.total else 0.0

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
WIDTH = len(Tally())
"""The numbers of an hour."""


def day_numbers(text: str) -> list[int]:
    """The numbers of a day's 24 hours, in one list. Raises ValueError for a text that is no day of a timeline."""
    numbers: list[int] = orjson.loads(f"[{text}]")
    if len(numbers) != HOURS * WIDTH:
        raise ValueError(f"a day must be a text of {HOURS} hours, each of {WIDTH} numbers")
    return numbers


DayText = Annotated[str, Field(pattern=rf"^-?\d+(,-?\d+){{{HOURS * WIDTH - 1}}}$")]
"""A day as a timeline stores it: the numbers of its 24 hours in order. An unchanged day is written as it was read."""


@lru_cache(maxsize=16)
def _day_names(first: date, number: int) -> tuple[str, ...]:
    return tuple(f"{first + timedelta(days=at):%Y%m%d}" for at in range(number))


class TimelineHours:
    """The `hours` of a timeline's document, to be read and changed. A day is parsed when one of its hours is needed."""

    def __init__(self, stored: Mapping[str, str]) -> None:
        self._texts = dict(stored)
        self._parsed: dict[str, list[int]] = {}

    def numbers(self, hour: str) -> Tally:
        """Zeros for an hour without mentions. Raises ValueError if the stored day cannot be parsed."""
        at = int(hour[8:]) * WIDTH
        return Tally(*self._day(hour[:8])[at : at + WIDTH])

    def put(self, hour: str, numbers: Sequence[int]) -> None:
        at = int(hour[8:]) * WIDTH
        self._day(hour[:8])[at : at + WIDTH] = Tally(*numbers)

    def preceded_by(self, days: Mapping[str, str]) -> TimelineHours:
        """The stored hours with those of these days, where it has none."""
        return TimelineHours({**days, **self._texts})

    def steps(self, start: datetime, hours: int, number: int) -> list[Tally]:
        """The sums of `number` steps of so many hours, from the hour `start` on. Days without mentions cost nothing."""
        found = [[0] * WIDTH for _ in range(number)]
        for at, day in enumerate(_day_names(start.date(), 1 + (start.hour + hours * number - 1) // HOURS)):
            if day not in self._texts and day not in self._parsed:
                continue
            before = HOURS * at - start.hour
            for place, each in enumerate(self._day(day)):
                if each:
                    step = (before + place // WIDTH) // hours
                    if 0 <= step < number:
                        found[step][place % WIDTH] += each
        return [Tally(*each) for each in found]

    def stored(self, oldest: str, end: str = "9") -> dict[str, str]:
        """The `hours` of the timeline's document: from the day of `oldest` up to, but without, that of `end`."""
        parsed = {day: ",".join(map(str, numbers)) for day, numbers in self._parsed.items() if any(numbers)}
        kept = {day: text for day, text in self._texts.items() if day not in self._parsed} | parsed
        return {day: kept[day] for day in sorted(kept) if oldest[:8] <= day < end[:8]}

    def _day(self, day: str) -> list[int]:
        if day not in self._parsed:
            self._parsed[day] = day_numbers(self._texts[day]) if day in self._texts else [0] * HOURS * WIDTH
        return self._parsed[day]
