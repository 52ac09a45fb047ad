"""The stored counts of a tool's mentions: by hour (Timeline), by minute (HourTable), for its windows (WindowTables).

Also the hours that must be recounted (DirtyHour). Counting is in services/figures. Sums are of integers, so that they
do not depend on the order in which mentions are added.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from datetime import datetime
from itertools import zip_longest
from typing import Annotated, Any, ClassVar, Literal, NamedTuple, Self
from uuid import NAMESPACE_URL, uuid5

import orjson
from pydantic import AfterValidator, BeforeValidator, Field

from models.cache import Period
from models.stored import StoredDocument, StoredFields
from models.values import Count, Hour, IdPart, Sentiment, Text, Time, UnixSeconds, hour_key, lives

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
Minute = Annotated[str, Field(pattern="^[0-5][0-9]$")]


def timeline_product_id(tool_id: str) -> str:
    """The stable UUID of a tool's timeline."""
    return str(uuid5(NAMESPACE_URL, f"toolpulse:timeline:{tool_id}"))


Numbers = list[int]
"""A Tally as it is stored: `[positive, negative, neutral, polarity_millionths]`, then `unscored` if it is not 0."""

Table = dict[str, Numbers]
"""Numbers by hour (`yyyymmddhh`) or by minute (`mm`). Hours and minutes without mentions are absent."""

HOURS = 24
ZEROS: Numbers = [0, 0, 0, 0]
_SCORED = len(ZEROS)
_NUMBERS = {(1 + HOURS) * width: width for width in (_SCORED, _SCORED + 1)}
_NOT_A_DAY = "a day must be a text of its sums and 24 hours, each of four or each of five numbers"


def total(numbers: Iterable[Sequence[int]]) -> Tally:
    """The sums; zeros if there are no numbers."""
    return Tally(*map(sum, zip_longest(*numbers, fillvalue=0)))


def numbers_of(tally: Sequence[int]) -> Numbers:
    """The numbers as they are stored."""
    return list(tally) if len(tally) > _SCORED and tally[_SCORED] else list(tally[:_SCORED])


def day_text(hours: Sequence[Numbers]) -> str:
    """A day as a timeline stores it: one text of the day's sums, then of the numbers of its 24 hours in order. If one
    of its hours has unscored mentions, all have five numbers, else all have four.

    So a month is summed without parsing its hours, and an unchanged day is written as it was read. With lists of
    numbers instead of texts, reading and writing the timeline took most of the time of a recount.
    """
    sums = numbers_of(total(hours))
    rows = hours if len(sums) == _SCORED else [Tally(*each) for each in hours]
    return ",".join(str(number) for row in (sums, *rows) for number in row)


def day_sums(text: str) -> Numbers:
    """The sums of a stored day. Raises ValueError for a text of another length: its first numbers are not sums."""
    width = _NUMBERS.get(text.count(",") + 1)
    if width is None:
        raise ValueError(_NOT_A_DAY)
    return [int(each) for each in text.split(",", width)[:width]]


def day_hours(text: str) -> list[Numbers]:
    """The numbers of a stored day's 24 hours. Raises ValueError for a text that `day_text` never returns."""
    numbers: Numbers = orjson.loads(f"[{text}]")
    width = _NUMBERS.get(len(numbers))
    if width is None:
        raise ValueError(_NOT_A_DAY)
    rows = [numbers[at : at + width] for at in range(width, len(numbers), width)]
    return rows if width == _SCORED else [numbers_of(row) for row in rows]


def by_day(hours: Mapping[str, Sequence[int]]) -> dict[str, str]:
    """Hours as a timeline stores them: a text for each day with mentions."""
    days: dict[str, list[Numbers]] = {}
    for hour in sorted(hours):
        days.setdefault(hour[:8], [ZEROS] * HOURS)[int(hour[8:])] = numbers_of(hours[hour])
    return {day: day_text(numbers) for day, numbers in days.items()}


