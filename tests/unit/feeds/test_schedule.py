"""When a feed is due: what fetches show of it, the order of what decides, and the bounds that nothing crosses."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from datetime import UTC, datetime, timedelta, timezone
from typing import Any

import pytest

from models.feed import Feed, hour_multiplier
from services.feeds import schedule
from services.feeds.schedule import (
    DAYS,
    MAX_AT_ONCE,
    STEPS,
    Policy,
    corrected_price_factor,
    expected_rate,
    formula_interval,
    next_fetch,
    observe,
)
from tests.documents import feed

NOW = datetime(2026, 2, 18, 10, 30, tzinfo=UTC)  # a Wednesday
TEN = datetime(2026, 2, 18, 10, 0, tzinfo=UTC)
MINUTE, HOUR, DAY = timedelta(minutes=1), timedelta(hours=1), timedelta(days=1)
POLICY = Policy()
FRUGAL = Policy(fetches_per_feed_hour=0.01)
"""So small a budget that only the specification's formula is left."""


FEED = feed()


def known(**fields: Any) -> Feed:
    return FEED.model_copy(update=fields)


def observed(before: Feed, new: int, published: Sequence[datetime], now: datetime) -> Feed:
    return before.model_copy(update={**observe(before, new, published, now), "last_successful_fetch": now})


def minutes(feed: Feed = FEED, policy: Policy = POLICY, jitter: float = 0, retry_after: float | None = None) -> float:
    return (next_fetch(feed, NOW, policy, jitter, retry_after) - NOW) / timedelta(minutes=1)


def test_the_constants() -> None:
    assert (schedule.PRICE_SCALE, schedule.RATE_MEMORY_HOURS, schedule.MEMORY_HOURS) == (256, 24, 28 * 24)
    assert (schedule.REPLAY_HOURS, schedule.MAX_AT_ONCE, schedule.AT_ONCE_HOURS) == (7 * 24, 20, 1 / 60)
    assert (schedule.STEP_PRIOR, schedule.PRIOR_ARTICLES, schedule.PRIOR_HOURS, schedule.HOUR_PRIOR) == (2, 1, 12, 5)
    assert schedule.GAPS == (0.25, 0.5, 1, 2, 3, 4, 8, 12, 16, 22, 26)
    assert schedule.USUAL == (4, 4, 3.5, 2, 1, 0.6, 0.4, 0.4, 0.6, 0.7, 0.8, 0.7)


@pytest.mark.parametrize(("per_hour", "expected"), [(0.0, 15), (4, 15), (20, 15), (30, 10), (60, 5), (3000, 1)])
def test_the_formula_waits_for_five_articles_within_one_and_fifteen_minutes(per_hour: float, expected: float) -> None:
    assert minutes(known(articles_per_hour=per_hour), policy=FRUGAL) == pytest.approx(expected)


def steady(per_hour: float) -> Feed:
    """Known for so long that nothing is taken for granted."""
    return known(gap_articles=(1e6 * per_hour,) * STEPS, gap_hours=(1e6,) * STEPS)


@pytest.mark.parametrize(("errors", "expected"), [(1, 2), (2, 4), (5, 32), (6, 60), (10, 60), (5000, 60)])
def test_errors_back_off_exponentially_up_to_an_hour(errors: int, expected: int) -> None:
    assert minutes(known(consecutive_errors=errors)) == expected


def test_the_later_of_retry_after_and_backoff_comes_before_all_other_hints() -> None:
    others = {"max_age_seconds": 36000, "ttl_minutes": 600, "skip_hours": tuple(range(23))}
    assert minutes(known(**others, consecutive_errors=1), retry_after=1800) == 30
    assert minutes(known(**others, consecutive_errors=4), retry_after=60) == 16


def test_a_retry_after_of_zero_waits_a_minute_and_an_absurd_one_a_day() -> None:
    assert minutes(retry_after=0) == 1
    assert minutes(retry_after=-5) == 1
    assert minutes(retry_after=1e300) == 24 * 60


def test_max_age_comes_before_ttl_and_neither_makes_a_fetch_sooner() -> None:
    assert minutes(known(max_age_seconds=1200, ttl_minutes=60)) == 20
    assert minutes(known(ttl_minutes=60)) == 60
    assert minutes(known(max_age_seconds=0)) == minutes()


