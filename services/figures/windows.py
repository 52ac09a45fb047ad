"""What the four windows of a tool take from its tables, for as long as they end within one clock hour. Pure.

Whole hours are summed once, from the timeline; of the hours that a window begins or ends within there are the minutes.
So the figures of any minute of that hour follow from one small document, however much was said.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from functools import lru_cache

from models.cache import PERIODS, Period
from models.timeline import Numbers, Tally, WindowTables
from models.values import hour_key, hour_start, parse_time
from services.figures.tables import NOTHING, Hours, Table, total
from services.ports import Document


@dataclass(frozen=True, slots=True)
class Edges:
    """The hour that all windows end within, and the one that each begins within."""

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
    """`whole` are the sums between the edges, `minutes` those of the edges in which something was said.

    `made_at` is when the tool was made, None if no figures are shown of it; `recounts` how often it was recounted.
    """

    edges: Edges
    made_at: datetime | None
    recounts: int
    whole: dict[Period, Numbers]
    minutes: dict[str, Table]

    @classmethod
    def gathered(
        cls,
        edges: Edges,
        hours: Hours,
        minutes: Mapping[str, Table],
        made_at: datetime | None,
        recounts: int,
    ) -> Windows:
        """From a timeline and the minutes of its edge hours."""
        whole: dict[Period, Numbers] = {}
        sums, until = NOTHING, edges.last
        # Each window holds the shorter ones: every hour is added once.
        for period, first in edges.first.items():
            sums = _sum(sums, hours.total(first, until), hours.numbers(until) if until != edges.last else NOTHING)
            whole[period], until = sums, first
        return cls(edges, made_at, recounts, whole, {hour: table for hour, table in minutes.items() if table})

    def tallies(self, now: datetime) -> dict[Period, Tally]:
        """The counts of the windows that end with the last whole minute before `now`, within this hour."""
        minute = f"{now.minute:02}"
        head = [numbers for at, numbers in self.minutes.get(self.edges.last, {}).items() if at < minute]
        return {
            period: total(
                [self.whole[period], *head, *(n for at, n in self.minutes.get(first, {}).items() if at >= minute)]
            )
            for period, first in self.edges.first.items()
        }


def windows_in(document: Document | None, edges: Edges) -> Windows | None:
    """None if there are none, or none for these edges. What cannot be read is gathered anew like what is outdated."""
    if document is None or document.get("hour") != edges.last:
        return None
    try:
        made_at = document.get("made_at")
        return Windows(
            edges,
            made_at and parse_time(made_at),
            document["recounts"],
            {period: document["hours"][period] for period in PERIODS},
            {hour: dict(table) for hour, table in document["minutes"].items()},
        )
    except (AttributeError, KeyError, ValueError, TypeError):
        return None


def windows_document(tool_id: str, windows: Windows, now: datetime) -> Document:
    made = WindowTables(
        tool_id=tool_id,
        created_at=now,
        updated_at=now,
        hour=windows.edges.last,
        made_at=windows.made_at,
        recounts=windows.recounts,
    )
    return {**made.to_document(), "hours": windows.whole, "minutes": windows.minutes}


def _sum(*tables: Numbers) -> Numbers:
    return list(total(tables))
