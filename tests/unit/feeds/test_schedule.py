"""When a feed is due: the order of what decides, and the bounds that nothing crosses."""

from dataclasses import replace
from datetime import UTC, datetime, timedelta

import pytest

from services.feeds.rhythm import NO_GAPS, STEPS, Rhythm
from services.feeds.schedule import Hints, Policy, corrected_price_factor, formula_interval, next_fetch

NOW = datetime(2026, 2, 18, 10, 30, tzinfo=UTC)  # a Wednesday
POLICY = Policy()
FRUGAL = Policy(fetches_per_feed_hour=0.01)
"""So small a budget that only the specification's formula is left."""


def minutes(rhythm: Rhythm = Rhythm(), hints: Hints | None = None, policy: Policy = POLICY) -> float:  # noqa: B008
    return (next_fetch(rhythm, NOW, policy, hints) - NOW) / timedelta(minutes=1)


def peaking_at(hour: int) -> tuple[float, ...]:
    return tuple(10.0 if each == hour else 1.0 for each in range(24))


def test_a_feed_of_which_nothing_is_known_is_fetched_within_a_quarter_of_an_hour() -> None:
    assert 1 <= minutes() <= 15


@pytest.mark.parametrize(("per_hour", "expected"), [(0.0, 15), (4, 15), (20, 15), (30, 10), (60, 5), (3000, 1)])
def test_the_formula_waits_for_five_articles_within_one_and_fifteen_minutes(per_hour: float, expected: float) -> None:
    assert minutes(Rhythm(articles_per_hour=per_hour), policy=FRUGAL) == pytest.approx(expected)


def test_the_formula_shortens_the_wait_in_a_peak_hour_but_not_below_a_minute() -> None:
    busy = Rhythm(articles_per_hour=60.0, hourly_distribution=peaking_at(10))
    assert minutes(busy, policy=FRUGAL) == pytest.approx(3.5)
    assert minutes(replace(busy, articles_per_hour=299.0), policy=FRUGAL) == pytest.approx(1.0)
    assert minutes(replace(busy, hourly_distribution=peaking_at(11)), policy=FRUGAL) == pytest.approx(5.0)


def steady(per_hour: float) -> Rhythm:
    """Known for so long that nothing is taken for granted."""
    return Rhythm(gap_articles=(1e6 * per_hour,) * STEPS, gap_hours=(1e6,) * STEPS)


def test_a_feed_in_a_session_is_fetched_sooner_than_between_sessions() -> None:
    found, spent = (100.0, *NO_GAPS[1:]), (40.0, *[100.0] * (STEPS - 1))
    speaking = Rhythm(gap_articles=found, gap_hours=spent)
    assert minutes(speaking) < 0.5 * minutes(replace(speaking, silent_hours=6.0))


def test_a_smaller_budget_fetches_later() -> None:
    assert minutes(steady(2.5), policy=Policy(fetches_per_feed_hour=5)) > minutes(steady(2.5), policy=Policy())


def test_four_times_the_rate_halves_the_interval() -> None:
    assert minutes(steady(0.5)) == pytest.approx(2 * minutes(steady(2.0)), rel=1e-3)


@pytest.mark.parametrize(("errors", "expected"), [(1, 2), (2, 4), (5, 32), (6, 60), (10, 60), (5000, 60)])
def test_errors_back_off_exponentially_up_to_an_hour(errors: int, expected: int) -> None:
    assert minutes(hints=Hints(consecutive_errors=errors)) == expected


def test_the_later_of_retry_after_and_backoff_wins_over_all_other_hints() -> None:
    others = Hints(max_age_seconds=36000, ttl_minutes=600, skip_hours=frozenset(range(23)))
    assert minutes(hints=replace(others, consecutive_errors=1, retry_after_seconds=1800)) == 30
    assert minutes(hints=replace(others, consecutive_errors=4, retry_after_seconds=60)) == 16


def test_a_retry_after_of_nothing_still_waits_a_minute_and_an_absurd_one_ends_after_a_day() -> None:
    assert minutes(hints=Hints(retry_after_seconds=0)) == 1
    assert minutes(hints=Hints(retry_after_seconds=-5)) == 1
    assert minutes(hints=Hints(retry_after_seconds=1e300)) == 24 * 60


def test_max_age_comes_before_ttl_and_both_only_make_later() -> None:
    assert minutes(hints=Hints(max_age_seconds=1200, ttl_minutes=60)) == 20
    assert minutes(hints=Hints(ttl_minutes=60)) == 60
    assert minutes(hints=Hints(max_age_seconds=0)) == minutes()
    assert minutes(hints=Hints(max_age_seconds=float("nan"))) == minutes()


def test_an_absurd_max_age_ends_after_a_day() -> None:
    assert minutes(hints=Hints(max_age_seconds=31_536_000)) == 24 * 60


def test_skipped_hours_move_it_to_the_next_hour_that_is_not() -> None:
    hints = Hints(skip_hours=frozenset({10, 11, 12}))
    assert next_fetch(Rhythm(), NOW, POLICY, hints) == datetime(2026, 2, 18, 13, tzinfo=UTC)


def test_skipped_days_move_it_to_the_next_day_that_is_not() -> None:
    hints = Hints(skip_days=frozenset({"wednesday", "thursday"}), skip_hours=frozenset({0}))
    assert next_fetch(Rhythm(), NOW, POLICY, hints) == datetime(2026, 2, 20, 1, tzinfo=UTC)


def test_a_feed_that_skips_every_hour_is_not_believed() -> None:
    assert minutes(hints=Hints(skip_hours=frozenset(range(24)))) == minutes()


def test_jitter_makes_an_interval_shorter_and_an_asked_wait_longer() -> None:
    assert minutes(policy=FRUGAL, hints=Hints(jitter=0.5)) == pytest.approx(15 * 0.95)
    assert minutes(hints=Hints(retry_after_seconds=600, jitter=0.5)) == pytest.approx(10.5)


def test_the_price_rises_when_more_than_the_budget_was_spent_and_falls_when_less() -> None:
    assert corrected_price_factor(POLICY, [8.0, 8.0]) == 1.0
    assert 1.0 < corrected_price_factor(POLICY, [12.0, 6.0]) <= 2.0
    assert corrected_price_factor(POLICY, [4.0]) == 0.5
    assert corrected_price_factor(POLICY, []) == 1.0


def test_the_price_stays_within_bounds_however_often_it_is_corrected() -> None:
    dear, cheap = POLICY, POLICY
    for _ in range(20):
        dear = replace(dear, price_factor=corrected_price_factor(dear, [60.0]))
        cheap = replace(cheap, price_factor=corrected_price_factor(cheap, [4.0]))
    assert (dear.price_factor, cheap.price_factor) == (64.0, 1 / 64)


def test_the_formula_is_the_latest_whatever_is_expected() -> None:
    dead = Rhythm(gap_hours=(100.0,) * STEPS, silent_hours=1000.0)
    assert next_fetch(dead, NOW, POLICY) - NOW <= formula_interval(dead, NOW, POLICY)
