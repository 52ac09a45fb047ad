"""The stored counts of a tool's mentions: by hour (Timeline), by minute (HourTable), for its windows (WindowTables).

Also the hours that must be recounted (DirtyHour). The numbers are those of models/tally.py.
"""

from __future__ import annotations

from datetime import datetime
from typing import Annotated, Any, ClassVar, Literal, Self, TypedDict
from uuid import NAMESPACE_URL, uuid5

from pydantic import AfterValidator, BeforeValidator, Field

from models.cache import Period
from models.stored import StoredDocument, StoredFields
from models.tally import CheckedTally, HoursOfAnalyzers, MinutesOfAnalyzers, Numbers, Table, Tally, by_day, by_hour
from models.values import Count, Flag, Hour, IdPart, Text, Time, UnixSeconds, Value, format_time, hour_key, lives

Minute = Annotated[str, Field(pattern="^[0-5][0-9]$")]


def timeline_product_id(tool_id: str) -> str:
    """The stable UUID of a tool's timeline."""
    return str(uuid5(NAMESPACE_URL, f"toolpulse:timeline:{tool_id}"))


MOST_ROWS = 3_500
"""In one hour. The five hours in which windows begin or end fit into one document."""

HourRows = dict[str, dict[str, list[list[Any]]]]
"""The `rows` of an HourTable as they are stored."""

StoredRow = tuple[Count, str, Count, int, Count]


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
    analyzers: HoursOfAnalyzers
    last_ingestion_at: str
    last_ingestion_source: str
    ingestion_count: int


class Timeline(_OfTool):
    """A tool's mentions by hour: one document, updated in place. The specification's PHOTOMETRY_TABLE.

    `hours` has the hours with mentions only. `analyzers` has, by analyzer and day, the hours with mentions that it
    judged: as bits, the lowest for hour 0. Timelines that an earlier version stored lack it, until the next refresh.
    `ingestion_count` is how often the tool was recounted.
    """

    ID: ClassVar[str] = "TIMELINE"
    COMPUTED: ClassVar[tuple[str, ...]] = ("data_product_id",)

    entity_type: Literal["DataProduct"] = "DataProduct"
    product_type: Literal["TIMELINE"] = "TIMELINE"
    hours: Annotated[dict[Hour, CheckedTally], BeforeValidator(_unpacked), AfterValidator(_with_mentions)] = Field(
        default_factory=dict
    )
    analyzers: dict[Text, dict[str, Count]] | None = None
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
    analyzers: MinutesOfAnalyzers
    rows: HourRows
    crowded: bool


class HourTable(_OfTool):
    """A tool's mentions of one hour by minute, for windows that begin or end within this hour.

    `analyzers` has the first and the last minute with a mention that each analyzer judged. A window has either the
    first minutes of an hour or its last ones, so these two tell whether it counts such a mention.
    `rows` has the scored mentions by publisher, then by source: for each minute and story, the number of mentions, the
    sum of their polarities in ten-thousandths, and the sum of the squares of these. The story is a key
    (services/figures/breadth.py), empty for a mention without a story. An hour with more than MOST_ROWS rows is
    `crowded`, and has none.
    """

    entity_type: Literal["HourTable"] = "HourTable"
    ttl_timestamp: UnixSeconds | None = lives(days=32)
    hour: Hour
    minutes: dict[Minute, CheckedTally] = Field(default_factory=dict)
    analyzers: dict[Text, tuple[Count, Count]] = Field(default_factory=dict)
    rows: dict[Text, dict[Text, tuple[StoredRow, ...]]] = Field(default_factory=dict)
    crowded: Flag = False

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
    searched_since: str
    recounts: int
    hours: dict[Period, Numbers]
    minutes: dict[str, Table]
    analyzers: dict[str, JudgedDocument]
    breadth: BreadthDocument
    unfinished: bool


class NamesDocument(TypedDict):
    """Names as they are stored."""

    table: str
    edges: dict[str, list[int]]
    others: list[list[Any]]


class BreadthDocument(TypedDict):
    """WindowBreadth as it is stored."""

    sums: list[str]
    publishers: NamesDocument
    sources: NamesDocument
    stories: dict[str, list[list[int]]]
    rows: dict[str, HourRows]
    crowded: list[str]


