"""Which time a history is of, and in which steps: what a request may ask for. Pure.

A span is whole UTC days or hours, from its start up to, but without, its end. Hours can be asked for as long as the
mentions of a day can still change; days for as long as the app has kept them.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import UTC, date, datetime, time, timedelta
from typing import Literal

from models.cache import window_end
from models.errors import InvalidInput
from models.values import format_time, parse_time

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
