"""Taking a tool's entries out of the cache: the next read, or the next refresh, computes them anew."""

from __future__ import annotations

import asyncio

from models.cache import PERIODS, entry_id
from services.figures.generations import Generations
from services.figures.memory import Memory
from services.ports import Store
from services.store.containers import SENTIMENT_CACHE


class Invalidation:
    def __init__(self, store: Store, generations: Generations, memory: Memory) -> None:
        self._store = store
        self._generations = generations
        self._memory = memory

    async def invalidate_tool_cache(self, tool_id: str) -> None:
        """Deletes the entries of a tool whose generation was raised by whoever changed its figures."""
        await self._generations.current(tool_id)
        self._memory.forget(tool_id)
        await asyncio.gather(
            *(self._store.delete(SENTIMENT_CACHE.name, tool_id, entry_id(tool_id, period)) for period in PERIODS)
        )

    async def drop(self, tool_id: str) -> None:
        """Raises the generation, then deletes: what is being computed now is not served either."""
        await self._generations.raise_(tool_id)
        await self.invalidate_tool_cache(tool_id)
