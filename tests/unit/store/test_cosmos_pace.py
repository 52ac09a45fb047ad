"""How fast a worker spends request units after it was refused."""

import math

import pytest

from services.store.cosmos_pace import FIRST_ESTIMATE, MIN_RATE, Pace


def spending(units: float, seconds: float = 1.0) -> Pace:
    """A pace that has spent so much by second 100."""
    pace = Pace()
    for n in range(10):
        pace.spend(units / 10, 100 - seconds + seconds * (n + 1) / 10)
    return pace


def test_without_a_refusal_nothing_waits() -> None:
    pace = spending(1_000_000)
    assert [pace.wait(100 + n / 1000) for n in range(100)] == [0.0] * 100
    assert pace.rate == math.inf


def test_a_refusal_leaves_four_fifths_of_what_was_spent_in_the_last_second() -> None:
    pace = spending(500)
    pace.lower(100)
    assert pace.rate == 400
    slow = spending(500, seconds=10)
    slow.lower(100)
    assert slow.rate == 40


def test_the_refusals_of_a_second_are_one_sign() -> None:
    pace = spending(500)
    pace.lower(100)
    pace.lower(100.5)
    assert pace.rate == pytest.approx(400 + 0.5 * (5 + 20))
    pace.lower(101)
    assert pace.rate == pytest.approx(0.8 * 0.75 * 425.3, abs=0.1)


def test_a_limit_never_falls_below_the_least() -> None:
    pace = Pace()
    pace.lower(100)
    assert pace.rate == MIN_RATE
    for second in range(101, 110):
        pace.lower(second)
        assert MIN_RATE == 10 <= pace.rate < 13


def test_each_second_raises_the_limit_by_five_and_a_twentieth() -> None:
    pace = spending(500)
    pace.lower(100)
    pace.wait(101)
    assert pace.rate == 425
    pace.wait(102)
    assert pace.rate == pytest.approx(425 + 5 + 21.25)


def test_what_was_spent_too_much_must_be_waited_for() -> None:
    pace = spending(500)
    pace.lower(100)
    pace.spend(200, 100)
    assert pace.wait(100) == pytest.approx(0.5)
    assert pace.wait(100.25) == pytest.approx(0.25, rel=0.1)
    assert pace.wait(100.6) == 0


def test_at_most_the_units_of_a_quarter_of_a_second_are_saved_up() -> None:
    pace = spending(500)
    pace.lower(100)
    pace.wait(110)
    pace.spend(pace.rate, 110)
    assert 0.5 < pace.wait(110) < 0.85


def test_requests_that_are_under_way_count_with_what_they_probably_cost() -> None:
    pace = spending(500)
    pace.lower(100)
    pace.wait(100.1)
    reserved = [pace.reserve() for _ in range(10)]
    assert reserved[0] == pytest.approx(50 + (FIRST_ESTIMATE - 50) * 0.8**10)
    assert pace.wait(100.1) > 0.5
    for each in reserved:
        pace.release(each)
    assert pace.wait(100.1) == 0
