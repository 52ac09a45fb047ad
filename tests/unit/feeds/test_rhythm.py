"""What fetches teach about a feed."""

from datetime import UTC, datetime, timedelta

import pytest

from models.feed import Feed
from services.feeds.rhythm import MOST_AT_ONCE, Rhythm, expected_rate, observe, rhythm_of
from services.feeds.schedule import Policy, next_fetch

NOW = datetime(2026, 2, 18, 10, 0, tzinfo=UTC)
MINUTE, HOUR, DAY = timedelta(minutes=1), timedelta(hours=1), timedelta(days=1)


def fetched_every(step: timedelta, count: int, articles: int = 0, rhythm: Rhythm | None = None) -> Rhythm:
    """`count` fetches up to NOW, each with `articles` new ones."""
    rhythm = rhythm or Rhythm(last_fetch_time=NOW - step * count)
    for index in range(1 - count, 1):
        now = NOW + step * index
        rhythm = observe(rhythm, articles, [now - step / 2] * articles, now)
    return rhythm


def test_the_rate_is_articles_over_elapsed_time_however_often_it_is_fetched() -> None:
    often = fetched_every(5 * MINUTE, 12 * 72, articles=1)
    seldom = fetched_every(15 * MINUTE, 4 * 72, articles=3)
    assert often.articles_per_hour == pytest.approx(12, rel=0.1)
    assert seldom.articles_per_hour == pytest.approx(12, rel=0.1)


def test_a_young_feeds_rate_is_fair_after_a_few_hours() -> None:
    assert fetched_every(15 * MINUTE, 16, articles=2).articles_per_hour == pytest.approx(8, rel=0.4)


def test_the_rate_forgets_within_days() -> None:
    busy = fetched_every(15 * MINUTE, 4 * 72, articles=3)
    later = observe(busy, 0, [], NOW + 4 * DAY)
    assert later.articles_per_hour < 0.5


def lived(start: datetime, arrivals: list[datetime], end: datetime) -> Rhythm:
    """Fetched every ten minutes from `start` to `end`."""
    rhythm, now = Rhythm(last_fetch_time=start), start
    while now < end:
        now += 10 * MINUTE
        found = [at for at in arrivals if now - 10 * MINUTE < at <= now]
        rhythm = observe(rhythm, len(found), found, now)
    return rhythm


def test_less_is_expected_the_longer_a_feed_that_speaks_in_sessions_is_silent() -> None:
    busy = fetched_every(10 * MINUTE, 100, articles=1)
    rates = [expected_rate(busy, NOW)]
    for index in range(1, 37):
        busy = observe(busy, 0, [], NOW + index * 10 * MINUTE)
        rates.append(expected_rate(busy, NOW))
    assert rates[36] < 0.5 * rates[12] < 0.5 * rates[0]


def test_a_feed_learns_how_long_its_silences_last() -> None:
    sixth_hours = [NOW + 6 * HOUR * index for index in range(60)]
    rhythm = lived(NOW, sixth_hours, NOW + 15 * DAY - 5 * HOUR)
    soon = expected_rate(rhythm, rhythm.last_fetch_time or NOW)
    assert expected_rate(rhythm, NOW + 15 * DAY) > 3 * soon


def test_what_comes_with_the_first_article_of_a_burst_is_expected_when_that_one_is() -> None:
    noon = [NOW + 125 * MINUTE + day * DAY for day in range(10)]
    bursts = [at + second * timedelta(seconds=1) for at in noon for second in range(5)]
    rhythm = lived(NOW, bursts, NOW + 10 * DAY)
    assert rhythm.gap_articles[0] == 0
    assert sum(rhythm.gap_articles) == pytest.approx(10 * 5, rel=0.2)


def test_an_article_wakes_a_quiet_feed_at_once() -> None:
    quiet = fetched_every(15 * MINUTE, 4 * 48)
    woken = observe(quiet, 1, [NOW + 9 * MINUTE], NOW + 10 * MINUTE)
    assert expected_rate(woken, NOW) > 2 * expected_rate(quiet, NOW)


def test_articles_are_counted_in_the_hour_they_were_published_in() -> None:
    rhythm = observe(Rhythm(last_fetch_time=NOW - 3 * HOUR), 2, [NOW - 2.5 * HOUR, NOW - 0.5 * HOUR], NOW)
    assert [hour for hour, count in enumerate(rhythm.hourly_distribution) if count > 0.5] == [7, 9]


