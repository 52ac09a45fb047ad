"""Counts a tool's mentions, sums the counts of its windows, and decides what a recount writes. Pure.

Numbers stay as they are stored (models/timeline.py): validating the 720 hours of a month as models would take ten times
as long as the rest of a recount.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from functools import lru_cache
from itertools import chain
from typing import Any, Literal, Self, cast

from models.cache import PERIODS, Period
from models.mention import scored_by
from models.timeline import (
    MILLIONTHS,
    MINUTES,
    ZEROS,
    DirtyHourDocument,
    HourDocument,
    HoursOfAnalyzers,
    HourTable,
    JudgedDocument,
    MinutesOfAnalyzers,
    Numbers,
    Table,
    Tally,
    Timeline,
    TimelineDocument,
    TimelineHours,
    WindowsDocument,
    WindowTables,
    numbers_of,
    total,
)
from models.values import agreeing_polarity, hour_key, hour_start, parse_time, unix_seconds
from services.ports import BatchOutcome, Create, Delete, Document, Operation, Replace, Upsert
from services.store.rules import MAXIMUM_OPERATIONS

KEPT = timedelta(days=32)
"""How long counts are kept: the longest window, the hour in which that window begins, and one day more."""

_COLUMN = {"positive": 0, "negative": 1, "neutral": 2}


def is_of_last_recount(number: int, windows: Document | None) -> bool:
    """Whether an entry with this `recounts` is of the tool's last recount. False if its windows cannot be read."""
    if windows is None:
        return True
    last = windows.get("recounts") or 0
    return isinstance(last, int) and number >= last


def recounts_of(timeline: TimelineDocument | None) -> int:
    """The tool's `recounts`. Two timelines with the same number have the same counts."""
    return 0 if timeline is None else timeline.get("ingestion_count", 0)


def hours_of(timeline: TimelineDocument | None) -> TimelineHours:
    """Raises ValueError if the document is not a timeline."""
    hours = _table(timeline, Timeline, "hours")
    return TimelineHours(hours, (timeline or {}).get("analyzers") or {})


def minutes_of(hour: HourDocument | None) -> Table:
    """Raises ValueError if the document is not an hour table."""
    return _table(hour, HourTable, "minutes")


def _table(document: Mapping[str, Any] | None, model: type[Timeline | HourTable], field: str) -> dict[str, Any]:
    if document is None:
        return {}
    table = document.get(field)
    if document.get("entity_type") != model.model_fields["entity_type"].default or not isinstance(table, dict):
        raise ValueError(f"{document.get('id')!r} is not a document of {model.__name__}")
    return table


def analyzers_of(hour: HourDocument | None) -> MinutesOfAnalyzers:
    return (hour or {}).get("analyzers") or {}


def hour_document(
    tool_id: str, hour: str, minutes: Table, analyzers: MinutesOfAnalyzers, now: datetime
) -> HourDocument:
    table = HourTable(tool_id=tool_id, hour=hour, created_at=now, updated_at=now)
    return cast("HourDocument", {**table.to_document(), "minutes": minutes, "analyzers": analyzers})


def timeline_document(
    tool_id: str,
    before: TimelineDocument | None,
    days: Mapping[str, str],
    analyzers: HoursOfAnalyzers,
    latest: Document | None,
    now: datetime,
) -> TimelineDocument:
    """The timeline after one more recount. `latest` is the counted mention that was published last."""
    first: dict[str, Any] = {"tool_id": tool_id, "entity_type": "DataProduct", "created_at": now}
    changes: dict[str, Any] = {"hours": {}, "analyzers": {}, "updated_at": now, "last_ingestion_at": now}
    changes["ingestion_count"] = recounts_of(before) + 1
    if latest is not None and latest.get("source"):
        changes["last_ingestion_source"] = latest["source"]
    timeline = Timeline.from_document({**(before or first), **changes})
    return cast("TimelineDocument", {**timeline.to_document(), "hours": dict(days), "analyzers": analyzers})


@dataclass(frozen=True, slots=True)
class Edges:
    """`last` is the hour in which all windows end; `first` has the hour in which each begins."""

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


