"""Counts a tool's mentions, and decides what a recount writes. Pure.

Numbers stay as they are stored (models/tally.py): validating the 720 hours of a month as models would take ten times
as long as the rest of a recount.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from typing import Literal, cast

import orjson

from models.mention import scored_by
from models.tally import MILLIONTHS, ZEROS, MinutesOfAnalyzers, Table, TimelineHours, total
from models.timeline import (
    DirtyHourDocument,
    HourDocument,
    HourRows,
    StoryTableDocument,
    TimelineDocument,
    WindowsDocument,
)
from models.values import agreeing_polarity, hour_key, parse_time
from services.figures.breadth import TEN_THOUSANDTHS
from services.figures.count_documents import (
    analyzers_of,
    has_rows,
    hour_document,
    hours_of,
    minutes_of,
    recounts_of,
    rows_of,
    timeline_document,
)
from services.figures.edges import Edges, edges_at
from services.figures.tool_breadth import RowCount, ToolBreadth
from services.figures.window_breadth import RowChanges, moved_hours
from services.figures.windows import Windows
from services.ports import BatchOutcome, Create, Delete, Document, Operation, Replace, Upsert
from services.store.rules import MAXIMUM_BATCH_BYTES, MAXIMUM_OPERATIONS

KEPT = timedelta(days=32)
"""How long counts are kept: the longest window, the hour in which that window begins, and one day more."""

_BATCH_BYTES = MAXIMUM_BATCH_BYTES - 100_000
"""Leaves room for what a store adds to documents."""

_OfHour = tuple[Table, MinutesOfAnalyzers, RowCount]

_COLUMN = {"positive": 0, "negative": 1, "neutral": 2}


@dataclass(slots=True)
class MentionCount:
    """The numbers of the mentions that were added, by hour and minute, their analyzers and their rows by hour.

    `tombstones` are the mentions that were removed since their hour was last recounted, by hour; `latest` is the
    counted mention that was published last.
    """

    minutes: dict[str, Table] = field(default_factory=dict)
    analyzers: dict[str, MinutesOfAnalyzers] = field(default_factory=dict)
    rows: dict[str, RowCount] = field(default_factory=dict)
    tombstones: dict[str, list[Document]] = field(default_factory=dict)
    latest: Document | None = None
    _hour: str = field(init=False, default="")
    _of_hour: _OfHour = field(init=False, default_factory=lambda: ({}, {}, RowCount()))

    def add(self, mention: Document) -> None:
        """Raises ValueError for a document that is not a mention."""
        try:
            at: str = mention["published_at"]
            if mention.get("removed_at") is not None:
                if not mention.get("removal_counted"):
                    self.tombstones.setdefault(_hour_of(at), []).append(mention)
                return
            minutes, analyzers, rows = self._of_hour if at[:13] == self._hour else self._begin(at)
            name = at[14:16]
            minute = int(name)
            numbers = minutes.get(name)
            if numbers is None:
                numbers = minutes[name] = ZEROS.copy()
            if mention.get("unscored_reason") is not None:
                numbers[4:] = [sum(numbers[4:]) + 1]
            else:
                sentiment = mention["sentiment"]
                polarity = agreeing_polarity(sentiment, mention["polarity"])
                numbers[_COLUMN[sentiment]] += 1
                numbers[3] += round(polarity * MILLIONTHS)
                rows.add(mention, minute, round(polarity * TEN_THOUSANDTHS))
            judge = scored_by(mention["analyzer"], mention["analyzer_version"])
            first_last = analyzers.get(judge)
            if first_last is None:
                analyzers[judge] = [minute, minute]
            elif minute > first_last[1]:
                first_last[1] = minute
            elif minute < first_last[0]:
                first_last[0] = minute
        except (KeyError, TypeError) as error:
            raise ValueError(f"mention {mention.get('id')!r} cannot be counted: {error}") from error
        if self.latest is None or at >= self.latest["published_at"]:
            self.latest = mention

    def _begin(self, at: str) -> _OfHour:
        """What is counted of an hour. Mentions come in the order of publication, so that few of them need this."""
        hour = _hour_of(at)
        if hour not in self.minutes:
            self.minutes[hour], self.analyzers[hour], self.rows[hour] = {}, {}, RowCount()
        self._hour, self._of_hour = at[:13], (self.minutes[hour], self.analyzers[hour], self.rows[hour])
        return self._of_hour


def _hour_of(at: str) -> str:
    return at[:4] + at[5:7] + at[8:10] + at[11:13]


@dataclass(slots=True)
class ToolCounts:
    """The stored counts of a tool as they were read, and a new count of its mentions of `hours`.

    Without `hours` and `dirty_hours` nothing is recounted: only the windows are carried on, for a new hour.
    `all_tables` are the stored hour tables by hour, and `all_stories` the stored story tables, if the mentions of all
    hours are counted; the stored timeline is then ignored but for hours that are too old to be counted, and tables that
    are right are not written again.
    `needed_tables` are the stored hour tables that are needed besides, each None until it is read.
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
    needed_tables: dict[str, HourDocument | None] = field(default_factory=dict)
    all_stories: Sequence[StoryTableDocument] = ()
    breadth: ToolBreadth | None = None

    @property
    def is_recount(self) -> bool:
        return bool(self.hours or self.dirty_hours)

    def apply_count(self, edges: Edges) -> None:
        """Replaces the counted hours of the timeline, and lists the `needed_tables` that must be read.

        Raises ValueError if the stored timeline cannot be read.
        """
        if self.all_tables is not None:
            self.hours = sorted({*self.hours, *self.all_tables, *self.count.minutes, *edges.hours})
        self.timeline_hours = hours_of(self.timeline if self.all_tables is None else None)
        is_new = self.all_tables is not None
        had_mentions = set() if is_new else {hour for hour in self.hours if any(self.timeline_hours.numbers(hour))}
        for hour in self.hours:
            numbers = total(self.count.minutes.get(hour, {}).values())
            self.timeline_hours.put(hour, numbers, self.count.analyzers.get(hour, ()))
        needed: set[str] = set()
        if Windows.stored(self.stored_windows, edges) is None:
            needed.update(edges.hours)
        if self.all_tables is None:
            before = self._edges_before
            needed |= moved_hours(before, edges) - set(before.hours)
        needed = {hour for hour in needed if hour not in self.hours and any(self.timeline_hours.numbers(hour))}
        if self.all_tables is None:
            needed |= had_mentions - set(before.hours)
        self.needed_tables = dict.fromkeys(sorted(needed))

    def apply_tables(self, edges: Edges) -> ToolBreadth:
        """The breadth, once the `needed_tables` are read; its story tables must be read then.

        Raises ValueError if an hour table cannot be read.
        """
        if self.all_tables is not None:
            rows = {hour: self._counted_rows(hour) for hour in self.hours}
            self.breadth = ToolBreadth.of_all(self.tool_id, edges, rows, self.all_stories)
            return self.breadth
        before = self._edges_before
        changes = RowChanges()
        for hour in {*self.hours, *moved_hours(before, edges)}:
            changes.before[hour] = self._stored_rows(hour)
            changes.after[hour] = self._counted_rows(hour) if hour in self.hours else changes.before[hour]
        edge_rows = {
            hour: (changes.after[hour] if hour in changes.after else self._stored_rows(hour)) or {}
            for hour in edges.hours
        }
        assert self.stored_windows is not None
        stored = self.stored_windows["breadth"]
        self.breadth = ToolBreadth(self.tool_id, stored, (before, edges), changes, edge_rows)
        return self.breadth

    @property
    def _edges_before(self) -> Edges:
        assert self.stored_windows is not None  # otherwise all hours are counted
        return edges_at(self.stored_windows["hour"])

    def _counted_rows(self, hour: str) -> HourRows | None:
        counted = self.count.rows.get(hour)
        return {} if counted is None else counted.rows()

    def _stored_rows(self, hour: str) -> HourRows | None:
        """The rows that the stored breadth counts in this hour."""
        assert self.stored_windows is not None
        stored = self.stored_windows["breadth"]
        if hour in stored["crowded"]:
            return None
        if hour in stored["rows"]:
            return stored["rows"][hour]
        return rows_of(self.needed_tables.get(hour))

    def windows(self, edges: Edges) -> Windows:
        """The windows after this recount. Raises ValueError if an hour table or the tool cannot be read."""
        stored = Windows.stored(self.stored_windows, edges)
        minutes: dict[str, Table] = dict(stored.minutes) if stored is not None else {}
        analyzers: dict[str, MinutesOfAnalyzers] = {}
        for hour in edges.hours:
            if hour in self.hours:
                minutes[hour], analyzers[hour] = self.count.minutes.get(hour, {}), self.count.analyzers.get(hour, {})
            elif hour in self.needed_tables:
                minutes[hour], analyzers[hour] = minutes_of(table := self.needed_tables[hour]), analyzers_of(table)
            elif stored is not None:
                analyzers[hour] = stored.analyzers_of_edge(hour)
        recounts = recounts_of(self.timeline) + self.is_recount
        tool = self.tool
        made_at = None if tool is None or tool.get("status") == "MERGED" else parse_time(tool.get("created_at"))
        assert self.breadth is not None
        breadth = self.breadth.carried_on()
        since = None if tool is None or not tool.get("searched_since") else parse_time(tool["searched_since"])
        return Windows.summed(edges, self.timeline_hours, minutes, analyzers, made_at, recounts, breadth, since)

    def write(self, windows: Windows, now: datetime) -> CountsWrite | None:
        """None for a tool that is gone and has no dirty hours: its counts are not stored any more."""
        if self.tool is None and not (self.dirty_hours or self.count.minutes or self.all_tables):
            return None
        etag = None if self.stored_windows is None else self.stored_windows["_etag"]
        operations = self._operations(now) if self.is_recount else []
        return CountsWrite(self, windows.to_document(self.tool_id, now), etag, operations)

    def _operations(self, now: datetime) -> list[Operation]:
        oldest = hour_key(now - KEPT)
        if self.all_tables is not None:
            self._keep_first_hours(oldest)
        days, judged = self.timeline_hours.stored(oldest), self.timeline_hours.stored_analyzers(oldest)
        timeline = timeline_document(self.tool_id, self.timeline, days, judged, self.count.latest, now)
        assert self.breadth is not None
        operations: list[Operation] = [Upsert(timeline), *self.breadth.writes(oldest, now)]
        dirty = {each["hour"] for each in self.dirty_hours}
        deletions = {
            each["hour"]: Delete(each["id"], each["_etag"])
            for each in self.dirty_hours
            if each["hour"] not in self.count.tombstones
        }
        for hour in self.hours:
            minutes, analyzers = self.count.minutes.get(hour, {}), self.count.analyzers.get(hour, {})
            rows = self.breadth.changes.after[hour]
            if hour not in dirty and self.all_tables is not None:
                stored = self.all_tables.get(hour)
                if (minutes_of(stored), analyzers_of(stored)) == (minutes, analyzers) and has_rows(stored, rows):
                    continue
            operations.append(Upsert(hour_document(self.tool_id, hour, minutes, analyzers, rows, now)))
            if hour in deletions:
                operations.append(deletions.pop(hour))
        return [*operations, *deletions.values()]

    def _keep_first_hours(self, oldest: str) -> None:
        """The hours of the oldest day that are too old to be counted stay as they were: until the day is frozen, only
        the timeline has them."""
        with suppress(ValueError):
            stored = hours_of(self.timeline)
            for hour in (f"{oldest[:8]}{number:02}" for number in range(int(oldest[8:]))):
                numbers = stored.numbers(hour)
                if any(numbers):
                    self.timeline_hours.put(hour, numbers, stored.analyzers_of_hour(hour))

    @property
    def tombstones(self) -> list[Replace]:
        """The removed mentions without their texts, for after the counts without these mentions were stored."""
        return [
            Replace(_counted_tombstone(each), each["_etag"])
            for of_hour in self.count.tombstones.values()
            for each in of_hour
        ]

    @property
    def dirty_hours_of_tombstones(self) -> list[Delete]:
        """The deletions of the dirty hours with tombstones, for after these were written: a recount finds tombstones
        only in dirty hours."""
        return [Delete(each["id"], each["_etag"]) for each in self.dirty_hours if each["hour"] in self.count.tombstones]


