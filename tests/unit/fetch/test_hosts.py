"""Hosts that keep failing, as one process sees them."""

from __future__ import annotations

from services.fetch.limits import (
    ANSWERED_WITHIN_SECONDS,
    LONGEST_PAUSE_SECONDS,
    MAX_HOSTS,
    PAUSE_SECONDS,
    THRESHOLD,
    Breaker,
    HostReport,
)


def failing(times: int = THRESHOLD, now: float = 0.0) -> Breaker:
    breaker = Breaker()
    for _ in range(times):
        breaker.failed("host", now, "timeout")
    return breaker


def test_the_limits() -> None:
    assert (THRESHOLD, PAUSE_SECONDS, LONGEST_PAUSE_SECONDS, MAX_HOSTS) == (5, 60, 600, 10_000)
    assert ANSWERED_WITHIN_SECONDS == 300


def test_a_pause_begins_at_the_threshold_and_for_that_host_only() -> None:
    breaker = failing(4)
    assert breaker.pause("host", 0.0) is None
    breaker.failed("host", 0.0, "timeout")
    assert breaker.pause("host", 20.0) == 40
    assert breaker.pause("other", 20.0) is None
    assert breaker.pause("host", 60.0) is None


def test_one_success_forgets_all_failures() -> None:
    breaker = Breaker()
    for _ in range(10):
        breaker.failed("host", 0.0, "timeout")
        breaker.succeeded("host", 0.0)
    assert breaker.pause("host", 0.0) is None
    breaker = failing()
    breaker.succeeded("host", 0.0)
    assert breaker.pause("host", 0.0) is None


def test_requests_without_an_answer_are_no_failures_of_a_host_that_has_answered_lately() -> None:
    breaker = Breaker()
    breaker.succeeded("host", 0.0)
    for now in (1.0, 299.0):
        for _ in range(THRESHOLD):
            breaker.unanswered("host", now, "timeout")
        assert breaker.pause("host", now) is None
    assert breaker.take_reports() == {"host": HostReport(succeeded=True)}
    for _ in range(THRESHOLD):
        breaker.unanswered("host", 300.0, "timeout")
        breaker.unanswered("other", 0.0, "timeout")
    assert (breaker.pause("host", 300.0), breaker.pause("other", 0.0)) == (60, 60)


def test_refused_connections_are_failures_also_of_a_host_that_has_answered_lately() -> None:
    breaker = Breaker()
    breaker.succeeded("host", 0.0)
    for _ in range(THRESHOLD):
        breaker.failed("host", 1.0, "connection:refused")
    assert breaker.pause("host", 1.0) == 60


def test_after_the_pause_the_first_failure_begins_another() -> None:
    breaker = failing()
    breaker.failed("host", 60.0, "timeout")
    assert breaker.pause("host", 60.0) == 60


def test_a_pause_is_as_long_as_the_host_asked_for_within_bounds() -> None:
    breaker = failing(4)
    breaker.failed("host", 0.0, "429", 300.0)
    assert breaker.pause("host", 0.0) == 300
    breaker = failing(4)
    breaker.failed("host", 0.0, "429", 1e9)
    assert breaker.pause("host", 0.0) == 600


def test_the_reports_count_the_failures_since_the_last_success_and_are_given_once() -> None:
    breaker = Breaker()
    breaker.failed("bad", 0.0, "timeout")
    breaker.failed("bad", 0.0, "429", 30.0)
    breaker.failed("bad", 0.0, "dns", 20.0)
    breaker.succeeded("good", 0.0)
    breaker.failed("mixed", 0.0, "timeout", 99.0)
    breaker.succeeded("mixed", 0.0)
    breaker.failed("mixed", 0.0, "reset")
    assert breaker.take_reports() == {
        "bad": HostReport(failures=3, reason="dns", retry_after=30.0),
        "good": HostReport(succeeded=True),
        "mixed": HostReport(succeeded=True, failures=1, reason="reset"),
    }
    assert breaker.take_reports() == {}


def test_only_so_many_hosts_are_remembered() -> None:
    breaker = failing()
    for index in range(MAX_HOSTS):
        assert breaker.pause("host", 0.0) == 60
        breaker.succeeded(f"host{index}", 0.0)
    assert breaker.pause("host", 0.0) is None
    assert len(breaker.take_reports()) == MAX_HOSTS
