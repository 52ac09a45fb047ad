"""The tables of one tool as they were read, and as they become when some of its hours are counted. Pure."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from datetime import datetime

from models.values import hour_key, parse_time
from services.figures.tables import KEPT, Count, Hours, hour_document, minutes_in, recounts_of, timeline_document
from services.figures.windows import Edges, Windows, windows_document, windows_in
from services.ports import Document


@dataclass(slots=True)
class ToolTables:
    """`hours` are those that are counted, with `everything` beside all others, which come out as they are.

    `windows` are what was stored, or None; `known` the hours' tables.
    """

    tool_id: str
    hours: list[str]
    marks: Sequence[Document] = ()
    everything: bool = False
    windows: Document | None = None
    timeline: Document | None = None
    tool: Document | None = None
    known: dict[str, Document] = field(default_factory=dict)
    count: Count = field(default_factory=Count)
    after: Hours = field(default_factory=lambda: Hours({}))

    @property
    def is_counted(self) -> bool:
        """Whether the timeline is written, also if it comes out the same: else it is only gathered from."""
        return self.everything or bool(self.marks)

    def settle(self, edges: Edges) -> list[str]:
        """Takes the count over; the edge hours whose minutes are still to be read. ValueError for what is no table."""
        self.after = Hours({}) if self.everything else Hours.of(self.timeline)
        for hour in self.count.minutes if self.everything else self.hours:
            self.after.put(hour, self.count.of_hour(hour))
        if self.everything or windows_in(self.windows, edges) is not None:
            return []
        return [hour for hour in edges.hours if hour not in self.hours and any(self.after.numbers(hour))]

    def gathered(self, edges: Edges, now: datetime) -> Windows:
        """What is not counted is right in the windows that were stored, if they are of this hour.

        The sums are not: they may have been written before the timeline that they are to follow from, or after it.
        """
        stored = windows_in(self.windows, edges)
        minutes = {} if stored is None or self.everything else dict(stored.minutes)
        for hour in edges.hours:
            if self.everything or hour in self.hours:
                minutes[hour] = self.count.minutes.get(hour, {})
            elif hour in self.known:
                minutes[hour] = minutes_in(self.known[hour])
        recounts = recounts_of(self.timeline) + self.is_counted
        tool = self.tool
        made_at = None if tool is None or tool.get("status") == "MERGED" else parse_time(tool.get("created_at"))
        return Windows.gathered(edges, self.after, minutes, made_at, recounts)

    def written(self, windows: Windows, now: datetime) -> Iterable[tuple[Document, Document | None]]:
        """Each document that is to be written, and what it replaces."""
        if self.tool is None and not self.is_counted:
            return  # a tool that is no more leaves nothing behind
        yield windows_document(self.tool_id, windows, now), self.windows
        if not self.is_counted:
            return
        for hour in self.hours:
            before = self.known.get(hour)
            yield hour_document(self.tool_id, hour, before, self.count.minutes.get(hour, {}), now), before
        days = self.after.stored(hour_key(now - KEPT))
        yield timeline_document(self.tool_id, self.timeline, days, self.count.latest, now), self.timeline
