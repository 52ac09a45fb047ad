"""Counts of mentions as numbers: a tally, and the hours of a timeline, which are stored as a text for each day.

Counting is in services/figures. Sums are of integers, so that they do not depend on the order in which mentions are
added.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
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
_NOT_A_DAY = f"a day must be a text of its sums and {HOURS} hours, each of {WIDTH} numbers"


def _sum(day: Sequence[int], since: int, until: int) -> list[int]:
    """The sum of the hours of a day from `since` up to, but without, `until`."""
    return [sum(day[since * WIDTH + column : until * WIDTH : WIDTH]) for column in range(WIDTH)]


def day_text(day: Sequence[int]) -> str:
    """A day as a timeline stores it: one text of the day's sums, then of the numbers of its 24 hours in order.

    So a month is summed without parsing its hours, and an unchanged day is written as it was read.
    """
    return ",".join(map(str, (*_sum(day, 0, HOURS), *day)))


def day_sums(text: str) -> Tally:
    """The sums of a stored day. Raises ValueError for a text of another length: its first numbers are not sums."""
    if text.count(",") + 1 != (1 + HOURS) * WIDTH:
        raise ValueError(_NOT_A_DAY)
    return Tally(*(int(each) for each in text.split(",", WIDTH)[:WIDTH]))


def day_numbers(text: str) -> list[int]:
    """The numbers of a stored day's 24 hours, in one list. Raises ValueError if `day_text` never returns the text."""
    numbers: list[int] = orjson.loads(f"[{text}]")
    if len(numbers) != (1 + HOURS) * WIDTH:
        raise ValueError(_NOT_A_DAY)
    return numbers[WIDTH:]


def by_day(hours: Mapping[str, Sequence[int]]) -> dict[str, str]:
    """Hours (`yyyymmddhh`) as a timeline stores them: a text for each day with mentions."""
    days: dict[str, list[int]] = {}
    for hour in sorted(hours):
        day, at = days.setdefault(hour[:8], [0] * HOURS * WIDTH), int(hour[8:]) * WIDTH
        day[at : at + WIDTH] = Tally(*hours[hour])
    return {name: day_text(day) for name, day in days.items()}


def by_hour(stored: Mapping[str, Any]) -> dict[str, Tally]:
    """The hours with mentions. Raises ValueError if `stored` is not the `hours` of a timeline."""
    hours: dict[str, Tally] = {}
    for day, text in stored.items():
        numbers = day_numbers(text)
        for hour in range(HOURS):
            tally = Tally(*numbers[hour * WIDTH : (hour + 1) * WIDTH])
            if any(tally):
                hours[f"{day}{hour:02}"] = tally
    return hours


@lru_cache(maxsize=16)
def _day_names(first: date, number: int) -> tuple[str, ...]:
    return tuple(f"{first + timedelta(days=at):%Y%m%d}" for at in range(number))


class TimelineHours:
    """The `hours` of a timeline's document, to be read and changed. A day is parsed when one of its hours is needed."""

    def __init__(self, stored: Mapping[str, str]) -> None:
        self._texts = dict(stored)
        self._parsed: dict[str, list[int]] = {}
        self._changed: set[str] = set()

    def numbers(self, hour: str) -> Tally:
        """Zeros for an hour without mentions. Raises ValueError if the stored day cannot be parsed."""
        at = int(hour[8:]) * WIDTH
        return Tally(*self._day(hour[:8])[at : at + WIDTH])

    def put(self, hour: str, numbers: Sequence[int]) -> None:
        day, number = hour[:8], int(hour[8:])
        self._day(day)[number * WIDTH : (number + 1) * WIDTH] = Tally(*numbers)
        self._changed.add(day)

    def total(self, first: str, end: str) -> Tally:
        """The sum of the hours from `first` up to, but without, `end`."""
        sums = Tally()
        for day in {*self._texts, *self._parsed}:
            if first[:8] <= day <= end[:8]:
                since = int(first[8:]) if day == first[:8] else 0
                until = int(end[8:]) if day == end[:8] else HOURS
                whole = since == 0 and until == HOURS
                sums = sums.plus(self.of_day(day) if whole else Tally(*_sum(self._day(day), since, until)))
        return sums

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

    def of_day(self, day: str) -> Tally:
        """The sum of the day's hours. Raises ValueError if the stored day cannot be parsed."""
        if day in self._texts and day not in self._changed:
            return day_sums(self._texts[day])
        return Tally(*_sum(self._day(day), 0, HOURS))

    def stored(self, oldest: str, end: str = "9") -> dict[str, str]:
        """The `hours` of the timeline's document: from the day of `oldest` up to, but without, that of `end`."""
        changed = {day: day_text(numbers) for day in self._changed if any(numbers := self._parsed[day])}
        kept = {day: text for day, text in self._texts.items() if day not in self._changed} | changed
        return {day: kept[day] for day in sorted(kept) if oldest[:8] <= day < end[:8]}

    def _day(self, day: str) -> list[int]:
        if day not in self._parsed:
            self._parsed[day] = day_numbers(self._texts[day]) if day in self._texts else [0] * HOURS * WIDTH
        return self._parsed[day]


def total(tallies: Iterable[Sequence[int]]) -> Tally:
    """The sums; zeros if there are no tallies."""
    columns = zip(*tallies, strict=True)
    return Tally(*map(sum, columns))
