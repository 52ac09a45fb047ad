"""The counts of a tool's windows: of their whole hours, and of the hours in which they begin and end. Pure."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from datetime import datetime
from functools import lru_cache
from typing import Any, Self

from models.cache import PERIODS, Period
from models.timeline import HourRows, WindowTables
from models.values import hour_key, hour_start, parse_time, unix_seconds
from services.figures.breadth import Sums, sums_of
from services.figures.counting import Count, DayCount, of_tool, times
from services.ports import Document

_SHORTEST_FIRST = sorted(PERIODS, key=PERIODS.__getitem__)


@dataclass(frozen=True, slots=True)
class Edges:
    """The hours in which windows begin and end: `last` is the one in which all end, `first` has that in which each
    begins."""

    last: str
    first: Mapping[Period, str]

    @property
    def hours(self) -> list[str]:
        return sorted({*self.first.values(), self.last})

    @property
    def days(self) -> list[str]:
        return sorted({hour[:8] for hour in self.hours})

    def day_before(self, day: str) -> str | None:
        """The last of `days` before this day of the windows; None for one of `days`, and for a day of no window."""
        days = self.days
        at = bisect_left(days, day)
        return days[at - 1] if 0 < at < len(days) and days[at] != day else None


def edges_of(now: datetime) -> Edges:
    return _edges_at(hour_key(now))


@lru_cache(maxsize=8)
def _edges_at(last: str) -> Edges:
    return Edges(last, {period: hour_key(hour_start(last) - length) for period, length in PERIODS.items()})


@dataclass(slots=True)
class Windows:
    """A tool's windows, for as long as they end within the clock hour `edges.last`.

    `whole` has for each period the counts of its whole hours, `rows` the hours of the edges. So one small document
    (WindowTables) gives the counts of the windows at any minute of that hour, however many mentions there are.
    """

    edges: Edges
    made_at: datetime | None
    recounts: int
    whole: dict[Period, Count]
    rows: dict[str, HourRows]
    searched_since: datetime | None = None
    _counted: tuple[datetime, dict[Period, dict[str, Any]]] | None = field(default=None, init=False, compare=False)

    @classmethod
    def summed(
        cls,
        edges: Edges,
        days: Mapping[str, DayCount],
        made_at: datetime | None,
        recounts: int,
        searched_since: datetime | None = None,
        between: Mapping[str, Count] | None = None,
    ) -> Self:
        """Sums the windows. With `between`, as `between_of` makes it, `days` need only have those of the edges."""
        if between is None:
            between = between_of(edges, days)
        days = {day: days[day] for day in edges.days if day in days}
        rows = {hour: days[hour[:8]].hours[hour] for hour in edges.hours if _has(days, hour)}
        in_edges = {story for each in rows.values() for story in stories_in(each)}
        whole: dict[Period, Count] = {}
        count, until = Count(), edges.last
        # Each window contains the shorter ones, so that every hour is added once.
        for period in _SHORTEST_FIRST:
            first = edges.first[period]
            for day, whole_days in between.items():
                if first[:8] <= day < until[:8]:
                    count.merge(whole_days)
            _add_hours(count, days, first, until, edges.last)
            whole[period], until = _kept(count, in_edges), first
        return cls(edges, made_at, recounts, whole, rows, searched_since)

    @classmethod
    def stored(cls, document: Document | None, edges: Edges) -> Self | None:
        """None if the document is of another hour or lacks a period: the windows are summed again then."""
        if document is None or document["hour"] != edges.last or not document["whole"].keys() >= PERIODS.keys():
            return None
        made_at, searched_since = document.get("made_at"), document.get("searched_since")
        return cls(
            edges,
            parse_time(made_at) if made_at else None,
            document["recounts"],
            {period: _stored(document["whole"][period]) for period in PERIODS},
            document["edges"],
            parse_time(searched_since) if searched_since else None,
        )

    def at(self, end: datetime) -> dict[Period, dict[str, Any]]:
        """The figures of the windows that end at `end`, a whole minute within the hour `edges.last`. The last ones are
        kept."""
        if self._counted is not None and self._counted[0] == end:
            return self._counted[1]
        found: dict[Period, dict[str, Any]] = {}
        of_last = Count()
        of_last.add_rows(self.rows.get(self.edges.last, {}), 0, end.minute)
        for period, first in self.edges.first.items():
            count = self.whole[period].copy()
            count.merge(of_last)
            count.add_rows(self.rows.get(first, {}), end.minute, 60)
            found[period] = count.figures()
        self._counted = end, found
        return found

    def oldest_of_hour(self, end: datetime) -> int | None:
        """The first counted minute of the HOUR_1 that ends at `end`, in Unix seconds; None without mentions."""
        for hour, since, until in ((self.edges.first["HOUR_1"], end.minute, 60), (self.edges.last, 0, end.minute)):
            minutes: list[int] = [row[0] for row in _rows_in(self.rows.get(hour, {})) if since <= row[0] < until]
            if minutes:
                return unix_seconds(hour_start(hour)) + 60 * min(minutes)
        return None

    def stories(self) -> set[str]:
        """The stories in the hours of the edges. Of these, the mentions in the whole hours are known."""
        return {story for rows in self.rows.values() for story in stories_in(rows)}

    @property
    def since(self) -> datetime | None:
        """Since when articles are searched for the tool; None if it is gone or merged."""
        return self.searched_since or self.made_at

    def sources(self) -> frozenset[str]:
        """Those of the mentions in the windows."""
        found = set(self.whole[_SHORTEST_FIRST[-1]].sources)
        for by_publisher in (each for rows in self.rows.values() for each in rows.values()):
            for by_source in (each for publisher, each in by_publisher.items() if publisher):
                found.update(name for name, group in by_source.items() if any(any(row[2:5]) for row in group))
        return frozenset(found)

    def to_document(self, tool_id: str, now: datetime, days: Iterable[str] = ()) -> Document:
        """`days` are those with a DayCounts."""
        whole = {period: _whole_hours(count) for period, count in self.whole.items()}
        own = {"hour": self.edges.last, "recounts": self.recounts, "whole": whole, "edges": self.rows}
        since = times(made_at=self.made_at, searched_since=self.searched_since)
        return of_tool(WindowTables, tool_id, now, {**since, **own, "days": sorted(days)})


def analyzers_of(document: Document | None) -> list[str]:
    """The analyzers that judged mentions of a tool's windows, by name."""
    if document is None:
        return []
    of_whole = (name for whole in document["whole"].values() for name in whole["analyzers"])
    return sorted({*of_whole, *(name for rows in document["edges"].values() for name in rows)})


