"""The stored counts of a tool's mentions: by hour (Timeline), by minute (DayCounts), for its windows (WindowTables).

Also the hours that must be recounted (DirtyHour), and the close of a day (DailyClose).
"""

from __future__ import annotations

import hashlib
import json
from datetime import datetime
from typing import Annotated, Any, ClassVar, Literal, Self
from uuid import NAMESPACE_URL, uuid5

from pydantic import AfterValidator, Field, TypeAdapter

from models.cache import Period
from models.stored import StoredDocument
from models.tally import CheckedTally, DayText
from models.tool import OfTool
from models.values import (
    Count,
    Day,
    Flag,
    Hour,
    Sha256,
    Text,
    Time,
    UnixSeconds,
    Value,
    format_time,
    hour_key,
    lives,
)


def timeline_product_id(tool_id: str) -> str:
    """The stable UUID of a tool's timeline."""
    return str(uuid5(NAMESPACE_URL, f"toolpulse:timeline:{tool_id}"))


MAX_ROWS_OF_HOUR = 2_500
"""The five hours in which windows begin or end fit into one document."""
MAX_ROWS_OF_DAY = 10_000
"""A day fits into one document, and into one batch with the windows."""

Minute = Annotated[int, Field(strict=True, ge=0, le=59)]

HourRows = dict[str, dict[str, dict[str, list[list[Any]]]]]
"""The rows of one hour as they are stored: by analyzer, publisher and source."""

_DayName = Annotated[str, Field(pattern=r"^\d{8}$")]
_Row = tuple[Minute, str, Count, Count, Count, Count, int, Count]
_Rows = dict[Text, dict[str, dict[str, tuple[_Row, ...]]]]


_HOURS = TypeAdapter(dict[Hour, _Rows])


def _checked(hours: str) -> str:
    _HOURS.validate_json(hours)
    return hours


class Timeline(OfTool):
    """A tool's mentions by hour: one document, updated in place. The specification's PHOTOMETRY_TABLE.

    `hours` has the days with mentions only (`yyyymmdd`): the live days, and of the month before them what they were
    last, for a month that is compared with the month before. `ingestion_count` is how often the tool was recounted.
    """

    ID: ClassVar[str] = "TIMELINE"
    COMPUTED: ClassVar[tuple[str, ...]] = ("data_product_id",)

    entity_type: Literal["DataProduct"] = "DataProduct"
    product_type: Literal["TIMELINE"] = "TIMELINE"
    hours: dict[_DayName, DayText] = Field(default_factory=dict)
    last_ingestion_at: Time | None = None
    last_ingestion_source: Text | None = None
    ingestion_count: Count = 0

    @property
    def data_product_id(self) -> str:
        return timeline_product_id(self.tool_id)


class StoredCount(Value):
    """The mentions of some time together.

    `numbers` are those of a Tally, `analyzers` has the number that each judged. `stories` has by key the number of the
    scored mentions and the sum of their polarities, `ungrouped` the same of those without a story and the sum of the
    squares, `publishers` and `sources` the number. `crowded` are the mentions in rows of crowded hours: with any, these
    four are not known.
    """

    numbers: CheckedTally
    analyzers: dict[Text, Count]
    crowded: Count
    stories: dict[Text, tuple[Count, int]]
    ungrouped: tuple[Count, int, Count]
    publishers: dict[str, Count]
    sources: dict[str, Count]


class DayCounts(OfTool):
    """A tool's mentions of one UTC day, as all other counts are summed from them. Kept for good, for the history: once
    the day is not live any more, the document does not change.

    `hours` has the rows of each hour with mentions: by analyzer, publisher and source, then a row for each minute and
    story: the minute, the story, the positive, negative, neutral and unscored mentions, the sum of their polarities in
    ten-thousandths, and the sum of the squares of these. The story is a key (services/figures/breadth.py), empty for
    mentions without a story. Publisher, source and story are empty in the rows of a crowded hour, which has more than
    MAX_ROWS_OF_HOUR, or is the largest of a day with more than MAX_ROWS_OF_DAY. `whole` sums them all.
    `hours` is stored as a JSON text, so that a month is read without parsing its rows.
    """

    entity_type: Literal["DayCounts"] = "DayCounts"
    day: _DayName
    whole: StoredCount
    hours: Annotated[str, AfterValidator(_checked)]

    @staticmethod
    def id_of(day: str) -> str:
        return f"COUNTS:{day}"

    @property
    def id(self) -> str:
        return self.id_of(self.day)


class WholeHours(StoredCount):
    """The counts of the whole hours of one window.

    `stories` has those only that also occur in an hour in which a window begins or ends. `others` are the sums over all
    other stories, by name (services/figures/breadth.py): as texts, since they are larger than the whole numbers that a
    store keeps.
    """

    others: dict[Text, Text]


