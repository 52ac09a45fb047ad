"""When a timer is due: NCRONTAB expressions of six (or five) fields, and time spans. All in UTC; reads no clock.

As in NCRONTAB, day of month and day of week must both match, and a range that runs backwards is turned round. Names of
months and days are not known here.
"""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime, time, timedelta
from typing import Protocol

from .settings import time_span

# The rarest date, a 29 February on one weekday, can be 40 years off.
_SEARCH_DAYS = 366 * 41


class Schedule(Protocol):
    """Both kinds of schedule."""

    def after(self, moment: datetime) -> datetime:
        """The first occurrence later than `moment`. Raises ValueError if there is none."""
        ...


@dataclass(frozen=True, slots=True)
class Every:
    """A time span: due that long after the last time."""

    span: timedelta

    def after(self, moment: datetime) -> datetime:
        return moment + self.span


@dataclass(frozen=True, slots=True)
class Cron:
    """The values that each field allows, in ascending order; 0 is Sunday."""

    seconds: tuple[int, ...]
    minutes: tuple[int, ...]
    hours: tuple[int, ...]
    days: tuple[int, ...]
    months: tuple[int, ...]
    weekdays: tuple[int, ...]

    def after(self, moment: datetime) -> datetime:
        start = moment.replace(microsecond=0) + timedelta(seconds=1)
        day, floor = start.date(), start.time()
        for _ in range(_SEARCH_DAYS):
            if day.month in self.months and day.day in self.days and day.isoweekday() % 7 in self.weekdays:
                found = self._first_time(floor)
                if found is not None:
                    return datetime.combine(day, found, moment.tzinfo)
            day, floor = day + timedelta(days=1), time()
        raise ValueError("the schedule never comes due")

    def _first_time(self, floor: time) -> time | None:
        for hour in self.hours:
            for minute in self.minutes if hour >= floor.hour else ():
                for second in self.seconds if (hour, minute) >= (floor.hour, floor.minute) else ():
                    found = time(hour, minute, second)
                    if found >= floor:
                        return found
        return None


def parse_schedule(text: str) -> Schedule:
    """Raises ValueError, with what is wrong."""
    fields = text.split()
    if len(fields) == 1 and ":" in text:
        span = timedelta(seconds=time_span(text))
        if not span:
            raise ValueError(f"the time span {text!r} must be above zero")
        return Every(span)
    if len(fields) == 5:
        fields = ["0", *fields]
    if len(fields) != 6:
        raise ValueError(
            f"{text!r} is neither a time span nor {{second}} {{minute}} {{hour}} {{day}} {{month}} {{weekday}}"
        )
    second, minute, hour, day, month, weekday = fields
    return Cron(
        seconds=_values(second, "second", 0, 59),
        minutes=_values(minute, "minute", 0, 59),
        hours=_values(hour, "hour", 0, 23),
        days=_values(day, "day", 1, 31),
        months=_values(month, "month", 1, 12),
        weekdays=_values(weekday, "weekday", 0, 6),
    )


def under_a_minute(schedule: Schedule, now: datetime) -> bool:
    """Whether the next two occurrences lie so close that the real host keeps no record of such a timer."""
    first = schedule.after(now)
    return schedule.after(first) - first < timedelta(minutes=1)


def _values(field: str, what: str, low: int, high: int) -> tuple[int, ...]:
    def number(word: str) -> int:
        if not (word.isascii() and word.isdecimal() and low <= int(word) <= high):
            raise ValueError(f"{word!r} is no {what}: {low} to {high}")
        return int(word)

    values: set[int] = set()
    for item in field.split(","):
        span, slash, step_text = item.partition("/")
        if slash and not (step_text.isascii() and step_text.isdecimal() and int(step_text)):
            raise ValueError(f"{item!r}: the step must be a whole number above zero")
        step = int(step_text or 1)
        first, dash, last = span.partition("-")
        if span == "*":
            start, stop = low, high
        elif dash:
            start, stop = sorted((number(first), number(last)))
        else:
            start = number(first)
            stop = high if step > 1 else start
        values.update(range(start, stop + 1, step))
    return tuple(sorted(values))
