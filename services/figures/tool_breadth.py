"""One recount of the stories, publishers and sources of a tool: its rows, and the story tables that it reads and
writes. Pure."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from datetime import datetime
from operator import itemgetter
from typing import Any, TypeVar, cast

from models.timeline import (
    MOST_ROWS,
    BreadthDocument,
    HourRows,
    StoryHours,
    StoryTable,
    StoryTableDocument,
)
from services.figures.breadth import UNKNOWN_SOURCE, story_key
from services.figures.count_documents import story_document
from services.figures.edges import Edges
from services.figures.window_breadth import (
    RowChanges,
    carried_on,
    empty_breadth,
    stories_needed,
    with_changes,
)
from services.parse.publisher_id import counted_publisher
from services.ports import Document, Operation, Upsert

_T = TypeVar("_T")
_name = itemgetter(0)
_place = itemgetter(0, 1)
"""The minute and the story of a row."""


@dataclass(slots=True)
class RowCount:
    """The scored mentions of one hour, as they are added: by publisher and source, then by minute and story, a row of
    an hour table: minute, story, their number, the sum of their polarities, and the sum of the squares of these."""

    found: dict[str, dict[str, dict[tuple[int, str], list[Any]]]] = field(default_factory=dict)
    count: int = 0

    def add(self, mention: Document, minute: int, polarity: int) -> None:
        """Adds a scored mention with this polarity in ten-thousandths."""
        event, source = mention.get("event_id"), mention.get("source") or UNKNOWN_SOURCE
        publisher = mention.get("publisher_id") or counted_publisher(None, source)
        by_source = self.found.get(publisher)
        if by_source is None:
            by_source = self.found[publisher] = {}
        of_source = by_source.get(source)
        if of_source is None:
            of_source = by_source[source] = {}
        story = story_key(event) if event else ""
        row = of_source.get((minute, story))
        if row is None:
            of_source[minute, story] = [minute, story, 1, polarity, polarity * polarity]
            self.count += 1
        else:
            row[2] += 1
            row[3] += polarity
            row[4] += polarity * polarity

    def rows(self) -> HourRows | None:
        """As an hour table has them; None if there are too many."""
        if self.count > MOST_ROWS:
            return None
        return {
            publisher: {source: _sorted_rows(of_source) for source, of_source in _sorted(by_source)}
            for publisher, by_source in _sorted(self.found)
        }


def _sorted(found: Mapping[str, _T]) -> Iterable[tuple[str, _T]]:
    # Most hours of most tools have one mention: sorting them would take a third of the time of `rows`.
    return sorted(found.items(), key=_name) if len(found) > 1 else found.items()


def _sorted_rows(found: Mapping[tuple[int, str], list[Any]]) -> list[list[Any]]:
    return sorted(found.values(), key=_place) if len(found) > 1 else list(found.values())


@dataclass(slots=True)
class ToolBreadth:
    """`stored` is the breadth that the recount carries on, of the windows with the first of `edges`; `tables` are the
    story tables as they are stored, once they are read. `is_new`: nothing is carried on, all tables are written."""

    tool_id: str
    stored: BreadthDocument
    edges: tuple[Edges, Edges]
    changes: RowChanges
    edge_rows: dict[str, HourRows]
    tables: dict[int, StoryTableDocument | None] = field(default_factory=dict)
    is_new: bool = False
    needed: set[str] = field(init=False, default_factory=set)
    """The stories whose tables must be read."""
    after: StoryHours = field(init=False, default_factory=dict)
    """The hours of the needed stories after the changes."""

    def __post_init__(self) -> None:
        if not self.is_new:
            self.needed = stories_needed(*self.edges, self.changes, self.edge_rows)

    @classmethod
    def of_all(
        cls,
        tool_id: str,
        edges: Edges,
        rows: Mapping[str, HourRows | None],
        tables: Iterable[StoryTableDocument],
    ) -> ToolBreadth:
        """From the rows of all hours."""
        edge_rows = {hour: rows.get(hour) or {} for hour in edges.hours}
        by_bucket: dict[int, StoryTableDocument | None] = {each["bucket"]: each for each in tables}
        changes = RowChanges({}, dict(rows))
        return cls(tool_id, empty_breadth(), (edges, edges), changes, edge_rows, by_bucket, is_new=True)

    @property
    def buckets(self) -> list[int]:
        return sorted({StoryTable.bucket_of(story) for story in self.needed})

    def carried_on(self) -> BreadthDocument:
        """Once the `tables` are read."""
        before = self._stories()
        self.after = with_changes(before, self.changes)
        return carried_on(self.stored, self.edges, self.changes, self.edge_rows, (before, self.after))

    def writes(self, oldest: str, now: datetime) -> list[Operation]:
        """The writes of the story tables that change, after `carried_on`. Hours before `oldest` are dropped."""
        changed = {story for of_hour in self.changes.stories.values() for story in of_hour}
        buckets = {StoryTable.bucket_of(story) for story in changed} | (set(self.tables) if self.is_new else set())
        by_bucket: dict[int, StoryHours] = {bucket: {} for bucket in buckets}
        for bucket in () if self.is_new else buckets:
            by_bucket[bucket] = dict(_stories_of(self.tables[bucket]))
        for story, hours in self.after.items():
            bucket = StoryTable.bucket_of(story)
            if bucket in by_bucket:
                by_bucket[bucket][story] = hours
        writes: list[Operation] = []
        for bucket, stories in sorted(by_bucket.items()):
            kept = _since(oldest, stories)
            if kept == _stories_of(self.tables.get(bucket)):
                continue
            writes.append(Upsert(cast("Document", story_document(self.tool_id, bucket, kept, now))))
        return writes

    def differing(self, oldest: str) -> list[str]:
        """The stories whose hours from `oldest` on are not as in the tables."""
        stored = {story: hours for table in self.tables.values() for story, hours in _stories_of(table).items()}
        stored, right = _since(oldest, stored), _since(oldest, with_changes({}, self.changes))
        return [story for story in {*stored, *right} if stored.get(story) != right.get(story)]

    def _stories(self) -> StoryHours:
        return {
            story: hours
            for table in self.tables.values()
            for story, hours in _stories_of(table).items()
            if story in self.needed
        }


def _stories_of(table: StoryTableDocument | None) -> StoryHours:
    return {} if table is None else table["stories"]


def _since(oldest: str, stories: StoryHours) -> StoryHours:
    found = {
        story: {hour: numbers for hour, numbers in hours.items() if hour >= oldest} for story, hours in stories.items()
    }
    return {story: hours for story, hours in found.items() if hours}