class Names(Value):
    """The mentions by publisher, or by source, in the whole hours of HOUR_24, DAY_7 and DAY_30. HOUR_1 has none.

    `table` is a JSON text of the three numbers of each name, so that it is parsed only when counts change. `edges` has
    those of the names that occur in the hours that a window begins or ends in. `others` has, for each of the three
    periods, how many other names have mentions, and the first by name of those with the most, with their number.
    """

    table: Text = "{}"
    edges: dict[Text, tuple[Count, Count, Count]] = Field(default_factory=dict)
    others: tuple[tuple[Count, str, Count], ...] = ()


class WindowBreadth(Value):
    """What tells the stories, publishers and sources in a tool's windows apart.

    `sums` are the sums over stories in the whole hours of HOUR_24, DAY_7 and DAY_30 (services/figures/breadth.py), as
    texts: they are larger than the whole numbers that a store keeps.
    `rows` are those of the hours that a window begins or ends in; `stories` has by key the mentions and the summed
    polarity of their stories in the whole hours of the three periods, if there are any. `crowded` are the hours of
    DAY_30 without rows.
    """

    sums: tuple[Text, ...] = ()
    publishers: Names = Names()
    sources: Names = Names()
    stories: dict[Text, tuple[tuple[Count, int], ...]] = Field(default_factory=dict)
    rows: dict[Hour, dict[Text, dict[Text, tuple[StoredRow, ...]]]] = Field(default_factory=dict)
    crowded: tuple[Hour, ...] = ()


class JudgedDocument(TypedDict):
    """Judged as it is stored."""

    hours: list[Period]
    minutes: dict[str, list[int]]


class Judged(Value):
    """Where an analyzer judged mentions: the periods with such a mention in their whole hours, and in the hours that a
    window begins or ends in, the first and the last minute with one."""

    hours: tuple[Period, ...] = ()
    minutes: dict[Hour, tuple[Count, Count]] = Field(default_factory=dict)


class WindowTables(_OfTool):
    """The parts of a tool's counts from which its four windows are summed, while these windows end within `hour`.

    `hours` has for each period the sum of the whole hours in its window; `minutes` has the minutes of the hours that
    a window begins or ends in. The document is computed anew from the timeline and the hour tables when `hour` is over.
    `analyzers` has the same for each analyzer that judged some of these mentions. It is absent in a document that an
    earlier version stored: the tool is then counted anew, which also counts old polarities as they are read now.
    `breadth` is absent likewise. It fits the story tables and the hour tables of all hours that are not dirty.
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
    hours: dict[Period, CheckedTally] = Field(default_factory=dict)
    minutes: dict[Hour, dict[Minute, CheckedTally]] = Field(default_factory=dict)
    analyzers: dict[Text, Judged] | None = None
    breadth: WindowBreadth | None = None
    unfinished: Flag = False


StoryHours = dict[str, dict[str, list[int]]]
"""By story and hour, the number of mentions and the sum of their polarities."""


class StoryTableDocument(StoredFields, total=False):
    """A StoryTable as it is stored."""

    pk: str
    tool_id: str
    bucket: int
    stories: StoryHours


class StoryTable(_OfTool):
    """Some of a tool's stories, by key: the mentions of each, and the sum of their polarities, by hour.

    A story's key decides its table, so that few tables change with a mention.
    """

    TABLES: ClassVar[int] = 32

    entity_type: Literal["StoryTable"] = "StoryTable"
    ttl_timestamp: UnixSeconds | None = lives(days=32)
    bucket: Annotated[int, Field(strict=True, ge=0, lt=32)]
    stories: dict[Text, dict[Hour, tuple[Count, int]]] = Field(default_factory=dict)

    @staticmethod
    def bucket_of(story: str) -> int:
        return int(story[-2:], 16) % StoryTable.TABLES

    @staticmethod
    def id_of(bucket: int) -> str:
        return f"STORIES:{bucket:02}"

    @property
    def id(self) -> str:
        return self.id_of(self.bucket)


class DirtyHourDocument(StoredFields, total=False):
    """A DirtyHour as it is stored."""

    pk: str
    tool_id: str
    hour: str
    marked_at: str


class DirtyHour(_OfTool):
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
        return cls(created_at=now, updated_at=now, tool_id=tool_id, hour=hour_key(moment))

    @property
    def id(self) -> str:
        return f"DIRTY:{self.hour}"

    @property
    def marked_at(self) -> str:
        return format_time(self.updated_at)
