"""When the clock is named as wrong, and for how long a jump is named."""

from datetime import datetime, timedelta

import pytest

from models.operations import Heartbeat
from services.operations.checks import JUMP_SHOWN, Status, judge_clock, may_delete_by_clock
from tests.builders import NOON

MINUTE, SECOND, HOUR, DAY = timedelta(minutes=1), timedelta(seconds=1), timedelta(hours=1), timedelta(days=1)


def beats(*moments: datetime) -> dict[str, Heartbeat]:
    """A timer whose runs ended at these times."""
    beat = Heartbeat.first("tick", moments[0])
    for moment in moments:
        beat = beat.beaten(moment, moment)
    return {"tick": beat}


@pytest.mark.parametrize(
    ("moment", "last_success", "status"),
    [
        (NOON, None, "healthy"),
        (NOON + 5 * MINUTE, None, "healthy"),
        (NOON + 5 * MINUTE + SECOND, None, "degraded"),
        (NOON, NOON + 5 * MINUTE, "healthy"),
        (NOON, NOON + DAY, "degraded"),
        (NOON - 365 * DAY, None, "healthy"),
    ],
)
def test_a_time_that_a_worker_recorded_in_the_future_degrades(
    moment: datetime, last_success: datetime | None, status: Status
) -> None:
    assert judge_clock(beats(moment), last_success, NOON).status == status


def test_how_far_the_clock_went_back_is_named() -> None:
    check = judge_clock(beats(NOON + 31 * DAY), None, NOON)
    assert check.facts["ahead_seconds"] == 31 * 86_400
    assert "went back by 31 days" in check.detail


@pytest.mark.parametrize(
    ("gap", "is_named"),
    [(HOUR, False), (HOUR + SECOND, True), (-5 * MINUTE, False), (-5 * MINUTE - SECOND, True), (365 * DAY, True)],
)
def test_a_gap_of_over_an_hour_and_a_step_back_of_over_five_minutes_are_named(gap: timedelta, is_named: bool) -> None:
    check = judge_clock(beats(NOON - gap, NOON), None, NOON)
    assert check.status == "healthy"
    assert (check.facts["jump"] is not None) is is_named
    assert ("went back" in check.detail) is (is_named and gap < timedelta(0))


def test_a_jump_is_named_for_a_day() -> None:
    assert JUMP_SHOWN == DAY
    found = beats(NOON - DAY, NOON)
    assert judge_clock(found, None, NOON + DAY).facts["jump"] == ["2026-02-20T12:00:00Z", "2026-02-21T12:00:00Z"]
    assert judge_clock(found, None, NOON + DAY + SECOND).facts["jump"] is None


def test_of_several_jumps_the_largest_is_named() -> None:
    found = beats(NOON - 2 * HOUR, NOON) | {"other": beats(NOON - DAY, NOON)["tick"]}
    assert judge_clock(found, None, NOON).facts["jump"] == ["2026-02-20T12:00:00Z", "2026-02-21T12:00:00Z"]


def test_a_short_gap_after_a_jump_does_not_hide_the_jump() -> None:
    beat = Heartbeat.first("clean_up", NOON).beaten(NOON, NOON)
    jumped = NOON + timedelta(days=40)
    beat = beat.beaten(jumped, jumped)
    restarted = jumped + timedelta(hours=2)
    beat = beat.beaten(restarted, restarted)
    assert (beat.gap_from, beat.gap_until) == (NOON, jumped)
    assert not may_delete_by_clock(beat, restarted)
    for hours in range(3, 26):
        beat = beat.beaten(jumped + timedelta(hours=hours), jumped + timedelta(hours=hours))
    assert may_delete_by_clock(beat, beat.last_beat_at)
    later = beat.last_beat_at + timedelta(hours=2)
    assert beat.beaten(later, later).gap_until == later
