"""The trend of a tool, and its change against the period before, follow from the hours of its timeline."""

from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from models.cache import Period
from models.tally import Tally, TimelineHours, by_day
from models.values import hour_key, unix_seconds
from services.figures.trends import change_of, trend_of
from tests import documents

END = datetime(2026, 2, 21, 20, 7, tzinfo=UTC)
HOUR = timedelta(hours=1)


def hours(**ago: tuple[int, int, int, int]) -> TimelineHours:
    """By `h<number of hours before the hour of END>`, the numbers of a tally."""
    last = END.replace(minute=0)
    return TimelineHours(by_day({hour_key(last - int(name[1:]) * HOUR): Tally(*each) for name, each in ago.items()}))


def entry(period: Period, length: timedelta, **changes: Any) -> Any:
    start, end = unix_seconds(END - length), unix_seconds(END)
    return documents.cache_entry(period=period, period_start_ts=start, period_end_ts=end, **changes)


def test_a_trend_ends_with_the_present_hour_and_has_no_value_without_mentions() -> None:
    trend = trend_of(hours(h0=(2, 0, 0, 1_000_000), h1=(0, 1, 0, -500_000)), "HOUR_24", END)
    assert (len(trend.mentions), trend.step, trend.start) == (24, HOUR, END.replace(minute=0) - 23 * HOUR)
    assert trend.mentions[-2:] == (1, 2)
    assert trend.averages[-3:] == (None, -0.5, 0.5)


def test_an_end_at_a_whole_hour_begins_no_step() -> None:
    end = END.replace(minute=0)
    assert trend_of(hours(), "HOUR_24", end).start == end - 24 * HOUR


@pytest.mark.parametrize(("period", "number", "step"), [("DAY_7", 14, 12 * HOUR), ("DAY_30", 30, 24 * HOUR)])
def test_the_steps_of_a_trend_cover_the_period(period: Period, number: int, step: timedelta) -> None:
    trend = trend_of(hours(h0=(1, 0, 0, 100_000), h5=(1, 0, 0, 300_000)), period, END)
    assert (len(trend.mentions), trend.step) == (number, step)
    assert trend.mentions[-1] == 2
    assert trend.averages[-1] == 0.2
    assert trend.shown()["step_seconds"] == step.total_seconds()


def test_a_change_compares_with_the_same_length_before_in_whole_hours() -> None:
    stored = hours(h24=(1, 0, 0, 100_000), h25=(2, 0, 0, 400_000), h48=(1, 0, 0, 0), h49=(9, 0, 0, 0))
    change = change_of(stored, entry("HOUR_24", 24 * HOUR, average_sentiment=0.15))
    assert change is not None
    assert change["total_mentions"] == {"present": 3, "previous": 3, "absolute": 0, "relative": 0.0}
    assert change["average_sentiment"]["previous"] == 0.1333
    assert (change["previous_from"], change["previous_to"]) == ("2026-02-19T20:00:00Z", "2026-02-20T20:00:00Z")


def test_a_time_without_mentions_has_no_average_to_compare_with() -> None:
    change = change_of(hours(), entry("DAY_7", 7 * 24 * HOUR))
    assert change is not None
    assert change["average_sentiment"] == {"present": 0.15, "previous": None, "absolute": None, "relative": None}


def test_no_change_is_told_of_an_empty_time_that_was_not_searched_or_of_one_that_is_not_kept() -> None:
    begin = unix_seconds(END.replace(minute=0) - 48 * HOUR)
    assert change_of(hours(), entry("HOUR_24", 24 * HOUR, searched_since_ts=begin)) is not None
    late = entry("HOUR_24", 24 * HOUR, searched_since_ts=begin + 1)
    assert change_of(hours(), late) is None
    assert change_of(hours(h25=(1, 0, 0, 0)), late) is not None
    assert change_of(hours(), entry("DAY_30", 720 * HOUR)) is None
