"""That ingestion was at work in an hour: without it, no mentions mean that nobody looked."""

from __future__ import annotations

from datetime import datetime
from typing import ClassVar, Literal, Self

from models.stored import StoredDocument
from models.values import Hour, UnixSeconds, hour_key, lives


class CoveredHour(StoredDocument):
    """Some feed was fetched well in this hour. Created once, never changed."""

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
