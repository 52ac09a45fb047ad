"""Counts of mentions as numbers: a tally, and the hours of a timeline, which are stored as a text for each day.

Counting is in services/figures. Sums are of integers, so that they do not depend on the order in which mentions are
added.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from datetime import date, datetime, timedelta
from functools import lru_cache
from types import MappingProxyType
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


Numbers = list[int]
"""A Tally as it is stored: `[positive, negative, neutral, polarity_millionths]`, then `unscored` if it is not 0."""

Table = dict[str, Numbers]
"""Numbers by hour (`yyyymmddhh`) or by minute (`mm`). Hours and minutes without mentions are absent."""

MinutesOfAnalyzers = dict[str, list[int]]
"""By analyzer, the first and the last minute of an hour with a mention that it judged."""

HOURS = 24
ZEROS: Numbers = [0, 0, 0, 0]
_SCORED = len(ZEROS)
_ALL = _SCORED + 1
_NOT_A_DAY = "a day must be a text of its sums and 24 hours, each of four or each of five numbers"


def total(numbers: Iterable[Sequence[int]]) -> Tally:
    """The sums; zeros if there are no numbers."""
    positive = negative = neutral = polarity = unscored = 0
    for each in numbers:  # for a few rows, a fifth of the time of summing the columns of a zip
        positive += each[0]
        negative += each[1]
        neutral += each[2]
        polarity += each[3]
        if len(each) > _SCORED:
            unscored += each[4]
    return Tally(positive, negative, neutral, polarity, unscored)


def numbers_of(tally: Sequence[int]) -> Numbers:
    """The numbers as they are stored."""
    return list(tally) if len(tally) > _SCORED and tally[_SCORED] else list(tally[:_SCORED])


def _joined(hours: Iterable[Sequence[int]]) -> Numbers:
    """The numbers of hours in one list: five for each if one of them has unscored mentions, else four."""
    rows = list(hours)
    width = max(len(numbers_of(row)) for row in rows)
    return [number for row in rows for number in Tally(*row)[:width]]


def _width(day: Sequence[int]) -> int:
    return len(day) // HOURS


def _sum(day: Sequence[int], since: int, until: int) -> Numbers:
    """The sum of the hours of a day from `since` up to, but without, `until`."""
    width = _width(day)
    first, last = since * width, until * width
    return [sum(day[first + column : last : width]) for column in range(width)]


def _checked(numbers: int) -> int:
    """How many numbers an hour has in a stored day of so many. Raises ValueError if it is not a day."""
    width, left = divmod(numbers, 1 + HOURS)
    if left or not _SCORED <= width <= _SCORED + 1:
        raise ValueError(_NOT_A_DAY)
    return width


def day_text(day: Sequence[int]) -> str:
    """A day as a timeline stores it: one text of the day's sums, then of the numbers of its 24 hours in order. If one
    of its hours has unscored mentions, all have five numbers, else all have four.

    So a month is summed without parsing its hours, and an unchanged day is written as it was read. With lists of
    numbers instead of texts, reading and writing the timeline took most of the time of a recount.
    """
    return ",".join(map(str, (*_sum(day, 0, HOURS), *day)))


@lru_cache(maxsize=32_768)
def day_sums(text: str) -> Sequence[int]:
    """The sums of a stored day. Raises ValueError for a text of another length: its first numbers are not sums.

    Kept for a month of 1,000 tools, in some 20 MB: past days seldom change, and each refresh of an hour needs them.
    """
    width = _checked(text.count(",") + 1)
    return tuple(int(each) for each in text.split(",", width)[:width])


def day_numbers(text: str) -> Numbers:
    """The numbers of a stored day's 24 hours, in one list. Raises ValueError if `day_text` never returns the text."""
    numbers: Numbers = orjson.loads(f"[{text}]")
    return numbers[_checked(len(numbers)) :]


def day_hours(day: Sequence[int]) -> list[Numbers]:
    """The numbers of each hour of a day."""
    width = _width(day)
    return [numbers_of(day[at : at + width]) for at in range(0, len(day), width)]


def by_day(hours: Mapping[str, Sequence[int]]) -> dict[str, str]:
    """Hours as a timeline stores them: a text for each day with mentions."""
    days: dict[str, list[Numbers]] = {}
    for hour in sorted(hours):
        days.setdefault(hour[:8], [ZEROS] * HOURS)[int(hour[8:])] = numbers_of(hours[hour])
    return {day: day_text(_joined(rows)) for day, rows in days.items()}


def by_hour(stored: Mapping[str, Any]) -> dict[str, Numbers]:
    """The hours with mentions. Raises ValueError if `stored` is not the `hours` of a timeline.

    Earlier versions stored timelines hour by hour. Such a timeline is read too, and stored by day at its next change.
    """
    hours: dict[str, Numbers] = {}
    for key, value in stored.items():
        if len(key) != len("yyyymmdd"):
            hours[key] = value
            continue
        for hour, numbers in enumerate(day_hours(day_numbers(value))):
            if any(numbers):
                hours[f"{key}{hour:02}"] = numbers
    return hours


HoursOfAnalyzers = dict[str, dict[str, int]]
"""By analyzer and day, the hours with mentions that it judged: as bits, the lowest for hour 0."""


@lru_cache(maxsize=16)
def _day_names(first: date, number: int) -> tuple[str, ...]:
    return tuple(f"{first + timedelta(days=at):%Y%m%d}" for at in range(number))


