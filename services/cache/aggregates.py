"""Computing a tool's entries from its tables, and saving them. When to do it is the reader's and the refresh's."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from models.cache import Period, SentimentCacheEntry
from models.errors import Unavailable
from models.timeline import Timeline
from models.tool import Tool
from services.cache.aggregate import edge_hours, entries_of, tallies
from services.cache.coverage import Coverage
from services.cache.generations import Generations
from services.cache.recount import Recount
from services.cache.tables import Table, hours_in, minutes_in
from services.ports import Clock, Document, Store
from services.store.containers import CATALOG, SENTIMENT_CACHE

_TRIES = 20

Entries = dict[Period, SentimentCacheEntry]


@dataclass(slots=True)
class Computed:
    """By tool: the entries, and when its timeline last changed; or why there are none."""

    entries: dict[str, Entries] = field(default_factory=dict)
    changed_at: dict[str, str] = field(default_factory=dict)
    failed: dict[str, Exception] = field(default_factory=dict)


class Aggregates:
    def __init__(
        self, store: Store, recount: Recount, generations: Generations, coverage: Coverage, clock: Clock
    ) -> None:
        self._store = store
        self._recount = recount
        self._generations = generations
        self._coverage = coverage
        self._clock = clock

    async def compute(self, tool: Tool) -> Entries:
        """The tool's entries as of now, saved, of a generation that still held when they were.

        Raises Unavailable if it is raised again and again meanwhile.
        """
        for _ in range(_TRIES):
            generation = await self._generations.current(tool.tool_id)
            await self._recount.recount_tool(tool.tool_id, self._clock())
            computed = await self.of_tables([tool], {tool.tool_id: generation})
            for error in computed.failed.values():
                raise error
            entries = computed.entries[tool.tool_id]
            await self._store.write_many(SENTIMENT_CACHE.name, [each.to_document() for each in entries.values()])
            if await self._generations.current(tool.tool_id) == generation:
                return entries
        raise Unavailable(f"the figures of {tool.tool_id} keep changing", retry_after=1.0)

    async def of_tables(self, tools: Sequence[Tool], generations: Mapping[str, int]) -> Computed:
        """The entries of these tools from their tables as they are; `generations` were read before."""
        now = self._clock()
        shares = await self._coverage.shares(now)
        edges = edge_hours(now)
        timelines = await self._store.read_many(CATALOG.name, [(tool.tool_id, Timeline.ID) for tool in tools])
        computed = Computed()
        read: list[tuple[Tool, Document | None, Table]] = []
        for tool, timeline in zip(tools, timelines, strict=True):
            try:
                read.append((tool, timeline, hours_in(timeline)))
            except ValueError as error:
                computed.failed[tool.tool_id] = error
        edges = edge_hours(now)
        wanted = [(tool.tool_id, f"HOUR:{hour}") for tool, _, hours in read for hour in edges if hour in hours]
        tables = iter(await self._store.read_many(CATALOG.name, wanted) if wanted else ())
        for tool, timeline, hours in read:
            found = {hour: next(tables) for hour in edges if hour in hours}
            try:
                minutes = {hour: minutes_in(table) for hour, table in found.items()}
                counted = tallies(hours, minutes, now)
                generation = generations[tool.tool_id]
                computed.entries[tool.tool_id] = entries_of(
                    tool.tool_id, tool.created_at, generation, counted, shares, now
                )
            except (ValueError, TypeError) as error:
                computed.failed[tool.tool_id] = error
            else:
                computed.changed_at[tool.tool_id] = timeline["updated_at"] if timeline else ""
            await asyncio.sleep(0)  # whoever waits for an answer goes first
        return computed
