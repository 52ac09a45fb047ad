"""The time of a history, which a request asks for; its points, and the same length before it. Pure.

A span is whole UTC days or hours, from its start up to, but without, its end. Hours can be asked for as long as the
mentions of a day can still change; days for as long as the app has kept them.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, date, datetime, time, timedelta
from typing import Any, Literal

from models.cache import window_end
from models.errors import InvalidInput
from models.values import format_time, hour_key, parse_time
from services.figures.counting import Count, DayCount

Step = Literal["hour", "day"]
STEPS: Mapping[Step, timedelta] = {"hour": timedelta(hours=1), "day": timedelta(days=1)}

DEFAULT_DAYS = 7
MAX_DAYS = 30
LIVE_DAYS = 32
"""Today and the days before it whose figures follow every late article and every correction."""
MAX_POINTS = 4000
"""Of all tools of a request together: ten years of one tool."""
MAX_TOOLS = 20

_TIMES = "a day such as 2026-02-21, or a time such as 2026-02-21T20:00:00Z"
_DAY = re.compile(r"[0-9]{4}-[0-9]{2}-[0-9]{2}")


def day_start(day: date) -> datetime:
    return datetime.combine(day, time(), UTC)


def first_live_day(now: datetime) -> date:
    return now.date() - timedelta(days=LIVE_DAYS - 1)


def frozen_at(day: date) -> datetime:
    """When the figures of this day stop to change."""
    return day_start(day + timedelta(days=LIVE_DAYS))


@dataclass(frozen=True, slots=True)
class Span:
    """The time of a history.

    `start` and `end` are whole steps; `now` is when the request came. The last step may not be over.
    """

    step: Step
    start: datetime
    end: datetime
    now: datetime

    @property
    def starts(self) -> list[datetime]:
        """The start of each point, oldest first."""
        length = STEPS[self.step]
        return [self.start + number * length for number in range((self.end - self.start) // length)]

    @property
    def until(self) -> datetime:
        """Up to where there can be mentions, as in the windows of an aggregate."""
        return min(self.end, window_end(self.now))

    def named(self, start: datetime) -> str:
        """The step that begins then, as a point names it: a UTC day, or the start of an hour."""
        return start.date().isoformat() if self.step == "day" else format_time(start)

    def step_of(self, published_at: str) -> str:
        """The step of a mention, from the time in its document."""
        return published_at[:10] if self.step == "day" else f"{published_at[:13]}:00:00Z"


def span_of(given: Mapping[str, str | None], days: int | None, step: Step, now: datetime, tools: int = 1) -> Span:
    """The span that the query parameters `from`, `to` and `days` ask for. Raises InvalidInput."""
    length = STEPS[step]
    present = day_start(now.date()) if step == "day" else now.replace(minute=0, second=0, microsecond=0)
    end_of_present = present + length
    if given.get("from") is None:
        if given.get("to") is not None:
            raise InvalidInput("from", f"needed with `to`: {_TIMES}")
        start = day_start(now.date()) - timedelta(days=(days or DEFAULT_DAYS) - 1)
        return _limited(Span(step, start, end_of_present, now), "days", tools)
    if days is not None:
        raise InvalidInput("days", "not together with `from`, which says when the history begins")
    start = _time("from", given["from"], step)
    end = end_of_present if given.get("to") is None else _time("to", given["to"], step)
    if end > end_of_present:
        raise InvalidInput("to", f"at most {format_time(end_of_present)}, the end of the present {step}")
    if start >= end:
        raise InvalidInput("from", f"before `to`, which is {format_time(end)}")
    return _limited(Span(step, start, end, now), "from", tools)


def _limited(span: Span, field: str, tools: int) -> Span:
    oldest = day_start(first_live_day(span.now))
    if span.step == "hour" and span.start < oldest:
        raise InvalidInput(field, f"at least {format_time(oldest)} with step=hour: hours are kept for {LIVE_DAYS} days")
    points = (span.end - span.start) // STEPS[span.step] * tools
    if points > MAX_POINTS:
        of_tools = f" for each of {tools} tools" if tools > 1 else ""
        raise InvalidInput(
            field, f"at most {MAX_POINTS // tools:,} points{of_tools}, {points // tools:,} are asked for"
        )
    return span


def _time(field: str, text: str | None, step: Step) -> datetime:
    try:
        is_day = text is not None and _DAY.fullmatch(text) is not None
        moment = parse_time(f"{text}T00:00:00Z" if is_day else text)
    except (TypeError, ValueError):
        raise InvalidInput(field, f"must be {_TIMES}") from None
    whole = day_start(moment.date()) if step == "day" else moment.replace(minute=0, second=0)
    if moment != whole:
        raise InvalidInput(field, f"must be the start of a UTC {step} with step={step}")
    return moment


def tool_texts(text: str) -> list[str]:
    """The tools of a query parameter that names several. Raises InvalidInput."""
    texts = [each.strip() for each in text.split(",")]
    if not all(texts) or len(texts) > MAX_TOOLS:
        raise InvalidInput("tools", f"1 to {MAX_TOOLS} ids, names or aliases, separated by commas")
    return texts


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
    """The mentions from `start` up to, but without, `end`: whole minutes."""

    start: datetime
    end: datetime
    count: Count = field(default_factory=Count)

    def add(self, start: datetime, counts: DayCount) -> None:
        """Adds what is in this time of the UTC day that begins at `start`."""
        end = start + STEPS["day"]
        if self.start <= start and end <= self.end:
            self.count.merge(counts.whole)
            return
        hour = max(start, self.start.replace(minute=0))
        while hour < min(end, self.end):
            since, until = (round((each - hour).total_seconds() / 60) for each in (self.start, self.end))
            self.count.add_rows(counts.hours.get(hour_key(hour), {}), since, until)
            hour += STEPS["hour"]

    def has_part_of(self, start: datetime) -> bool:
        return start < self.end and self.start < start + STEPS["day"]


def compared(name: str, present: float | None, previous: float | None) -> dict[str, float | None]:
    """The difference, and the difference as a share of `previous`: null if one is not known, or would be of nothing. An
    average has no such share: its zero is no beginning."""
    absolute = None if present is None or previous is None else round(present - previous, 4)
    relative = None
    if absolute is not None and previous and name not in _NOT_RELATIVE:
        relative = round(absolute / previous, 4)
    return {"present": present, "previous": previous, "absolute": absolute, "relative": relative}


def time_before(span: Span) -> SpanCount | None:
    """The same length before the part of the span that is over: a step that is not over is compared with the same part
    of an earlier one. None if nothing is over, or if there is no time before the span: no day comes before
    0001-01-01."""
    length = span.end - span.start
    if span.start - _FIRST < length or span.until <= span.start:
        return None
    return SpanCount(span.start - length, span.until - length)


class Counted:
    """The counts of a tool for the steps of a span, for all of it, and for the time before, as they are filled."""

    def __init__(self, span: Span) -> None:
        self.span = span
        self.steps = [SpanCount(start, start + STEPS[span.step]) for start in span.starts]
        self.total = SpanCount(span.start, span.until)
        self.previous = time_before(span)

    @property
    def start(self) -> datetime:
        """From where on counts are needed."""
        return self.previous.start if self.previous else self.span.start

    def add(self, day: date, counts: DayCount | None) -> None:
        """Adds the counts of a day; None if nobody knows them."""
        start = day_start(day)
        for each in self._with_part_of(start):
            if counts is None:
                each.count.is_known = False
            else:
                each.add(start, counts)

    def _with_part_of(self, start: datetime) -> Iterator[SpanCount]:
        times = start - self.span.start, start + STEPS["day"] - self.span.start
        first, last = (max(0, each // STEPS[self.span.step]) for each in times)
        yield from self.steps[first:last]
        yield from (each for each in (self.total, self.previous) if each is not None and each.has_part_of(start))

    def points(self) -> list[Point]:
        return [
            Point(self.span.step, self.span.named(each.start), each.count.figures(), self._state(each))
            for each in self.steps
        ]

    def _state(self, step: SpanCount) -> PointState:
        """The figures of a day that is not live any more do not change."""
        if not step.count.is_known:
            return "unknown"
        return "live" if step.start.date() >= first_live_day(self.span.now) else "frozen"

    def change(self) -> dict[str, Any] | None:
        """The part of the span that is over, compared with the time before it."""
        if self.previous is None:
            return None
        now, before = self.total.count.figures(), self.previous.count.figures()
        return {
            "from": format_time(self.total.start),
            "to": format_time(self.total.end),
            "previous_from": format_time(self.previous.start),
            "previous_to": format_time(self.previous.end),
            **{name: compared(name, now[name], before[name]) for name in _COMPARED},
        }


def days_between(start: datetime, end: datetime) -> list[date]:
    """The UTC days from `start` up to, but without, `end`."""
    first, length = start.date(), timedelta(days=1)
    return [first + number * length for number in range(-(-(end - day_start(first)) // length))]