def test_skipped_hours_move_it_to_the_next_hour_that_is_not() -> None:
    skipping = known(skip_hours=frozenset({10, 11, 12}))
    assert next_fetch(skipping, NOW, POLICY) == datetime(2026, 2, 18, 13, tzinfo=UTC)


def test_skipped_days_move_it_to_the_next_day_that_is_not() -> None:
    skipping = known(skip_days=frozenset({"wednesday", "thursday"}), skip_hours=frozenset({0}))
    assert next_fetch(skipping, NOW, POLICY) == datetime(2026, 2, 20, 1, tzinfo=UTC)


def test_a_feed_that_skips_every_hour_is_fetched_anyway() -> None:
    assert minutes(known(skip_hours=tuple(range(24)))) == minutes()


def test_jitter_makes_an_interval_shorter_and_a_requested_wait_longer() -> None:
    assert minutes(policy=FRUGAL, jitter=0.5) == pytest.approx(15 * 0.95)
    assert minutes(retry_after=600, jitter=0.5) == pytest.approx(10.5)


def test_a_peak_hour_has_more_than_one_and_a_half_times_the_mean() -> None:
    counts = [2.0] * 24
    counts[10], counts[0] = 3.0, 1.0
    busy = known(articles_per_hour=60.0, hourly_distribution=tuple(counts))
    assert hour_multiplier(busy.hourly_distribution, 10) == 1.5
    assert formula_interval(busy, NOW, POLICY) == 5 * MINUTE
    counts[10], counts[1] = 3.01, 1.99
    assert formula_interval(busy.model_copy(update={"hourly_distribution": tuple(counts)}), NOW, POLICY) == 3.5 * MINUTE


@pytest.mark.parametrize(
    ("per_hour", "budget", "factor", "expected"),
    [
        (2.0, 8.0, 1.0, 3600 / 60 * (2 * 256 / 64 / 3600 / 2) ** 0.5),
        (2.0, 16.0, 1.0, 3600 / 60 * (2 * 256 / 256 / 3600 / 2) ** 0.5),
        (2.0, 8.0, 4.0, 3600 / 60 * (2 * 4 * 256 / 64 / 3600 / 2) ** 0.5),
        (2000.0, 8.0, 1.0, 1.0),
        (0.01, 8.0, 1.0, 15.0),
    ],
)
def test_a_feed_is_fetched_when_the_expected_articles_are_worth_the_price(
    per_hour: float, budget: float, factor: float, expected: float
) -> None:
    policy = Policy(fetches_per_feed_hour=budget, price_factor=factor)
    assert minutes(steady(per_hour), policy=policy) == pytest.approx(expected, rel=5e-5)


def test_an_hour_that_is_allowed_once_a_week_is_found() -> None:
    skipping = known(skip_days=frozenset(DAYS) - {"wednesday"}, skip_hours=frozenset(range(24)) - {9})
    assert next_fetch(skipping, NOW, POLICY) == datetime(2026, 2, 25, 9, tzinfo=UTC)
    local = NOW.astimezone(timezone(timedelta(hours=14)))
    assert next_fetch(skipping, local, POLICY) == datetime(2026, 2, 25, 9, tzinfo=UTC)


@pytest.mark.parametrize(
    ("budget", "spent", "factor"),
    [
        (8.0, 4.0, 0.5),
        (8.0, 7.0, 0.5625),
        (8.0, 8.0, 1.0),
        (8.0, 9.657, 2.0),
        (8.0, 20.0, 2.0),
        (3.0, 4.012, 1.44),
    ],
)
def test_the_price_follows_the_square_of_what_was_spent_beyond_the_longest_interval(
    budget: float, spent: float, factor: float
) -> None:
    policy = Policy(fetches_per_feed_hour=budget)
    assert corrected_price_factor(policy, [spent, spent]) == pytest.approx(factor, rel=1e-3)
    assert corrected_price_factor(replace(policy, price_factor=3.0), [spent]) == pytest.approx(3 * factor, rel=1e-3)


def test_the_price_stays_within_bounds_however_often_it_is_corrected() -> None:
    dear, cheap = POLICY, POLICY
    for _ in range(20):
        dear = replace(dear, price_factor=corrected_price_factor(dear, [60.0]))
        cheap = replace(cheap, price_factor=corrected_price_factor(cheap, [4.0]))
    assert (dear.price_factor, cheap.price_factor) == (64.0, 1 / 64)


