"""Reading one aggregate: from this process's memory, from the store, or computed, in this order.

No entry of a generation that is past is served: an entry is read together with its tool's generation, and memory obeys
what this process knows. Misses of a tool at the same time compute once; a stale entry is served at once, and the
caller is told to have it refreshed.
"""

from __future__ import annotations

import asyncio
import hashlib
import json
import logging
import time
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any, Literal

from models.cache import Period, SentimentCacheEntry, entry_id
from models.errors import Unavailable
from models.tool import Tool
from services.figures.aggregate import Entries
from services.figures.aggregates import Aggregates
from services.figures.counters import Counters
from services.figures.generations import Generations
from services.figures.memory import Aggregate, Memory
from services.figures.revalidation import Revalidation
from services.logs import log_event
from services.ports import Clock, Document, Store
from services.store.containers import SENTIMENT_CACHE
from services.store.listed import Listed
from services.tools.catalog import Catalog

log = logging.getLogger("toolpulse.cache")

State = Literal["HIT", "STALE", "MISS"]

_ROUNDS = 20
_COMPUTED_AT_ONCE = 8


@dataclass(frozen=True, slots=True)
class Served:
    """`refresh`: the caller is to send the message that has the tool refreshed."""

    aggregate: Aggregate
    state: State
    age_seconds: int
    refresh: bool = False


class Reader:
    def __init__(
        self,
        store: Store,
        catalog: Catalog,
        aggregates: Aggregates,
        generations: Generations,
        memory: Memory,
        counters: Counters,
        clock: Clock,
    ) -> None:
        self._store = store
        self._catalog = catalog
        self._aggregates = aggregates
        self._generations = generations
        self._memory = memory
        self._counters = counters
        self._clock = clock
        self._revalidation = Revalidation(store)
        self._flights: dict[str, asyncio.Task[Entries]] = {}

    async def read(self, text: str, period: Period) -> Served:
        """The aggregate of the tool with that id, name or alias. Raises NotFound, Unavailable."""
        started, now = time.perf_counter(), self._clock()
        held = self._memory.get(text, period, now)
        if held is not None:
            self._counters.hit(time.perf_counter() - started)
            return Served(held, "HIT", held.entry.age_seconds(now))
        for _ in range(_ROUNDS):
            tool = await self._catalog.get(text)
            entry, missed = await self._entry(tool, period)
            served = await self._served(tool, entry, missed, now)
            if self._holds(served):
                self._memory.put(text, served.aggregate, now)
                self._count(served, time.perf_counter() - started)
                return served
        raise _restless(text)

    async def read_all(self, tools: Sequence[Tool], period: Period) -> Listed[Served]:
        """The same for several tools, with one look into the store for all that is there, without those of which
        something cannot be read."""
        started, now = time.perf_counter(), self._clock()
        for _ in range(_ROUNDS):
            served = await self._all(tools, period, now)
            if all(self._holds(each) for each in served.items):
                for each in served.items:
                    self._count(each, (time.perf_counter() - started) / len(tools))
                return served
        raise _restless("some tool")

    async def _all(self, tools: Sequence[Tool], period: Period, now: datetime) -> Listed[Served]:
        keys = [key for tool in tools for key in _keys(tool.tool_id, period)]
        found = await self._store.read_many(SENTIMENT_CACHE.name, keys)
        gate = asyncio.Semaphore(_COMPUTED_AT_ONCE)

        async def one(place: int, tool: Tool) -> Served | None:
            try:
                entry, missed = self._valid(tool.tool_id, *found[2 * place : 2 * place + 2]), False
                if entry is None:
                    async with gate:
                        entry, missed = await self._entry(tool, period)
            except (ValueError, TypeError, LookupError):  # as of a refresh: what is wrong may be in any of its tables
                log.exception("tool_unreadable tool_id=%s", tool.tool_id)
                return None
            return await self._served(tool, entry, missed, now)

        served = await asyncio.gather(*(one(place, tool) for place, tool in enumerate(tools)))
        unreadable = tuple(tool.tool_id for tool, each in zip(tools, served, strict=True) if each is None)
        return Listed([each for each in served if each is not None], unreadable=unreadable)

    def _holds(self, served: Served) -> bool:
        """Whether its generation has not been raised by this process since it was read."""
        entry = served.aggregate.entry
        return entry.generation == self._generations.known(entry.tool_id)

    async def _entry(self, tool: Tool, period: Period) -> tuple[SentimentCacheEntry, bool]:
        """The entry, and whether it had to be computed.

        Misses join the computation that is under way. It may have begun before the generation was raised that the
        caller was told of, so what comes back may not hold.
        """
        found = await self._store.read_many(SENTIMENT_CACHE.name, _keys(tool.tool_id, period))
        entry = self._valid(tool.tool_id, *found)
        if entry is not None:
            return entry, False
        flight = self._flights.get(tool.tool_id) or self._begun(tool)
        return (await asyncio.shield(flight))[period], True

    def _begun(self, tool: Tool) -> asyncio.Task[Entries]:
        """A task of its own, so that a caller who goes away does not take the others' answer along."""
        flight = asyncio.get_running_loop().create_task(self._aggregates.compute(tool))
        self._flights[tool.tool_id] = flight

        def landed(done: asyncio.Task[Entries]) -> None:
            del self._flights[tool.tool_id]
            if not done.cancelled():
                done.exception()  # seen, even if every caller has gone away

        flight.add_done_callback(landed)
        return flight

    def _valid(
        self, tool_id: str, document: Document | None, generation: Document | None
    ) -> SentimentCacheEntry | None:
        self._generations.learn(tool_id, generation)
        if document is None:
            return None
        try:
            entry = SentimentCacheEntry.from_document(document)
        except ValueError:
            log_event(log, logging.ERROR, "entry_unreadable", tool_id=tool_id, id=document["id"])
            return None
        return entry if entry.generation == self._generations.known(tool_id) else None

    async def _served(self, tool: Tool, entry: SentimentCacheEntry, missed: bool, now: datetime) -> Served:
        state: State = "MISS" if missed else "STALE" if entry.is_stale(now) else "HIT"
        refresh = state == "STALE" and await self._revalidation.claim(tool.tool_id, now)
        return Served(aggregate_of(entry, tool.primary_name, now), state, entry.age_seconds(now), refresh)

    def _count(self, served: Served, seconds: float) -> None:
        if served.state == "MISS":
            self._counters.miss(seconds)
        else:
            self._counters.hit(seconds, stale=served.state == "STALE")


def _keys(tool_id: str, period: Period) -> list[tuple[str, str]]:
    return [(tool_id, entry_id(tool_id, period)), Generations.key(tool_id)]


def _restless(tool: str) -> Unavailable:
    return Unavailable(f"the figures of {tool} keep changing", retry_after=1.0)


def shown_entry(entry: SentimentCacheEntry, name: str, now: datetime) -> dict[str, Any]:
    """An entry as callers see it."""
    return {"id": entry.id, "tool": name, **entry.model_dump(mode="json"), "is_stale": entry.is_stale(now)}


def aggregate_of(entry: SentimentCacheEntry, name: str, now: datetime) -> Aggregate:
    shown = shown_entry(entry, name, now)
    body = json.dumps(shown, ensure_ascii=False, separators=(",", ":")).encode()
    etag = f'"{hashlib.blake2b(body, digest_size=12).hexdigest()}"'
    return Aggregate(entry, name, shown["is_stale"], body, etag)
