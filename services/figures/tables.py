"""Reads and makes the documents that a tool's counts are stored in: its timeline and hour tables. Pure.

Numbers stay as they are stored, `[positive, negative, neutral, polarity_millionths]`: to check the 720 hours of a month
as models would take ten times as long as everything else that a recount does with them.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from datetime import datetime, timedelta
from typing import Any, Self, cast

from models.timeline import (
    HOURS,
    HourDocument,
    HourTable,
    Numbers,
    Table,
    Tally,
    Timeline,
    TimelineDocument,
    by_day,
    by_hour,
    day_numbers,
    day_sums,
    day_text,
)
from services.ports import Document

KEPT = timedelta(days=32)
"""How long counts are kept: the longest window, the hour that it may begin in, and a day to spare."""

ZEROS: Numbers = [0] * len(Tally._fields)
_WIDTH = len(ZEROS)


def total(numbers: Iterable[Numbers]) -> Tally:
    """Their sums; of an empty iterable, zeros."""
    return Tally(*map(sum, zip(*numbers, strict=True)))


class TimelineHours:
    """The hours of a timeline. A day is parsed when one of its hours is needed."""

    def __init__(self, days: Mapping[str, str]) -> None:
        self._texts = dict(days)
        self._parsed: dict[str, Numbers] = {}
        self._changed: set[str] = set()

    @classmethod
    def of(cls, timeline: TimelineDocument | None) -> Self:
        """Raises ValueError if the document is no timeline."""
        stored = _table(timeline, Timeline, "hours")
        # Timelines were once stored hour by hour.
        return cls(stored if all(isinstance(each, str) for each in stored.values()) else by_day(stored))

    def numbers(self, hour: str) -> Numbers:
        """Zeros for an hour without mentions. Raises ValueError if the stored day cannot be parsed."""
        place = _place(hour)
        return self._day(hour[:8])[place : place + _WIDTH]

    def put(self, hour: str, numbers: Numbers) -> None:
        place = _place(hour)
        self._day(hour[:8])[place : place + _WIDTH] = numbers
        self._changed.add(hour[:8])

    def total(self, after: str, before: str) -> Numbers:
        """The sum of the hours between these two, without both."""
        first, last = after[:8], before[:8]
        if first == last:
            parts = [self._day(first)[_place(after) + _WIDTH : _place(before)]]
        else:
            parts = [self._day(first)[_place(after) + _WIDTH :], self._day(last)[: _place(before)]]
        sums = [[sum(part[column::_WIDTH]) for column in range(_WIDTH)] for part in parts]
        sums += [self._sums(day) for day in self._texts.keys() | self._changed if first < day < last]
        return list(total(sums))

    def stored(self, oldest: str) -> dict[str, str]:
        """The `hours` of the timeline's document, from the day of the hour `oldest` on."""
        changed = {day: day_text(numbers) for day in self._changed if any(numbers := self._parsed[day])}
        kept = {day: text for day, text in self._texts.items() if day not in self._changed} | changed
        return {day: kept[day] for day in sorted(kept) if day >= oldest[:8]}

    def _sums(self, day: str) -> Numbers:
        return day_sums(day_text(self._parsed[day]) if day in self._changed else self._texts[day])

    def _day(self, day: str) -> Numbers:
        if day not in self._parsed:
            self._parsed[day] = day_numbers(self._texts[day]) if day in self._texts else ZEROS * HOURS
        return self._parsed[day]


def _place(hour: str) -> int:
    """The index of the hour's numbers in those of its day."""
    return int(hour[8:]) * _WIDTH


def recounts_of(timeline: TimelineDocument | None) -> int:
    """How often the tool was recounted: two timelines with the same number are the same."""
    return 0 if timeline is None else timeline.get("ingestion_count", 0)


def hours_of(timeline: TimelineDocument | None) -> Table:
    """Raises ValueError if the document is no timeline."""
    return by_hour(_table(timeline, Timeline, "hours"))


def minutes_of(hour: HourDocument | None) -> Table:
    """Raises ValueError if the document is no hour table."""
    return _table(hour, HourTable, "minutes")


def _table(document: Mapping[str, Any] | None, model: type[Timeline | HourTable], payload: str) -> dict[str, Any]:
    if document is None:
        return {}
    table = document.get(payload)
    if document.get("entity_type") != model.model_fields["entity_type"].default or not isinstance(table, dict):
        raise ValueError(f"{document.get('id')!r} is no {model.__name__}")
    return table


def hour_document(tool_id: str, hour: str, minutes: Table, now: datetime) -> HourDocument:
    table = HourTable(tool_id=tool_id, hour=hour, created_at=now, updated_at=now)
    return cast("HourDocument", {**table.to_document(), "minutes": minutes})


def timeline_document(
    tool_id: str, before: TimelineDocument | None, days: Mapping[str, str], latest: Document | None, now: datetime
) -> TimelineDocument:
    """The timeline after one more recount. `latest` is, of the mentions that were counted, the one published last."""
    made: dict[str, Any] = {"tool_id": tool_id, "entity_type": "DataProduct", "created_at": now}
    changes: dict[str, Any] = {"hours": {}, "updated_at": now, "last_ingestion_at": now}
    changes["ingestion_count"] = recounts_of(before) + 1
    if latest is not None and latest.get("source"):
        changes["last_ingestion_source"] = latest["source"]
    timeline = Timeline.from_document({**(before or made), **changes})
    return cast("TimelineDocument", {**timeline.to_document(), "hours": dict(days)})
