"""The four periods as callers name them, and the window that each is at a given time. Pure."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import UTC, datetime
from typing import cast

from models.cache import PERIODS, Period
from models.errors import InvalidInput
from models.values import unix_seconds

DEFAULT: Period = "HOUR_24"
HOURS: dict[str, Period] = {str(int(span.total_seconds() // 3600)): period for period, span in PERIODS.items()}


@dataclass(frozen=True, slots=True)
class Window:
    """From `start` on, up to but without `end`; both whole minutes."""

    start: datetime
    end: datetime


def window_of(period: Period, now: datetime) -> Window:
    """The window of that length which ended with the last whole minute."""
    end = now.replace(second=0, microsecond=0)
    return Window(end - PERIODS[period], end)


def period_named(hours: str | None, period: str | None) -> Period:
    """The period that a caller asks for by either name, the default without one. Raises InvalidInput for any other."""
    if hours is not None and hours not in HOURS:
        raise InvalidInput("hours", f"one of {', '.join(HOURS)}")
    if period is not None and period not in PERIODS:
        raise InvalidInput("period", f"one of {', '.join(PERIODS)}")
    if hours is not None and period is not None and HOURS[hours] != period:
        raise InvalidInput("period", f"the same as hours, which say {HOURS[hours]}, or not given")
    if hours is not None:
        return HOURS[hours]
    return cast("Period", period) if period is not None else DEFAULT


def seconds_of(window: Window) -> tuple[int, int]:
    return unix_seconds(window.start), unix_seconds(window.end)


def window_at(period: Period, end_ts: int) -> Window:
    """The window of that length which ended at `end_ts`."""
    end = datetime.fromtimestamp(end_ts, UTC)
    return Window(end - PERIODS[period], end)
