"""The points of a history, and its windows: the whole span, and the same length before it. Pure."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, date, datetime, timedelta
from typing import Any, Literal

from models.values import Day, format_time, hour_start
from services.figures.counting import Count, DayCount
from services.figures.span import STEPS, Span, Step, day_start, first_live_day

PointState = Literal["live", "frozen", "closed", "unknown"]
"""`live`: follows late articles and corrections. `frozen`: the last figures of a day. `closed`: its daily close, as its
counts cannot be read. `unknown`: the app kept nothing of the day."""

MENTIONS_KEPT = timedelta(days=43)
"""For so long after its end, all mentions of a day are there: a mention is kept for 45 days from its first analysis."""

_COMPARED = (
    *("total_mentions", "positive_count", "negative_count", "neutral_count", "unscored_mentions"),
    *("average_sentiment", "stories", "publishers"),
)
_NOT_RELATIVE = ("average_sentiment",)
_FIRST = datetime.min.replace(tzinfo=UTC)


@dataclass(frozen=True, slots=True)
class Point:
    """The figures of one step, under the names of SentimentCacheEntry. In the raw layer, those of one `source`."""

    step: Step
    name: str
    figures: Mapping[str, Any]
    state: PointState | None = None
    source: str | None = None

    def shown(self) -> dict[str, Any]:
        source = {} if self.source is None else {"source": self.source}
        state = {} if self.state is None else {"state": self.state}
        return {self.step: self.name, **source, **self.figures, **state}

    @property
    def mentions(self) -> int:
        return (self.figures["total_mentions"] or 0) + (self.figures["unscored_mentions"] or 0)

    @property
    def analyzers(self) -> Sequence[str]:
        return self.figures["analyzers"] or ()


@dataclass(slots=True)
class SpanCount:
    """The mentions of a window from `start` up to, but without, `end`: whole minutes."""

    start: datetime
    end: datetime
    count: Count = field(default_factory=Count)

    def add(self, start: datetime, counts: DayCount) -> None:
        """Adds the minutes of the UTC day that begins at `start` that are in the window."""
        if self.start <= start and start + STEPS["day"] <= self.end:
            self.count.merge(counts.whole)
        elif self.has_part_of(start):
            for hour, rows in counts.hours.items():
                since, until = (
                    round((each - hour_start(hour)).total_seconds() / 60) for each in (self.start, self.end)
                )
                self.count.add_rows(rows, since, until)

    def has_part_of(self, start: datetime) -> bool:
        return start < self.end and self.start < start + STEPS["day"]


@dataclass(frozen=True, slots=True)
class Change:
    """What is compared: `present` with `previous`, of the same length and before it."""

    present: SpanCount
    previous: SpanCount

    def shown(self) -> dict[str, Any]:
        now, before = self.present.count.figures(), self.previous.count.figures()
        return {
            "from": format_time(self.present.start),
            "to": format_time(self.present.end),
            "previous_from": format_time(self.previous.start),
            "previous_to": format_time(self.previous.end),
            **{name: compared(name, now[name], before[name]) for name in _COMPARED},
        }


def compared(name: str, present: float | None, previous: float | None) -> dict[str, float | None]:
    """The difference, and the difference as a share of `previous`: null if one is not known, or would be of nothing. An
    average has no such share: its zero is no beginning."""
    absolute = None if present is None or previous is None else round(present - previous, 4)
    relative = None
    if absolute is not None and previous and name not in _NOT_RELATIVE:
        relative = round(absolute / previous, 4)
    return {"present": present, "previous": previous, "absolute": absolute, "relative": relative}


def change_of(span: Span, present: SpanCount) -> Change | None:
    """The part of the span that is over, and the same length before the span: a step that is not over is compared with
    the same part of an earlier one. None if nothing is over, or if there is no time before the span: no day comes
    before 0001-01-01."""
    length = span.end - span.start
    if span.start - _FIRST < length or present.end <= span.start:
        return None
    return Change(present, SpanCount(span.start - length, present.end - length))


class Counted:
    """The counts of a tool for the points of a span and for its windows, as they are filled."""

    def __init__(self, span: Span) -> None:
        self.span = span
        self.total = SpanCount(span.start, span.until)
        self.change = change_of(span, self.total)
        self.windows = [self.total, *([self.change.previous] if self.change else [])]
        self._live = first_live_day(span.now).isoformat()
        self._points = {span.named(start): Count() for start in span.starts}
        self._states: dict[str, PointState] = {}

    @property
    def start(self) -> datetime:
        """From where on counts are needed."""
        return self.change.previous.start if self.change else self.span.start

    def add(self, day: Day, counts: DayCount) -> None:
        """Adds the counts of a day. Those of a day that is not live any more do not change."""
        start = day_start(date.fromisoformat(day))
        if day in self._points:
            self._points[day].merge(counts.whole)
            self._states[day] = "live" if day >= self._live else "frozen"
        elif self.span.step == "hour" and self.span.start < start + STEPS["day"] and start < self.span.end:
            for hour, rows in counts.hours.items():
                point = self._points.get(self.span.named(hour_start(hour)))
                if point is not None:
                    point.add_rows(rows)
        for window in self.windows:
            window.add(start, counts)

    def put(self, day: Day, state: Literal["frozen", "unknown"]) -> None:
        """A day without counts: it had no mentions, or nobody knows."""
        start = day_start(date.fromisoformat(day))
        if day in self._points:
            self._points[day].is_known = state == "frozen"
            self._states[day] = state
        for window in self.windows:
            if state == "unknown" and window.has_part_of(start):
                window.count.is_known = False

    def points(self) -> list[Point]:
        return [
            Point(self.span.step, name, count.figures(), self._states.get(name, "live"))
            for name, count in self._points.items()
        ]


def days_between(start: datetime, end: datetime) -> list[Day]:
    """The UTC days from `start` up to, but without, `end`."""
    first, length = start.date(), timedelta(days=1)
    return [(first + number * length).isoformat() for number in range(-(-(end - day_start(first)) // length))]
