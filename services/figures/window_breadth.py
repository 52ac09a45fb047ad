"""The stories, publishers and sources in a tool's four windows, as sums that are carried on from hour to hour. Pure.

The figures of a window are those of its whole hours, and of the rows of the two hours in which it begins and ends. The
sums over the whole hours change when an hour enters or leaves them, or is recounted: then the stories, publishers and
sources of that hour alone are looked at. What is stored is a WindowBreadth (models/timeline.py).
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from functools import lru_cache
from typing import Any

import orjson

from models.cache import PERIODS, Period
from models.timeline import BreadthDocument, HourRows, NamesDocument, StoryHours
from models.values import hour_key, hour_start
from services.figures.breadth import Breadth, Sums, figures_at, largest, of_story, of_ungrouped
from services.figures.edges import Edges, edges_at

SUMMED: tuple[Period, ...] = ("HOUR_24", "DAY_7", "DAY_30")
"""The periods whose windows have whole hours."""
_NONE = (0, 0, 0)
_HOUR = timedelta(hours=1)


@dataclass(slots=True)
class RowChanges:
    """The rows of hours `before`, as they are in the sums, and `after`: of the hours that are recounted, and of those
    that enter or leave the whole hours of a window. None for the rows of a crowded hour."""

    before: dict[str, HourRows | None] = field(default_factory=dict)
    after: dict[str, HourRows | None] = field(default_factory=dict)
    _stories: dict[str, dict[str, list[int]]] | None = field(init=False, default=None)

    @property
    def stories(self) -> Mapping[str, Mapping[str, list[int]]]:
        """By hour, the stories whose mentions of that hour have changed, with what they have now. They are found once,
        so that `before` and `after` must be complete."""
        if self._stories is None:
            self._stories = _changed_stories(self.before, self.after)
        return self._stories


def empty_breadth() -> BreadthDocument:
    """Of a tool without mentions."""
    none = ",".join(["0"] * len(Sums()))
    return {
        "sums": [none for _ in SUMMED],
        "publishers": _names_of({}, ()),
        "sources": _names_of({}, ()),
        "stories": {},
        "rows": {},
        "crowded": [],
    }


def moved_hours(before: Edges, after: Edges) -> frozenset[str]:
    """The hours that enter or leave the whole hours of a window, and some beside them."""
    return _moved_hours(before.last, after.last)


@lru_cache(maxsize=64)
def _moved_hours(before: str, after: str) -> frozenset[str]:
    if before == after:
        return frozenset()
    found, one, other = set[str](), edges_at(before), edges_at(after)
    for ends in ((before, after), *((one.first[period], other.first[period]) for period in SUMMED)):
        start, end = sorted(map(hour_start, ends))
        found.update(hour_key(start + number * _HOUR) for number in range((end - start) // _HOUR + 1))
    return frozenset(found)


def whole_in(edges: Edges, hour: str) -> tuple[int, ...]:
    """The numbers of the periods in SUMMED whose windows count all of this hour."""
    return _whole_in(edges.last, hour)


@lru_cache(maxsize=4096)
def _whole_in(last: str, hour: str) -> tuple[int, ...]:
    edges = edges_at(last)
    return tuple(number for number, period in enumerate(SUMMED) if edges.has_whole(period, hour))


def stories_of(rows: HourRows | None) -> dict[str, list[int]]:
    """The number of mentions and the sum of their polarities, by story."""
    found: dict[str, list[int]] = {}
    for by_source in (rows or {}).values():
        for of_source in by_source.values():
            for _, story, mentions, polarity, _ in of_source:
                if story:
                    known = found.setdefault(story, [0, 0])
                    known[0] += mentions
                    known[1] += polarity
    return found


def _changed_stories(
    before: Mapping[str, HourRows | None], after: Mapping[str, HourRows | None]
) -> dict[str, dict[str, list[int]]]:
    found: dict[str, dict[str, list[int]]] = {}
    for hour, rows in after.items():
        if rows is (known := before.get(hour)):
            continue
        was, has = stories_of(known) if known else {}, stories_of(rows)
        if not was and not has:
            continue
        of_hour = {story: has.get(story, [0, 0]) for story in {*was, *has} if was.get(story) != has.get(story)}
        if of_hour:
            found[hour] = of_hour
    return found


def stories_needed(
    before: Edges | None, after: Edges, changes: RowChanges, edge_rows: Mapping[str, HourRows]
) -> set[str]:
    """The stories whose hours must be known to carry the sums on."""
    needed = {story for of_hour in changes.stories.values() for story in of_hour}
    if before != after:
        # The same rows are in several of these.
        moved = (*changes.before.values(), *changes.after.values(), *edge_rows.values())
        for rows in {id(each): each for each in moved if each}.values():
            needed.update(stories_of(rows))
    return needed


def with_changes(stories: StoryHours, changes: RowChanges) -> StoryHours:
    """The hours of these stories after the changes."""
    found = {story: dict(hours) for story, hours in stories.items()}
    for hour, of_hour in changes.stories.items():
        for story, numbers in of_hour.items():
            hours = found.setdefault(story, {})
            if numbers[0]:
                hours[hour] = numbers
            else:
                hours.pop(hour, None)
    return found


def carried_on(
    stored: BreadthDocument,
    edges: tuple[Edges, Edges],
    changes: RowChanges,
    edge_rows: Mapping[str, HourRows],
    stories: tuple[StoryHours, StoryHours],
) -> BreadthDocument:
    """What is stored after the changes. `edges` are those of `stored`, and the present ones; `edge_rows` are the rows
    of the present ones. `stories` has the hours of the stories that are needed, as they are in `stored`, and after the
    changes."""
    before, after = edges
    delta = _delta(edges, changes)
    were, are = stories
    sums, bases = [], dict[str, list[list[int]]]()
    for number, period in enumerate(SUMMED):
        summed = list(_sums_in(stored["sums"][number]))
        _add(summed, of_ungrouped(*delta.ungrouped[number]))
        for story, hours in are.items():
            was, has = _whole(before, period, were.get(story, {})), _whole(after, period, hours)
            if was != has:
                _add(summed, of_story(*has))
                _subtract(summed, of_story(*was))
            if has[0]:
                bases.setdefault(story, [[0, 0] for _ in SUMMED])[number] = has
        sums.append(",".join(map(str, summed)))
    in_edges = {story for rows in edge_rows.values() for story in stories_of(rows)}
    known = {story: base for story, base in stored["stories"].items() if story not in are} if before == after else {}
    crowded = {hour for hour in stored["crowded"] if hour not in changes.after}
    crowded.update(hour for hour, rows in changes.after.items() if rows is None)
    names, known_names = _names_in(edge_rows.values()), _names_in(stored["rows"].values())
    return {
        "sums": sums,
        "publishers": _names(stored["publishers"], delta.publishers, names[0], known_names[0]),
        "sources": _names(stored["sources"], delta.sources, names[1], known_names[1]),
        "stories": {story: base for story, base in {**known, **bases}.items() if story in in_edges},
        "rows": {hour: rows for hour, rows in edge_rows.items() if rows},
        "crowded": sorted(hour for hour in crowded if hour >= after.first["DAY_30"]),
    }


def _names_in(rows_of_hours: Iterable[HourRows]) -> tuple[set[str], set[str]]:
    """The publishers and the sources in these rows."""
    publishers, sources = set[str](), set[str]()
    for rows in rows_of_hours:
        publishers.update(rows)
        for by_source in rows.values():
            sources.update(by_source)
    return publishers, sources


@dataclass(slots=True)
class _Delta:
    """By how much the whole hours of the periods in SUMMED change: the mentions without a story (their number,
    polarities and squares), and the mentions by publisher and by source."""

    ungrouped: list[list[int]] = field(default_factory=lambda: [[0, 0, 0] for _ in SUMMED])
    publishers: dict[str, list[int]] = field(default_factory=dict)
    sources: dict[str, list[int]] = field(default_factory=dict)

    def add(self, changed: _Changed, periods: Sequence[int]) -> None:
        for number in periods:
            _add(self.ungrouped[number], changed.ungrouped)
            for names, counts in ((self.publishers, changed.publishers), (self.sources, changed.sources)):
                for name, mentions in counts.items():
                    numbers = names.get(name)
                    if numbers is None:
                        numbers = names[name] = [0] * len(SUMMED)
                    numbers[number] += mentions


@dataclass(slots=True)
class _Changed:
    """The same of hours that are whole in the same periods."""

    ungrouped: list[int] = field(default_factory=lambda: [0, 0, 0])
    publishers: dict[str, int] = field(default_factory=dict)
    sources: dict[str, int] = field(default_factory=dict)

    def add(self, rows: HourRows, sign: int) -> None:
        publishers, sources = self.publishers, self.sources
        ungrouped = polarity = squares = 0
        for publisher, by_source in rows.items():
            before = publishers.get(publisher, 0)
            of_publisher = 0
            for source, of_source in by_source.items():
                total = 0
                for row in of_source:
                    total += row[2]
                    if not row[1]:
                        ungrouped += row[2]
                        polarity += row[3]
                        squares += row[4]
                of_publisher += total
                sources[source] = sources.get(source, 0) + sign * total
            publishers[publisher] = before + sign * of_publisher
        _add(self.ungrouped, (sign * ungrouped, sign * polarity, sign * squares))


def _delta(edges: tuple[Edges, Edges], changes: RowChanges) -> _Delta:
    changed: dict[tuple[int, ...], _Changed] = {}
    for hour in {*changes.before, *changes.after}:
        was, has = changes.before.get(hour), changes.after.get(hour)
        periods_before = whole_in(edges[0], hour)
        periods_after = periods_before if edges[0] is edges[1] else whole_in(edges[1], hour)
        if was is has and periods_before == periods_after:
            continue
        for rows, periods, sign in ((was, periods_before, -1), (has, periods_after, 1)):
            if rows and periods:
                of_periods = changed.get(periods)
                if of_periods is None:
                    of_periods = changed[periods] = _Changed()
                of_periods.add(rows, sign)
    delta = _Delta()
    for periods, of_periods in changed.items():
        delta.add(of_periods, periods)
    return delta


def _add(sums: list[int], others: Sequence[int]) -> None:
    for at, each in enumerate(others):
        sums[at] += each


def _subtract(sums: list[int], others: Sequence[int]) -> None:
    for at, each in enumerate(others):
        sums[at] -= each


def _whole(edges: Edges, period: Period, hours: Mapping[str, list[int]]) -> list[int]:
    mentions = polarity = 0
    for hour, numbers in hours.items():
        if edges.has_whole(period, hour):
            mentions += numbers[0]
            polarity += numbers[1]
    return [mentions, polarity]


def _names(
    stored: NamesDocument, delta: Mapping[str, list[int]], in_edges: set[str], were_in_edges: set[str]
) -> NamesDocument:
    """`in_edges` are the names in the rows of the edges, `were_in_edges` those in the rows that are stored."""
    if not delta and in_edges == were_in_edges:
        return stored
    table: dict[str, list[int]] = orjson.loads(stored["table"])
    for name, numbers in delta.items():
        known = table.get(name)
        table[name] = numbers if known is None else [one + other for one, other in zip(known, numbers, strict=True)]
        if not any(table[name]):
            del table[name]
    return _names_of(table, in_edges)


def _names_of(table: Mapping[str, list[int]], in_edges: Collection[str]) -> NamesDocument:
    others: list[list[Any]] = []
    for number in range(len(SUMMED)):
        counts = {name: each[number] for name, each in table.items() if each[number] and name not in in_edges}
        others.append([len(counts), *(largest(counts) if counts else ("", 0))])
    known = {name: table[name] for name in sorted(in_edges) if name in table}
    return {"table": orjson.dumps(table, option=orjson.OPT_SORT_KEYS).decode(), "edges": known, "others": others}


class _Added:
    """The rows of the edges that a window counts, summed."""

    __slots__ = ("polarity", "publishers", "sources", "squares", "stories", "ungrouped")

    def __init__(self) -> None:
        self.ungrouped = self.polarity = self.squares = 0
        self.stories: dict[str, list[int]] = {}
        self.publishers: dict[str, int] = {}
        self.sources: dict[str, int] = {}

    def copied(self) -> _Added:
        other = _Added()
        other.ungrouped, other.polarity, other.squares = self.ungrouped, self.polarity, self.squares
        other.stories = {story: numbers.copy() for story, numbers in self.stories.items()}
        other.publishers, other.sources = self.publishers.copy(), self.sources.copy()
        return other

    def add(self, rows: HourRows, since: int, until: int) -> None:
        """The minutes from `since` up to, but without, `until`."""
        publishers, sources, stories = self.publishers, self.sources, self.stories
        for publisher, by_source in rows.items():
            for source, of_source in by_source.items():
                total = 0
                for minute, story, mentions, polarity, squares in of_source:
                    if since <= minute < until:
                        total += mentions
                        if story:
                            known = stories.get(story)
                            if known is None:
                                stories[story] = [mentions, polarity]
                            else:
                                known[0] += mentions
                                known[1] += polarity
                        else:
                            self.ungrouped += mentions
                            self.polarity += polarity
                            self.squares += squares
                if total:
                    publishers[publisher] = publishers.get(publisher, 0) + total
                    sources[source] = sources.get(source, 0) + total


def breadths_at(stored: BreadthDocument, edges: Edges, end: datetime) -> dict[Period, Breadth | None]:
    """Of the windows that end at `end`, a whole minute within the hour `edges.last`. None for a window with a crowded
    hour."""
    minute, found = end.minute, dict[Period, Breadth | None]()
    in_last = _Added()
    if edges.last in stored["rows"]:
        in_last.add(stored["rows"][edges.last], 0, minute)
    for number, period in enumerate(PERIODS, -1):
        first = edges.first[period]
        if any(first <= hour <= edges.last for hour in stored["crowded"]):
            found[period] = None
            continue
        added = in_last
        if first in stored["rows"]:
            added = in_last.copied()
            added.add(stored["rows"][first], minute, 60)
        found[period] = _breadth(stored, number, added)
    return found


def _breadth(stored: BreadthDocument, number: int, added: _Added) -> Breadth:
    """`number` is that of the period in SUMMED; -1 if it has no whole hours."""
    whole = _sums_in(stored["sums"][number]) if number >= 0 else Sums()
    sums = list(whole)
    if added.ungrouped:
        _add(sums, of_ungrouped(added.ungrouped, added.polarity, added.squares))
    bases = stored["stories"] if number >= 0 else {}
    for story, (mentions, polarity) in added.stories.items():
        base = bases.get(story)
        if base is None:
            _add(sums, of_story(mentions, polarity))
        else:
            _subtract(sums, of_story(*base[number]))
            _add(sums, of_story(base[number][0] + mentions, base[number][1] + polarity))
    publishers, publisher, by_publisher = _largest(stored["publishers"], number, added.publishers)
    _, source, by_source = _largest(stored["sources"], number, added.sources)
    return figures_at(Sums(*sums), publishers, publisher, by_publisher, source, by_source)


@lru_cache(maxsize=8192)
def _sums_in(text: str) -> Sums:
    return Sums(*map(int, text.split(",")))


def _largest(stored: NamesDocument, number: int, added: Mapping[str, int]) -> tuple[int, str, int]:
    """How many names there are, the first by name of those with the most mentions, and its mentions."""
    names, name, most = stored["others"][number] if number >= 0 else (0, "", 0)
    edges = stored["edges"] if number >= 0 else {}
    if not edges and not added:
        return names, name, most
    counts = {each: numbers[number] for each, numbers in edges.items() if numbers[number]}
    for each, mentions in added.items():
        counts[each] = counts.get(each, 0) + mentions
    for each, mentions in counts.items():
        if mentions > most or (mentions == most and each < name):
            name, most = each, mentions
    return names + len(counts), name, most
