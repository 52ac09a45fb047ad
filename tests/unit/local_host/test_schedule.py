"""NCRONTAB by example."""

from datetime import UTC, datetime

import pytest

from scripts.local_host.schedule import parse_schedule, under_a_minute


def at(text: str) -> datetime:
    return datetime.fromisoformat(text).replace(tzinfo=UTC)


@pytest.mark.parametrize(
    ("text", "moment", "expected"),
    [
        ("0 */15 * * * *", "2026-02-21T20:00:00", "2026-02-21T20:15:00"),
        ("0 */15 * * * *", "2026-02-21T23:59:59.999999", "2026-02-22T00:00:00"),
        ("*/30 * * * * *", "2026-02-21T20:00:29.5", "2026-02-21T20:00:30"),
        ("0 30 9 * * 1-5", "2026-02-20T09:30:00", "2026-02-23T09:30:00"),
        ("0 0 0 29 2 *", "2026-01-01T00:00:00", "2028-02-29T00:00:00"),
        ("0 0 0 29 2 1", "2072-03-01T00:00:00", "2112-02-29T00:00:00"),
        ("0 0 0 13 * 5", "2026-01-01T00:00:00", "2026-02-13T00:00:00"),
        ("0 0 22-20 * * *", "2026-01-01T00:00:00", "2026-01-01T20:00:00"),
        ("*/5 * * * *", "2026-01-01T00:00:00", "2026-01-01T00:05:00"),
        ("0 10-40/15,50 8 * * *", "2026-01-01T08:25:00", "2026-01-01T08:40:00"),
        ("0 10-40/15,50 8 * * *", "2026-01-01T08:40:00", "2026-01-01T08:50:00"),
        ("5/1 0 0 1 1 *", "2026-01-01T00:00:05", "2027-01-01T00:00:05"),
        ("00:05:00", "2026-01-01T00:00:07", "2026-01-01T00:05:07"),
        ("1.00:00:00", "2026-01-01T00:00:00", "2026-01-02T00:00:00"),
        ("00:00:00.5", "2026-01-01T00:00:00", "2026-01-01T00:00:00.5"),
    ],
)
def test_expressions_and_time_spans_come_due_as_in_the_real_host(text: str, moment: str, expected: str) -> None:
    assert parse_schedule(text).after(at(moment)) == at(expected)


@pytest.mark.parametrize(
    "text",
    [
        "", "* * * *", "* * * * * * *", "60 * * * * *", "* 60 * * * *", "* * 24 * * *", "* * * 0 * *", "* * * 32 * *",
        "* * * * 13 *", "* * * * * 7", "*/0 * * * * *", "*/x * * * * *", "1- * * * * *", "a * * * * *",
        "1,,2 * * * * *",
        "0 0 0 * ja *", "0 0 0 * * mo", "٣ * * * * *", "00:00:00", "24:00:00", "00:60:00", "00:00:60", "every minute",
    ],
)  # fmt: skip
def test_a_text_that_is_no_schedule_is_refused(text: str) -> None:
    with pytest.raises(ValueError, match=r"."):
        parse_schedule(text)


def test_a_schedule_for_a_date_that_does_not_exist_is_never_due() -> None:
    with pytest.raises(ValueError, match="never comes due"):
        parse_schedule("0 0 0 30 2 *").after(at("2026-01-01T00:00:00"))


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("*/30 * * * * *", True),
        ("0 * * * * *", False),
        ("00:00:59", True),
        ("00:01:00", False),
        ("0,1 0 * * * *", True),
    ],
)
def test_a_schedule_under_a_minute_is_recognised(text: str, expected: bool) -> None:
    assert under_a_minute(parse_schedule(text), at("2026-01-01T00:30:00")) is expected
