"""The hours in which feeds were fetched: in an hour without any, the absence of mentions means nothing."""

from __future__ import annotations

from datetime import datetime
from typing import ClassVar, Literal, Self

from models.stored import StoredDocument
from models.values import Hour, UnixSeconds, hour_key, lives


class CoveredHour(StoredDocument):
    """At least one fetch of a feed succeeded in this hour. Created once, never changed."""

    CONTAINER: ClassVar[str] = "catalog"
    PARTITION: ClassVar[str] = "COVERAGE"

    entity_type: Literal["CoveredHour"] = "CoveredHour"
    ttl_timestamp: UnixSeconds | None = lives(days=32)
    hour: Hour

    @classmethod
    def at(cls, now: datetime) -> Self:
        return cls(created_at=now, updated_at=now, hour=hour_key(now))

    @property
    def partition(self) -> str:
        return self.PARTITION

    @property
    def id(self) -> str:
        return self.hour