def test_articles_without_a_time_are_spread_over_the_time_since_the_last_fetch() -> None:
    rhythm = observe(Rhythm(last_fetch_time=NOW - 4 * HOUR), 4, [], NOW)
    assert [round(count) for count in rhythm.hourly_distribution[5:11]] == [0, 1, 1, 1, 1, 0]


def test_times_before_the_last_fetch_or_in_the_future_count_as_since_then() -> None:
    rhythm = observe(Rhythm(last_fetch_time=NOW - 2 * HOUR), 2, [NOW - 900 * DAY, NOW + 900 * DAY], NOW)
    assert sum(rhythm.hourly_distribution) == pytest.approx(2, rel=0.01)
    assert rhythm.hourly_distribution[8] > 0.9


def test_the_first_fetch_learns_from_the_feeds_own_history() -> None:
    history = [NOW - day * DAY - hour * HOUR for day in range(4) for hour in range(1, 6)]
    rhythm = observe(Rhythm(), len(history), history, NOW)
    assert rhythm.articles_per_hour > 0.2
    assert sum(rhythm.hourly_distribution[5:10]) > 0.9 * sum(rhythm.hourly_distribution)
    evening = NOW + 8 * HOUR
    assert expected_rate(rhythm, NOW + 20 * HOUR) > 2 * expected_rate(rhythm, evening)


def test_a_first_fetch_without_any_times_teaches_nothing_as_what_it_holds_may_be_of_any_age() -> None:
    rhythm = observe(Rhythm(), 60, [], NOW)
    assert (rhythm.articles_per_hour, rhythm.hour_multiplier(NOW.hour)) == (0.0, 1.0)
    assert next_fetch(rhythm, NOW, Policy()) == next_fetch(observe(Rhythm(), 0, [], NOW), NOW, Policy())


def test_what_is_undated_at_a_first_fetch_is_not_taken_to_be_as_new_as_the_rest() -> None:
    dated = [NOW - MINUTE] * 3
    assert observe(Rhythm(), 60, dated, NOW) == observe(Rhythm(), 3, dated, NOW)


def test_after_a_gap_of_months_the_feed_is_nearly_a_new_one() -> None:
    busy = fetched_every(10 * MINUTE, 6 * 72, articles=1)
    after = observe(busy, 3, [NOW + 400 * DAY - HOUR] * 3, NOW + 400 * DAY)
    assert after.articles_per_hour < 4
    assert sum(after.hourly_distribution) == pytest.approx(3, abs=0.1)


def test_a_clock_that_jumps_back_breaks_nothing() -> None:
    busy = fetched_every(10 * MINUTE, 60, articles=1)
    back = observe(busy, 1, [NOW], NOW - 5 * HOUR)
    assert back.last_fetch_time == NOW - 5 * HOUR
    assert NOW - 5 * HOUR + MINUTE <= next_fetch(back, NOW - 5 * HOUR, Policy()) <= NOW - 4.75 * HOUR


def test_a_flood_counts_no_more_than_a_big_burst() -> None:
    calm = fetched_every(15 * MINUTE, 4 * 72)
    soon = NOW + 15 * MINUTE
    burst, flood = (observe(calm, count, [soon] * count, soon) for count in (MOST_AT_ONCE, 10_000))
    assert expected_rate(flood, soon) == expected_rate(burst, soon)
    undated = observe(calm, 10_000, [], soon)
    assert expected_rate(undated, soon) <= expected_rate(burst, soon)


def test_fetches_per_hour_says_what_was_spent() -> None:
    assert fetched_every(10 * MINUTE, 6 * 96).fetches_per_hour == pytest.approx(6, rel=0.05)


def test_the_rhythm_survives_its_document() -> None:
    rhythm = fetched_every(10 * MINUTE, 200, articles=1)
    rhythm = observe(rhythm, 0, [], NOW + 50 * MINUTE)
    feed = Feed.model_validate(
        {
            "feed_id": "a",
            "feed_url": "https://example.com/feed",
            "source_name": "Example",
            "next_fetch_time": NOW,
            "created_at": NOW,
            "updated_at": NOW,
        }
    )
    assert rhythm_of(feed) == Rhythm()
    saved = feed.changed(NOW, last_successful_fetch=rhythm.last_fetch_time, **rhythm.as_fields())
    read = rhythm_of(Feed.from_document(saved.to_document()))
    later = NOW + HOUR
    assert expected_rate(read, later) == pytest.approx(expected_rate(rhythm, later), rel=1e-3)
    assert rhythm_of(saved.changed(NOW, gap_articles=(1.0,))).gap_articles == Rhythm().gap_articles
