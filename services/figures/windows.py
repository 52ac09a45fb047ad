"""The counts of a tool's four windows, and the analyzers of the mentions in them. Pure."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime
from itertools import chain
from typing import Self, cast

from models.cache import PERIODS, Period
from models.tally import MinutesOfAnalyzers, Numbers, Table, Tally, TimelineHours, numbers_of, total
from models.timeline import BreadthDocument, JudgedDocument, WindowsDocument
from models.values import hour_start, parse_time, unix_seconds
from services.figures.breadth import Breadth
from services.figures.count_documents import windows_fields
from services.figures.edges import Edges
from services.figures.window_breadth import breadths_at, empty_breadth

_NEVER = [60, -1]
"""The first and the last minute of an analyzer that judged no mention of an hour."""


@dataclass(slots=True)
class Windows:
    """The sums of a tool's four windows, for as long as these windows end within the clock hour `edges.last`.

    Whole hours are summed once, from the timeline; for the hours in which a window begins or ends, the minutes are
    kept. So one small document gives the counts of the windows at any minute of that hour, however many mentions there
    are. That document is a WindowTables; `whole_hours` are its `hours`. `analyzers` has by name a JudgedDocument.
    """

    edges: Edges
    made_at: datetime | None
    recounts: int
    whole_hours: dict[Period, Numbers]
    minutes: dict[str, Table]
    analyzers: dict[str, JudgedDocument] = field(default_factory=dict)
    breadth: BreadthDocument = field(default_factory=empty_breadth)
    searched_since: datetime | None = None

    @classmethod
    def summed(
        cls,
        edges: Edges,
        hours: TimelineHours,
        minutes: Mapping[str, Table],
        analyzers: Mapping[str, MinutesOfAnalyzers],
        made_at: datetime | None,
        recounts: int,
        breadth: BreadthDocument | None = None,
        searched_since: datetime | None = None,
    ) -> Self:
        """Sums the windows of the hours of the timeline, and the minutes and `analyzers` of the edges."""
        whole_hours: dict[Period, Numbers] = {}
        judging: dict[Period, set[str]] = {}
        names: set[str] = set()
        sums, until = Tally(), edges.last
        # Each window contains the shorter ones, so that every hour is added once.
        for period, first in edges.first.items():
            between = hours.total(first, until)
            sums = total([sums, between, hours.numbers(until)] if until != edges.last else [sums, between])
            of_hour = hours.analyzers_of_hour(until) if until != edges.last else ()
            names = {*names, *of_hour, *hours.analyzers(first, until)}
            whole_hours[period], judging[period], until = numbers_of(sums), names, first
        tables = {hour: table for hour, table in minutes.items() if table}
        judged = _judged(judging, analyzers)
        return cls(edges, made_at, recounts, whole_hours, tables, judged, breadth or empty_breadth(), searched_since)

    @classmethod
    def stored(cls, document: WindowsDocument | None, edges: Edges) -> Self | None:
        """None if the document is of another hour or cannot be read: the windows are summed again then."""
        if document is None or document.get("hour") != edges.last:
            return None
        try:
            made_at, searched_since = document.get("made_at"), document.get("searched_since")
            return cls(
                edges,
                parse_time(made_at) if made_at else None,
                document["recounts"],
                {period: document["hours"][period] for period in PERIODS},
                {hour: dict(table) for hour, table in document["minutes"].items()},
                {
                    name: {"hours": list(judged["hours"]), "minutes": dict(judged["minutes"])}
                    for name, judged in document["analyzers"].items()
                },
                document["breadth"],
                parse_time(searched_since) if searched_since else None,
            )
        except (AttributeError, KeyError, ValueError, TypeError):
            return None

    def tallies(self, end: datetime) -> dict[Period, Tally]:
        """The counts of the windows that end at `end`, a whole minute within the hour `edges.last`."""
        minute = f"{end.minute:02}"
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

    def analyzers_at(self, end: datetime) -> dict[Period, tuple[str, ...]]:
        """The analyzers that judged mentions of the windows that end at `end`, by name."""
        minute, last = end.minute, self.edges.last
        return {
            period: tuple(
                name
                for name, judged in self.analyzers.items()
                if period in judged["hours"]
                or judged["minutes"].get(first, _NEVER)[1] >= minute
                or judged["minutes"].get(last, _NEVER)[0] < minute
            )
            for period, first in self.edges.first.items()
        }

    def breadths_at(self, end: datetime) -> dict[Period, Breadth | None]:
        """The stories, publishers and sources of the windows that end at `end`. None if they are not known."""
        return breadths_at(self.breadth, self.edges, end)

    def analyzers_of_edge(self, hour: str) -> MinutesOfAnalyzers:
        """The analyzers of an hour in which a window begins or ends, with their first and last minutes."""
        return {name: judged["minutes"][hour] for name, judged in self.analyzers.items() if hour in judged["minutes"]}

    def oldest_of_hour(self, end: datetime) -> int | None:
        """The first counted minute of the HOUR_1 that ends at `end`, in Unix seconds; None without mentions."""
        minute = f"{end.minute:02}"
        first, last = self.edges.first["HOUR_1"], self.edges.last
        counted = [(first, at) for at in self.minutes.get(first, {}) if at >= minute]
        counted += [(last, at) for at in self.minutes.get(last, {}) if at < minute]
        if not counted:
            return None
        hour, at = min(counted)
        return unix_seconds(hour_start(hour)) + 60 * int(at)

    def to_document(self, tool_id: str, now: datetime) -> WindowsDocument:
        times = {"made_at": self.made_at, "searched_since": self.searched_since}
        numbers = {"hours": self.whole_hours, "minutes": self.minutes, "analyzers": self.analyzers}
        own = {"hour": self.edges.last, "recounts": self.recounts, **numbers, "breadth": self.breadth}
        return cast("WindowsDocument", {**windows_fields(tool_id, now, times), **own})


def _judged(
    whole_hours: Mapping[Period, set[str]], of_edges: Mapping[str, MinutesOfAnalyzers]
) -> dict[str, JudgedDocument]:
    names = {*chain.from_iterable(whole_hours.values()), *chain.from_iterable(of_edges.values())}
    return {
        name: {
            "hours": [period for period, judging in whole_hours.items() if name in judging],
            "minutes": {hour: minutes[name] for hour, minutes in sorted(of_edges.items()) if name in minutes},
        }
        for name in sorted(names)
    }