def by_hour(stored: Mapping[str, Any]) -> dict[str, Numbers]:
    """The hours with mentions. Raises ValueError if `stored` is not the `hours` of a timeline.

    Earlier versions stored timelines hour by hour. Such a timeline is read too, and stored by day at its next change.
    """
    hours: dict[str, Numbers] = {}
    for key, value in stored.items():
        if len(key) != len("yyyymmdd"):
            hours[key] = value
            continue
        for hour, numbers in enumerate(day_hours(value)):
            if any(numbers):
                hours[f"{key}{hour:02}"] = numbers
    return hours


class TimelineHours:
    """The `hours` of a timeline's document, to be read and changed. A day is parsed when one of its hours is needed."""

    def __init__(self, stored: Mapping[str, Any]) -> None:
        # Earlier versions stored timelines hour by hour.
        is_by_day = all(isinstance(each, str) for each in stored.values())
        self._texts = dict(stored) if is_by_day else by_day(stored)
        self._parsed: dict[str, list[Numbers]] = {}
        self._changed: set[str] = set()

    def numbers(self, hour: str) -> Numbers:
        """Zeros for an hour without mentions. Raises ValueError if the stored day cannot be parsed."""
        return self._day(hour[:8])[int(hour[8:])]

    def put(self, hour: str, numbers: Sequence[int]) -> None:
        self._day(hour[:8])[int(hour[8:])] = numbers_of(numbers)
        self._changed.add(hour[:8])

    def total(self, after: str, before: str) -> Tally:
        """The sum of the hours after `after` and before `before`."""
        first, last = after[:8], before[:8]
        if first == last:
            edges = self._day(first)[int(after[8:]) + 1 : int(before[8:])]
        else:
            edges = self._day(first)[int(after[8:]) + 1 :] + self._day(last)[: int(before[8:])]
        days = [self.of_day(day) for day in self._texts.keys() | self._changed if first < day < last]
        return total([*edges, *days])

    def of_day(self, day: str) -> Tally:
        """The sum of the day's hours. Raises ValueError if the stored day cannot be parsed."""
        if day in self._changed:
            return total(self._parsed[day])
        return Tally(*day_sums(self._texts[day])) if day in self._texts else Tally()

    def stored(self, oldest: str) -> dict[str, str]:
        """The `hours` of the timeline's document, from the day of the hour `oldest` on."""
        changed = {day: day_text(hours) for day in self._changed if any(map(any, hours := self._parsed[day]))}
        kept = {day: text for day, text in self._texts.items() if day not in self._changed} | changed
        return {day: kept[day] for day in sorted(kept) if day >= oldest[:8]}

    def _day(self, day: str) -> list[Numbers]:
        if day not in self._parsed:
            self._parsed[day] = day_hours(self._texts[day]) if day in self._texts else [ZEROS] * HOURS
        return self._parsed[day]


class _OfTool(StoredDocument):
    CONTAINER: ClassVar[str] = "catalog"

    tool_id: IdPart

    @property
    def partition(self) -> str:
        return self.tool_id


def _unpacked(hours: Any) -> Any:
    return by_hour(hours) if isinstance(hours, dict) else hours


def _with_mentions(hours: dict[Hour, Tally]) -> dict[Hour, Tally]:
    """The hours without those that are all 0: in the text of a day, they are the same as absent hours."""
    return {hour: tally for hour, tally in hours.items() if any(tally)}


class TimelineDocument(StoredFields, total=False):
    """A Timeline as it is stored: `hours` has a text for each day (`yyyymmdd`), see `day_text`."""

    pk: str
    tool_id: str
    data_product_id: str
    product_type: str
    hours: dict[str, str]
    last_ingestion_at: str
    last_ingestion_source: str
    ingestion_count: int


