"""A tool's counts: by hour in one table that is updated in place, by minute per hour, and marks on hours to recount.

Counting is services/cache's. Sums are of integers, so that any order of arrivals gives the same table.
"""

from __future__ import annotations

from datetime import datetime
from typing import Annotated, ClassVar, Literal, NamedTuple, Self
from uuid import NAMESPACE_URL, uuid5

from pydantic import AfterValidator, Field

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


class _OfTool(StoredDocument):
    CONTAINER: ClassVar[str] = "catalog"

    tool_id: IdPart

    @property
    def partition(self) -> str:
        return self.tool_id


class Timeline(_OfTool):
    """One per tool, updated in place: the specification's PHOTOMETRY_TABLE, with the table inside.

    `data_product_id` follows from the tool. `hours` has only those in which something was said.
    """

    ID: ClassVar[str] = "TIMELINE"
    COMPUTED: ClassVar[tuple[str, ...]] = ("data_product_id",)

    entity_type: Literal["DataProduct"] = "DataProduct"
    product_type: Literal["TIMELINE"] = "TIMELINE"
    hours: dict[Hour, CheckedTally] = Field(default_factory=dict)
    last_ingestion_at: Time | None = None
    last_ingestion_source: Text | None = None
    ingestion_count: Count = 0

    @property
    def id(self) -> str:
        return self.ID

    @property
    def data_product_id(self) -> str:
        return timeline_product_id(self.tool_id)


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
