"""The four periods as callers name them, and their windows."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

import pytest

from models.cache import DEFAULT_PERIOD, PERIODS, Period, Window, entry_id, generation_id, period_named
from models.errors import InvalidInput

NOW = datetime(2026, 2, 21, 20, 17, 31, 250_000, tzinfo=UTC)


def test_the_periods_are_an_hour_a_day_a_week_and_thirty_days() -> None:
    assert {period: span / timedelta(hours=1) for period, span in PERIODS.items()} == {
        "HOUR_1": 1,
        "HOUR_24": 24,
        "DAY_7": 168,
        "DAY_30": 720,
    }


def test_periods_run_from_the_shortest_to_the_longest() -> None:
    """Windows are summed in this order, each from the shorter ones."""
    assert list(PERIODS.values()) == sorted(PERIODS.values())


@pytest.mark.parametrize(
    ("hours", "period", "named"),
    [
        (None, None, "HOUR_24"),
        ("1", None, "HOUR_1"),
        ("24", None, "HOUR_24"),
        ("168", None, "DAY_7"),
        ("720", None, "DAY_30"),
        (None, "HOUR_1", "HOUR_1"),
        (None, "HOUR_24", "HOUR_24"),
        (None, "DAY_7", "DAY_7"),
        (None, "DAY_30", "DAY_30"),
        ("1", "HOUR_1", "HOUR_1"),
        ("720", "DAY_30", "DAY_30"),
    ],
)
def test_a_period_is_named_by_its_hours_or_its_name_or_both(hours: str | None, period: str | None, named: str) -> None:
    assert period_named(hours, period) == named


@pytest.mark.parametrize(
    ("hours", "period", "refusal"),
    [
        ("0", None, "hours: one of 1, 24, 168, 720"),
        ("", None, "hours: one of"),
        ("24.0", None, "hours: one of"),
        ("x", "HOUR_1", "hours: one of"),
        (None, "", "period: one of HOUR_1, HOUR_24, DAY_7, DAY_30"),
        (None, "hour_1", "period: one of"),
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
        ("HOUR_1", datetime(2026, 2, 21, 19, 17, tzinfo=UTC)),
        ("HOUR_24", datetime(2026, 2, 20, 20, 17, tzinfo=UTC)),
        ("DAY_7", datetime(2026, 2, 14, 20, 17, tzinfo=UTC)),
        ("DAY_30", datetime(2026, 1, 22, 20, 17, tzinfo=UTC)),
    ],
)
def test_a_window_ends_with_the_minute_and_is_as_long_as_its_period(period: Period, start: datetime) -> None:
    end = datetime(2026, 2, 21, 20, 17, tzinfo=UTC)
    assert Window.at(period, NOW) == Window.ending(period, end) == Window(start, end)


def test_a_window_in_unix_seconds() -> None:
    assert Window.at("HOUR_1", NOW).seconds == (1771701420, 1771705020)


def test_an_entry_and_a_generation_are_named_for_their_tool() -> None:
    assert entry_id("vscode", DEFAULT_PERIOD) == "vscode:HOUR_24"
    assert generation_id("vscode") == "vscode:generation"
