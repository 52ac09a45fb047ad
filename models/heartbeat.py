"""The last runs of a timer, stored for all instances. services/operations/health.py decides when a timer is overdue."""

from __future__ import annotations

from datetime import datetime
from typing import ClassVar, Literal, Self

from models.stored import StoredDocument
from models.values import Amount, IdPart, Text, Time


class Heartbeat(StoredDocument):
    """How the runs of one timer ended. `last_error` names the last failure and stays after a success."""

    CONTAINER: ClassVar[str] = "catalog"
    PARTITION: ClassVar[str] = "HEARTBEAT"

    entity_type: Literal["Heartbeat"] = "Heartbeat"
    timer: IdPart
    interval_seconds: Amount | None = None
    last_started_at: Time | None = None
    last_succeeded_at: Time | None = None
    last_failed_at: Time | None = None
    last_error: Text | None = None
    failures_in_a_row: int = 0

    @classmethod
    def first(cls, timer: str, now: datetime, interval_seconds: float | None = None) -> Self:
        return cls(created_at=now, updated_at=now, timer=timer, interval_seconds=interval_seconds)

    def beaten(self, started: datetime, now: datetime, error: str | None = None) -> Self:
        """The heartbeat after a run from `started` to `now`, which succeeded if there is no `error`."""
        if error is None:
            return self.changed(now, last_started_at=started, last_succeeded_at=now, failures_in_a_row=0)
        failures = self.failures_in_a_row + 1
        return self.changed(
            now, last_started_at=started, last_failed_at=now, last_error=error, failures_in_a_row=failures
        )

    @property
    def partition(self) -> str:
        return self.PARTITION

    @property
    def id(self) -> str:
        return self.timer

    @property
    def is_failing(self) -> bool:
        return self.failures_in_a_row > 0

    @property
    def last_beat_at(self) -> datetime:
        """When a run last ended, successful or not."""
        return self.updated_at
