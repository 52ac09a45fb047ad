"""A tool's counts: by hour in one table that is updated in place, by minute per hour, what the four windows take of
both, and marks on hours to recount.

Counting is services/figures's. Sums are of integers, so that any order of arrivals gives the same table.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import Annotated, Any, ClassVar, Literal, NamedTuple, Self
from uuid import NAMESPACE_URL, uuid5

import orjson
from pydantic import AfterValidator, BeforeValidator, Field

from models.cache import Period
from models.stored import StoredDocument
from models.values import Count, Hour, IdPart, Sentiment, Text, Time, UnixSeconds, hour_key, lives

MILLIONTHS = 1_000_000


class Tally(NamedTuple):
    """Mentions by sentiment, and the sum of their polarities in millionths. Stored as an array of four."""

    positive: Count = 0
    negative: Count = 0
    neutral: Count = 0
    polarity_millionths: Annotated[int, Field(strict=True)] = 0

    @classmethod
    def of(cls, sentiment: Sentiment, polarity: float) -> Tally:
        """One mention."""
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
        return self.positive + self.negative + self.neutral

    @property
    def average_sentiment(self) -> float:
        """Four decimals; 0.0 of nothing."""
        return round(self.polarity_millionths / MILLIONTHS / self.total, 4) if self.total else 0.0


def _possible(tally: Tally) -> Tally:
    if abs(tally.polarity_millionths) > tally.total * MILLIONTHS:
        raise ValueError("the sum of polarities must be within one per mention")
    return tally


CheckedTally = Annotated[Tally, AfterValidator(_possible)]
Minute = Annotated[str, Field(pattern="^[0-5][0-9]$")]


def timeline_product_id(tool_id: str) -> str:
    """The stable UUID of a tool's timeline."""
    return str(uuid5(NAMESPACE_URL, f"toolpulse:timeline:{tool_id}"))


Numbers = list[int]
"""A Tally as it is stored."""

HOURS = 24
_WIDTH = len(Tally._fields)
_NUMBERS = (1 + HOURS) * _WIDTH
_NO_DAY = "a day must be a text of four sums and 24 times four numbers"
_NOTHING = [0] * _WIDTH


def day_text(numbers: Sequence[int]) -> str:
    """A day as a timeline stores it, one text: its sums, then the numbers of its 24 hours, one hour after the other.

    So a month is summed without reading its hours, and a day that stays the same is written as it was read: with lists
    of numbers that was most of what a recount cost.
    """
    sums = (sum(numbers[column::_WIDTH]) for column in range(_WIDTH))
    return ",".join(map(str, (*sums, *numbers)))


def day_sums(text: str) -> Numbers:
    """Of the whole day. ValueError for what has not as many numbers as a day: its first four would be no sums."""
    if text.count(",") != _NUMBERS - 1:
        raise ValueError(_NO_DAY)
    return [int(each) for each in text.split(",", _WIDTH)[:_WIDTH]]


def day_numbers(text: str) -> Numbers:
    """Of its 24 hours. ValueError for what `day_text` never gives."""
    numbers: Numbers = orjson.loads(f"[{text}]")
    if len(numbers) != _NUMBERS:
        raise ValueError(_NO_DAY)
    return numbers[_WIDTH:]


def by_day(hours: Mapping[str, Sequence[int]]) -> dict[str, str]:
    """Hours as a timeline stores them: a text for each day on which something was said."""
    days: dict[str, Numbers] = {}
    for hour in sorted(hours):
        at = int(hour[8:]) * _WIDTH
        days.setdefault(hour[:8], _NOTHING * HOURS)[at : at + _WIDTH] = hours[hour]
    return {day: day_text(numbers) for day, numbers in days.items()}


def by_hour(stored: Mapping[str, Any]) -> dict[str, Numbers]:
    """The hours in which something was said. ValueError for what is no timeline's `hours`.

    Timelines were stored hour by hour before: these are read as well, and stored by day when they next change.
    """
    hours: dict[str, Numbers] = {}
    for key, value in stored.items():
        if len(key) != len("yyyymmdd"):
            hours[key] = value
            continue
        numbers = day_numbers(value)
        for hour in range(HOURS):
            at = hour * _WIDTH
            if any(numbers[at : at + _WIDTH]):
                hours[f"{key}{hour:02}"] = numbers[at : at + _WIDTH]
    return hours


