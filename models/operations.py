"""The documents by which the app is watched: totals for `GET metrics`, heartbeats of timers, records of migrations,
and what the audit found."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from datetime import datetime, timedelta
from typing import Any, ClassVar, Literal, Self

from pydantic import Field

from models.stored import StoredDocument
from models.values import Count, Hour, IdPart, Text, Time, UnixSeconds, Value, hour_key, lives


class _Totals(StoredDocument):
    """Counts since the app was first deployed; services/store/counting.py adds to them."""

    PARTITION: ClassVar[str] = "TOTALS"
    ID: ClassVar[str]

    @classmethod
    def at(cls, now: datetime) -> Self:
        """All 0."""
        return cls.model_validate({"created_at": now})


class CacheTotals(_Totals):
    """Reads of the cache. `read_microseconds` is the sum of their durations; `within_5_ms` counts the reads that took
    at most 5 ms."""

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


class StoreTotals(_Totals):
    """Requests to Cosmos DB. `throttles` counts the requests that it refused because they exceeded its throughput,
    `retries` the tries after that and after failures."""

    ID: ClassVar[str] = "store"

    entity_type: Literal["StoreTotals"] = "StoreTotals"
    requests: Count = 0
    request_units: Count = 0
    retries: Count = 0
    throttles: Count = 0
    waited_milliseconds: Count = 0


class AnalysisTotals(_Totals):
    """Articles that were analysed because they were new or edited. `seconds` is the sum of the times from the sight of
    an article or edit to the end of its analysis; `within_5_s` counts the articles for which it was 5 s at most."""

    ID: ClassVar[str] = "analysis"
    BOUNDS_SECONDS: ClassVar[tuple[int, ...]] = (1, 5, 15, 60, 300)

    entity_type: Literal["AnalysisTotals"] = "AnalysisTotals"
    articles: Count = 0
    seconds: Count = 0
    within_1_s: Count = 0
    within_5_s: Count = 0
    within_15_s: Count = 0
    within_60_s: Count = 0
    within_300_s: Count = 0


class IngestionTotals(_Totals):
    """Fetches of all feeds and their results. `fetch_milliseconds` is the sum of the durations of all fetches;
    `within_500_ms` counts the fetches that took at most 500 ms."""

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
    """The buckets in which a duration counts: those of all bounds that it does not exceed."""
    return {f"within_{bound}_ms": 1 for bound in bounds if milliseconds <= bound}


class Heartbeat(StoredDocument):
    """How the last runs of one timer ended. `last_error` names the last failure and stays after a success.

    `gap_from` and `gap_until` are the ends of the last two runs of this timer that were so far apart that no worker ran
    in between, or the clock jumped. If the clock went back, `gap_from` is the later one. A shorter gap within a day
    after that does not replace them.
    """

    LONG_GAP: ClassVar[timedelta] = timedelta(hours=1)
    CLOCK_WENT_BACK: ClassVar[timedelta] = timedelta(minutes=5)
    GAP_KEPT: ClassVar[timedelta] = timedelta(days=1)

    PARTITION: ClassVar[str] = "HEARTBEAT"
    ID_OF: ClassVar[str] = "timer"

    entity_type: Literal["Heartbeat"] = "Heartbeat"
    timer: IdPart
    last_started_at: Time | None = None
    last_succeeded_at: Time | None = None
    last_failed_at: Time | None = None
    last_error: Text | None = None
    failures_in_a_row: int = 0
    gap_from: Time | None = None
    gap_until: Time | None = None

    @classmethod
    def first(cls, timer: str, now: datetime) -> Self:
        return cls(created_at=now, timer=timer)

    def beaten(self, started: datetime, now: datetime, error: str | None = None) -> Self:
        """The heartbeat after a run that began at `started` and ended at `now`. Without `error`, the run succeeded."""
        changes: dict[str, Any] = {"last_started_at": started}
        if not -self.CLOCK_WENT_BACK <= now - self.last_beat_at <= self.LONG_GAP and not self._had_longer_gap(now):
            changes |= {"gap_from": self.last_beat_at, "gap_until": now}
        if error is None:
            return self.changed(now, **changes, last_succeeded_at=now, failures_in_a_row=0)
        failures = self.failures_in_a_row + 1
        return self.changed(now, **changes, last_failed_at=now, last_error=error, failures_in_a_row=failures)

    def _had_longer_gap(self, now: datetime) -> bool:
        """Whether there was a longer gap in the last day: it is what matters of that day."""
        if self.gap_from is None or self.gap_until is None or abs(now - self.gap_until) > self.GAP_KEPT:
            return False
        return abs(self.gap_until - self.gap_from) > abs(now - self.last_beat_at)

    @property
    def is_failing(self) -> bool:
        return self.failures_in_a_row > 0

    @property
    def last_beat_at(self) -> datetime:
        """When the last run ended, whether it succeeded or failed."""
        return self.updated_at


class StagePause(StoredDocument):
    """A stage pauses since this was created, because a service that it needs does not answer, for this `reason`.
    `updated_at` is when it was last tried. Deleted when the service answers."""

    PARTITION: ClassVar[str] = "PAUSE"
    ID_OF: ClassVar[str] = "stage"

    entity_type: Literal["StagePause"] = "StagePause"
    stage: IdPart
    reason: Text


class MigrationRecord(StoredDocument):
    """One numbered migration that has been run."""

    PARTITION: ClassVar[str] = "MIGRATION"

    entity_type: Literal["MigrationRecord"] = "MigrationRecord"
    number: int = Field(strict=True, ge=1, le=9999)
    name: Text
    started_at: Time
    completed_at: Time

    @classmethod
    def of(cls, number: int, name: str, started: datetime, ended: datetime) -> Self:
        times = {"created_at": ended, "started_at": started, "completed_at": ended}
        return cls.model_validate({"number": number, "name": name, **times})

    @property
    def id(self) -> str:
        return f"{self.number:04d}"


class StoreLoad(StoredDocument):
    """The requests of all workers to Cosmos DB in one clock hour, by minute: `requests_07` counts those of the eighth
    minute, `refused_07` those that were refused, `waited_07` milliseconds of waiting."""

    PARTITION: ClassVar[str] = "STORE_LOAD"
    ID_OF: ClassVar[str] = "hour"

    entity_type: Literal["StoreLoad"] = "StoreLoad"
    ttl_timestamp: UnixSeconds | None = lives(hours=48)
    hour: Hour

    @classmethod
    def at(cls, now: datetime) -> Self:
        return cls.model_validate({"created_at": now, "hour": hour_key(now)})


class AuditRound(Value):
    """One round through everything that is stored. `found` is the number of differences by kind. The round goes on at
    `place`, None after the last one."""

    started_at: Time
    ended_at: Time | None = None
    checked: Count = 0
    found: dict[Text, Count] = Field(default_factory=dict)
    place: Text | None = None

    def plus(self, checked: int, kinds: Iterable[str], place: str | None) -> AuditRound:
        """The round after one more step, with the kinds of its differences."""
        found = dict(Counter(self.found) + Counter(kinds))
        return self.model_copy(update={"checked": self.checked + checked, "found": found, "place": place})


class Audit(StoredDocument):
    """The last round of the audit, and the `present` one, if there is one."""

    PARTITION: ClassVar[str] = "AUDIT"
    ID: ClassVar[str] = "audit"

    entity_type: Literal["Audit"] = "Audit"
    present: AuditRound | None = None
    last: AuditRound | None = None