def fetched_every(step: timedelta, count: int, articles: int = 0, rhythm: Feed | None = None) -> Feed:
    """`count` fetches up to TEN, each with `articles` new ones."""
    rhythm = rhythm or known(last_successful_fetch=TEN - step * count)
    for index in range(1 - count, 1):
        now = TEN + step * index
        rhythm = observed(rhythm, articles, [now - step / 2] * articles, now)
    return rhythm


def test_the_rate_is_articles_over_elapsed_time_however_often_it_is_fetched() -> None:
    often = fetched_every(5 * MINUTE, 12 * 72, articles=1)
    seldom = fetched_every(15 * MINUTE, 4 * 72, articles=3)
    assert often.articles_per_hour == pytest.approx(12, rel=0.1)
    assert seldom.articles_per_hour == pytest.approx(12, rel=0.1)


def lived(start: datetime, arrivals: list[datetime], end: datetime) -> Feed:
    """Fetched every ten minutes from `start` to `end`."""
    rhythm, now = known(last_successful_fetch=start), start
    while now < end:
        now += 10 * MINUTE
        found = [at for at in arrivals if now - 10 * MINUTE < at <= now]
        rhythm = observed(rhythm, len(found), found, now)
    return rhythm


def test_less_is_expected_the_longer_a_feed_that_publishes_in_sessions_is_silent() -> None:
    busy = fetched_every(10 * MINUTE, 100, articles=1)
    rates = [expected_rate(busy, TEN)]
    for index in range(1, 37):
        busy = observed(busy, 0, [], TEN + index * 10 * MINUTE)
        rates.append(expected_rate(busy, TEN))
    assert rates[36] < 0.5 * rates[12] < 0.5 * rates[0]


def test_a_feed_learns_how_long_its_silences_last() -> None:
    sixth_hours = [TEN + 6 * HOUR * index for index in range(60)]
    rhythm = lived(TEN, sixth_hours, TEN + 15 * DAY - 5 * HOUR)
    soon = expected_rate(rhythm, rhythm.last_successful_fetch or TEN)
    assert expected_rate(rhythm, TEN + 15 * DAY) > 3 * soon


def test_the_articles_of_a_burst_belong_to_the_step_of_the_first() -> None:
    noon = [TEN + 125 * MINUTE + day * DAY for day in range(10)]
    bursts = [at + second * timedelta(seconds=1) for at in noon for second in range(5)]
    rhythm = lived(TEN, bursts, TEN + 10 * DAY)
    assert rhythm.gap_articles[0] == 0
    assert sum(rhythm.gap_articles) == pytest.approx(10 * 5, rel=0.2)


def test_an_article_raises_the_expected_rate_of_a_quiet_feed_at_once() -> None:
    quiet = fetched_every(15 * MINUTE, 4 * 48)
    woken = observed(quiet, 1, [TEN + 9 * MINUTE], TEN + 10 * MINUTE)
    assert expected_rate(woken, TEN) > 2 * expected_rate(quiet, TEN)


def test_articles_are_counted_in_the_hour_they_were_published_in() -> None:
    rhythm = observed(known(last_successful_fetch=TEN - 3 * HOUR), 2, [TEN - 2.5 * HOUR, TEN - 0.5 * HOUR], TEN)
    assert [hour for hour, count in enumerate(rhythm.hourly_distribution) if count > 0.5] == [7, 9]


def test_articles_without_a_time_are_spread_over_the_time_since_the_last_fetch() -> None:
    rhythm = observed(known(last_successful_fetch=TEN - 4 * HOUR), 4, [], TEN)
    assert [round(count) for count in rhythm.hourly_distribution[5:11]] == [0, 1, 1, 1, 1, 0]


def test_times_before_the_last_fetch_or_in_the_future_count_as_since_then() -> None:
    rhythm = observed(known(last_successful_fetch=TEN - 2 * HOUR), 2, [TEN - 900 * DAY, TEN + 900 * DAY], TEN)
    assert sum(rhythm.hourly_distribution) == pytest.approx(2, rel=0.01)
    assert rhythm.hourly_distribution[8] > 0.9


def test_the_first_fetch_learns_from_the_feeds_own_history() -> None:
    history = [TEN - day * DAY - hour * HOUR for day in range(4) for hour in range(1, 6)]
    rhythm = observed(known(), len(history), history, TEN)
    assert rhythm.articles_per_hour > 0.2
    assert sum(rhythm.hourly_distribution[5:10]) > 0.9 * sum(rhythm.hourly_distribution)
    evening = TEN + 8 * HOUR
    assert expected_rate(rhythm, TEN + 20 * HOUR) > 2 * expected_rate(rhythm, evening)


