"""The time and the points of a history."""

from __future__ import annotations

from datetime import UTC, date, datetime, timedelta

import pytest

from models.errors import InvalidInput
from models.values import format_time
from services.figures.counting import DayCount
from services.figures.points import (
    DEFAULT_DAYS,
    LIVE_DAYS,
    MAX_DAYS,
    MAX_POINTS,
    MAX_TOOLS,
    Counted,
    Point,
    Span,
    SpanCount,
    Step,
    compared,
    days_between,
    first_live_day,
    span_of,
    time_before,
    tool_texts,
)
from services.ports import Document
from tests.unit.figures.mentions import a_mention, counted

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


def _counts(*mentions: Document) -> dict[date, DayCount]:
    return {date.fromisoformat(name): each for name, each in counted(*mentions).days().items()}


def _counted(span: Span, *mentions: Document) -> Counted:
    found = Counted(span)
    for day, counts in _counts(*mentions).items():
        found.add(day, counts)
    return found


def _days(number: int) -> Span:
    return Span("day", TODAY - (number - 1) * DAY, TODAY + DAY, NOW)


def test_a_point_has_the_mentions_of_its_step_and_is_zero_without_any() -> None:
    times = ((TODAY, -0.5), (TODAY - DAY, 0.5), (TODAY - timedelta(seconds=1), 0.0))
    found = _counted(_days(2), *(a_mention(at, polarity) for at, polarity in times))
    first, second = found.points()
    assert (first.name, first.figures["total_mentions"], first.figures["positive_count"]) == ("2026-03-01", 2, 1)
    assert (second.name, second.figures["negative_count"], second.state) == ("2026-03-02", 1, "live")
    assert found.total.count.mentions == 3
    assert Counted(_days(1)).points()[0].figures["total_mentions"] == 0


def test_an_hour_is_named_by_its_start() -> None:
    found = _counted(Span("hour", TODAY, TODAY + 2 * HOUR, NOW), a_mention(TODAY + HOUR + timedelta(minutes=59)))
    shown = [point.shown() for point in found.points()]
    assert [(each["hour"], each["total_mentions"]) for each in shown] == [
        ("2026-03-02T00:00:00Z", 0),
        ("2026-03-02T01:00:00Z", 1),
    ]


def test_a_point_of_the_raw_layer_has_its_source_and_no_state() -> None:
    figures = {"total_mentions": 3, "unscored_mentions": 1, "analyzers": ["embedded/1"]}
    point = Point("day", "2026-03-01", figures, source="reuters")
    assert point.shown() == {"day": "2026-03-01", "source": "reuters", **figures}
    assert (point.mentions, list(point.analyzers)) == (4, ["embedded/1"])
    unknown = Point("day", "2026-03-01", dict.fromkeys(figures), "unknown")
    assert (unknown.shown()["state"], unknown.mentions, list(unknown.analyzers)) == ("unknown", 0, [])


def test_the_days_of_a_time_are_listed_oldest_first() -> None:
    assert days_between(TODAY - DAY, TODAY + HOUR) == [date(2026, 3, 1), date(2026, 3, 2)]
    assert days_between(TODAY - HOUR, TODAY) == [date(2026, 3, 1)]
    assert days_between(TODAY, TODAY) == []


def test_a_window_counts_the_minutes_of_a_day_that_are_in_it() -> None:
    minutes = (0, 59, 60, 61, 24 * 60 - 1)
    ((_, counts),) = _counts(*(a_mention(TODAY + timedelta(minutes=each)) for each in minutes)).items()
    for since, until, mentions in ((0, 24 * 60, 5), (1, 61, 2), (60, 61, 1), (24 * 60, 25 * 60, 0), (-60, 1, 1)):
        window = SpanCount(TODAY + timedelta(minutes=since), TODAY + timedelta(minutes=until))
        window.add(TODAY, counts)
        assert window.count.mentions == mentions


@pytest.mark.parametrize(("span", "end"), [(Span("day", TODAY - 7 * DAY, TODAY, NOW), TODAY), (_days(7), NOW)])
def test_the_part_of_the_span_that_is_over_is_compared_with_the_same_part_of_the_time_before(
    span: Span, end: datetime
) -> None:
    change = Counted(span).change()
    assert change is not None
    end = end if end == TODAY else TODAY + timedelta(hours=20, minutes=18)
    assert (change["from"], change["to"]) == (format_time(span.start), format_time(end))
    earlier = format_time(span.start - 7 * DAY), format_time(end - 7 * DAY)
    assert (change["previous_from"], change["previous_to"]) == earlier


def test_a_span_that_has_not_begun_or_has_no_time_before_it_is_compared_with_nothing() -> None:
    first = datetime(1, 1, 1, tzinfo=UTC)
    assert Counted(Span("day", first, first + DAY, NOW)).change() is None
    assert time_before(Span("day", TODAY + DAY, TODAY + 2 * DAY, NOW)) is None


@pytest.mark.parametrize(
    ("name", "present", "previous", "absolute", "relative"),
    [
        ("total_mentions", 15, 10, 5, 0.5),
        ("total_mentions", 0, 3, -3, -1.0),
        ("total_mentions", 3, 0, 3, None),
        ("stories", None, 4, None, None),
        ("stories", 4, None, None, None),
        ("average_sentiment", 0.3, 0.1, 0.2, None),
    ],
)
def test_a_change_is_absolute_and_relative(
    name: str, present: float | None, previous: float | None, absolute: float | None, relative: float | None
) -> None:
    assert compared(name, present, previous) == {
        "present": present,
        "previous": previous,
        "absolute": absolute,
        "relative": relative,
    }


def test_days_that_are_not_live_are_frozen_and_add_up() -> None:
    span = Span("day", TODAY - 50 * DAY, TODAY - 39 * DAY, NOW)
    said = [(40, "a.example"), (41, "b.example")]
    mentions = (a_mention(TODAY - age * DAY, event_id="one", publisher_id=publisher) for age, publisher in said)
    found = _counted(span, *mentions)
    assert [point.state for point in found.points()[-2:]] == ["frozen", "frozen"]
    figures = found.total.count.figures()
    assert (figures["total_mentions"], figures["stories"], figures["publishers"]) == (2, 1, 2)
    live = Counted(Span("day", TODAY - 31 * DAY, TODAY - 30 * DAY, NOW))
    live.add(date(2026, 1, 30), next(iter(_counts(a_mention(TODAY - 31 * DAY)).values())))
    assert live.points()[0].state == "live"


def test_of_a_day_that_nobody_knows_all_figures_are_null() -> None:
    found = Counted(Span("day", TODAY - 50 * DAY, TODAY - 48 * DAY, NOW))
    assert found.total.count.figures()["total_mentions"] == 0
    found.add(date(2026, 1, 12), None)
    first, second = found.points()
    assert (first.state, first.figures["total_mentions"]) == ("frozen", 0)
    assert (second.state, set(second.figures.values())) == ("unknown", {None})
    assert set(found.total.count.figures().values()) == {None}
    hours = Counted(Span("hour", TODAY - HOUR, TODAY + HOUR, NOW))
    hours.add(TODAY.date(), None)
    assert [point.state for point in hours.points()] == ["live", "unknown"]
