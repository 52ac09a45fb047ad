"""The four periods, their windows, and the rules of the cache's documents."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from models.cache import (
    FRESH_FOR,
    MAX_FAILED_LISTED,
    MAX_TOOLS_LISTED,
    PERIODS,
    CacheMetadata,
    LastRefresh,
    Period,
    Window,
    percentages,
    period_named,
)
from models.errors import InvalidInput
from tests import documents
from tests.documents import cache_entry

NOW = datetime(2026, 2, 21, 20, 17, 31, 250_000, tzinfo=UTC)


def test_the_periods_are_an_hour_a_day_a_week_and_thirty_days_in_this_order() -> None:
    """Windows are summed in this order, each from the shorter ones."""
    hours = [(period, span / timedelta(hours=1)) for period, span in PERIODS.items()]
    assert hours == [("HOUR_1", 1), ("HOUR_24", 24), ("DAY_7", 168), ("DAY_30", 720)]


@pytest.mark.parametrize(
    ("hours", "period", "named"),
    [
        (None, None, "HOUR_24"),
        ("1", None, "HOUR_1"),
        ("720", None, "DAY_30"),
        (None, "HOUR_1", "HOUR_1"),
        (None, "DAY_30", "DAY_30"),
        ("1", "HOUR_1", "HOUR_1"),
    ],
)
def test_a_period_is_named_by_its_hours_or_its_name_or_both(hours: str | None, period: str | None, named: str) -> None:
    assert period_named(hours, period) == named


@pytest.mark.parametrize(
    ("hours", "period", "refusal"),
    [
        ("0", None, "hours: one of 1, 24, 168, 720"),
        ("24.0", None, "hours: one of"),
        ("x", "HOUR_1", "hours: one of"),
        (None, "", "period: one of HOUR_1, HOUR_24, DAY_7, DAY_30"),
        ("1", "WEEK", "period: one of"),
        ("1", "HOUR_24", "period: HOUR_1, which hours=1 names, or absent"),
    ],
)
def test_another_period_is_refused_with_what_is_allowed(hours: str | None, period: str | None, refusal: str) -> None:
    with pytest.raises(InvalidInput, match=f"^{refusal}"):
        period_named(hours, period)


@pytest.mark.parametrize(
    ("period", "start"),
    [
        ("HOUR_1", datetime(2026, 2, 21, 19, 18, tzinfo=UTC)),
        ("HOUR_24", datetime(2026, 2, 20, 20, 18, tzinfo=UTC)),
        ("DAY_7", datetime(2026, 2, 14, 20, 18, tzinfo=UTC)),
        ("DAY_30", datetime(2026, 1, 22, 20, 18, tzinfo=UTC)),
    ],
)
def test_a_window_ends_at_the_end_of_the_minute_and_is_as_long_as_its_period(period: Period, start: datetime) -> None:
    end = datetime(2026, 2, 21, 20, 18, tzinfo=UTC)
    assert Window.at(period, NOW) == Window.ending(period, end) == Window(start, end)


def test_a_window_in_unix_seconds() -> None:
    assert Window.at("HOUR_1", NOW).seconds == (1771701480, 1771705080)


@pytest.mark.parametrize(
    ("counts", "shown"),
    [
        ((0, 0, 0), (0.0, 0.0, 0.0)),
        ((1, 1, 0), (50.0, 50.0, 0.0)),
        ((1, 1, 1), (33.4, 33.3, 33.3)),
        ((0, 1, 2), (0.0, 33.3, 66.7)),
        ((5, 1, 1), (71.4, 14.3, 14.3)),
        ((892, 534, 363), (49.9, 29.8, 20.3)),
        ((1, 1, 1998), (0.1, 0.0, 99.9)),
        ((1999, 1, 0), (100.0, 0.0, 0.0)),
    ],
)
def test_percentages_have_one_decimal_and_missing_tenths_go_to_the_largest_remainders(
    counts: tuple[int, int, int], shown: tuple[float, float, float]
) -> None:
    assert percentages(*counts) == shown
    assert sum(shown) == (pytest.approx(100) if sum(counts) else 0)


def test_an_entry_is_stale_when_it_is_older_than_half_an_hour() -> None:
    assert timedelta(minutes=30) == FRESH_FOR
    entry = cache_entry(last_updated_ts=int(NOW.timestamp()))
    for seconds, age, stale in ((-5, 0, False), (0, 0, False), (1800, 1800, False), (1801, 1801, True)):
        later = NOW + timedelta(seconds=seconds)
        assert (entry.age_seconds(later), entry.is_stale(later)) == (age, stale)
        assert (later >= entry.fresh_until) == stale


def test_the_hit_rate_is_a_share_of_all_reads_with_three_decimals() -> None:
    def rate(hits: int, misses: int) -> float:
        metadata: CacheMetadata = documents.cache_metadata(cache_hits_24h=hits, cache_misses_24h=misses)
        return metadata.cache_hit_rate

    assert [rate(2, 1), rate(1250, 45), rate(0, 3), rate(0, 0)] == [0.667, 0.965, 0.0, 0.0]


def test_an_entry_counts_too_many_once_the_minute_of_its_oldest_mention_has_left_the_window() -> None:
    oldest = NOW.replace(second=0, microsecond=0)
    entry = cache_entry(period="HOUR_1", oldest_mention_ts=int(oldest.timestamp()))
    assert not entry.counts_too_many(oldest + timedelta(minutes=59, seconds=59))
    assert entry.counts_too_many(oldest + timedelta(minutes=60))
    updated = int((oldest + timedelta(minutes=40)).timestamp())
    assert entry.changed(NOW, last_updated_ts=updated).fresh_until == oldest + timedelta(minutes=60)
    assert not cache_entry(period="HOUR_1").counts_too_many(NOW + timedelta(days=1))


@pytest.mark.parametrize("neutral", [19.9, 20.1])
def test_the_percentages_of_an_entry_may_miss_100_by_a_tenth(neutral: float) -> None:
    percentages = {"positive_percentage": 50.0, "negative_percentage": 30.0, "neutral_percentage": neutral}
    assert cache_entry(**percentages).neutral_percentage == neutral


@pytest.mark.parametrize(
    ("wrong", "reason"),
    [
        ({"total_mentions": 4}, "total_mentions must be positive_count"),
        ({"positive_percentage": 50.0, "negative_percentage": 30.0, "neutral_percentage": 19.8}, "sum to 100.0"),
        ({"positive_percentage": 50.0, "negative_percentage": 30.0, "neutral_percentage": 20.2}, "sum to 100.0"),
        ({"period_start_ts": 60, "period_end_ts": 60}, "period_start_ts must be less than"),
        ({"period_start_ts": 120, "period_end_ts": 60}, "period_start_ts must be less than"),
    ],
)
def test_an_entry_whose_figures_contradict_each_other_is_refused(wrong: dict[str, Any], reason: str) -> None:
    with pytest.raises(ValueError, match=reason):
        cache_entry(**wrong)


@pytest.mark.parametrize("wrong", [{"average_sentiment": 0.5}, {"neutral_percentage": 100.0}])
def test_an_entry_without_mentions_has_only_zeros(wrong: dict[str, Any]) -> None:
    counts = dict.fromkeys(("total_mentions", "positive_count", "negative_count", "neutral_count"), 0)
    shares = dict.fromkeys(("positive_percentage", "negative_percentage", "neutral_percentage"), 0.0)
    zeros: dict[str, Any] = {**counts, **shares, "average_sentiment": 0.0}
    assert cache_entry(**zeros).total_mentions == 0
    with pytest.raises(ValueError, match="must be 0"):
        cache_entry(**(zeros | wrong))


def test_metadata_are_stored_with_their_hit_rate_and_name_at_most_a_thousand_tools() -> None:
    assert MAX_TOOLS_LISTED == 1000
    documents.cache_metadata(tools_refreshed=("a",) * 1000)
    with pytest.raises(ValueError, match="at most 1000"):
        documents.cache_metadata(tools_refreshed=("a",) * 1001)
    stored = documents.cache_metadata(cache_hits_24h=3, cache_misses_24h=1).to_document()
    assert (stored["id"], stored["tool_id"], stored["entity_type"]) == ("metadata", "metadata", "CacheMetadata")
    assert stored["cache_hit_rate"] == 0.75


def test_how_a_refresh_ended_is_stored_beside_the_metadata_with_at_most_a_hundred_reasons() -> None:
    last: LastRefresh = documents.last_refresh()
    assert (last.CONTAINER, last.partition, last.id) == ("sentiment_cache", "metadata", "last_refresh")
    assert LastRefresh.from_document(last.to_document()) == last
    assert MAX_FAILED_LISTED == 100
    reasons = {str(number): "why" for number in range(101)}
    with pytest.raises(ValueError, match="at most 100"):
        documents.last_refresh(failed_tools=reasons)
    with pytest.raises(ValueError, match="at most 100"):
        documents.last_refresh(errors=("why",) * 101)


def test_an_entry_of_a_window_that_has_not_ended_is_of_a_clock_that_was_ahead() -> None:
    entry = cache_entry(last_updated_ts=int(NOW.timestamp()))
    assert not entry.is_ahead(NOW - timedelta(minutes=1))
    assert entry.is_ahead(NOW - timedelta(minutes=1, seconds=1))
