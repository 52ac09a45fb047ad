"""The points of a history, and its windows: the whole span, and the same length before it. Pure."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, date, datetime, timedelta
from typing import Any, Literal

from models.history import HistoryDay, HistoryProgress
from models.tally import TimelineHours
from models.values import Day, format_time, hour_key
from services.figures.counting import Count, CountedMention
from services.figures.span import STEPS, Span, Step, day_start, first_live_day
from services.ports import Document

State = Literal["live", "frozen", "closed", "unknown"]
"""`live`: follows late articles and corrections. `frozen`: the last figures of a day. `closed`: its daily close, as the
app did not run when the day was to be frozen. `unknown`: the app kept nothing of the day."""

MENTIONS_KEPT = timedelta(days=43)
"""For so long after its end, all mentions of a day are there: a mention is kept for 45 days from its first analysis."""

_COMPARED = (
    *("total_mentions", "positive_count", "negative_count", "neutral_count", "unscored_mentions"),
    *("average_sentiment", "stories", "publishers"),
)
_NOT_RELATIVE = ("average_sentiment",)
_FIRST = datetime.min.replace(tzinfo=UTC)


def oldest_counted(now: datetime) -> datetime:
    """The start of the first day of which all mentions are still there."""
    return day_start((now - MENTIONS_KEPT).date())


@dataclass(frozen=True, slots=True)
class Point:
    """The figures of one step, under the names of SentimentCacheEntry. In the raw layer, those of one `source`."""

    step: Step
    name: str
    figures: Mapping[str, Any]
    state: State | None = None
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
class WindowCount:
    """A window from `start` up to, but without, `end`; `times` are both as documents have them."""

    start: datetime
    end: datetime
    count: Count = field(default_factory=Count)
    times: tuple[str, str] = ("", "")

    def __post_init__(self) -> None:
        self.times = format_time(self.start), format_time(self.end)

    def has(self, time: str) -> bool:
        """Whether this time of a document is within it."""
        return self.times[0] <= time < self.times[1]

    def merge(self, start: datetime, end: datetime, count: Count) -> None:
        """Adds the count of this time. If the window has only a part of it, nobody can know its figures."""
        if start >= self.end or end <= self.start:
            return
        is_within = self.start <= start and end <= self.end
        self.count.merge(count if is_within or not (count.mentions or not count.is_known) else Count.unknown())


@dataclass(frozen=True, slots=True)
class Change:
    """What is compared: `present` with `previous`, of the same length and before it."""

    present: WindowCount
    previous: WindowCount

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


def change_of(span: Span, counted_from: datetime, *, whole_hours: bool = False) -> Change | None:
    """The part of the span that is over, and the same length before the span. A step that is not over is compared with
    the same part of an earlier one, or left out if no mentions are kept to count that part. None if nothing is left, or
    if there is no time before the span: no day comes before 0001-01-01."""
    length, until = span.end - span.start, span.until
    if span.start - _FIRST < length:
        return None
    if until < span.end:
        if until - length < counted_from:
            until = span.start + (until - span.start) // STEPS[span.step] * STEPS[span.step]
        elif whole_hours:
            until = until.replace(minute=0, second=0, microsecond=0)
    if until <= span.start:
        return None
    return Change(WindowCount(span.start, until), WindowCount(span.start - length, until - length))


class Counted:
    """The counts of a tool for the points of a span and for its windows, as they are filled."""

    def __init__(self, span: Span, counted_from: datetime, *, whole_hours: bool = False) -> None:
        self.span = span
        self.total = WindowCount(span.start, span.until)
        self.change = change_of(span, counted_from, whole_hours=whole_hours)
        if self.change and self.change.present == self.total:
            self.change = Change(self.total, self.change.previous)
        self.windows = [self.total]
        if self.change:
            self.windows += [self.change.previous, *([self.change.present] * (self.change.present is not self.total))]
        self._points = {span.named(start): Count() for start in span.starts}
        self._shown: dict[str, tuple[Mapping[str, Any], State]] = {}

    @property
    def start(self) -> datetime:
        """From where on counts are needed."""
        return self.change.previous.start if self.change else self.span.start

    def add(self, mention: Document) -> None:
        """Raises ValueError for a document that is not a mention."""
        counted, published_at = CountedMention.of(mention), mention["published_at"]
        point = self._points.get(self.span.step_of(published_at))
        if point is not None:
            point.add(counted)
        for window in self.windows:
            if window.has(published_at):
                window.count.add(counted)

    def add_hours(self, hours: TimelineHours, since: datetime) -> None:
        """The hours of a timeline from `since` on, instead of their mentions."""
        start, hour = since, STEPS["hour"]
        while start < self.span.until:
            key = hour_key(start)
            count = Count.of_tally(hours.numbers(key), hours.analyzers_of_hour(key))
            point = self._points.get(self.span.named(start if self.span.step == "hour" else day_start(start.date())))
            if point is not None:
                point.merge(count)
            self._merge(start, min(start + hour, self.span.until), count)
            start += hour

    def put_day(self, day: Day, count: Count, state: State, figures: Mapping[str, Any] | None = None) -> None:
        """A day that is not counted any more. `figures` are those that were stored."""
        if day in self._points:
            self._points[day] = count
            self._shown[day] = (count.figures() if figures is None else figures, state)
        start = day_start(date.fromisoformat(day))
        self._merge(start, start + STEPS["day"], count)

    def _merge(self, start: datetime, end: datetime, count: Count) -> None:
        for window in self.windows:
            window.merge(start, end, count)

    def points(self) -> list[Point]:
        found = []
        for name, count in self._points.items():
            figures, state = self._shown.get(name) or (count.figures(), "live")
            found.append(Point(self.span.step, name, figures, state))
        return found


def days_between(start: datetime, end: datetime) -> list[Day]:
    """The UTC days from `start` up to, but without, `end`."""
    first, length = start.date(), timedelta(days=1)
    return [(first + number * length).isoformat() for number in range(-(-(end - day_start(first)) // length))]


def counted_days(days: Iterable[Day], stored: Mapping[Day, HistoryDay], now: datetime) -> set[Day]:
    """The days whose figures are counted from mentions: the live ones, and those that are to be frozen and are not yet,
    as long as their mentions are there."""
    live, oldest = first_live_day(now).isoformat(), oldest_counted(now).date().isoformat()

    def is_frozen(day: Day) -> bool:
        return day in stored and stored[day].frozen is not None

    return {day for day in days if day >= live or (day >= oldest and not is_frozen(day))}


def put_stored_day(counted: Counted, day: Day, stored: HistoryDay | None, progress: HistoryProgress | None) -> None:
    """A day that is not counted from mentions."""
    if stored is not None and stored.frozen is not None:
        counted.put_day(day, Count.frozen(stored.frozen), "frozen", stored.frozen.figures)
    elif stored is not None and stored.closed is not None:
        counted.put_day(day, Count.unknown(), "closed", stored.closed.figures)
    elif progress is not None and (progress.frozen_since or "9") <= day <= (progress.frozen_until or ""):
        counted.put_day(day, Count(), "frozen")
    else:
        counted.put_day(day, Count.unknown(), "unknown")