class WindowTables(OfTool):
    """The parts of a tool's counts from which its windows are summed, while these windows end within `hour`.

    `whole` has for each period the counts of the whole hours in its window; `edges` has the rows of the hours that a
    window begins or ends in, as DayCounts has them; `days` are those with a DayCounts. The document is made anew from
    these and the DaySums when `hour` is over.
    `unfinished`: a batch that was to follow is missing, or has not come yet; the tool is counted anew. `made_at` is
    when the tool was created. It is absent if the tool is gone or merged: such a tool has no entries.
    `searched_since` is that of the tool.

    Every write of a tool's counts replaces this document on condition that it is the version that was read. So the
    counts of two writers never mix.
    """

    ID: ClassVar[str] = "WINDOWS"

    entity_type: Literal["WindowTables"] = "WindowTables"
    ttl_timestamp: UnixSeconds | None = lives(days=32)
    hour: Hour
    made_at: Time | None = None
    searched_since: Time | None = None
    recounts: Count = 0
    whole: dict[Period, WholeHours] = Field(default_factory=dict)
    edges: dict[Hour, _Rows] = Field(default_factory=dict)
    days: tuple[_DayName, ...] = ()
    unfinished: Flag = False


class DaySums(OfTool):
    """The days of a tool's windows in which no window begins or ends, added up, so that the windows of a new hour need
    few days. `edges` are the other days, in which windows begin or end, and `between` has by each of these the sum of
    the days up to the next one. Without edges, the sums are too large for a document.
    """

    ID: ClassVar[str] = "SUMS"

    entity_type: Literal["DaySums"] = "DaySums"
    ttl_timestamp: UnixSeconds | None = lives(days=3)
    edges: tuple[_DayName, ...] = ()
    between: dict[_DayName, StoredCount] = Field(default_factory=dict)


class DirtyHour(OfTool):
    """An hour of a tool whose mentions have changed since they were counted.

    Marking the hour dirty again changes the ETag, so that a recount deletes only the version that it read.
    `marked_at` repeats `updated_at` under a name that no other document has: an order by it lists the dirty hours of
    all tools, the first marked first.
    """

    COMPUTED: ClassVar[tuple[str, ...]] = ("marked_at",)

    entity_type: Literal["DirtyHour"] = "DirtyHour"
    ttl_timestamp: UnixSeconds | None = lives(days=32)
    hour: Hour

    @classmethod
    def of(cls, tool_id: str, moment: datetime, now: datetime) -> Self:
        """The hour of `moment`, as dirty."""
        return cls(created_at=now, tool_id=tool_id, hour=hour_key(moment))

    @property
    def id(self) -> str:
        return f"DIRTY:{self.hour}"

    @property
    def marked_at(self) -> str:
        return format_time(self.updated_at)


def close_id(tool_id: str, day: Day) -> str:
    return f"close:{tool_id}:{day}"


class DailyClose(OfTool):
    """The figures of one UTC day of one tool as they were at `closed_at`. Never changes.

    `text` is JSON with the keys sorted and without spaces: the id of the close, the tool, the day, `closed_at`, and the
    figures. It is stored as text so that `sha256` is the hash of what is served, whatever a store does to numbers.
    """

    entity_type: Literal["DailyClose"] = "DailyClose"
    day: Day
    closed_at: Time
    text: Text
    sha256: Sha256

    @classmethod
    def of(cls, tool_id: str, day: Day, figures: dict[str, Any], now: datetime) -> Self:
        said = {
            "id": close_id(tool_id, day),
            "tool_id": tool_id,
            "day": day,
            "closed_at": format_time(now),
            "figures": figures,
        }
        text = json.dumps(said, sort_keys=True, separators=(",", ":"), ensure_ascii=False)
        sha256 = hashlib.sha256(text.encode()).hexdigest()
        return cls(created_at=now, tool_id=tool_id, day=day, closed_at=now, text=text, sha256=sha256)

    @staticmethod
    def id_of(day: Day) -> str:
        return f"CLOSE:{day.replace('-', '')}"

    @property
    def id(self) -> str:
        return self.id_of(self.day)

    @property
    def figures(self) -> dict[str, Any]:
        found: dict[str, Any] = json.loads(self.text)["figures"]
        return found

    def shown(self) -> dict[str, Any]:
        return {**json.loads(self.text), "sha256": self.sha256}


class HistoryProgress(StoredDocument):
    """How far the daily close has got: for all tools, the days from `since` to `closed_until` are closed, without a day
    in between on which nothing ran. A tool without counts of such a day had no mentions on it. `after` is where the
    next page of tools begins on the day after."""

    PARTITION: ClassVar[str] = "HISTORY"
    ID: ClassVar[str] = "progress"

    entity_type: Literal["HistoryProgress"] = "HistoryProgress"
    since: Day
    closed_until: Day
    after: Text | None = None
