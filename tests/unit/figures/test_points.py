"""The points of a history, and its windows."""

from __future__ import annotations

from datetime import UTC, date, datetime, timedelta
from typing import Any

import pytest

from models.history import DailyClose, FrozenDay, HistoryDay, HistoryProgress
from models.tally import Tally, TimelineHours, by_day
from models.values import format_time
from services.figures.counting import Count, CountedMention
from services.figures.points import (
    Counted,
    Point,
    change_of,
    compared,
    counted_days,
    days_between,
    oldest_counted,
    put_stored_day,
)
from services.figures.span import Span, day_start

NOW = datetime(2026, 3, 2, 20, 17, 31, tzinfo=UTC)
TODAY = day_start(NOW.date())
DAY, HOUR = timedelta(days=1), timedelta(hours=1)
LONG_AGO = NOW - timedelta(days=400)


def _mention(at: datetime, sentiment: str = "neutral", **fields: Any) -> dict[str, Any]:
    polarity = {"positive": 0.5, "negative": -0.5, "neutral": 0.0}[sentiment]
    judged = {"sentiment": sentiment, "polarity": polarity, "analyzer": "embedded", "analyzer_version": "1"}
    return {"id": "a", "source_id": "a", "published_at": format_time(at), **judged, **fields}


def _days(number: int) -> Span:
    return Span("day", TODAY - (number - 1) * DAY, TODAY + DAY, NOW)


def _stored(day: date, **fields: Any) -> HistoryDay:
    changes: dict[str, Any] = {"created_at": NOW, "updated_at": NOW, "tool_id": "a-tool", "day": day.isoformat()}
    return HistoryDay(**(changes | fields))


def test_a_point_has_the_mentions_of_its_step_and_is_zero_without_any() -> None:
    counted = Counted(_days(2), LONG_AGO)
    for at, sentiment in ((TODAY, "negative"), (TODAY - DAY, "positive"), (TODAY - timedelta(seconds=1), "neutral")):
        counted.add(_mention(at, sentiment))
    first, second = counted.points()
    assert (first.name, first.figures["total_mentions"], first.figures["positive_count"]) == ("2026-03-01", 2, 1)
    assert (second.name, second.figures["negative_count"], second.state) == ("2026-03-02", 1, "live")
    assert counted.total.count.mentions == 3
    assert Counted(_days(1), LONG_AGO).points()[0].figures["total_mentions"] == 0


def test_an_hour_is_named_by_its_start() -> None:
    counted = Counted(Span("hour", TODAY, TODAY + 2 * HOUR, NOW), LONG_AGO)
    counted.add(_mention(TODAY + HOUR + timedelta(minutes=59)))
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


def test_the_hours_of_a_timeline_count_without_their_stories() -> None:
    hours = TimelineHours(
        by_day({"2026030123": [1, 0, 0, 400_000], "2026030200": [0, 2, 0, -500_000, 1], "2026030220": [0, 0, 7, 0]}),
        {"embedded/1": {"20260302": 1}},
    )
    counted = Counted(_days(1), day_start(date(2026, 2, 1)), whole_hours=True)
    counted.add_hours(hours, counted.start)
    (point,) = counted.points()
    assert {name: point.figures[name] for name in ("total_mentions", "unscored_mentions", "stories", "analyzers")} == {
        "total_mentions": 9,
        "unscored_mentions": 1,
        "stories": None,
        "analyzers": ["embedded/1"],
    }
    assert counted.total.count.mentions == 10
    # Up to eight in the evening, since the hour that is not over cannot be divided.
    assert counted.change is not None
    assert counted.change.present.end == TODAY + 20 * HOUR
    assert (counted.change.present.count.mentions, counted.change.previous.count.mentions) == (3, 0)


def test_the_days_of_a_time_are_listed_oldest_first() -> None:
    assert days_between(TODAY - DAY, TODAY + HOUR) == ["2026-03-01", "2026-03-02"]
    assert days_between(TODAY - HOUR, TODAY) == ["2026-03-01"]
    assert days_between(TODAY, TODAY) == []


def test_mentions_are_counted_as_long_as_all_of_a_day_are_there() -> None:
    assert oldest_counted(NOW) == TODAY - 43 * DAY
    frozen = _stored(NOW.date() - 33 * DAY, frozen=FrozenDay(frozen_at=NOW, figures={}))
    days = [(NOW.date() - number * DAY).isoformat() for number in (0, 31, 32, 33, 43, 44)]
    assert counted_days(days, {frozen.day: frozen}, NOW) == {days[0], days[1], days[2], days[4]}
    live = _stored(NOW.date() - 31 * DAY, frozen=FrozenDay(frozen_at=NOW, figures={}))
    assert counted_days([live.day], {live.day: live}, NOW) == {live.day}


