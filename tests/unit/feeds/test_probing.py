"""When a feed that the app disabled is tried again, and when no more."""

from __future__ import annotations

from datetime import timedelta

import pytest

from models.feed import DisabledCause, Feed
from services.feeds.form import changed_feed
from services.feeds.outcome import (
    MAX_NOT_FOUND,
    NOTHING,
    WAITS,
    Failure,
    Ingested,
    PollResult,
    after_failure,
    after_success,
    disabled_by_app,
    is_probe,
    next_probe,
)
from services.feeds.schedule import JITTER, Policy
from services.fetch.outcome import FetchResult, FetchStatus
from tests.documents import NOW, feed

DAY = timedelta(days=1)
POLICY = Policy()


def disabled(kind: str = "timeout", **changes: object) -> Feed:
    return feed(**{**disabled_by_app(kind, "why", NOW, 0.0), **changes})


def failed(before: Feed, kind: str = "timeout", *, days: int = 1) -> Feed:
    permanent = kind in ("gone", "not_found")
    failure = Failure(kind, kind, kind, permanent=permanent)
    return after_failure(before, failure, NOTHING, NOW + days * DAY, POLICY, 0.0)


def test_the_constants() -> None:
    assert (WAITS[0], WAITS[-1], MAX_NOT_FOUND, JITTER) == (DAY, 30 * DAY, 10, 0.1)


def test_probes_are_ever_less_often() -> None:
    waits = [next_probe("duplicate", number, NOW, 0.0) for number in (0, 1, 2, 3, 4, 5, 6, 5_000)]
    days = [(each - NOW) / DAY for each in waits if each is not None]
    assert days == [1, 2, 4, 8, 16, 30, 30, 30]
    assert next_probe("duplicate", 0, NOW, 1.0) == NOW + 1.1 * DAY


def test_after_errors_probes_come_within_the_hour_for_nine_hours() -> None:
    waits = [next_probe("errors", number, NOW, 0.0) for number in (*range(22), 5_000)]
    hours = [(each - NOW) / timedelta(hours=1) for each in waits if each is not None]
    assert hours[:12] == [0.75] * 12
    assert hours[12:] == [2, 4, 8, 16, *(24 * days for days in (1, 2, 4, 8, 16, 30, 30))]


def test_a_404_after_many_failed_probes_is_probed_for_half_a_year_from_then_on() -> None:
    after = failed(disabled(probes=15), "not_found")
    assert (after.disabled_cause, after.probes, after.probe_at) == ("not_found", 1, after.updated_at + 2 * DAY)
    assert failed(after, "not_found").probes == 2


@pytest.mark.parametrize(
    ("cause", "probes", "is_probed"),
    [
        ("errors", 5_000, True), ("duplicate", 5_000, True), ("not_found", 9, True), ("not_found", 10, False),
        ("gone", 0, False), ("worker_died", 5_000, True),
    ],
)  # fmt: skip
def test_some_causes_may_pass_and_others_need_a_person(cause: DisabledCause, probes: int, is_probed: bool) -> None:
    assert (next_probe(cause, probes, NOW, 0.0) is not None) == is_probed


def test_ten_probes_of_a_404_take_half_a_year() -> None:
    waits = [next_probe("not_found", number, NOW, 0.0) for number in range(MAX_NOT_FOUND)]
    assert sum((each - NOW) / DAY for each in waits if each is not None) == 181


def test_a_feed_is_probed_from_its_time_on_and_never_what_a_person_disabled() -> None:
    def probes(before: Feed, after: timedelta) -> bool:
        document = before.to_document()
        return is_probe(document, NOW + after)

    first = timedelta(minutes=45)
    assert [probes(disabled(), span) for span in (first - timedelta(seconds=1), first)] == [False, True]
    by_person = changed_feed(disabled(), {"enabled": False}, NOW)
    assert (by_person.disabled_by, by_person.probe_at, probes(by_person, 9 * DAY)) == ("person", None, False)
    assert not probes(disabled(disabled_by="person"), 9 * DAY)
    assert not probes(disabled("gone"), 9 * DAY)


def test_a_probe_that_succeeds_enables_the_feed() -> None:
    polled = PollResult(FetchResult(FetchStatus.FETCHED, "https://a.example/", status_code=200))
    after = after_success(disabled(probes=4), polled, Ingested(entries=1), NOW + DAY, POLICY, 0.0)
    assert (after.enabled, after.disabled_by, after.disabled_cause, after.probe_at, after.probes) == (
        True, None, None, None, 0,
    )  # fmt: skip
    assert (after.verdict, after.disabled_at) == ("ok", None)


def test_a_success_does_not_enable_what_a_person_disabled_meanwhile() -> None:
    off = feed(enabled=False, disabled_reason="by hand", disabled_by="person")
    polled = PollResult(FetchResult(FetchStatus.FETCHED, "https://a.example/", status_code=200))
    assert not after_success(off, polled, NOTHING, NOW + DAY, POLICY, 0.0).enabled


def test_a_probe_that_fails_waits_twice_as_long_and_keeps_since_when_the_feed_is_disabled() -> None:
    after = failed(disabled("duplicate"))
    assert (after.probes, after.probe_at, after.disabled_at) == (1, NOW + 3 * DAY, NOW)
    assert (after.enabled, after.disabled_reason, after.verdict) == (False, "why", "moved")


def test_a_410_at_a_probe_ends_the_probes_and_a_404_becomes_the_cause() -> None:
    gone = failed(disabled(), "gone")
    assert (gone.disabled_cause, gone.probe_at, gone.verdict) == ("gone", None, "gone")
    missing = failed(disabled(), "not_found")
    assert (missing.disabled_cause, missing.probe_at is None) == ("not_found", False)
    assert failed(disabled("not_found", probes=MAX_NOT_FOUND - 1), "not_found").probe_at is None
    assert failed(missing, "timeout").disabled_cause == "not_found"


@pytest.mark.parametrize(
    ("kind", "cause"),
    [
        ("gone", "gone"), ("not_found", "not_found"), ("duplicate", "duplicate"), ("worker_died", "worker_died"),
        ("timeout", "errors"), ("html", "errors"),
    ],
)  # fmt: skip
def test_the_cause_follows_from_the_failure(kind: str, cause: str) -> None:
    after = disabled(kind)
    assert (after.disabled_cause, after.disabled_by, after.disabled_at) == (cause, "app", NOW)
    assert (after.probe_at is None) == (cause == "gone")
