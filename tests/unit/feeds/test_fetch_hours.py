"""In which hours a fetch of a feed is expected, in which one was made, and in which one has succeeded."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import Any

from models.feed import KEPT_HOURS, Feed, FetchHours
from services.feeds.fetch_hours import GRACE, added, after_fetch, hours_of
from services.ports import Document
from tests import documents

NOW = datetime(2026, 2, 21, 20, 17, 31, tzinfo=UTC)
HOUR = timedelta(hours=1)


def a_feed(**changes: Any) -> Feed:
    return documents.feed(
        **{"next_fetch_time": NOW, "last_fetch_time": NOW - HOUR, "fetch_hours": None, "consecutive_errors": 0}
        | changes
    )


def stored(**changes: Any) -> Document:
    return a_feed(**changes).to_document()


def bits(hours: FetchHours) -> tuple[str, str, str]:
    return hours.last, f"{hours.expected:b}", f"{hours.succeeded:b}"


def test_a_fetch_is_expected_in_its_hour_and_a_success_if_it_succeeded() -> None:
    assert bits(after_fetch(a_feed(), NOW, succeeded=True)) == ("2026022120", "1", "1")
    assert bits(after_fetch(a_feed(), NOW, succeeded=False)) == ("2026022120", "1", "0")


def test_a_missed_hour_has_no_attempt_and_a_failed_fetch_is_one() -> None:
    known = after_fetch(a_feed(), NOW, succeeded=False)
    late = a_feed(fetch_hours=known, next_fetch_time=NOW + HOUR, last_fetch_time=NOW)
    after = after_fetch(late, NOW + 4 * HOUR, succeeded=True)
    assert (after.expected, after.succeeded, after.attempted) == (0b11111, 0b00001, 0b10001)


def test_a_fetch_that_is_a_few_minutes_late_misses_no_hour() -> None:
    assert timedelta(minutes=15) == GRACE
    due = NOW.replace(minute=50, second=0)
    for minutes, expected in ((14, "1"), (40, "1"), (75, "11")):
        fetched = due + timedelta(minutes=minutes)
        assert bits(after_fetch(a_feed(next_fetch_time=due), fetched, succeeded=True))[1] == expected, minutes
    early = NOW.replace(minute=40, second=0)
    assert bits(after_fetch(a_feed(next_fetch_time=early), early + timedelta(minutes=25), succeeded=True))[1] == "11"


def test_after_an_error_a_feed_stays_due_while_the_app_waits() -> None:
    known = after_fetch(a_feed(), NOW, succeeded=False)
    waiting = {"fetch_hours": known, "consecutive_errors": 7, "last_fetch_time": NOW, "next_fetch_time": NOW + 2 * HOUR}
    assert bits(after_fetch(a_feed(**waiting), NOW + 2 * HOUR, succeeded=True)) == ("2026022122", "111", "1")
    assert hours_of(stored(**waiting), NOW + 2 * HOUR) == {"20260221": (0b11 << 20, 0, 1 << 20)}


def test_the_last_two_days_are_kept() -> None:
    assert KEPT_HOURS == 48
    hours = after_fetch(a_feed(), NOW, succeeded=True)
    for _ in range(60):
        now = datetime.strptime(hours.last, "%Y%m%d%H").replace(tzinfo=UTC) + HOUR
        hours = after_fetch(a_feed(fetch_hours=hours, next_fetch_time=now), now, succeeded=True)
    assert hours.expected == hours.succeeded == 2**48 - 1
    after_a_week = after_fetch(a_feed(fetch_hours=hours, next_fetch_time=now), now + timedelta(days=7), succeeded=True)
    assert (after_a_week.expected, after_a_week.succeeded) == (2**48 - 1, 1)


def test_the_hours_of_a_stored_feed_are_by_day() -> None:
    hours = FetchHours(last="2026022201", expected=0b1111, succeeded=0b1010, attempted=0b1011)
    feed = stored(fetch_hours=hours, next_fetch_time=NOW + 9 * HOUR)
    assert hours_of(feed, NOW + 6 * HOUR) == {
        "20260222": (0b11, 0b01, 0b11),
        "20260221": (0b11 << 22, 0b01 << 22, 0b01 << 22),
    }


def test_a_feed_that_is_due_and_not_fetched_misses_each_hour_until_now() -> None:
    assert hours_of(stored(), NOW) == {}
    assert hours_of(stored(), NOW + timedelta(minutes=14)) == {}
    assert hours_of(stored(), NOW + timedelta(minutes=16)) == {"20260221": (1 << 20, 0, 0)}
    assert hours_of(stored(), NOW + 2 * HOUR) == {"20260221": (0b111 << 20, 0, 0)}


def test_a_feed_that_the_app_disabled_stays_expected_and_one_that_a_person_disabled_does_not() -> None:
    disabled = {"enabled": False, "disabled_reason": "404", "disabled_at": NOW, "consecutive_errors": 1}
    by_app = stored(**disabled, disabled_by="app", disabled_cause="not_found", last_fetch_time=NOW)
    assert hours_of(by_app, NOW + 2 * HOUR) == {"20260221": (0b11 << 21, 0, 0)}
    by_person = stored(**disabled, disabled_by="person", last_fetch_time=NOW)
    assert hours_of(by_person, NOW + 2 * HOUR) == {}


def test_bits_are_added_and_never_taken_away() -> None:
    known = {"a": (0b11, 0b01, 0b11), "b": (0b1, 0b1, 0b1)}
    after = {"a": (0b111, 0b11, 0b111), "b": (1, 1, 1), "c": (1, 0, 0)}
    assert added(known, {"a": (0b110, 0b10, 0b110), "c": (1, 0, 0)}) == after
    assert added(known, {"a": (0b01, 0, 0)}) == known


def test_a_feed_that_fails_has_a_quarter_of_an_hour_to_succeed_before_the_present_hour_counts() -> None:
    failing = stored(
        fetch_hours=FetchHours(last="2026022120", expected=0b11, succeeded=0, attempted=0b11),
        failing_since=NOW,
        last_fetch_time=NOW,
        next_fetch_time=NOW + timedelta(minutes=1),
        consecutive_errors=1,
    )
    before = {"20260221": (1 << 19, 0, 1 << 19)}
    assert hours_of(failing, NOW) == hours_of(failing, NOW + GRACE - timedelta(seconds=1)) == before
    assert hours_of(failing, NOW + GRACE) == {"20260221": (0b11 << 19, 0, 0b11 << 19)}
    again = {**failing, "fetch_hours": {**failing["fetch_hours"], "succeeded": 1}}
    assert hours_of(again, NOW) == {"20260221": (0b11 << 19, 1 << 20, 0b11 << 19)}
