"""Counting mentions by minute, and the stored tables of counts. Pure.

The models check everything but the numbers: checking each of a month's would take ten times as long as all else that
is done to them. They stay as they are stored: `[positive, negative, neutral, polarity_millionths]`.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from typing import Any, Self

from models.timeline import (
    HOURS,
    MILLIONTHS,
    HourTable,
    Numbers,
    Tally,
    Timeline,
    by_day,
    by_hour,
    day_numbers,
    day_sums,
    day_text,
)
from services.ports import Document

Table = dict[str, Numbers]
"""By hour in a timeline, by minute in an hour's table; nothing is listed where nothing was said."""

KEPT = timedelta(days=32)
"""The longest window, the hour that it may begin within, and a day to spare. Mentions live longer."""

NOTHING: Numbers = [0] * len(Tally._fields)
_COLUMN = {"positive": 0, "negative": 1, "neutral": 2}


def total(tables: Iterable[Numbers]) -> Tally:
    return Tally(*map(sum, zip(*tables, strict=True)))


@dataclass(slots=True)
class Count:
    """What was counted so far. `removed` are the tombstones that were met; `latest` is the last mention."""

    minutes: dict[str, Table] = field(default_factory=dict)
    removed: list[Document] = field(default_factory=list)
    latest: Document | None = None

    def add(self, mentions: Iterable[Document]) -> None:
        """ValueError for what is no mention."""
        for mention in mentions:
            try:
                if mention.get("removed_at") is not None:
                    self.removed.append(mention)
                    continue
                at: str = mention["published_at"]
                hour = at[:4] + at[5:7] + at[8:10] + at[11:13]
                numbers = self.minutes.setdefault(hour, {}).setdefault(at[14:16], NOTHING.copy())
                numbers[_COLUMN[mention["sentiment"]]] += 1
                numbers[3] += round(mention["polarity"] * MILLIONTHS)
            except (KeyError, TypeError) as error:
                raise ValueError(f"mention {mention.get('id')!r} cannot be counted: {error}") from error
            if self.latest is None or at >= self.latest["published_at"]:
                self.latest = mention

    def of_hour(self, hour: str) -> Numbers:
        return list(total(self.minutes.get(hour, {}).values()))


class Hours:
    """A timeline's hours, by days that are read when one of their hours is looked at."""

    def __init__(self, days: Mapping[str, str]) -> None:
        self._texts = dict(days)
        self._read: dict[str, Numbers] = {}
        self._changed: set[str] = set()

    @classmethod
    def of(cls, timeline: Document | None) -> Self:
        """ValueError if it is none."""
        stored = _table(timeline, Timeline, "hours")
        # Before days there were hours.
        return cls(stored if all(isinstance(each, str) for each in stored.values()) else by_day(stored))

    def numbers(self, hour: str) -> Numbers:
        """Four zeros if nothing was said. ValueError for what is no day of a timeline."""
        place = _place(hour)
        return self._day(hour[:8])[place : place + len(NOTHING)]

    def put(self, hour: str, numbers: Numbers) -> None:
        place = _place(hour)
        self._day(hour[:8])[place : place + len(NOTHING)] = numbers
        self._changed.add(hour[:8])

    def total(self, after: str, before: str) -> Numbers:
        """Of the hours between these two, both left out."""
        first, last = after[:8], before[:8]
        if first == last:
            between = [self._day(first)[_place(after) + len(NOTHING) : _place(before)]]
        else:
            between = [self._day(first)[_place(after) + len(NOTHING) :], self._day(last)[: _place(before)]]
        sums = [[sum(row[column :: len(NOTHING)]) for column in range(len(NOTHING))] for row in between]
        sums += [self._sums(day) for day in self._texts.keys() | self._changed if first < day < last]
        return list(total(sums))

    def stored(self, oldest: str) -> dict[str, str]:
        """As a timeline has them, without what was before that hour's day."""
        changed = {day: day_text(numbers) for day in self._changed if any(numbers := self._read[day])}
        kept = {day: text for day, text in self._texts.items() if day not in self._changed} | changed
        return {day: kept[day] for day in sorted(kept) if day >= oldest[:8]}

    def _sums(self, day: str) -> Numbers:
        return day_sums(day_text(self._read[day]) if day in self._changed else self._texts[day])

    def _day(self, day: str) -> Numbers:
        if day not in self._read:
            self._read[day] = day_numbers(self._texts[day]) if day in self._texts else NOTHING * HOURS
        return self._read[day]


def _place(hour: str) -> int:
    """Of its numbers in its day's."""
    return int(hour[8:]) * len(NOTHING)


def recounts_of(timeline: Document | None) -> int:
    """How often it was written: of two alike, nothing was counted between."""
    return 0 if timeline is None else timeline.get("ingestion_count", 0)


def hours_in(timeline: Document | None) -> Table:
    """ValueError if it is none."""
    return by_hour(_table(timeline, Timeline, "hours"))


def minutes_in(hour: Document | None) -> Table:
    """ValueError if it is none."""
    return _table(hour, HourTable, "minutes")


def _table(document: Document | None, model: type[Timeline | HourTable], payload: str) -> dict[str, Any]:
    if document is None:
        return {}
    table = document.get(payload)
    if document.get("entity_type") != model.model_fields["entity_type"].default or not isinstance(table, dict):
        raise ValueError(f"{document.get('id')!r} is no {model.__name__}")
    return table


def hour_document(tool_id: str, hour: str, before: Document | None, minutes: Table, now: datetime) -> Document:
    if before is None:
        table = HourTable(tool_id=tool_id, hour=hour, created_at=now, updated_at=now)
    else:
        table = HourTable.from_document({**before, "minutes": {}, "updated_at": now})
    return {**table.to_document(), "minutes": minutes}


def timeline_document(
    tool_id: str, before: Document | None, hours: Mapping[str, str], latest: Document | None, now: datetime
) -> Document:
    made: dict[str, Any] = {"tool_id": tool_id, "entity_type": "DataProduct", "created_at": now}
    changes: dict[str, Any] = {"hours": {}, "updated_at": now, "last_ingestion_at": now}
    changes["ingestion_count"] = recounts_of(before) + 1
    if latest is not None and latest.get("source"):
        changes["last_ingestion_source"] = latest["source"]
    timeline = Timeline.from_document({**(before or made), **changes})
    return {**timeline.to_document(), "hours": dict(hours)}
