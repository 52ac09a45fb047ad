"""Whatever a feed does, the schedule stays within its bounds and its numbers stay numbers."""

import math
from dataclasses import astuple
from datetime import UTC, datetime, timedelta

from hypothesis import given, settings
from hypothesis import strategies as st

from services.feeds.schedule import Hints, Policy, Rhythm, expected_rate, formula_interval, next_fetch, observe

START = datetime(2026, 2, 18, 10, 0, tzinfo=UTC)
steps = st.tuples(
    st.floats(-3600, 40 * 86400).map(lambda seconds: timedelta(seconds=seconds)),
    st.integers(0, 20_000),
    st.lists(st.floats(-1e7, 1e6), max_size=5),
)
histories = st.lists(steps, max_size=12)
hints = st.builds(
    Hints,
    max_age_seconds=st.none() | st.floats(),
    ttl_minutes=st.none() | st.floats(),
    skip_hours=st.frozensets(st.integers(0, 23)),
    jitter=st.floats(0, 0.999),
)


def lived_through(history: list[tuple[timedelta, int, list[float]]]) -> tuple[Rhythm, datetime]:
    rhythm, now = Rhythm(), START
    for elapsed, articles, offsets in history:
        now += elapsed
        rhythm = observe(rhythm, articles, [now + timedelta(seconds=offset) for offset in offsets], now)
    return rhythm, now


@settings(max_examples=60, deadline=None)
@given(histories)
def test_every_number_stays_finite_and_not_negative(history: list[tuple[timedelta, int, list[float]]]) -> None:
    rhythm, now = lived_through(history)
    numbers = [value for value in astuple(rhythm) if isinstance(value, float)]
    numbers += [*rhythm.hourly_distribution, *rhythm.gap_articles, *rhythm.gap_hours, expected_rate(rhythm, now)]
    assert all(math.isfinite(number) and number >= 0 for number in numbers)


@settings(max_examples=60, deadline=None)
@given(histories, st.floats(0.5, 60), st.floats(0, 0.999))
def test_the_interval_is_never_under_a_minute_nor_over_the_formulas(
    history: list[tuple[timedelta, int, list[float]]], budget: float, jitter: float
) -> None:
    rhythm, now = lived_through(history)
    policy = Policy(fetches_per_feed_hour=budget)
    wait = next_fetch(rhythm, now, policy, Hints(jitter=jitter)) - now
    assert timedelta(minutes=1) <= wait <= formula_interval(rhythm, now, policy) <= timedelta(minutes=15)


@settings(max_examples=60, deadline=None)
@given(histories, hints)
def test_no_hint_makes_a_fetch_sooner_than_a_minute_or_later_than_two_days(
    history: list[tuple[timedelta, int, list[float]]], given_hints: Hints
) -> None:
    rhythm, now = lived_through(history)
    wait = next_fetch(rhythm, now, Policy(), given_hints) - now
    assert timedelta(minutes=1) <= wait <= timedelta(days=2)
