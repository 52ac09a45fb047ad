"""The sums of a tool's four windows, for as long as these windows end within one clock hour. Pure.

Whole hours are summed once, from the timeline; for the hours that a window begins or ends in, the minutes are kept. So
the counts of the windows at any minute of that hour follow from one small document, however many mentions there are.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from functools import lru_cache
from typing import cast

from models.cache import PERIODS, Period
from models.timeline import Numbers, Table, Tally, WindowsDocument, WindowTables
from models.values import hour_key, hour_start, parse_time
from services.figures.tables import ZEROS, TimelineHours, total


@dataclass(frozen=True, slots=True)
class Edges:
    """The hour that all windows end in, and the hour that each begins in."""

    last: str
    first: Mapping[Period, str]

    @property
    def hours(self) -> list[str]:
        return sorted({*self.first.values(), self.last})


def edges_of(now: datetime) -> Edges:
    return _edges(hour_key(now))


@lru_cache(maxsize=8)
def _edges(last: str) -> Edges:
    return Edges(last, {period: hour_key(hour_start(last) - span) for period, span in PERIODS.items()})


@dataclass(slots=True)
class Windows:
    """The contents of a WindowTables: see there. `whole_hours` are its `hours`."""

    edges: Edges
    made_at: datetime | None
    recounts: int
    whole_hours: dict[Period, Numbers]
    minutes: dict[str, Table]

    @classmethod
    def summed(
        cls,
        edges: Edges,
        hours: TimelineHours,
        minutes: Mapping[str, Table],
        made_at: datetime | None,
        recounts: int,
    ) -> Windows:
        """From the hours of the timeline and the minutes of the edges."""
        whole_hours: dict[Period, Numbers] = {}
        sums, until = ZEROS, edges.last
        # Each window contains the shorter ones, so that every hour is added once.
        for period, first in edges.first.items():
            between = hours.total(first, until)
            sums = list(total([sums, between, hours.numbers(until)] if until != edges.last else [sums, between]))
            whole_hours[period], until = sums, first
        return cls(edges, made_at, recounts, whole_hours, {hour: table for hour, table in minutes.items() if table})

    def tallies(self, now: datetime) -> dict[Period, Tally]:
        """The counts of the windows that end with the minute of `now`, a time within the hour `edges.last`."""
        minute = f"{now.minute:02}"
        last = [numbers for at, numbers in self.minutes.get(self.edges.last, {}).items() if at < minute]
        return {
            period: total(
                [
                    self.whole_hours[period],
                    *last,
                    *(numbers for at, numbers in self.minutes.get(first, {}).items() if at >= minute),
                ]
            )
            for period, first in self.edges.first.items()
        }

    def to_document(self, tool_id: str, now: datetime) -> WindowsDocument:
        tables = WindowTables(
            tool_id=tool_id,
            created_at=now,
            updated_at=now,
            hour=self.edges.last,
            made_at=self.made_at,
            recounts=self.recounts,
        )
        numbers = {"hours": self.whole_hours, "minutes": self.minutes}
        return cast("WindowsDocument", {**tables.to_document(), **numbers})


def windows_in(document: WindowsDocument | None, edges: Edges) -> Windows | None:
    """None if the document is of another hour or cannot be read: the windows are summed again then."""
    if document is None or document.get("hour") != edges.last:
        return None
    try:
        made_at = document.get("made_at")
        return Windows(
            edges,
            parse_time(made_at) if made_at else None,
            document["recounts"],
            {period: document["hours"][period] for period in PERIODS},
            {hour: dict(table) for hour, table in document["minutes"].items()},
        )
    except (AttributeError, KeyError, ValueError, TypeError):
        return None
