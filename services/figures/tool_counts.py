"""One recount of a tool: the counts that are stored, the new count of some hours, and what is written. Pure."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from itertools import groupby
from typing import Any, Literal

import orjson

from models.timeline import DayCounts, DaySums, Timeline
from models.tool import Tool
from models.values import hour_start, parse_time
from services.figures.counting import (
    Count,
    DayCount,
    MentionCount,
    days_of,
    of_tool,
    recounts_of,
    timeline_document,
)
from services.figures.windows import Edges, Windows, between_of, stories_in
from services.ports import BatchOutcome, Create, Delete, Document, Operation, Replace, Upsert, readable
from services.store.rules import MAX_BATCH_BYTES, MAX_OPERATIONS

EARLIER_KEPT = timedelta(days=30)
"""How far the timeline goes back before the live days: to the month before the longest window."""

MAX_STORIES_SUMMED = 20_000
"""The stories of the DaySums of a tool, which have to fit into a document."""

_BATCH_BYTES = MAX_BATCH_BYTES - 100_000
"""Leaves room for what a store adds to documents."""


@dataclass(slots=True)
class ToolCounts:
    """The stored counts of a tool as they were read, and a new `count` of its mentions of some hours.

    `known_days` are those with a DayCounts. `is_rebuild`: the mentions of all hours are counted, whatever is stored.
    Without that and without dirty hours, only the windows are summed again, for a new hour.
    """

    tool_id: str
    dirty_hours: Sequence[Document]
    stored_windows: Document | None
    oldest: str
    is_rebuild: bool = False
    known_days: frozenset[str] = frozenset()
    read: dict[str, Document] = field(default_factory=dict)
    count: MentionCount = field(default_factory=MentionCount)
    changed_days: dict[str, DayCount] = field(default_factory=dict)
    new_sums: dict[str, Count] | None = None

    @property
    def dirty(self) -> list[str]:
        """The dirty hours that are not too old to be counted."""
        return sorted(each["hour"] for each in self.dirty_hours if each["hour"] >= self.oldest)

    @property
    def is_recount(self) -> bool:
        return bool(self.is_rebuild or self.dirty_hours)

    @property
    def documents(self) -> list[Document | None]:
        """What was read of the tool's counts."""
        return [self.stored_windows, *self.read.values()]

    @property
    def timeline(self) -> Document | None:
        return self.read.get(Timeline.ID)

    @property
    def days(self) -> dict[str, Document]:
        days = (name for name in self.read if name.startswith(DayCounts.id_of("")))
        return {name[-8:]: self.read[name] for name in days}

    @property
    def counted_from(self) -> list[str]:
        """The documents that must be read before the mentions are counted, by id."""
        days = sorted({hour[:8] for hour in self.dirty})
        return [Timeline.ID, Tool.ID, *map(DayCounts.id_of, days)] if self.is_recount else []

    def summed_from(self, edges: Edges) -> list[str]:
        """The documents that the windows are summed from: the days that they begin and end in, and the sum of the
        others. Of a tool that is counted anew, none."""
        return [] if self.is_rebuild else [DaySums.ID, *self._unread(set(edges.days))]

    def summed_anew_from(self, edges: Edges) -> list[str]:
        """The other days, if their stored sum is of other windows."""
        return [] if self.is_rebuild or self.has_sums(edges) else self._unread(self.known_days)

    def _unread(self, days: Collection[str]) -> list[str]:
        return [DayCounts.id_of(day) for day in sorted(self.known_days.intersection(days) - self.days.keys())]

    def put(self, name: str, document: Document | None) -> None:
        """Notes what is stored under this id."""
        if document is not None:
            self.read[name] = document

    def windows(self, edges: Edges) -> Windows:
        """The windows after this recount. Raises UnreadableDocument if the stored timeline cannot be read."""
        kept = self.kept_windows(edges)
        before = {day: DayCount.stored(document) for day, document in self.days.items()}
        self.changed_days = self._changed(before)
        days = {**before, **self.changed_days}
        made_at, recounts, since = self._facts()
        if kept is None:
            return Windows.summed(edges, days, made_at, recounts, since, self._between(edges, before))
        rows = {**kept.rows, edges.last: self.count.rows(edges.last)}
        return Windows(edges, made_at, recounts, kept.whole, rows, since)

    def _changed(self, before: Mapping[str, DayCount]) -> dict[str, DayCount]:
        """The days that are to be written. Of a rebuild all: `before` has none."""
        if self.is_rebuild:
            return {day: DayCount.of({}) for day in self.known_days if day >= self.oldest[:8]} | self.count.days()
        changed: dict[str, DayCount] = {}
        for day, of_day in groupby(self.dirty, key=lambda hour: hour[:8]):
            counted = {hour: self.count.rows(hour) for hour in of_day}
            stored = before[day].hours if day in before else {}
            new = DayCount.of({hour: rows for hour, rows in {**stored, **counted}.items() if rows})
            if new.text != (before[day].text if day in before else "{}"):
                changed[day] = new
        return changed

    def has_sums(self, edges: Edges) -> bool:
        """Whether the stored sums are of these edges, so that only days of the edges and recounted days are needed."""
        return not self.is_rebuild and self.read.get(DaySums.ID, {}).get("edges") == edges.days

    def _between(self, edges: Edges, before: Mapping[str, DayCount]) -> dict[str, Count]:
        """The days of the windows that are not in the edges, by the last day of the edges before them. `before` are the
        stored days without the changed ones."""
        if not self.has_sums(edges):
            self.new_sums = between_of(edges, {**before, **self.changed_days})
            return self.new_sums
        between = {day: Count.stored(each) for day, each in self.read[DaySums.ID]["between"].items()}
        for day, after in self.changed_days.items():
            edge = edges.day_before(day)
            if edge is not None:
                self.new_sums = between
                of_edge = between.setdefault(edge, Count())
                of_edge.merge(after.whole)
                if day in before:
                    of_edge.merge(before[day].whole, -1)
        return between

    def kept_windows(self, edges: Edges) -> Windows | None:
        """The stored windows if their whole hours stay as they are, so that no other days are needed: only the last
        hour is recounted, and has no story that the edges did not have. None if they must be summed."""
        if self.is_rebuild or set(self.dirty) != {edges.last}:
            return None
        stored = Windows.stored(self.stored_windows, edges)
        return stored if stored is not None and stories_in(self.count.rows(edges.last)) <= stored.stories() else None

    def _facts(self) -> tuple[datetime | None, int, datetime | None]:
        """When the tool was made, None if it is gone or merged; its recounts with this one; and since when articles are
        searched for it. Whatever changes the times marks an hour of the tool dirty."""
        stored, tool = self.stored_windows, self.read.get(Tool.ID, {})
        if self.is_recount or stored is None:
            made_at = None if tool.get("status") == "MERGED" else tool.get("created_at")
            since, recounts = tool.get("searched_since"), recounts_of(self.timeline) + 1
        else:
            made_at, since, recounts = stored.get("made_at"), stored.get("searched_since"), stored["recounts"]
        return parse_time(made_at) if made_at else None, recounts, parse_time(since) if since else None

    def _timeline_days(self) -> dict[str, str]:
        """The days of the timeline after this recount. A rebuild keeps what is too old to be counted, of a timeline
        that can be read."""
        since, stored = f"{hour_start(self.oldest) - EARLIER_KEPT:%Y%m%d}", self.timeline
        if self.is_rebuild and readable(stored, Timeline.from_document) is None:
            stored = None
        days = {
            day: text
            for day, text in days_of(stored).items()
            if since <= day and day not in self.changed_days and not (self.is_rebuild and day >= self.oldest[:8])
        }
        return days | {day: each.timeline_text for day, each in self.changed_days.items() if each.tallies}

    def write(self, windows: Windows, now: datetime) -> CountsWrite | None:
        """None for a tool that is gone and has no dirty hours: its counts are not stored any more."""
        if windows.made_at is None and not (self.dirty_hours or self.count.hours or self.known_days):
            return None
        etag = None if self.stored_windows is None else self.stored_windows["_etag"]
        operations = self._operations(now) if self.is_recount else []
        if self.new_sums is not None:
            operations.append(Upsert(of_tool(DaySums, self.tool_id, now, sums_of(windows.edges, self.new_sums))))
        days = {day for day in (*self.known_days, *self.changed_days) if day >= self.oldest[:8]}
        return CountsWrite(self, windows.to_document(self.tool_id, now, days), etag, operations)

    def _operations(self, now: datetime) -> list[Operation]:
        """The timeline, then each changed day with the deletions of its dirty hours."""
        days = self._timeline_days()
        operations: list[Operation] = [
            Upsert(timeline_document(self.tool_id, self.timeline, days, self.count.latest, now))
        ]
        counted_hours = sorted(self.dirty_hours, key=lambda each: each["hour"])
        deletions = {
            day: [Delete(each["id"], each["_etag"]) for each in of_day]
            for day, of_day in groupby(counted_hours, key=lambda each: each["hour"][:8])
        }
        for day in sorted({*self.changed_days, *deletions}):
            if day in self.changed_days:
                counted_day = self.changed_days[day]
                own = {"id": DayCounts.id_of(day), "day": day, "hours": counted_day.text}
                own["whole"] = counted_day.whole.to_document()
                operations.append(Upsert(of_tool(DayCounts, self.tool_id, now, own)))
            operations += deletions.get(day, [])
        return operations