def test_a_first_fetch_without_any_dates_shows_nothing() -> None:
    rhythm = observed(known(), 60, [], TEN)
    assert (rhythm.articles_per_hour, hour_multiplier(rhythm.hourly_distribution, TEN.hour)) == (0.0, 1.0)
    assert next_fetch(rhythm, TEN, Policy()) == next_fetch(observed(known(), 0, [], TEN), TEN, Policy())


def test_after_a_gap_of_months_the_feed_is_nearly_a_new_one() -> None:
    busy = fetched_every(10 * MINUTE, 6 * 72, articles=1)
    after = observed(busy, 3, [TEN + 400 * DAY - HOUR] * 3, TEN + 400 * DAY)
    assert after.articles_per_hour < 4
    assert sum(after.hourly_distribution) == pytest.approx(3, abs=0.1)


def test_a_clock_that_jumps_back_breaks_nothing() -> None:
    busy = fetched_every(10 * MINUTE, 60, articles=1)
    back = observed(busy, 1, [TEN], TEN - 5 * HOUR)
    assert back.last_successful_fetch == TEN - 5 * HOUR
    assert TEN - 5 * HOUR + MINUTE <= next_fetch(back, TEN - 5 * HOUR, Policy()) <= TEN - 4.75 * HOUR


def test_a_flood_counts_no_more_than_a_big_burst() -> None:
    calm = fetched_every(15 * MINUTE, 4 * 72)
    soon = TEN + 15 * MINUTE
    burst, flood = (observed(calm, count, [soon] * count, soon) for count in (MAX_AT_ONCE, 10_000))
    assert expected_rate(flood, soon) == expected_rate(burst, soon)
    undated = observed(calm, 10_000, [], soon)
    assert expected_rate(undated, soon) <= expected_rate(burst, soon)


def test_fetches_per_hour_are_those_that_were_made() -> None:
    assert fetched_every(10 * MINUTE, 6 * 96).fetches_per_hour == pytest.approx(6, rel=0.05)


# The numbers of the model


def at(hour: int) -> datetime:
    return datetime(2026, 2, 18, hour, 0, tzinfo=UTC)


def steps_of(*numbers: float) -> tuple[float, ...]:
    return (*numbers, *[0.0] * (STEPS - len(numbers)))


MEAN = 15 / 19
KNOWN = known(gap_articles=steps_of(8, 4, 2), gap_hours=steps_of(1, 2, 4))
"""Of MEAN articles an hour: 14 articles in 7 hours, and one more in 12 hours that is assumed."""


@pytest.mark.parametrize(
    ("silent", "usual", "articles", "hours"),
    [
        (0.1, 4.0, 8 + 4 / 2, 1 + 2 / 2),
        (0.3, 4.0, 4 + 8 / 2 + 2 / 2, 2 + 1 / 2 + 4 / 2),
        (0.7, 3.5, 2 + 4 / 2, 4 + 2 / 2),
        (2.5, 1.0, 0, 0),
        (6.0, 0.4, 0, 0),
        (14.0, 0.6, 0, 0),
        (30.0, 0.7, 0, 0),
    ],
)
def test_a_steps_rate_counts_half_of_its_neighbours_and_two_articles_at_the_usual_rate(
    silent: float, usual: float, articles: float, hours: float
) -> None:
    expected = (articles + 2) / (hours + 2 / (MEAN * usual))
    assert expected_rate(KNOWN.model_copy(update={"silent_hours": silent}), TEN) == pytest.approx(expected, rel=1e-9)


@pytest.mark.parametrize(("hour", "near"), [(10, 6 / 2 + 4 + 2 / 2), (0, 1 / 2 + 3 + 5 / 2), (23, 1 + 3 / 2)])
def test_an_hours_rate_counts_half_of_its_neighbours_and_five_articles_at_the_mean(hour: int, near: float) -> None:
    counts = [0.0] * 24
    counts[9], counts[10], counts[11], counts[23], counts[0], counts[1], counts[16] = 6, 4, 2, 1, 3, 5, 3
    scale = (near + 5) / (24 * 2 / 24 + 5)
    flat = expected_rate(known(), at(hour))
    assert flat == pytest.approx(4.0 * 1 / 12)
    assert expected_rate(known(hourly_distribution=tuple(counts)), at(hour)) == pytest.approx(scale * flat, rel=1e-9)
