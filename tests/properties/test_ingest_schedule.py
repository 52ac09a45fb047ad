"""Whatever a feed does, the schedule stays within its bounds and its numbers stay numbers."""

import math
from datetime import UTC, datetime, timedelta
from typing import Any

from hypothesis import given, settings
from hypothesis import strategies as st

from models.feed import Feed
from services.feeds.schedule import Policy, expected_rate, formula_interval, next_fetch, observe
from tests.documents import feed

START = datetime(2026, 2, 18, 10, 0, tzinfo=UTC)
steps = st.tuples(
    st.floats(-3600, 40 * 86400).map(lambda seconds: timedelta(seconds=seconds)),
    st.integers(0, 20_000),
    st.lists(st.floats(-1e7, 1e6), max_size=5),
)
histories = st.lists(steps, max_size=12)
hints = st.fixed_dictionaries(
    {
        "max_age_seconds": st.none() | st.integers(0),
        "ttl_minutes": st.none() | st.integers(0),
        "skip_hours": st.frozensets(st.integers(0, 23)),
    }
)


def lived_through(history: list[tuple[timedelta, int, list[float]]]) -> tuple[Feed, datetime, dict[str, Any]]:
    known, now, changes = feed(), START, dict[str, Any]()
    for elapsed, articles, offsets in history:
        now += elapsed
        changes = observe(known, articles, [now + timedelta(seconds=offset) for offset in offsets], now)
        known = known.model_copy(update={**changes, "last_successful_fetch": now})
    return known, now, changes


@settings(max_examples=60)
@given(histories)
def test_every_number_stays_finite_and_not_negative(history: list[tuple[timedelta, int, list[float]]]) -> None:
    known, now, changes = lived_through(history)
    numbers = [expected_rate(known, now)]
    for value in changes.values():
        numbers += value if isinstance(value, tuple) else [value]
    assert all(math.isfinite(number) and number >= 0 for number in numbers)


@settings(max_examples=60)
@given(histories, st.floats(0.5, 60), st.floats(0, 0.999))
def test_the_interval_is_never_under_a_minute_nor_over_the_formulas(
    history: list[tuple[timedelta, int, list[float]]], budget: float, jitter: float
) -> None:
    known, now, _ = lived_through(history)
    policy = Policy(fetches_per_feed_hour=budget)
    wait = next_fetch(known, now, policy, jitter) - now
    assert timedelta(minutes=1) <= wait <= formula_interval(known, now, policy) <= timedelta(minutes=15)


@settings(max_examples=60)
@given(histories, hints, st.floats(0, 0.999))
def test_no_hint_makes_a_fetch_sooner_than_a_minute_or_later_than_two_days(
    history: list[tuple[timedelta, int, list[float]]], given_hints: dict[str, Any], jitter: float
) -> None:
    known, now, _ = lived_through(history)
    wait = next_fetch(known.model_copy(update=given_hints), now, Policy(), jitter) - now
    assert timedelta(minutes=1) <= wait <= timedelta(days=2)
