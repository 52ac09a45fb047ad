"""The points of a history, and its windows."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from models.values import format_time
from services.figures.counting import DayCount
from services.figures.points import Counted, Point, SpanCount, change_of, compared, days_between
from services.figures.span import Span, day_start
from services.figures.tool_counts import MentionCount

NOW = datetime(2026, 3, 2, 20, 17, 31, tzinfo=UTC)
TODAY = day_start(NOW.date())
DAY, HOUR = timedelta(days=1), timedelta(hours=1)


def _mention(at: datetime, sentiment: str = "neutral", **fields: Any) -> dict[str, Any]:
    polarity = {"positive": 0.5, "negative": -0.5, "neutral": 0.0}[sentiment]
    judged = {"sentiment": sentiment, "polarity": polarity, "analyzer": "embedded", "analyzer_version": "1"}
    return {"id": "a", "source_id": "a", "published_at": format_time(at), **judged, **fields}


def _counts(*mentions: dict[str, Any]) -> dict[str, DayCount]:
    """By day, as a history names it."""
    count = MentionCount()
    for mention in mentions:
        count.add(mention)
    return {f"{name[:4]}-{name[4:6]}-{name[6:]}": each for name, each in count.days().items()}


def _counted(span: Span, *mentions: dict[str, Any]) -> Counted:
    counted = Counted(span)
    for day, counts in _counts(*mentions).items():
        counted.add(day, counts)
    return counted


def _days(number: int) -> Span:
    return Span("day", TODAY - (number - 1) * DAY, TODAY + DAY, NOW)


def test_a_point_has_the_mentions_of_its_step_and_is_zero_without_any() -> None:
    times = ((TODAY, "negative"), (TODAY - DAY, "positive"), (TODAY - timedelta(seconds=1), "neutral"))
    counted = _counted(_days(2), *(_mention(at, sentiment) for at, sentiment in times))
    first, second = counted.points()
    assert (first.name, first.figures["total_mentions"], first.figures["positive_count"]) == ("2026-03-01", 2, 1)
    assert (second.name, second.figures["negative_count"], second.state) == ("2026-03-02", 1, "live")
    assert counted.total.count.mentions == 3
    assert Counted(_days(1)).points()[0].figures["total_mentions"] == 0


def test_an_hour_is_named_by_its_start() -> None:
    counted = _counted(Span("hour", TODAY, TODAY + 2 * HOUR, NOW), _mention(TODAY + HOUR + timedelta(minutes=59)))
    shown = [point.shown() for point in counted.points()]
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
    assert days_between(TODAY - DAY, TODAY + HOUR) == ["2026-03-01", "2026-03-02"]
    assert days_between(TODAY - HOUR, TODAY) == ["2026-03-01"]
    assert days_between(TODAY, TODAY) == []


def test_a_window_counts_the_minutes_of_a_day_that_are_in_it() -> None:
    minutes = (0, 59, 60, 61, 24 * 60 - 1)
    ((_, counts),) = _counts(*(_mention(TODAY + timedelta(minutes=each)) for each in minutes)).items()
    for since, until, mentions in ((0, 24 * 60, 5), (1, 61, 2), (60, 61, 1), (24 * 60, 25 * 60, 0), (-60, 1, 1)):
        window = SpanCount(TODAY + timedelta(minutes=since), TODAY + timedelta(minutes=until))
        window.add(TODAY, counts)
        assert window.count.mentions == mentions


@pytest.mark.parametrize(("span", "end"), [(Span("day", TODAY - 7 * DAY, TODAY, NOW), TODAY), (_days(7), NOW)])
def test_the_part_of_the_span_that_is_over_is_compared_with_the_same_part_of_the_time_before(
    span: Span, end: datetime
) -> None:
    change = Counted(span).change
    assert change is not None
    end = end if end == TODAY else TODAY + timedelta(hours=20, minutes=18)
    assert (change.present.start, change.present.end) == (span.start, end)
    assert (change.previous.start, change.previous.end) == (span.start - 7 * DAY, end - 7 * DAY)


def test_a_span_that_has_not_begun_or_has_no_time_before_it_is_compared_with_nothing() -> None:
    first = datetime(1, 1, 1, tzinfo=UTC)
    assert Counted(Span("day", first, first + DAY, NOW)).change is None
    later = Span("day", TODAY + DAY, TODAY + 2 * DAY, NOW)
    assert change_of(later, SpanCount(later.start, later.until)) is None


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
    mentions = (_mention(TODAY - age * DAY, event_id="one", publisher_id=publisher) for age, publisher in said)
    counted = _counted(span, *mentions)
    assert [point.state for point in counted.points()[-2:]] == ["frozen", "frozen"]
    figures = counted.total.count.figures()
    assert (figures["total_mentions"], figures["stories"], figures["publishers"]) == (2, 1, 2)
    live = Counted(Span("day", TODAY - 31 * DAY, TODAY - 30 * DAY, NOW))
    live.add("2026-01-30", next(iter(_counts(_mention(TODAY - 31 * DAY)).values())))
    assert live.points()[0].state == "live"


def test_of_a_day_without_counts_nothing_is_known_unless_the_app_has_run() -> None:
    counted = Counted(Span("day", TODAY - 50 * DAY, TODAY - 48 * DAY, NOW))
    counted.put("2026-01-11", "frozen")
    assert counted.total.count.figures()["total_mentions"] == 0
    counted.put("2026-01-12", "unknown")
    first, second = counted.points()
    assert (first.state, first.figures["total_mentions"]) == ("frozen", 0)
    assert (second.state, set(second.figures.values())) == ("unknown", {None})
    assert set(counted.total.count.figures().values()) == {None}