def _rows_in(rows: HourRows) -> Iterator[list[Any]]:
    for by_publisher in rows.values():
        for by_source in by_publisher.values():
            for group in by_source.values():
                yield from group


def stories_in(rows: HourRows) -> set[str]:
    return {row[1] for row in _rows_in(rows) if row[1]}


def between_of(edges: Edges, days: Mapping[str, DayCount]) -> dict[str, Count]:
    """The days of the windows that are not those of the edges: their sums, by the last day of the edges before them."""
    between: dict[str, Count] = {}
    for day, each in days.items():
        edge = edges.day_before(day)
        if edge is not None:
            between.setdefault(edge, Count()).merge(each.whole)
    return between


def _has(days: Mapping[str, DayCount], hour: str) -> bool:
    return hour[:8] in days and hour in days[hour[:8]].hours


def _add_hours(count: Count, days: Mapping[str, DayCount], after: str, until: str, last: str) -> None:
    """Adds the hours after `after` up to `until`, without `last`, in which all windows end."""
    for name, day in days.items():
        if after[:8] <= name <= until[:8]:
            for hour, rows in day.hours.items():
                if after < hour <= until and hour != last:
                    count.add_rows(rows)


def _kept(count: Count, in_edges: Collection[str]) -> Count:
    """What is kept of a count to which more is added afterwards: its stories that are in the edges, too."""
    stories = {key: count.stories[key] for key in in_edges if key in count.stories}
    others = sums_of([each for key, each in count.stories.items() if key not in in_edges])
    return replace(count, stories=stories, others=others).copy()


def _whole_hours(count: Count) -> Document:
    return {**count.to_document(), "others": {name: str(each) for name, each in count.others._asdict().items()}}


def _stored(whole: Document) -> Count:
    return Count.stored({**whole, "others": _others(tuple(whole["others"].items()))})


@lru_cache(maxsize=8192)
def _others(stored: tuple[tuple[str, str], ...]) -> Sums:
    return Sums(**{name: int(each) for name, each in stored})
