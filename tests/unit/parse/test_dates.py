"""Dates in the two common formats are read without feedparser, and mean the same to both."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from email.utils import format_datetime

import pytest

from services.parse import dates
from services.parse.dates import first_date, from_unix_seconds, parse_date

NOON = datetime(2025, 6, 30, 12, tzinfo=UTC)
RFC822 = [
    ("Mon, 30 Jun 2025 12:00:00 GMT", NOON),
    ("Mon, 30 Jun 2025 12:00:00 +0000", NOON),
    ("Mon, 30 Jun 2025 12:00:00 -0000", NOON),
    ("Mon, 30 Jun 2025 14:00:00 +0200", NOON),
    ("Mon, 30 Jun 2025 14:00:00 +02:00", NOON),
    ("Mon, 30 Jun 2025 04:30:00 -0730", NOON),
    ("Mon, 30 Jun 2025 17:45:00 +0545", NOON),
    ("Tue, 01 Jul 2025 02:00:00 +1400", NOON),
    ("Tue, 01 Jul 2025 02:45:00 +1445", NOON),
    ("Tue, 1 Jul 2025 00:00:01 GMT", datetime(2025, 7, 1, 0, 0, 1, tzinfo=UTC)),
]
ISO8601 = [
    ("2025-06-30T12:00:00Z", NOON),
    ("2025-06-30T12:00:00.5Z", NOON),
    ("2025-06-30T12:00:00.Z", NOON),
    ("2025-06-30T12:00:00.999999999Z", NOON),
    ("2025-06-30T12:00:00+00:00", NOON),
    ("2025-06-30T14:00:00+02:00", NOON),
    ("2025-06-30T14:00:00.123+02:00", NOON),
    ("2025-06-30T04:30:00-07:30", NOON),
]


def test_every_day_of_a_year_is_read() -> None:
    for days in range(365):
        moment = NOON + timedelta(days=days, seconds=days)
        assert dates._parse_rfc822(format_datetime(moment, usegmt=True)) == moment


@pytest.mark.parametrize(("text", "moment"), [*RFC822, *ISO8601])
def test_dates_of_rss_and_atom_are_read_without_feedparser(text: str, moment: datetime) -> None:
    assert (dates._parse_rfc822(text) if (text, moment) in RFC822 else dates._parse_iso8601(text)) == moment
    assert dates._parse_as_feedparser(text) == parse_date(text) == moment


@pytest.mark.parametrize(
    "text",
    [
        "Mon, 30 Jun 2025 12:00:00 EST",
        "Mon, 30 Jun 2025 12:00:00 +0207",
        "Mon, 30 Jun 2025 12:00:00 +1500",
        "Mon, 30 Jun 2025 12:00:00",
        "Mon, 30-Jun-2025 12:00:00 GMT",
        "Mon, 30 Jun 2025 12.00:00 GMT",
        "Mon, 30 jun 2025 12:00:00 GMT",
        "Foo, 30 Jun 2025 12:00:00 GMT",
    ],
)
def test_other_forms_of_rss_dates_are_left_to_feedparser(text: str) -> None:
    assert dates._parse_rfc822(text) is None


@pytest.mark.parametrize(
    "text",
    [
        "2025-06-30T12:00:00",
        "2025-06-30 12:00:00Z",
        "2025/06-30T12:00:00Z",
        "2025-06-30T12:00:00+0200",
        "2025-06-30T12:00:00.5",
    ],
)
def test_other_forms_of_atom_dates_are_left_to_feedparser(text: str) -> None:
    assert dates._parse_iso8601(text) is None


@pytest.mark.parametrize(
    ("text", "moment"),
    [
        ("30 Jun 2025 07:00 EST", NOON),
        ("2025-06-30", datetime(2025, 6, 30, tzinfo=UTC)),
        ("Mon, 30 Feb 2025 12:00:00 GMT", None),
        ("yesterday", None),
        ("", None),
        ("2025-06-30" + " " * 90, datetime(2025, 6, 30, tzinfo=UTC)),
        ("2025-06-30" + " " * 91, None),
    ],
)
def test_all_other_dates_are_read_as_feedparser_reads_them(text: str, moment: datetime | None) -> None:
    assert parse_date(text) == moment


def test_the_first_date_of_several_counts() -> None:
    assert first_date("", "soon", "2025-06-30T12:00:00Z", "2020-01-01T00:00:00Z") == NOON
    assert first_date("", "soon") is None
    assert first_date() is None


@pytest.mark.parametrize(
    ("seconds", "moment"),
    [
        (1_751_284_800, NOON),
        (1_751_284_800.9, NOON),
        (-1, datetime(1969, 12, 31, 23, 59, 59, tzinfo=UTC)),
        (0, None),
        (True, None),
        (None, None),
        ("1751284800", None),
        (1e300, None),
        (float("nan"), None),
    ],
)
def test_unix_seconds_are_a_date_but_zero_is_none(seconds: object, moment: datetime | None) -> None:
    assert from_unix_seconds(seconds) == moment


@pytest.mark.parametrize(
    ("parts", "moment"),
    [
        ((2025, 6, 30, 12, 0, 0, 0, 0, 0), NOON),
        ((2025, 6, 30, 12, 0, 61, 0, 0, 0), datetime(2025, 6, 30, 12, 0, 59, tzinfo=UTC)),
        ((2025, 6, 31, 12, 0, 0, 0, 0, 0), None),
    ],
)
def test_feedparsers_form_of_a_date_is_read_with_leap_seconds(parts: tuple[int, ...], moment: datetime | None) -> None:
    assert dates.from_time_tuple(parts) == moment
