"""Fires timers when they are due, by the rules of the timer extension, and keeps their records in the data folder.

A timer never overlaps itself. A run that outlasts its next time is followed by one run at once. Schedules under a
minute have no record and are never past due.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from contextlib import suppress
from dataclasses import dataclass
from datetime import datetime, timedelta

from .data import Blocked, DataFolder
from .functions import Function
from .invoke import Invoker, Outcome
from .schedule import Schedule
from .values import timer_request

SET_BACK = timedelta(minutes=1)
"""A record that lies so far in the future was made before the clock was set back."""
_NEVER = "0001-01-01T00:00:00+00:00"


@dataclass(frozen=True, slots=True)
class Status:
    """`last` is None before the first run. `next` is what was computed from `last`, or from `updated` without one."""

    last: datetime | None
    next: datetime
    updated: datetime

    def described(self) -> dict[str, str]:
        last = self.last.isoformat() if self.last else _NEVER
        return {"Last": last, "Next": self.next.isoformat(), "LastUpdated": self.updated.isoformat()}


def status_at_start(recorded: Status | None, schedule: Schedule, now: datetime) -> tuple[Status, bool]:
    """The status to go on with, and whether an occurrence was missed. A changed schedule misses nothing."""
    if recorded is None or is_ahead(recorded, now):
        return Status(None, schedule.after(now), now), False
    base = recorded.last or recorded.updated
    expected = schedule.after(base)
    if expected != recorded.next:
        if now > expected:
            base, expected = now, schedule.after(now)
        recorded = Status(None, expected, base)
    return recorded, now > recorded.next


def is_ahead(status: Status, now: datetime) -> bool:
    """Whether the clock was set back since: the next occurrence by the clock of then may be far away."""
    return status.updated > now + SET_BACK


def status_after_run(before: Status, schedule: Schedule, began: datetime, *, scheduled: bool) -> Status:
    """A run that began a little before its time counts as on time, or it would run again."""
    moment = max(began, before.next) if scheduled else began
    return Status(moment, schedule.after(moment), moment)


class TimerRecords:
    """The statuses in the data folder."""

    def __init__(self, folder: DataFolder) -> None:
        self._rows = folder.rows

    def find(self, name: str) -> Status | None:
        rows = self._rows("SELECT last, next, updated FROM timers WHERE name = ?", name)
        if not rows:
            return None
        last, following, updated = rows[0]
        moment = datetime.fromisoformat
        return Status(moment(last) if last else None, moment(following), moment(updated))

    def save(self, name: str, status: Status) -> None:
        last = status.last.isoformat() if status.last else None
        sql = "INSERT OR REPLACE INTO timers VALUES (?, ?, ?, ?)"
        self._rows(sql, name, last, status.next.isoformat(), status.updated.isoformat())


class Timer:
    """One timer function."""

    def __init__(
        self,
        function: Function,
        records: TimerRecords,
        invoker: Invoker,
        clock: Callable[[], datetime],
        sleep: Callable[[float], Awaitable[None]] = asyncio.sleep,
    ) -> None:
        assert function.schedule is not None
        self._function = function
        self._schedule = function.schedule
        self._records = records
        self._invoker = invoker
        self._clock = clock
        self._sleep = sleep
        self.firing: asyncio.Task[Status] | None = None

    async def run(self) -> None:
        """Runs until it is cancelled. A function that runs by then goes on, and its record is written."""
        now = self._clock()
        recorded = self._records.find(self._function.name) if self._function.monitored else None
        status, past_due = status_at_start(recorded, self._schedule, now)
        self._save(status)
        if past_due or self._function.run_on_startup:
            status = await self._fire(status, now, past_due=past_due)
        while True:
            # In steps of a minute: sleep() does not count the time in which a laptop sleeps.
            while (left := (status.next - self._clock()).total_seconds()) > 0:
                await self._sleep(min(left, 60))
                if is_ahead(status, now := self._clock()):
                    status = Status(status.last, self._schedule.after(now), now)
            status = await self._fire(status, self._clock())

    def start(self, reason: str) -> asyncio.Task[Outcome]:
        """Runs the function once now. The record does not change."""
        now = self._clock()
        recorded = self._records.find(self._function.name) if self._function.monitored else None
        status, past_due = status_at_start(recorded, self._schedule, now)
        return self._invoker.start(self._function, self._request(status, past_due), reason)

    async def _fire(self, status: Status, now: datetime, past_due: bool | None = None) -> Status:
        """`past_due` is None for a run on schedule."""
        self.firing = asyncio.create_task(self._run_and_record(status, now, past_due))
        return await asyncio.shield(self.firing)

    async def _run_and_record(self, status: Status, now: datetime, past_due: bool | None) -> Status:
        request = self._request(status, bool(past_due))
        outcome = await self._invoker.start(self._function, request, f"Timer fired at {now.isoformat()}")
        if outcome.stopped:
            return status  # and so past due at the next start
        status = status_after_run(status, self._schedule, now, scheduled=past_due is None)
        self._save(status)
        return status

    def _request(self, status: Status, past_due: bool) -> object:
        return timer_request(past_due, status.described() if self._function.monitored else None)

    def _save(self, status: Status) -> None:
        if self._function.monitored:
            with suppress(Blocked):  # without a record, the worst is one run more after the next start
                self._records.save(self._function.name, status)
