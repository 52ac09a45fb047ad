"""The breaker: closed, open, and one probe in between."""

from services.fetch.hosts import MOST_FAILING, Breaker


def broken(threshold: int = 3, cooldown: float = 60.0) -> Breaker:
    breaker = Breaker(threshold, cooldown)
    for _ in range(threshold):
        breaker.failed("host", 0.0)
    return breaker


def test_it_opens_at_the_threshold_and_for_that_host_only() -> None:
    breaker = Breaker(3, 60)
    for _ in range(2):
        breaker.failed("host", 0.0)
    assert breaker.admit("host", 0.0) is None
    breaker.failed("host", 0.0)
    assert breaker.admit("host", 20.0) == 40
    assert breaker.admit("other", 20.0) is None


def test_one_success_forgets_all_failures() -> None:
    breaker = Breaker(3, 60)
    for _ in range(10):
        breaker.failed("host", 0.0)
        breaker.succeeded("host")
    assert breaker.admit("host", 0.0) is None


def test_after_the_pause_one_may_probe_and_the_others_wait() -> None:
    breaker = broken()
    assert breaker.admit("host", 60.0) is None
    assert breaker.admit("host", 60.0) == 60
    breaker.succeeded("host")
    assert breaker.admit("host", 60.0) is None


def test_a_probe_that_fails_doubles_the_pause_up_to_ten_minutes() -> None:
    breaker, now = broken(), 0.0
    pauses = []
    for _ in range(6):
        pause = breaker.admit("host", now)
        assert pause is not None
        pauses.append(pause)
        now += pause
        assert breaker.admit("host", now) is None
        breaker.failed("host", now)
    assert pauses == [60, 120, 240, 480, 600, 600]


def test_a_probe_that_was_cancelled_lets_the_next_one_try() -> None:
    breaker = broken()
    assert breaker.admit("host", 60.0) is None
    breaker.abandoned("host")
    assert breaker.admit("host", 60.0) is None


def test_failures_of_fetches_that_were_under_way_do_not_prolong_the_pause() -> None:
    breaker = broken()
    breaker.failed("host", 30.0)
    assert breaker.admit("host", 59.0) == 1


def test_what_the_host_asked_for_is_kept_to_within_bounds() -> None:
    breaker = Breaker(1, 60)
    breaker.failed("host", 0.0, at_least_seconds=300)
    assert breaker.admit("host", 0.0) == 300
    breaker.failed("other", 0.0, at_least_seconds=1e9)
    assert breaker.admit("other", 0.0) == 600


def test_it_remembers_only_so_many_hosts() -> None:
    breaker = Breaker(1, 60)
    for index in range(MOST_FAILING + 1):
        breaker.failed(f"host{index}", 0.0)
    assert breaker.admit("host0", 0.0) is None
    assert breaker.admit(f"host{MOST_FAILING}", 0.0) == 60
