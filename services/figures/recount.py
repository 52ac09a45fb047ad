"""Keeps the stored counts of tools equal to their mentions: recounts the dirty hours.

A recount reads the dirty hours and the stored counts and counts the mentions of these hours. One batch then writes
windows, timeline and days and deletes the dirty hours. The batch fails if the stored windows are not the version that
was read. Since every writer replaces the windows, no count overwrites a later one, and every hour that is not dirty has
right counts.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from itertools import groupby

from models.cache import window_end
from models.errors import ChangedMeanwhile, UnreadableDocument
from models.timeline import DayCounts, WindowTables
from models.values import format_time, hour_key, hour_start, is_ahead, parse_time
from services import deadline
from services.figures.counting import reading
from services.figures.points import day_start, first_live_day
from services.figures.tool_counts import CountsWrite, ToolCounts
from services.figures.windows import Windows, edges_of
from services.mentions.due import dirty_hours_of_tools
from services.ports import Document, Query, Store, Where, pages, query_all
from services.store.change import until_unchanged
from services.store.containers import CATALOG, MENTIONS

log = logging.getLogger("toolpulse.cache")

_QUERIES_AT_ONCE = 16
_HOUR = timedelta(hours=1)
_NO_END = datetime(9999, 1, 1, tzinfo=UTC)
NOT_REMOVED = Where("removed_at", "missing")


@dataclass(slots=True)
class Recounted:
    """The windows of each tool at `now`, and the error of each tool with a document that could not be read. `found`:
    when the stored windows of a tool were written."""

    now: datetime
    windows: dict[str, Windows] = field(default_factory=dict)
    found: dict[str, str] = field(default_factory=dict)
    failed: dict[str, UnreadableDocument] = field(default_factory=dict)

    def raise_failure(self) -> None:
        for error in self.failed.values():
            raise error

    @contextmanager
    def reading(self, tool_id: str, documents: Iterable[Document | None]) -> Iterator[None]:
        """Notes the tool as failed if the block fails because one of these documents cannot be read."""
        try:
            with reading(documents):
                yield
        except UnreadableDocument as error:
            self.failed[tool_id] = error


@dataclass(slots=True)
class Recount:
    """Recounts tools."""

    store: Store

    async def recount_tool(self, tool_id: str, now: datetime) -> None:
        """Raises UnreadableDocument if a mention of the tool cannot be counted."""
        (await self.windows_of([tool_id], now)).raise_failure()

    async def rebuild_tool(self, tool_id: str, now: datetime) -> None:
        """Counts the mentions of all hours of the tool, dirty or not, whatever counts are stored.

        Raises UnreadableDocument if a mention of the tool cannot be counted, Unavailable if other recounts keep
        overtaking this one.
        """
        (await self.windows_of([tool_id], now, anew=True)).raise_failure()

    async def windows_of(
        self,
        tool_ids: Sequence[str],
        now: datetime,
        dirty_hours: Mapping[str, Sequence[Document]] | None = None,
        *,
        anew: bool = False,
    ) -> Recounted:
        """The windows of these tools (100 at most), after their dirty hours were recounted; with `anew`, all hours.

        `dirty_hours` are all dirty hours of these tools, if the caller has just read them. A tool without any, whose
        windows were stored within this hour, costs one read. In the background, tools that have no turn before the
        deadline are left out, and keep their dirty hours.
        """
        left, known, recounted = list(tool_ids), dirty_hours, Recounted(now)

        async def once() -> None:
            nonlocal left, known
            dirty_hours = await dirty_hours_of_tools(self.store, left) if known is None else known
            outdated = await self._outdated(left, dirty_hours, recounted, anew)
            left, known = [], None
            if deadline.in_background() and deadline.is_near():
                return
            left = await self._recount(outdated, recounted)
            if left:
                raise ChangedMeanwhile("other workers have recounted these tools")

        await until_unchanged(once, f"the counts of {len(tool_ids)} tools")
        return recounted

    async def _outdated(
        self, tool_ids: Sequence[str], dirty_hours: Mapping[str, Sequence[Document]], recounted: Recounted, anew: bool
    ) -> list[ToolCounts]:
        """The tools with dirty hours or with windows of another hour. The stored windows of the other tools are right,
        and become part of `recounted`."""
        stored = await self.store.read_many(CATALOG.name, [(tool_id, WindowTables.ID) for tool_id in tool_ids])
        oldest, end = hour_key(day_start(first_live_day(recounted.now))), window_end(recounted.now)
        outdated: list[ToolCounts] = []
        for tool_id, document in zip(tool_ids, stored, strict=True):
            of_tool = dirty_hours.get(tool_id, ())
            with recounted.reading(tool_id, [document]):
                if anew or document is None or not are_right(document, recounted.now):
                    outdated.append(ToolCounts(tool_id, of_tool, document, oldest, is_rebuild=True))
                    continue
                recounted.found[tool_id] = document["updated_at"]
                windows = None if of_tool else Windows.stored(document, edges_of(end))
                if windows is None:
                    days = frozenset(document["days"])
                    outdated.append(ToolCounts(tool_id, of_tool, document, oldest, known_days=days))
                    continue
                windows.at(end)  # now, so that damage is found where the document is read
                recounted.windows[tool_id] = windows
        return outdated

    async def _read(self, wanted: Sequence[tuple[ToolCounts, str]]) -> None:
        """Reads the documents with these ids."""
        keys = [(counts.tool_id, name) for counts, name in wanted]
        stored = await self.store.read_many(CATALOG.name, keys) if keys else []
        for (counts, name), document in zip(wanted, stored, strict=True):
            counts.put(name, document)

    async def _find_days(self, counts: ToolCounts) -> None:
        """Of a tool that is counted anew, all days are written: another clock may have stored some that are to come."""
        where = (Where("id", "ge", DayCounts.id_of(counts.oldest[:8])), Where("id", "lt", "COUNTS;"))
        stored = await query_all(self.store, CATALOG.name, Query(where, partition=counts.tool_id))
        counts.known_days = frozenset(document["id"][-8:] for document in stored)

    async def _recount(self, some: Sequence[ToolCounts], recounted: Recounted) -> list[str]:
        """Returns the ids of the tools whose counts another recount has written meanwhile."""
        edges = edges_of(window_end(recounted.now))
        await self._read([(each, name) for each in some for name in each.counted_from])
        await self._count(some, recounted)
        summed = [each for each in some if each.kept_windows(edges) is None]
        await self._read([(each, name) for each in summed for name in each.summed_from(edges)])
        await self._read([(each, name) for each in summed for name in each.summed_anew_from(edges)])
        for each in (each for each in some if each.is_rebuild):
            await self._find_days(each)
        writes: list[CountsWrite] = []
        for counts in (each for each in some if each.tool_id not in recounted.failed):
            with recounted.reading(counts.tool_id, counts.documents):
                windows = counts.windows(edges)
                write = counts.write(windows, recounted.now)
                recounted.windows[counts.tool_id] = windows
                if write is not None:
                    writes.append(write)
        return await self._write(writes)

    async def _count(self, some: Sequence[ToolCounts], recounted: Recounted) -> None:
        """Counts the mentions of the tools' hours. Hours that several tools have in common take one query for all."""
        # All hours go on after `now`: this clock may be behind, by any time.
        all_hours = day_start(first_live_day(recounted.now)), _NO_END
        by_span: dict[tuple[datetime, datetime], dict[str, ToolCounts]] = {}
        for counts in some:
            for span in [all_hours] if counts.is_rebuild else spans(counts.dirty):
                by_span.setdefault(span, {})[counts.tool_id] = counts

        gate = asyncio.Semaphore(_QUERIES_AT_ONCE)

        async def count(span: tuple[datetime, datetime], tools: Mapping[str, ToolCounts]) -> None:
            async with gate:
                async for page in pages(self.store, MENTIONS.name, published(list(tools), *span)):
                    for mention in page.items:
                        try:
                            tools[mention["tool_id"]].count.add(mention)
                        except UnreadableDocument as error:
                            recounted.failed[mention["tool_id"]] = error

        await asyncio.gather(*(count(span, tools) for span, tools in by_span.items()))

    async def _write(self, writes: Sequence[CountsWrite]) -> list[str]:
        """Returns the ids of the tools whose counts another recount has written meanwhile."""
        overtaken: list[str] = []
        while writes:
            outcomes = await self.store.batch_many(CATALOG.name, [write.batch() for write in writes])
            unfinished: list[CountsWrite] = []
            for write, outcome in zip(writes, outcomes, strict=True):
                state = write.after(outcome)
                if state == "unfinished":
                    unfinished.append(write)
                elif state == "overtaken":
                    overtaken.append(write.counts.tool_id)
            writes = unfinished
        return overtaken