_NEVER = [MINUTES, -1]
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

    @classmethod
    def summed(
        cls,
        edges: Edges,
        hours: TimelineHours,
        minutes: Mapping[str, Table],
        analyzers: Mapping[str, MinutesOfAnalyzers],
        made_at: datetime | None,
        recounts: int,
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
        return cls(edges, made_at, recounts, whole_hours, tables, _judged(judging, analyzers))

    @classmethod
    def stored(cls, document: WindowsDocument | None, edges: Edges) -> Self | None:
        """None if the document is of another hour or cannot be read: the windows are summed again then."""
        if document is None or document.get("hour") != edges.last:
            return None
        try:
            made_at = document.get("made_at")
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
        tables = WindowTables(
            tool_id=tool_id,
            created_at=now,
            updated_at=now,
            hour=self.edges.last,
            made_at=self.made_at,
            recounts=self.recounts,
        )
        numbers = {"hours": self.whole_hours, "minutes": self.minutes, "analyzers": self.analyzers}
        return cast("WindowsDocument", {**tables.to_document(), **numbers})


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


@dataclass(slots=True)
class MentionCount:
    """The numbers of the mentions that were added, by hour and minute, and their analyzers by hour.

    `tombstones` are the removed mentions, by hour; `latest` is the counted mention that was published last.
    """

    minutes: dict[str, Table] = field(default_factory=dict)
    analyzers: dict[str, MinutesOfAnalyzers] = field(default_factory=dict)
    tombstones: dict[str, list[Document]] = field(default_factory=dict)
    latest: Document | None = None

    def add(self, mention: Document) -> None:
        """Raises ValueError for a document that is not a mention."""
        try:
            at: str = mention["published_at"]
            hour = at[:4] + at[5:7] + at[8:10] + at[11:13]
            if mention.get("removed_at") is not None:
                self.tombstones.setdefault(hour, []).append(mention)
                return
            numbers = self.minutes.setdefault(hour, {}).setdefault(at[14:16], ZEROS.copy())
            if mention.get("unscored_reason") is not None:
                numbers[4:] = [sum(numbers[4:]) + 1]
            else:
                sentiment = mention["sentiment"]
                numbers[_COLUMN[sentiment]] += 1
                numbers[3] += round(agreeing_polarity(sentiment, mention["polarity"]) * MILLIONTHS)
            minute = int(at[14:16])
            first_last = self.analyzers.setdefault(hour, {}).setdefault(
                scored_by(mention["analyzer"], mention["analyzer_version"]), [minute, minute]
            )
            first_last[:] = min(first_last[0], minute), max(first_last[1], minute)
        except (KeyError, TypeError) as error:
            raise ValueError(f"mention {mention.get('id')!r} cannot be counted: {error}") from error
        if self.latest is None or at >= self.latest["published_at"]:
            self.latest = mention


@dataclass(slots=True)
class ToolCounts:
    """The stored counts of a tool as they were read, and a new count of its mentions of `hours`.

    Without `hours` and `dirty_hours` nothing is recounted: only the windows are summed, for a new hour. `all_tables`
    are the stored hour tables by hour, if the mentions of all hours are counted; the stored timeline is then ignored,
    and tables that are right are not written again. `edge_tables` are the stored hour tables that the windows need,
    each None until it is read.
    """

    tool_id: str
    dirty_hours: Sequence[DirtyHourDocument]
    stored_windows: WindowsDocument | None
    hours: Sequence[str] = ()
    all_tables: Mapping[str, HourDocument] | None = None
    timeline: TimelineDocument | None = None
    tool: Document | None = None
    count: MentionCount = field(default_factory=MentionCount)
    timeline_hours: TimelineHours = field(default_factory=lambda: TimelineHours({}))
    edge_tables: dict[str, HourDocument | None] = field(default_factory=dict)

    @property
    def is_recount(self) -> bool:
        return bool(self.hours or self.dirty_hours)

    def apply_count(self, edges: Edges) -> None:
        """Replaces the counted hours of the timeline, and lists the `edge_tables` that must be read.

        Raises ValueError if the stored timeline cannot be read.
        """
        if self.all_tables is not None:
            self.hours = sorted({*self.hours, *self.all_tables, *self.count.minutes, *edges.hours})
        self.timeline_hours = hours_of(self.timeline if self.all_tables is None else None)
        for hour in self.hours:
            numbers = total(self.count.minutes.get(hour, {}).values())
            self.timeline_hours.put(hour, numbers, self.count.analyzers.get(hour, ()))
        if Windows.stored(self.stored_windows, edges) is None:
            with_mentions = [hour for hour in edges.hours if any(self.timeline_hours.numbers(hour))]
            self.edge_tables = dict.fromkeys(hour for hour in with_mentions if hour not in self.hours)

    def windows(self, edges: Edges) -> Windows:
        """The windows after this recount. Raises ValueError if an hour table or the tool cannot be read."""
        stored = Windows.stored(self.stored_windows, edges)
        minutes: dict[str, Table] = dict(stored.minutes) if stored is not None else {}
        analyzers: dict[str, MinutesOfAnalyzers] = {}
        for hour in edges.hours:
            if hour in self.hours:
                minutes[hour], analyzers[hour] = self.count.minutes.get(hour, {}), self.count.analyzers.get(hour, {})
            elif hour in self.edge_tables:
                minutes[hour], analyzers[hour] = minutes_of(table := self.edge_tables[hour]), analyzers_of(table)
            elif stored is not None:
                analyzers[hour] = stored.analyzers_of_edge(hour)
        recounts = recounts_of(self.timeline) + self.is_recount
        tool = self.tool
        made_at = None if tool is None or tool.get("status") == "MERGED" else parse_time(tool.get("created_at"))
        return Windows.summed(edges, self.timeline_hours, minutes, analyzers, made_at, recounts)

    def write(self, windows: Windows, now: datetime) -> CountsWrite | None:
        """None for a tool that is gone and has no dirty hours: its counts are not stored any more."""
        if self.tool is None and not self.is_recount:
            return None
        etag = None if self.stored_windows is None else self.stored_windows["_etag"]
        operations = self._operations(now) if self.is_recount else []
        return CountsWrite(self, windows.to_document(self.tool_id, now), etag, operations)

    def _operations(self, now: datetime) -> list[Operation]:
        oldest = hour_key(now - KEPT)
        days, judged = self.timeline_hours.stored(oldest), self.timeline_hours.stored_analyzers(oldest)
        timeline = timeline_document(self.tool_id, self.timeline, days, judged, self.count.latest, now)
        operations: list[Operation] = [Upsert(timeline)]
        dirty = {each["hour"] for each in self.dirty_hours}
        deletions = {
            each["hour"]: Delete(each["id"], each["_etag"])
            for each in self.dirty_hours
            if each["hour"] not in self.count.tombstones
        }
        for hour in self.hours:
            minutes, analyzers = self.count.minutes.get(hour, {}), self.count.analyzers.get(hour, {})
            if hour not in dirty and self.all_tables is not None:
                stored = self.all_tables.get(hour)
                if (minutes_of(stored), analyzers_of(stored)) == (minutes, analyzers):
                    continue
            operations.append(Upsert(hour_document(self.tool_id, hour, minutes, analyzers, now)))
            if hour in deletions:
                operations.append(deletions.pop(hour))
        return [*operations, *deletions.values()]

    @property
    def tombstones(self) -> list[Delete]:
        """The deletions of the removed mentions, for after the counts without these mentions were stored."""
        return [Delete(each["id"], each["_etag"]) for of_hour in self.count.tombstones.values() for each in of_hour]

    @property
    def dirty_hours_of_tombstones(self) -> list[Delete]:
        """The deletions of the dirty hours with tombstones, for after the tombstones were deleted: a recount finds
        tombstones only in dirty hours."""
        return [Delete(each["id"], each["_etag"]) for each in self.dirty_hours if each["hour"] in self.count.tombstones]


@dataclass(slots=True)
class CountsWrite:
    """The batches that store a tool's counts, in order. Each replaces the windows of version `etag`, or creates them.

    One batch is enough for a recount of up to 49 hours. In a longer recount, each dirty hour is deleted in the batch
    that writes its table or in a later one, so that an hour with an outdated table stays dirty after each batch. A
    hundred documents of this size are far below the 2 MB that a batch may have.
    """

    counts: ToolCounts
    windows: WindowsDocument
    etag: str | None
    operations: list[Operation]

    def batch(self) -> tuple[str, list[Operation]]:
        first = Create(self.windows) if self.etag is None else Replace(self.windows, self.etag)
        return self.counts.tool_id, [first, *self.operations[: MAXIMUM_OPERATIONS - 1]]

    def after(self, outcome: BatchOutcome) -> Literal["written", "unfinished", "overtaken"]:
        """Applies the outcome of the last `batch`. Overtaken: another writer has stored counts of the tool."""
        if isinstance(outcome, list):
            self.etag = outcome[0]
            del self.operations[: len(outcome) - 1]
        elif outcome.operation:
            # Only the deletion of a dirty hour can fail: the hour was marked dirty again, and stays dirty.
            del self.operations[outcome.operation - 1]
        else:
            return "overtaken"
        return "unfinished" if self.operations else "written"
