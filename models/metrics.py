"""Totals since the first deployment, raised by increments. `GET metrics` shows them as counters."""

from __future__ import annotations

from datetime import datetime
from typing import ClassVar, Literal, Self

from models.stored import StoredDocument
from models.values import Count


class _Totals(StoredDocument):
    CONTAINER: ClassVar[str] = "catalog"
    PARTITION: ClassVar[str] = "TOTALS"
    ID: ClassVar[str]

    @property
    def partition(self) -> str:
        return self.PARTITION

    @property
    def id(self) -> str:
        return self.ID

    @classmethod
    def at(cls, now: datetime) -> Self:
        """All counters at 0: the seed of an increment."""
        return cls.model_validate({"created_at": now, "updated_at": now})


class CacheTotals(_Totals):
    """Reads of the cache. `read_microseconds` is the sum of their times, `within_…` how many took that long at most."""

    ID: ClassVar[str] = "cache"
    BOUNDS_MS: ClassVar[tuple[int, ...]] = (1, 5, 25, 100)

    entity_type: Literal["CacheTotals"] = "CacheTotals"
    cache_hits: Count = 0
    cache_misses: Count = 0
    cache_stale: Count = 0
    error_count: Count = 0
    read_microseconds: Count = 0
    within_1_ms: Count = 0
    within_5_ms: Count = 0
    within_25_ms: Count = 0
    within_100_ms: Count = 0


class IngestionTotals(_Totals):
    """Fetches of all feeds, and their articles. `fetch_milliseconds` is the sum of the times of all fetches."""

    ID: ClassVar[str] = "ingestion"
    BOUNDS_MS: ClassVar[tuple[int, ...]] = (500, 1000, 5000, 10000)

    entity_type: Literal["IngestionTotals"] = "IngestionTotals"
    articles_parsed: Count = 0
    articles_deduplicated: Count = 0
    articles_inserted: Count = 0
    fetch_errors: Count = 0
    fetches: Count = 0
    fetch_milliseconds: Count = 0
    within_500_ms: Count = 0
    within_1000_ms: Count = 0
    within_5000_ms: Count = 0
    within_10000_ms: Count = 0


def within(milliseconds: float, bounds: tuple[int, ...]) -> dict[str, int]:
    """The amounts by which a duration raises the buckets. A bucket contains all shorter ones."""
    return {f"within_{bound}_ms": 1 for bound in bounds if milliseconds <= bound}