def test_the_span_is_compared_with_the_same_length_before_it() -> None:
    span = Span("day", TODAY - 7 * DAY, TODAY, NOW)
    change = change_of(span, LONG_AGO)
    assert change is not None
    assert (change.present.start, change.present.end) == (span.start, span.end)
    assert (change.previous.start, change.previous.end) == (span.start - 7 * DAY, span.start)


def test_a_day_that_is_not_over_is_compared_with_the_same_part_of_an_earlier_one() -> None:
    change = change_of(_days(7), TODAY - 40 * DAY)
    assert change is not None
    now = TODAY + timedelta(hours=20, minutes=18)
    assert (change.present.end, change.previous.end) == (now, now - 7 * DAY)
    assert change.previous.start == change.present.start - 7 * DAY


def test_a_day_that_is_not_over_is_left_out_if_a_part_of_the_earlier_one_cannot_be_counted() -> None:
    change = change_of(_days(30), TODAY - 29 * DAY)
    assert change is not None
    assert (change.present.end, change.previous.end) == (TODAY, TODAY - 30 * DAY)
    assert change_of(_days(1), TODAY + DAY) is None


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


def test_a_frozen_day_shows_what_was_stored_and_adds_up_with_others() -> None:
    day = Count()
    day.add(CountedMention.of(_mention(TODAY - 40 * DAY, event_id="one", publisher_id="a.example")))
    frozen = day.to_frozen({"total_mentions": 1, "said": "then"}, NOW)
    span = Span("day", TODAY - 50 * DAY, TODAY - 39 * DAY, NOW)
    counted = Counted(span, oldest_counted(NOW))
    name = (NOW.date() - 40 * DAY).isoformat()
    put_stored_day(counted, name, _stored(NOW.date() - 40 * DAY, frozen=frozen), None)
    counted.add(_mention(TODAY - 41 * DAY, event_id="one", publisher_id="b.example"))
    point = next(each for each in counted.points() if each.name == name)
    assert (point.state, point.figures) == ("frozen", {"total_mentions": 1, "said": "then"})
    figures = counted.total.count.figures()
    assert (figures["total_mentions"], figures["stories"], figures["publishers"]) == (2, 1, 2)


def test_a_day_of_which_only_the_close_is_left_makes_a_window_unknown() -> None:
    figures = Count().figures() | {"total_mentions": 5}
    closed = DailyClose.of("a-tool", "2025-01-01", figures, NOW)
    span = Span("day", datetime(2025, 1, 1, tzinfo=UTC), datetime(2025, 1, 3, tzinfo=UTC), NOW)
    counted = Counted(span, oldest_counted(NOW))
    progress = HistoryProgress(created_at=NOW, updated_at=NOW, frozen_since="2025-01-02", frozen_until="2025-01-02")
    put_stored_day(counted, "2025-01-01", _stored(date(2025, 1, 1), closed=closed), progress)
    put_stored_day(counted, "2025-01-02", None, progress)
    first, second = counted.points()
    assert (first.state, first.figures) == ("closed", figures)
    assert (second.state, second.figures["total_mentions"]) == ("frozen", 0)
    assert counted.total.count.figures()["total_mentions"] is None


@pytest.mark.parametrize(("since", "until"), [("2025-01-02", "2025-02-01"), ("2024-01-01", "2024-12-31"), (None, None)])
def test_nothing_is_known_of_a_day_that_was_not_frozen(since: str | None, until: str | None) -> None:
    span = Span("day", datetime(2025, 1, 1, tzinfo=UTC), datetime(2025, 1, 2, tzinfo=UTC), NOW)
    progress = HistoryProgress(created_at=NOW, updated_at=NOW, frozen_since=since, frozen_until=until)
    for known in (progress, None):
        counted = Counted(span, oldest_counted(NOW))
        put_stored_day(counted, "2025-01-01", None, known)
        (point,) = counted.points()
        assert (point.state, set(point.figures.values())) == ("unknown", {None})


def test_a_window_with_a_part_of_a_stored_day_is_unknown_unless_the_day_is_empty() -> None:
    span = Span("day", TODAY - DAY, TODAY, NOW)
    for tally, known in ((Tally(1), False), (Tally(), True)):
        counted = Counted(span, LONG_AGO)
        counted.total.start += HOUR
        counted.put_day("2026-03-01", Count.of_tally(tally, set()), "frozen")
        assert counted.total.count.is_known is known
