"""The trend of a tool, and its change against the period before, follow from the hours of its timeline."""

from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from models.cache import Period
from models.tally import Tally, TimelineHours
from models.timeline import HistoryProgress
from models.values import format_time, hour_key, unix_seconds
from services.figures.trends import before_of, change_of, known_from, trend_of, version_of
from tests import documents
from tests.documents import by_day

END = datetime(2026, 2, 21, 20, 7, tzinfo=UTC)
HOUR = timedelta(hours=1)
START = END.replace(minute=0) - 31 * 24 * HOUR


def hours(**ago: tuple[int, int, int, int]) -> TimelineHours:
    """By `h<number of hours before the hour of END>`, the numbers of a tally."""
    last = END.replace(minute=0)
    return TimelineHours(by_day({hour_key(last - int(name[1:]) * HOUR): Tally(*each) for name, each in ago.items()}))


def of_end(end: datetime) -> Any:
    start = unix_seconds(end - 24 * HOUR)
    return documents.cache_entry(period="HOUR_24", period_start_ts=start, period_end_ts=unix_seconds(end))


def entry(period: Period, length: timedelta, **changes: Any) -> Any:
    start, end = unix_seconds(END - length), unix_seconds(END)
    return documents.cache_entry(period=period, period_start_ts=start, period_end_ts=end, **changes)


def test_a_trend_ends_with_the_present_hour_and_has_no_value_without_mentions() -> None:
    trend = trend_of(hours(h0=(2, 0, 0, 1_000_000), h1=(0, 1, 0, -500_000)), "HOUR_24", END)
    start = format_time(END.replace(minute=0) - 23 * HOUR)
    assert (len(trend["mentions"]), trend["step_seconds"], trend["from"]) == (24, 3600, start)
    assert trend["mentions"][-2:] == [1, 2]
    assert trend["average_sentiment"][-3:] == [None, -0.5, 0.5]


def test_an_end_at_a_whole_hour_begins_no_step() -> None:
    end = END.replace(minute=0)
    assert trend_of(hours(), "HOUR_24", end)["from"] == format_time(end - 24 * HOUR)


@pytest.mark.parametrize(("period", "number", "step"), [("DAY_7", 14, 12 * HOUR), ("DAY_30", 30, 24 * HOUR)])
def test_the_steps_of_a_trend_cover_the_period(period: Period, number: int, step: timedelta) -> None:
    trend = trend_of(hours(h0=(1, 0, 0, 100_000), h5=(1, 0, 0, 300_000)), period, END)
    assert (len(trend["mentions"]), trend["step_seconds"]) == (number, step.total_seconds())
    assert (trend["mentions"][-1], trend["average_sentiment"][-1]) == (2, 0.2)


def change(stored: TimelineHours, figures: Any, since: datetime = START) -> dict[str, Any] | None:
    return change_of(figures, before_of(stored, figures, since))


def test_a_change_compares_with_the_same_length_before_in_whole_hours() -> None:
    stored = hours(h24=(1, 0, 0, 100_000), h25=(2, 0, 0, 400_000), h48=(1, 0, 0, 0), h49=(9, 0, 0, 0))
    found = change(stored, entry("HOUR_24", 24 * HOUR, average_sentiment=0.15))
    assert found is not None
    assert found["total_mentions"] == {"present": 3, "previous": 3, "absolute": 0, "relative": 0.0}
    assert found["average_sentiment"]["previous"] == 0.1333
    assert (found["previous_from"], found["previous_to"]) == ("2026-02-19T20:00:00Z", "2026-02-20T20:00:00Z")


def test_a_time_without_mentions_has_no_average_to_compare_with() -> None:
    found = change(hours(), entry("DAY_7", 7 * 24 * HOUR))
    assert found is not None
    assert found["average_sentiment"] == {"present": 0.15, "previous": None, "absolute": None, "relative": None}


def test_no_change_is_told_of_an_empty_time_that_was_not_searched_or_of_one_that_is_not_known() -> None:
    begin = unix_seconds(END.replace(minute=0) - 48 * HOUR)
    assert change(hours(), entry("HOUR_24", 24 * HOUR, searched_since_ts=begin)) is not None
    late = entry("HOUR_24", 24 * HOUR, searched_since_ts=begin + 1)
    assert change(hours(), late) is None
    assert change(hours(h25=(1, 0, 0, 0)), late) is not None
    month = entry("DAY_30", 720 * HOUR)
    two_months_ago = END.replace(minute=0) - 1440 * HOUR
    assert change(hours(), month, two_months_ago) is not None
    assert change(hours(h800=(1, 0, 0, 0)), month, two_months_ago + HOUR) is None


def test_hours_are_known_since_the_app_has_run_or_as_far_as_its_first_feeds_reached() -> None:
    live = datetime(2026, 1, 21, tzinfo=UTC)
    for age, since in ((90, datetime(2025, 11, 23, tzinfo=UTC)), (31, live), (5, live)):
        began = END - timedelta(days=age)
        progress = HistoryProgress(created_at=began, updated_at=END, since="2026-01-21", closed_until="2026-02-20")
        assert known_from(progress, END) == since
    assert known_from(None, END) == live


def test_the_month_before_is_compared_in_whole_hours() -> None:
    month = entry("DAY_30", 720 * HOUR)
    stored = hours(h719=(32, 0, 0, 0), h721=(1, 0, 0, 0), h900=(2, 0, 0, 0), h1440=(4, 0, 0, 0), h1441=(8, 0, 0, 0))
    before = before_of(stored, month, END.replace(minute=0) - 1440 * HOUR)
    assert before is not None
    assert before.positive == 1 + 2 + 4


def test_what_was_made_lasts_until_the_next_recount_or_hour() -> None:
    month = entry("DAY_30", 720 * HOUR)
    again = entry("DAY_30", 720 * HOUR, recounts=month.recounts + 1)
    assert len({version_of(each, since) for each in (month, again) for since in (START, START + HOUR)}) == 4
    whole = [END.replace(minute=0) + minutes * HOUR / 60 for minutes in (0, 1, 59, 60)]
    versions = [version_of(of_end(each), START) for each in whole]
    assert versions[1] == versions[2]
    assert len(set(versions)) == 3
