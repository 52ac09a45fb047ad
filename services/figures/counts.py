"""Counts a tool's mentions, and decides what a recount writes. Pure.

Numbers stay as they are stored (models/tally.py): validating the 720 hours of a month as models would take ten times
as long as the rest of a recount.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from typing import Any, Literal, cast

from models.mention import scored_by
from models.tally import (
    MILLIONTHS,
    ZEROS,
    HoursOfAnalyzers,
    MinutesOfAnalyzers,
    Table,
    TimelineHours,
    total,
)
from models.timeline import (
    DirtyHourDocument,
    HourDocument,
    HourTable,
    Timeline,
    TimelineDocument,
    WindowsDocument,
)
from models.values import agreeing_polarity, hour_key, parse_time
from services.figures.windows import Edges, Windows
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
