"""Computing a tool's entries from its windows, and saving them. When to do it is the reader's and the refresh's."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from datetime import datetime

from models.errors import Unavailable
from models.tool import Tool
from services.feeds.coverage import Coverage
from services.figures.aggregate import Entries, entries_of
from services.figures.generations import Generations
from services.figures.recount import Gathered, Recount
from services.ports import Clock, Store
from services.store.containers import SENTIMENT_CACHE

_TRIES = 20
_AT_ONCE = 8


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
            now = self._clock()
            gathered = await self._recount.windows_of([tool.tool_id], now)
            for error in gathered.failed.values():
                raise error
            windows, shares = gathered.windows[tool.tool_id], await self._coverage.shares(now)
            entries = entries_of(tool.tool_id, tool.created_at, generation, windows, shares, now)
            await self._store.write_many(SENTIMENT_CACHE.name, [each.to_document() for each in entries.values()])
            if await self._generations.current(tool.tool_id) == generation:
                return entries
        raise Unavailable(f"the figures of {tool.tool_id} keep changing", retry_after=1.0)

    async def entries(self, gathered: Gathered, generations: Mapping[str, int], now: datetime) -> dict[str, Entries]:
        """By tool, of those whose figures are shown; `generations` were read before the windows."""
        shares = await self._coverage.shares(now)
        found: dict[str, Entries] = {}
        for number, (tool_id, windows) in enumerate(gathered.windows.items()):
            if windows.made_at is not None and tool_id not in gathered.failed:
                generation = generations[tool_id]
                found[tool_id] = entries_of(tool_id, windows.made_at, generation, windows, shares, now)
            if number % _AT_ONCE == 0:
                await asyncio.sleep(0)  # whoever waits for an answer goes first
        return found
