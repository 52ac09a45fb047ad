"""Which time a request for a history may ask for."""

from __future__ import annotations

from datetime import UTC, date, datetime, timedelta

import pytest

from models.errors import InvalidInput
from services.figures.span import (
    DEFAULT_DAYS,
    LIVE_DAYS,
    MAX_DAYS,
    MAX_POINTS,
    MAX_TOOLS,
    Span,
    Step,
    first_live_day,
    span_of,
    tool_texts,
)

NOW = datetime(2026, 3, 2, 20, 17, 31, tzinfo=UTC)
TODAY = datetime(2026, 3, 2, tzinfo=UTC)
DAY, HOUR = timedelta(days=1), timedelta(hours=1)


def test_the_limits() -> None:
    assert (DEFAULT_DAYS, MAX_DAYS, LIVE_DAYS, MAX_POINTS, MAX_TOOLS) == (7, 30, 32, 4000, 20)


def test_a_history_is_of_the_last_seven_days_unless_asked_otherwise() -> None:
    span = span_of({}, None, "day", NOW)
    assert (span.start, span.end, len(span.starts)) == (TODAY - 6 * DAY, TODAY + DAY, 7)
    assert span_of({}, 1, "day", NOW).starts == [TODAY]
    assert span.until == NOW.replace(second=0) + timedelta(minutes=1)


def test_hours_go_up_to_the_present_one() -> None:
    span = span_of({}, 2, "hour", NOW)
    assert (span.start, span.end, len(span.starts)) == (TODAY - DAY, TODAY + 21 * HOUR, 45)


@pytest.mark.parametrize(
    ("step", "since", "until", "start", "end"),
    [
        ("day", "2026-02-01", "2026-02-03", datetime(2026, 2, 1, tzinfo=UTC), datetime(2026, 2, 3, tzinfo=UTC)),
        ("day", "2026-03-01", None, TODAY - DAY, TODAY + DAY),
        ("day", "2026-03-01", "2026-03-03", TODAY - DAY, TODAY + DAY),
        ("day", "2026-03-01T00:00:00+00:00", None, TODAY - DAY, TODAY + DAY),
        ("hour", "2026-03-01", "2026-03-01T05:00:00Z", TODAY - DAY, TODAY - 19 * HOUR),
        ("hour", "2026-03-02T22:00:00+02:00", None, TODAY + 20 * HOUR, TODAY + 21 * HOUR),
        ("hour", "2026-01-30", None, TODAY - 31 * DAY, TODAY + 21 * HOUR),
        ("day", "2016-01-01", "2026-01-01", datetime(2016, 1, 1, tzinfo=UTC), datetime(2026, 1, 1, tzinfo=UTC)),
    ],
)
def test_a_span_is_named_by_days_or_times(
    step: Step, since: str, until: str | None, start: datetime, end: datetime
) -> None:
    span = span_of({"from": since, "to": until}, None, step, NOW)
    assert (span.start, span.end) == (start, end)


@pytest.mark.parametrize(
    ("given", "days", "step", "tools", "field", "said"),
    [
        ({"to": "2026-03-01"}, None, "day", 1, "from", "needed with `to`"),
        ({"from": "2026-03-01"}, 7, "day", 1, "days", "not together with `from`"),
        ({"from": "yesterday"}, None, "day", 1, "from", "must be a day such as"),
        ({"from": "2026-03-01T00:00:00"}, None, "day", 1, "from", "must be a day such as"),
        ({"from": "2026-02-30"}, None, "day", 1, "from", "must be a day such as"),
        ({"from": "20260220"}, None, "day", 1, "from", "must be a day such as"),
        ({"from": "2026-W08"}, None, "day", 1, "from", "must be a day such as"),
        ({"from": "2026-03-01", "to": ""}, None, "day", 1, "to", "must be a day such as"),
        ({"from": "2026-03-01T01:00:00Z"}, None, "day", 1, "from", "must be the start of a UTC day"),
        ({"from": "2026-03-01T01:30:00Z"}, None, "hour", 1, "from", "must be the start of a UTC hour"),
        ({"from": "2026-03-01", "to": "2026-03-04"}, None, "day", 1, "to", "at most 2026-03-03T00:00:00Z"),
        ({"from": "2026-03-02", "to": "2026-03-03"}, None, "hour", 1, "to", "at most 2026-03-02T21:00:00Z"),
        ({"from": "2026-03-01", "to": "2026-03-01"}, None, "day", 1, "from", "before `to`, which is 2026-03-01"),
        ({"from": "2026-03-09"}, None, "day", 1, "from", "before `to`"),
        ({"from": "2026-01-29"}, None, "hour", 1, "from", "at least 2026-01-30T00:00:00Z with step=hour"),
        ({"from": "2010-01-01"}, None, "day", 1, "from", "at most 4,000 points, 5,905 are asked for"),
        ({"from": "2025-12-01"}, None, "day", 50, "from", "at most 80 points for each of 50 tools, 92 are asked for"),
        ({}, 30, "hour", 6, "days", "at most 666 points for each of 6 tools, 717 are asked for"),
    ],
)
def test_another_span_is_refused_with_the_field_and_what_is_allowed(
    given: dict[str, str], days: int | None, step: Step, tools: int, field: str, said: str
) -> None:
    with pytest.raises(InvalidInput) as refused:
        span_of(given, days, step, NOW, tools)
    assert refused.value.field == field
    assert said in refused.value.allowed


def test_a_mention_belongs_to_the_step_in_which_it_was_published() -> None:
    for step, name in (("day", "2026-03-01"), ("hour", "2026-03-01T23:00:00Z")):
        span = span_of({"from": "2026-03-01"}, None, step, NOW)  # type: ignore[arg-type]
        assert span.step_of("2026-03-01T23:59:59Z") == name
        assert name in {span.named(start) for start in span.starts}


def test_the_last_thirty_two_days_are_live() -> None:
    assert first_live_day(NOW) == date(2026, 1, 30)
    assert Span("day", TODAY, TODAY + DAY, NOW).starts == [TODAY]


def test_several_tools_are_separated_by_commas() -> None:
    assert tool_texts(" VS Code ,vim") == ["VS Code", "vim"]
    for text in ("", "a,,b", "a,", ",".join("a" * 21)):
        with pytest.raises(InvalidInput, match=r"^tools: 1 to 20 ids"):
            tool_texts(text)
