"""What a timer's record decides, and how long an idle queue waits."""

import asyncio
from datetime import UTC, datetime, timedelta
from pathlib import Path
from types import SimpleNamespace
from typing import Any, cast

import pytest

from scripts.local_host.data import DataFolder
from scripts.local_host.schedule import parse_schedule
from scripts.local_host.timers import Status, Timer, TimerRecords, status_after_run, status_at_start

HOURLY = parse_schedule("0 0 * * * *")
DAILY = parse_schedule("0 0 0 * * *")
NOON = datetime(2026, 2, 21, 12, tzinfo=UTC)
HOUR = timedelta(hours=1)


def test_a_timer_never_seen_before_has_missed_nothing() -> None:
    now = NOON + timedelta(minutes=5)
    assert status_at_start(None, HOURLY, now) == (Status(None, NOON + HOUR, now), False)


def test_an_occurrence_while_the_host_was_down_is_past_due() -> None:
    ran = Status(NOON, NOON + HOUR, NOON)
    assert status_at_start(ran, HOURLY, NOON + timedelta(minutes=59)) == (ran, False)
    assert status_at_start(ran, HOURLY, NOON + timedelta(minutes=61)) == (ran, True)


def test_an_occurrence_missed_before_the_first_run_is_past_due_too() -> None:
    seen = NOON + timedelta(minutes=5)
    never_ran = Status(None, NOON + HOUR, seen)
    assert status_at_start(never_ran, HOURLY, NOON + 2 * HOUR) == (never_ran, True)


def test_a_schedule_that_changed_has_missed_nothing() -> None:
    ran = Status(NOON, NOON + HOUR, NOON)
    now = NOON + timedelta(days=3)
    status, past_due = status_at_start(ran, DAILY, now)
    assert (status.last, status.next, past_due) == (None, datetime(2026, 2, 25, tzinfo=UTC), False)
    status, past_due = status_at_start(ran, DAILY, NOON + HOUR)
    assert (status.last, status.next, past_due) == (None, datetime(2026, 2, 22, tzinfo=UTC), False)


def test_a_run_that_began_a_little_early_is_not_repeated() -> None:
    before = Status(NOON, NOON + HOUR, NOON)
    early = NOON + HOUR - timedelta(milliseconds=5)
    assert status_after_run(before, HOURLY, early, scheduled=True).next == NOON + 2 * HOUR
    assert status_after_run(before, HOURLY, early, scheduled=False).next == NOON + HOUR


def test_a_run_that_took_longer_than_its_interval_is_followed_by_one_at_once() -> None:
    after = status_after_run(Status(NOON, NOON + HOUR, NOON), HOURLY, NOON + HOUR, scheduled=True)
    assert after.next == NOON + 2 * HOUR  # which is past if the run took two hours


def test_records_are_kept_in_the_data_folder(tmp_path: Path) -> None:
    for status in (Status(None, NOON, NOON - HOUR), Status(NOON, NOON + HOUR, NOON)):
        folder = DataFolder(tmp_path)
        TimerRecords(folder).save("hourly", status)
        folder.close()
        folder = DataFolder(tmp_path)
        assert TimerRecords(folder).find("hourly") == status
        assert TimerRecords(folder).find("other") is None
        folder.close()


def test_a_record_of_before_the_clock_was_set_back_does_not_count() -> None:
    ran = Status(NOON, NOON + HOUR, NOON)
    assert status_at_start(ran, HOURLY, NOON - timedelta(minutes=1)) == (ran, False)
    now = NOON - timedelta(days=1, minutes=5)
    assert status_at_start(ran, HOURLY, now) == (Status(None, NOON - timedelta(days=1), now), False)


async def test_a_timer_goes_on_within_a_minute_after_the_clock_was_set_back(tmp_path: Path) -> None:
    """Sleeping moves the clock of the test on; during the first sleep, someone sets the clock back by a year."""
    year = timedelta(days=365)
    clock, steps = [NOON], [-year]

    async def sleep(seconds: float) -> None:
        clock[0] += timedelta(seconds=seconds) + (steps.pop() if steps else timedelta())

    class Invoker:
        def start(self, *_: object) -> None:
            raise asyncio.CancelledError

    function = SimpleNamespace(schedule=HOURLY, monitored=False, run_on_startup=False, name="hourly")
    timer = Timer(cast(Any, function), cast(Any, None), cast(Any, Invoker()), lambda: clock[0], sleep)
    with pytest.raises(asyncio.CancelledError):
        await timer.run()
    assert clock[0] == NOON - year + HOUR
