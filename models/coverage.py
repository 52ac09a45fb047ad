"""The hours in which fetches of a feed were expected, made, and succeeded: of each feed, and by day of all."""

from __future__ import annotations

from typing import Annotated, ClassVar, Literal

from pydantic import Field

from models.stored import StoredDocument
from models.values import Count, Hour, SourceKey, Text, UnixSeconds, Value, lives

KEPT_HOURS = 48
"""In the document of a feed. Whole numbers of more bits would not survive every store."""

Bits = Annotated[int, Field(strict=True, ge=0, lt=2**KEPT_HOURS)]


class FetchHours(Value):
    """The hours of a feed up to `last`, the hour of its last fetch, as bits: the lowest is for `last`, the next for the
    hour before. `expected`: a fetch was made, or was due and not made. `succeeded`: a fetch succeeded. `attempted`: a
    fetch was made.
    """

    last: Hour = Field(description="The UTC hour of the last fetch.")
    expected: Bits = Field(
        description="As bits, the lowest for `last`: the hours in which a fetch was made, or was due and not made."
    )
    succeeded: Bits = Field(description="As bits: the hours in which a fetch succeeded.")
    attempted: Bits = Field(description="As bits: the hours in which a fetch was made.")


FetchesOfDay = tuple[Count, Count, Count]
"""Of a feed on one UTC day, the hours in which a fetch was expected, those in which one succeeded, and those in which
one was made, as bits, the lowest for hour 0."""


class FetchDay(StoredDocument):
    """The fetches of all feeds on one UTC day, by feed. Bits are only added."""

    CONTAINER: ClassVar[str] = "catalog"
    PARTITION: ClassVar[str] = "FETCHES"

    entity_type: Literal["FetchDay"] = "FetchDay"
    ttl_timestamp: UnixSeconds | None = lives(days=34)
    day: Annotated[str, Field(pattern=r"^\d{8}$")]
    feeds: dict[SourceKey, FetchesOfDay] = Field(default_factory=dict)

    @property
    def id(self) -> str:
        return self.day


class FetchDaysProgress(StoredDocument):
    """Up to which feed the days were written, if there are more feeds than are looked at in one go."""

    CONTAINER: ClassVar[str] = "catalog"
    PARTITION: ClassVar[str] = "FETCHES_PROGRESS"
    ID: ClassVar[str] = "progress"

    entity_type: Literal["FetchDaysProgress"] = "FetchDaysProgress"
    after: Text | None = None
