"""When to come back, read from headers."""

from datetime import UTC, datetime

import pytest
from hypothesis import given
from hypothesis import strategies as st

from services.fetch.headers import max_age_seconds, retry_after_seconds, validator

NOW = datetime(2026, 2, 18, 10, 0, tzinfo=UTC)
SERVERS_NOW = "Wed, 18 Feb 2026 12:00:00 GMT"  # two hours ahead


@pytest.mark.parametrize(
    ("headers", "seconds"),
    [
        ({}, None),
        ({"Retry-After": "120"}, 120),
        ({"Retry-After": " 0 "}, 0),
        ({"Retry-After": "-5"}, None),
        ({"Retry-After": "soon"}, None),
        ({"Retry-After": "٣"}, None),
        ({"Retry-After": "9" * 400}, 10 * 365 * 86400),
        ({"Retry-After": "Wed, 18 Feb 2026 10:02:00 GMT"}, 120),
        ({"Retry-After": "Wed, 18 Feb 2026 12:02:00 GMT", "Date": SERVERS_NOW}, 120),
        ({"Retry-After": "Wed, 18 Feb 2026 11:02:00 GMT", "Date": SERVERS_NOW}, 0),
        ({"Retry-After": "Wednesday, 18-Feb-26 10:02:00 GMT"}, 120),
        ({"Retry-After": "Wed, 99 Feb 2026 10:02:00 GMT"}, None),
    ],
)
def test_retry_after_in_seconds_or_as_a_date(headers: dict[str, str], seconds: float | None) -> None:
    assert retry_after_seconds(headers, NOW) == seconds


@pytest.mark.parametrize(
    ("headers", "seconds"),
    [
        ({}, None),
        ({"Cache-Control": "max-age=300"}, 300),
        ({"Cache-Control": 'private, MAX-AGE="300", x'}, 300),
        ({"Cache-Control": "s-maxage=300"}, None),
        ({"Cache-Control": "s-maxage=9,max-age=300", "Age": "100"}, 200),
        ({"Cache-Control": "max-age=300", "Age": "1000"}, 0),
        ({"Cache-Control": "max-age=300, no-cache"}, None),
        ({"Cache-Control": "no-store", "Expires": "Wed, 18 Feb 2026 11:00:00 GMT"}, None),
        ({"Cache-Control": "max-age=-1"}, None),
        ({"Cache-Control": "public", "Expires": "Wed, 18 Feb 2026 12:05:00 GMT", "Date": SERVERS_NOW}, 300),
        ({"Expires": "Wed, 18 Feb 2026 09:00:00 GMT"}, 0),
        ({"Expires": "0"}, None),
        ({"Expires": "Thu, 01 Jan 1970 00:00:00 GMT"}, 0),
    ],
)
def test_freshness_from_max_age_or_expires(headers: dict[str, str], seconds: float | None) -> None:
    assert max_age_seconds(headers, NOW) == seconds


@given(st.fixed_dictionaries({name: st.text() for name in ("Retry-After", "Cache-Control", "Expires", "Date", "Age")}))
def test_no_header_is_too_odd_to_be_read(headers: dict[str, str]) -> None:
    for seconds in (retry_after_seconds(headers, NOW), max_age_seconds(headers, NOW)):
        assert seconds is None or 0 <= seconds <= 10 * 365 * 86400


@pytest.mark.parametrize("value", [None, "", "  ", "a\nb", "\x00", "日", "x" * 1025])
def test_a_validator_that_cannot_be_sent_back_is_none(value: str | None) -> None:
    assert validator(value) is None


def test_a_validator_is_kept_as_it_came() -> None:
    assert validator('W/"caf\xe9"') == 'W/"caf\xe9"'