class _OfTool(StoredDocument):
    CONTAINER: ClassVar[str] = "catalog"

    tool_id: IdPart

    @property
    def partition(self) -> str:
        return self.tool_id


def _unpacked(hours: Any) -> Any:
    return by_hour(hours) if isinstance(hours, dict) else hours


def _said(hours: dict[Hour, Tally]) -> dict[Hour, Tally]:
    """Without those that hold nothing, which a day's text cannot tell from those that are not there."""
    return {hour: tally for hour, tally in hours.items() if any(tally)}


class Timeline(_OfTool):
    """One per tool, updated in place: the specification's PHOTOMETRY_TABLE, with the table inside.

    `data_product_id` follows from the tool. `hours` has only those in which something was said; they are stored by day.
    """

    ID: ClassVar[str] = "TIMELINE"
    COMPUTED: ClassVar[tuple[str, ...]] = ("data_product_id",)

    entity_type: Literal["DataProduct"] = "DataProduct"
    product_type: Literal["TIMELINE"] = "TIMELINE"
    hours: Annotated[dict[Hour, CheckedTally], BeforeValidator(_unpacked), AfterValidator(_said)] = Field(
        default_factory=dict
    )
    last_ingestion_at: Time | None = None
    last_ingestion_source: Text | None = None
    ingestion_count: Count = 0

    @property
    def id(self) -> str:
        return self.ID

    @property
    def data_product_id(self) -> str:
        return timeline_product_id(self.tool_id)

    def to_document(self) -> dict[str, Any]:
        return {**super().to_document(), "hours": by_day(self.hours)}


class HourTable(_OfTool):
    """The minutes of one hour, for windows that begin or end within it."""

    entity_type: Literal["HourTable"] = "HourTable"
    ttl_timestamp: UnixSeconds | None = lives(days=32)
    hour: Hour
    minutes: dict[Minute, CheckedTally] = Field(default_factory=dict)

    @property
    def id(self) -> str:
        return f"HOUR:{self.hour}"

    def total(self) -> Tally:
        """What the timeline says of this hour."""
        whole = Tally()
        for tally in self.minutes.values():
            whole = whole.plus(tally)
        return whole


class WindowTables(_OfTool):
    """What the four windows of a tool take from its timeline and its hours' tables while they end within one hour.

    Of each window it has the sum of its whole hours, and the minutes of the hours that some window begins or ends
    within. It follows from the tables and is gathered anew when its hour is over. `made_at` is when the tool was made,
    absent if there are no figures to show of it: it is gone, or merged.
    """

    ID: ClassVar[str] = "WINDOWS"

    entity_type: Literal["WindowTables"] = "WindowTables"
    ttl_timestamp: UnixSeconds | None = lives(days=32)
    hour: Hour
    made_at: Time | None = None
    recounts: Count = 0
    hours: dict[Period, CheckedTally] = Field(default_factory=dict)
    minutes: dict[Hour, dict[Minute, CheckedTally]] = Field(default_factory=dict)

    @property
    def id(self) -> str:
        return self.ID


class DirtyHour(_OfTool):
    """That this hour must be recounted. Each marking changes its ETag: a recount clears only the mark that it saw.

    `marked_hour` is a field of marks alone, so that an order by it lists the marks of all tools.
    """

    COMPUTED: ClassVar[tuple[str, ...]] = ("marked_hour",)

    entity_type: Literal["DirtyHour"] = "DirtyHour"
    ttl_timestamp: UnixSeconds | None = lives(days=32)
    hour: Hour

    @classmethod
    def mark(cls, tool_id: str, moment: datetime, now: datetime) -> Self:
        """The mark on the hour of `moment`."""
        return cls(created_at=now, updated_at=now, tool_id=tool_id, hour=hour_key(moment))

    @property
    def id(self) -> str:
        return f"DIRTY:{self.hour}"

    @property
    def marked_hour(self) -> str:
        return self.hour