def sums_of(edges: Edges, between: Mapping[str, Count]) -> dict[str, Any]:
    """The fields of DaySums; without edges if there are too many stories for a document."""
    if sum(len(each.stories) for each in between.values()) > MAX_STORIES_SUMMED:
        return {"edges": [], "between": {}}
    return {"edges": edges.days, "between": {day: each.to_document() for day, each in between.items()}}


@dataclass(slots=True)
class CountsWrite:
    """The batches that store a tool's counts, in order. Each replaces the windows of version `etag`, or creates them.

    One batch is enough for most recounts. In a longer one, each dirty hour is deleted in the batch that writes its day
    or in a later one, so that an hour with an outdated day stays dirty after each batch. All batches but the last leave
    the windows `unfinished`: the sums have hours of days that are not written yet.
    """

    counts: ToolCounts
    windows: Document
    etag: str | None
    operations: list[Operation]

    def batch(self) -> tuple[str, list[Operation]]:
        windows, some = self.windows, self.operations[: self._next()]
        if len(some) < len(self.operations):
            windows = {**windows, "unfinished": True}
        first = Create(windows) if self.etag is None else Replace(windows, self.etag)
        return self.counts.tool_id, [first, *some]

    def _next(self) -> int:
        """How many operations fit into a batch with the windows; at least one."""
        size, number = _size_of(Upsert(self.windows)), 0
        for number, each in enumerate(self.operations[: MAX_OPERATIONS - 1], 1):
            size += _size_of(each)
            if size > _BATCH_BYTES:
                return max(1, number - 1)
        return number

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


def _size_of(operation: Operation) -> int:
    return 0 if isinstance(operation, Delete) else len(orjson.dumps(operation.document))
