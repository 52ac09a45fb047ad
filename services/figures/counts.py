"""Counts a tool's mentions, and decides what a recount writes and deletes. Pure."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import Literal

from models.timeline import (
    MILLIONTHS,
    DirtyHourDocument,
    HourDocument,
    Numbers,
    Table,
    TimelineDocument,
    WindowsDocument,
)
from models.values import hour_key, parse_time
from services.figures.tables import (
    KEPT,
    ZEROS,
    TimelineHours,
    hour_document,
    minutes_of,
    recounts_of,
    timeline_document,
    total,
)
from services.figures.windows import Edges, Windows, windows_in
from services.ports import BatchOutcome, Create, Delete, Document, Operation, Replace, Upsert
from services.store.rules import MAXIMUM_OPERATIONS

_COLUMN = {"positive": 0, "negative": 1, "neutral": 2}


@dataclass(slots=True)
class MentionCount:
    """Mentions counted so far. `latest` is the one that was published last; `tombstones` are of removed mentions."""

    minutes: dict[str, Table] = field(default_factory=dict)
    tombstones: dict[str, list[Document]] = field(default_factory=dict)
    """By hour, as are `minutes`."""
    latest: Document | None = None

    def add(self, mention: Document) -> None:
        """Raises ValueError for a document that is no mention."""
        try:
            at: str = mention["published_at"]
            hour = at[:4] + at[5:7] + at[8:10] + at[11:13]
            if mention.get("removed_at") is not None:
                self.tombstones.setdefault(hour, []).append(mention)
                return
            numbers = self.minutes.setdefault(hour, {}).setdefault(at[14:16], ZEROS.copy())
            numbers[_COLUMN[mention["sentiment"]]] += 1
            numbers[3] += round(mention["polarity"] * MILLIONTHS)
        except (KeyError, TypeError) as error:
            raise ValueError(f"mention {mention.get('id')!r} cannot be counted: {error}") from error
        if self.latest is None or at >= self.latest["published_at"]:
            self.latest = mention

    def of_hour(self, hour: str) -> Numbers:
        return list(total(self.minutes.get(hour, {}).values()))


@dataclass(slots=True)
class ToolCounts:
    """The stored counts of a tool as they were read, and a new count of its mentions of `hours`.

    Without `hours` and marks nothing is recounted: only the windows are summed, for a new hour. Hours in `unchanged`
    have the right table stored already.
    """

    tool_id: str
    marks: Sequence[DirtyHourDocument]
    stored_windows: WindowsDocument | None
    hours: Sequence[str] = ()
    unchanged: Collection[str] = ()
    timeline: TimelineDocument | None = None
    tool: Document | None = None
    count: MentionCount = field(default_factory=MentionCount)
    timeline_hours: TimelineHours = field(default_factory=lambda: TimelineHours({}))
    edge_tables: dict[str, HourDocument | None] = field(default_factory=dict)
    """The stored hour tables that the windows need; each is None until it is read."""

    @property
    def is_recount(self) -> bool:
        return bool(self.hours or self.marks)

    def apply_count(self, edges: Edges) -> None:
        """Puts the counted hours into those of the timeline, and names the `edge_tables` that must be read.

        Raises ValueError if the stored timeline cannot be read.
        """
        self.timeline_hours = TimelineHours.of(self.timeline)
        for hour in self.hours:
            self.timeline_hours.put(hour, self.count.of_hour(hour))
        if windows_in(self.stored_windows, edges) is None:
            with_mentions = [hour for hour in edges.hours if any(self.timeline_hours.numbers(hour))]
            self.edge_tables = dict.fromkeys(hour for hour in with_mentions if hour not in self.hours)

    def windows(self, edges: Edges, now: datetime) -> Windows:
        """The windows as they become. Raises ValueError if a stored hour table or the tool cannot be read."""
        stored = windows_in(self.stored_windows, edges)
        minutes: dict[str, Table] = dict(stored.minutes) if stored is not None else {}
        for hour in edges.hours:
            if hour in self.hours:
                minutes[hour] = self.count.minutes.get(hour, {})
            elif hour in self.edge_tables:
                minutes[hour] = minutes_of(self.edge_tables[hour])
        recounts = recounts_of(self.timeline) + self.is_recount
        tool = self.tool
        made_at = None if tool is None or tool.get("status") == "MERGED" else parse_time(tool.get("created_at"))
        return Windows.summed(edges, self.timeline_hours, minutes, made_at, recounts)

    def write(self, windows: Windows, now: datetime) -> CountsWrite | None:
        """None for a tool that is gone and has no marks: nothing is stored of it any more."""
        if self.tool is None and not self.is_recount:
            return None
        etag = None if self.stored_windows is None else self.stored_windows["_etag"]
        operations = self._operations(now) if self.is_recount else []
        return CountsWrite(self, windows.to_document(self.tool_id, now), etag, operations)

    def _operations(self, now: datetime) -> list[Operation]:
        days = self.timeline_hours.stored(hour_key(now - KEPT))
        operations: list[Operation] = [
            Upsert(timeline_document(self.tool_id, self.timeline, days, self.count.latest, now))
        ]
        marks = {
            mark["hour"]: Delete(mark["id"], mark["_etag"])
            for mark in self.marks
            if mark["hour"] not in self.count.tombstones
        }
        for hour in self.hours:
            if hour in self.unchanged:
                continue
            operations.append(Upsert(hour_document(self.tool_id, hour, self.count.minutes.get(hour, {}), now)))
            if hour in marks:
                operations.append(marks.pop(hour))
        return [*operations, *marks.values()]

    @property
    def tombstones(self) -> list[Document]:
        """The tombstones that were met: to be deleted once their hours are stored without them."""
        return [tombstone for of_hour in self.count.tombstones.values() for tombstone in of_hour]

    @property
    def marks_of_tombstones(self) -> list[DirtyHourDocument]:
        """The marks on the hours of tombstones: to be deleted after these, or no recount would find them again."""
        return [mark for mark in self.marks if mark["hour"] in self.count.tombstones]


@dataclass(slots=True)
class CountsWrite:
    """The batches that store a tool's counts, in order. Each replaces the windows of version `etag`, or creates them.

    One batch is enough for a recount of up to 49 hours. Of more, each mark is deleted after the table of its hour was
    written: after each batch, an hour whose stored table is old still has its mark. A hundred documents as small as
    these stay far below the 2 MB of a batch.
    """

    counts: ToolCounts
    windows: WindowsDocument
    etag: str | None
    operations: list[Operation]

    def batch(self) -> tuple[str, list[Operation]]:
        first = Create(self.windows) if self.etag is None else Replace(self.windows, self.etag)
        return self.counts.tool_id, [first, *self.operations[: MAXIMUM_OPERATIONS - 1]]

    def after(self, outcome: BatchOutcome) -> Literal["written", "unfinished", "overtaken"]:
        """Takes over the outcome of the last `batch`. Overtaken: somebody else has written the tool's counts."""
        if isinstance(outcome, list):
            self.etag = outcome[0]
            del self.operations[: len(outcome) - 1]
        elif outcome.operation:
            # Only the deletion of a mark can fail: its hour was marked again, and the mark stays.
            del self.operations[outcome.operation - 1]
        else:
            return "overtaken"
        return "unfinished" if self.operations else "written"