class Timeline(_OfTool):
    """A tool's mentions by hour: one document, updated in place. The specification's PHOTOMETRY_TABLE.

    `hours` has the hours with mentions only. `ingestion_count` is how often the tool was recounted.
    """

    ID: ClassVar[str] = "TIMELINE"
    COMPUTED: ClassVar[tuple[str, ...]] = ("data_product_id",)

    entity_type: Literal["DataProduct"] = "DataProduct"
    product_type: Literal["TIMELINE"] = "TIMELINE"
    hours: Annotated[dict[Hour, CheckedTally], BeforeValidator(_unpacked), AfterValidator(_with_mentions)] = Field(
        default_factory=dict
    )
    last_ingestion_at: Time | None = None
    last_ingestion_source: Text | None = None
    ingestion_count: Count = 0

    @property
    def data_product_id(self) -> str:
        return timeline_product_id(self.tool_id)

    def to_document(self) -> dict[str, Any]:
        return {**super().to_document(), "hours": by_day(self.hours)}


class HourDocument(StoredFields, total=False):
    """An HourTable as it is stored."""

    pk: str
    tool_id: str
    hour: str
    minutes: Table


class HourTable(_OfTool):
    """A tool's mentions of one hour by minute, for windows that begin or end within this hour."""

    entity_type: Literal["HourTable"] = "HourTable"
    ttl_timestamp: UnixSeconds | None = lives(days=32)
    hour: Hour
    minutes: dict[Minute, CheckedTally] = Field(default_factory=dict)

    @property
    def id(self) -> str:
        return f"HOUR:{self.hour}"

    def total(self) -> Tally:
        """The sum of the minutes: the timeline has the same for this hour."""
        whole = Tally()
        for tally in self.minutes.values():
            whole = whole.plus(tally)
        return whole


class WindowsDocument(StoredFields, total=False):
    """A WindowTables as it is stored."""

    pk: str
    tool_id: str
    hour: str
    made_at: str
    recounts: int
    hours: dict[Period, Numbers]
    minutes: dict[str, Table]


class WindowTables(_OfTool):
    """The parts of a tool's counts from which its four windows are summed, while these windows end within `hour`.

    `hours` has for each period the sum of the whole hours in its window; `minutes` has the minutes of the hours that
    a window begins or ends in. The document is computed anew from the timeline and the hour tables when `hour` is over.
    `made_at` is when the tool was created. It is absent if the tool is gone or merged: such a tool has no entries.

    Every write of a tool's counts replaces this document on condition that it is the version that was read. So the
    counts of two writers never mix.
    """

    ID: ClassVar[str] = "WINDOWS"

    entity_type: Literal["WindowTables"] = "WindowTables"
    ttl_timestamp: UnixSeconds | None = lives(days=32)
    hour: Hour
    made_at: Time | None = None
    recounts: Count = 0
    hours: dict[Period, CheckedTally] = Field(default_factory=dict)
    minutes: dict[Hour, dict[Minute, CheckedTally]] = Field(default_factory=dict)


class DirtyHourDocument(StoredFields, total=False):
    """A DirtyHour as it is stored."""

    pk: str
    tool_id: str
    hour: str
    marked_hour: str


class DirtyHour(_OfTool):
    """An hour of a tool whose mentions have changed since they were counted.

    Marking the hour dirty again changes the ETag, so that a recount deletes only the version that it read.
    `marked_hour` repeats `hour` under a name that no other document has: an order by it lists the dirty hours of all
    tools.
    """

    COMPUTED: ClassVar[tuple[str, ...]] = ("marked_hour",)

    entity_type: Literal["DirtyHour"] = "DirtyHour"
    ttl_timestamp: UnixSeconds | None = lives(days=32)
    hour: Hour

    @classmethod
    def of(cls, tool_id: str, moment: datetime, now: datetime) -> Self:
        """The hour of `moment`, as dirty."""
        return cls(created_at=now, updated_at=now, tool_id=tool_id, hour=hour_key(moment))

    @property
    def id(self) -> str:
        return f"DIRTY:{self.hour}"

    @property
    def marked_hour(self) -> str:
        return self.hour