async def recounted_since(store: Store, recounts: Mapping[str, int], last: dict[str, object]) -> set[str]:
    """The tools that were recounted since the recount with this number. A tool whose windows cannot be read is one.
    The numbers of the last recounts that are not in `last` are read and added to it."""
    unread = [tool_id for tool_id in recounts if tool_id not in last]
    windows = await store.read_many(CATALOG.name, [(tool_id, WindowTables.ID) for tool_id in unread])
    last |= {tool_id: (each and each.get("recounts")) or 0 for tool_id, each in zip(unread, windows, strict=True)}
    return {each for each, number in recounts.items() if not isinstance(now := last[each], int) or now > number}


def are_right(windows: Document, now: datetime) -> bool:
    """Whether the counts that were stored with these windows are right for all hours that are not dirty.

    Not if a clock that was ahead stored them: it has dropped hours as too old, and has not seen mentions that it took
    to be expired.
    """
    return not windows.get("unfinished") and not is_ahead(parse_time(windows["updated_at"]), now)


def published(tool_ids: Sequence[str], since: datetime, until: datetime, *where: Where) -> Query:
    """The tools' mentions that were published from `since` up to, but without, `until`, oldest first."""
    time = Where("published_at", "ge", format_time(since)), Where("published_at", "lt", format_time(until))
    if len(tool_ids) == 1:
        return Query((*time, *where), partition=tool_ids[0], order="by_published")
    of_tools = Where("tool_id", "in", tuple(tool_ids))
    return Query((*time, of_tools, *where), order="by_published")


def spans(hours: Sequence[str]) -> list[tuple[datetime, datetime]]:
    """The start and end of each run of consecutive hours; `hours` are sorted."""
    starts = [hour_start(hour) for hour in hours]
    found = []
    for _, run in groupby(enumerate(starts), key=lambda each: each[1] - each[0] * _HOUR):
        times = [start for _, start in run]
        found.append((times[0], times[-1] + _HOUR))
    return found