_TEXTS = ("headline", "url", "matches", "publisher", "publisher_id", "source", "other_words", "analyzer_judgement")


def _counted_tombstone(mention: Document) -> Document:
    return {name: each for name, each in mention.items() if name not in _TEXTS} | {"removal_counted": True}


@dataclass(slots=True)
class CountsWrite:
    """The batches that store a tool's counts, in order. Each replaces the windows of version `etag`, or creates them.

    One batch is enough for a recount of a few dozen hours. In a longer recount, each dirty hour is deleted in the batch
    that writes its table or in a later one, so that an hour with an outdated table stays dirty after each batch. All
    batches but the last leave the windows `unfinished`: the sums have hours whose tables are not written yet.
    """

    counts: ToolCounts
    windows: WindowsDocument
    etag: str | None
    operations: list[Operation]
    sizes: list[int] = field(init=False)

    def __post_init__(self) -> None:
        self.sizes = [_size_of(each) for each in self.operations]

    def batch(self) -> tuple[str, list[Operation]]:
        windows, some = self.windows, self.operations[: self._next()]
        if len(some) < len(self.operations):
            windows = cast("WindowsDocument", {**windows, "unfinished": True})
        first = Create(windows) if self.etag is None else Replace(windows, self.etag)
        return self.counts.tool_id, [first, *some]

    def _next(self) -> int:
        """How many operations fit into a batch with the windows; at least one."""
        size, number = _size_of(Upsert(self.windows)), 0
        for number, each in enumerate(self.sizes[: MAXIMUM_OPERATIONS - 1], 1):
            size += each
            if size > _BATCH_BYTES:
                return max(1, number - 1)
        return number

    def after(self, outcome: BatchOutcome) -> Literal["written", "unfinished", "overtaken"]:
        """Applies the outcome of the last `batch`. Overtaken: another writer has stored counts of the tool."""
        if isinstance(outcome, list):
            self.etag = outcome[0]
            del self.operations[: len(outcome) - 1], self.sizes[: len(outcome) - 1]
        elif outcome.operation:
            # Only the deletion of a dirty hour can fail: the hour was marked dirty again, and stays dirty.
            del self.operations[outcome.operation - 1], self.sizes[outcome.operation - 1]
        else:
            return "overtaken"
        return "unfinished" if self.operations else "written"


def _size_of(operation: Operation) -> int:
    """About the bytes of the document that the operation writes, and not fewer."""
    if isinstance(operation, Delete):
        return 0
    document = operation.document
    if document["id"][:5] != "HOUR:":
        return len(orjson.dumps(document))
    # A recount of all hours writes hundreds of these: encoding each twice would take a tenth of its time.
    size = 1000 + 100 * len(document["minutes"]) + 300 * len(document["analyzers"])
    for publisher, by_source in document["rows"].items():
        size += 50 + 4 * len(publisher)
        for source, of_source in by_source.items():
            size += 50 + 4 * len(source) + 100 * len(of_source)
    return size