class TimelineHours:
    """The `hours` and `analyzers` of a timeline's document, to be read and changed. A day is parsed when one of its
    hours is needed."""

    def __init__(
        self, stored: Mapping[str, Any], analyzers: Mapping[str, Mapping[str, int]] = MappingProxyType({})
    ) -> None:
        # Earlier versions stored timelines hour by hour.
        is_by_day = all(isinstance(each, str) for each in stored.values())
        self._texts = dict(stored) if is_by_day else by_day(stored)
        self._parsed: dict[str, Numbers] = {}
        self._changed: set[str] = set()
        self._analyzers: HoursOfAnalyzers = {name: dict(days) for name, days in analyzers.items()}

    def numbers(self, hour: str) -> Numbers:
        """Zeros for an hour without mentions. Raises ValueError if the stored day cannot be parsed."""
        day = self._day(hour[:8])
        width = _width(day)
        at = int(hour[8:]) * width
        return numbers_of(day[at : at + width])

    def put(self, hour: str, numbers: Sequence[int], analyzers: Collection[str] = ()) -> None:
        day, number, stored = hour[:8], int(hour[8:]), numbers_of(numbers)
        before, width, bit = self._day(day), len(stored), 1 << number
        if width == _width(before):
            before[number * width : (number + 1) * width] = stored
        else:
            rows = day_hours(before)
            rows[number] = stored
            self._parsed[day] = _joined(rows)
        self._changed.add(day)
        for name in {*self._analyzers, *analyzers}:
            days = self._analyzers.setdefault(name, {})
            days[day] = days.get(day, 0) | bit if name in analyzers else days.get(day, 0) & ~bit

    def total(self, after: str, before: str) -> Tally:
        """The sum of the hours after `after` and before `before`."""
        first, last = after[:8], before[:8]
        since, until = int(after[8:]) + 1, int(before[8:])
        if first == last:
            return total([_sum(self._day(first), since, until)])
        days = [day_sums(text) for day, text in self._texts.items() if first < day < last and day not in self._changed]
        days += [_sum(self._parsed[day], 0, HOURS) for day in self._changed if first < day < last]
        return total([_sum(self._day(first), since, HOURS), _sum(self._day(last), 0, until), *days])

    def preceded_by(self, days: Mapping[str, str], until: str) -> TimelineHours:
        """With these stored days up to the day `until` instead of its own; without analyzers."""
        own = {day: text for day, text in self._texts.items() if day > until}
        return TimelineHours({day: text for day, text in days.items() if day <= until} | own)

    def steps(self, start: datetime, hours: int, number: int) -> list[Tally]:
        """The sums of `number` steps of so many hours, from the hour `start` on: as `total` for each, but days without
        mentions cost nothing."""
        found = [[0] * _ALL for _ in range(number)]
        for at, day in enumerate(_day_names(start.date(), 1 + (start.hour + hours * number - 1) // HOURS)):
            if day not in self._texts and day not in self._parsed:
                continue
            numbers = self._day(day)
            width, before = _width(numbers), HOURS * at - start.hour
            for place, each in enumerate(numbers):
                if each:
                    step = (before + place // width) // hours
                    if 0 <= step < number:
                        found[step][place % width] += each
        return [Tally(*each) for each in found]

    def of_day(self, day: str) -> Tally:
        """The sum of the day's hours. Raises ValueError if the stored day cannot be parsed."""
        if day in self._texts and day not in self._changed:
            return Tally(*day_sums(self._texts[day]))
        return Tally(*_sum(self._day(day), 0, HOURS))

    def analyzers(self, after: str, before: str) -> set[str]:
        """The analyzers that judged mentions of the hours after `after` and before `before`."""
        first, last = after[:8], before[:8]
        behind, until = -1 << (int(after[8:]) + 1), (1 << int(before[8:])) - 1
        if first == last:
            return {name for name, days in self._analyzers.items() if days.get(first, 0) & behind & until}
        found = set()
        for name, days in self._analyzers.items():
            if days.get(first, 0) & behind or days.get(last, 0) & until:
                found.add(name)
                continue
            for day, bits in days.items():
                if bits and first < day < last:
                    found.add(name)
                    break
        return found

    def analyzers_of_hour(self, hour: str) -> set[str]:
        bit = 1 << int(hour[8:])
        return {name for name, days in self._analyzers.items() if days.get(hour[:8], 0) & bit}

    def analyzers_of_day(self, day: str) -> tuple[str, ...]:
        return tuple(sorted(name for name, days in self._analyzers.items() if days.get(day)))

    def stored_analyzers(self, oldest: str) -> HoursOfAnalyzers:
        """The `analyzers` of the timeline's document, from the day of the hour `oldest` on."""
        kept = {
            name: {day: bits for day, bits in days.items() if bits and day >= oldest[:8]}
            for name, days in self._analyzers.items()
        }
        return {name: days for name, days in kept.items() if days}

    def stored(self, oldest: str) -> dict[str, str]:
        """The `hours` of the timeline's document, from the day of the hour `oldest` on."""
        changed = {day: day_text(numbers) for day in self._changed if any(numbers := self._parsed[day])}
        kept = {day: text for day, text in self._texts.items() if day not in self._changed} | changed
        return {day: kept[day] for day in sorted(kept) if day >= oldest[:8]}

    def _day(self, day: str) -> Numbers:
        if day not in self._parsed:
            self._parsed[day] = day_numbers(self._texts[day]) if day in self._texts else ZEROS * HOURS
        return self._parsed[day]
