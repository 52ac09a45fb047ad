"""Computes, stores and invalidates the four entries of a tool together. Also their coverage.

An entry carries the generation that was read before its computation began. A reader compares it with the stored
generation, and so never serves an entry of a computation that began before an invalidation and ended after it.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Collection, Mapping, Sequence
from datetime import datetime, timedelta

from models.cache import (
    PERIODS,
    CacheGeneration,
    Period,
    SentimentCacheEntry,
    Window,
    entry_id,
    generation_id,
    percentages,
    window_end,
)
from models.errors import ChangedMeanwhile, Conflict, Unavailable
from models.operations import CoveredHour
from models.timeline import WindowTables
from models.tool import Tool
from models.values import hour_key, hour_start, unix_seconds
from services.figures.counts import is_of_last_recount
from services.figures.recount import Recount, Recounted
from services.figures.windows import Windows
from services.ports import Clock, Create, Delete, Document, Operation, Query, Replace, Store, Upsert, Where
from services.store.containers import CATALOG, SENTIMENT_CACHE

ToolEntries = dict[Period, SentimentCacheEntry]

READ_AGAIN_AFTER = timedelta(minutes=1)
_HOURS_KEPT = timedelta(days=31)
_HOUR = timedelta(hours=1)

_COMPUTED_TRIES = 20
_RAISED_TRIES = 50  # each try may lose to one other worker that raises the same generation
_RAISED_AT_ONCE = 8
_TOOLS_PER_TURN = 8


class Generations:
    """The generations of tools. `known` is the highest that this process has read: it serves no entry of a lower
    one. Every process keeps aggregates in memory for `memory_seconds`."""

    def __init__(
        self,
        store: Store,
        clock: Clock,
        memory_seconds: float = 0.0,
        sleep: Callable[[float], Awaitable[None]] = asyncio.sleep,
    ) -> None:
        self._store = store
        self._clock = clock
        self._memory_seconds = memory_seconds
        self._sleep = sleep
        self._known: dict[str, int] = {}

    def known(self, tool_id: str) -> int:
        return self._known.get(tool_id, 0)

    def learn(self, tool_id: str, document: Document | None) -> int:
        """The generation in `document`, which was read at `key`; it raises `known`."""
        generation = 0 if document is None else CacheGeneration.from_document(document).generation
        self._known[tool_id] = max(generation, self.known(tool_id))
        return generation

    @staticmethod
    def key(tool_id: str) -> tuple[str, str]:
        return tool_id, generation_id(tool_id)

    async def current(self, tool_id: str) -> int:
        return self.learn(tool_id, await self._store.read(SENTIMENT_CACHE.name, *self.key(tool_id)))

    async def raise_(self, tool_id: str) -> int:
        """Invalidates the tool's entries: raises the generation and deletes them, in one batch.

        When this returns the new generation, this process no longer serves an entry of an older one.
        """
        return await self._delete_entries(tool_id, raised_by=1)

    async def raise_all(self, tool_ids: Collection[str]) -> None:
        """`raise_` for each of these tools."""
        waiting = iter(sorted(tool_ids))

        async def raise_next() -> None:
            for tool_id in waiting:
                await self.raise_(tool_id)

        at_once = (raise_next() for _ in range(min(_RAISED_AT_ONCE, len(tool_ids))))
        for result in await asyncio.gather(*at_once, return_exceptions=True):
            if result is not None:
                raise result

    async def known_everywhere(self) -> None:
        """Returns when no process serves an entry of a generation older than those raised before this call."""
        await self._sleep(self._memory_seconds)

    async def invalidate_tool_cache(self, tool_id: str) -> None:
        """Deletes the entries that were written since the tool's generation was raised, maybe by another process."""
        await self._delete_entries(tool_id, raised_by=0)

    async def _delete_entries(self, tool_id: str, raised_by: int) -> int:
        keys = [self.key(tool_id), *((tool_id, entry_id(tool_id, period)) for period in PERIODS)]
        for _ in range(_RAISED_TRIES):
            before, *entries = await self._store.read_many(SENTIMENT_CACHE.name, keys)
            generation = self.learn(tool_id, before) + raised_by
            operations: list[Operation] = [Delete(each["id"], each["_etag"]) for each in entries if each is not None]
            if raised_by:
                operations.append(self._raised(tool_id, before, generation))
            try:
                if operations:
                    await self._store.batch(SENTIMENT_CACHE.name, tool_id, operations)
            except (Conflict, ChangedMeanwhile):
                continue
            self._known[tool_id] = max(generation, self.known(tool_id))
            return generation
        raise ChangedMeanwhile(f"the entries of {tool_id} keep changing: try again")

    def _raised(self, tool_id: str, before: Document | None, generation: int) -> Operation:
        now = self._clock()
        if before is None:
            first = CacheGeneration(tool_id=tool_id, generation=generation, created_at=now, updated_at=now)
            return Create(first.to_document())
        after = CacheGeneration.from_document(before).changed(now, generation=generation)
        return Replace(after.to_document(), before["_etag"])


class Coverage:
    """Reads the covered hours. Hours are only added, so each read needs only the hours since the last one."""

    def __init__(self, store: Store) -> None:
        self._store = store
        self._hours: set[str] = set()
        self._read_at: datetime | None = None

    async def shares(self, now: datetime) -> Shares:
        """The shares at `now`, from hours that were read at most READ_AGAIN_AFTER ago."""
        last = self._read_at
        # A negative difference: the clock was set back.
        if last is None or not timedelta(0) <= now - last < READ_AGAIN_AFTER:
            since = now - _HOURS_KEPT if last is None else min(now, last) - _HOUR
            where = (Where("id", "ge", hour_key(since)),)
            query = Query(where, partition=CoveredHour.PARTITION, limit=1000, may_be_stale=True)
            self._hours |= {found["id"] for found in (await self._store.query(CATALOG.name, query)).items}
            oldest = hour_key(now - _HOURS_KEPT)
            self._hours = {hour for hour in self._hours if hour >= oldest}
            self._read_at = now
        return Shares(frozenset(self._hours), now)


class Shares:
    """The four windows at one time, and the covered share of each.

    Values that are equal for all tools are computed once: `seconds`, the start and end of each window, and the share of
    a whole window, for the tools that were created before it.
    """

    def __init__(self, hours: frozenset[str], now: datetime) -> None:
        self._hours = hours
        self._windows = {period: Window.at(period, now) for period in PERIODS}
        self.seconds = {period: window.seconds for period, window in self._windows.items()}
        self._whole: dict[Period, float] = {}

    def of(self, period: Period, made_at: datetime) -> float:
        """The share for a tool that was created at `made_at`."""
        window = self._windows[period]
        if made_at > window.start:
            return share(self._hours, window, made_at)
        if period not in self._whole:
            self._whole[period] = share(self._hours, window, window.start)
        return self._whole[period]


def share(hours: frozenset[str], window: Window, since: datetime) -> float:
    """The part of the window in these hours and after `since`, from 0 to 1, to four decimals."""
    start = min(max(window.start, since), window.end)
    first, last = hour_key(start), hour_key(window.end)
    covered = sum(first < hour < last for hour in hours) * _HOUR
    for edge in {first, last} & hours:
        covered += min(hour_start(edge) + _HOUR, window.end) - max(hour_start(edge), start)
    return round(covered / (window.end - window.start), 4)


class Entries:
    """Computes the entries of tools, and stores them."""

    def __init__(
        self, store: Store, recount: Recount, generations: Generations, coverage: Coverage, clock: Clock
    ) -> None:
        self._store = store
        self._recount = recount
        self._generations = generations
        self._coverage = coverage
        self._clock = clock
        self._recounts: dict[str, int] = {}

    def is_outdated(self, entry: SentimentCacheEntry) -> bool:
        """Whether this process has stored entries of the tool since that count mentions which this one may lack."""
        return entry.recounts < self._recounts.get(entry.tool_id, 0)

    async def computed(self, tool: Tool) -> ToolEntries:
        """The tool's entries as of now, stored. Their generation was still the tool's after they were stored, and they
        were of the last recount.

        Raises Unavailable if the tool keeps being changed meanwhile.
        """
        for _ in range(_COMPUTED_TRIES):
            generation = await self._generations.current(tool.tool_id)
            now = self._clock()
            recounted = await self._recount.windows_of([tool.tool_id], now)
            recounted.raise_failure()
            shares = await self._coverage.shares(now)
            windows = recounted.windows[tool.tool_id]
            entries = entries_of(tool.tool_id, tool.created_at, generation, windows, shares, now)
            overtaken = await self.save({tool.tool_id: list(entries.values())})
            if not overtaken and await self._generations.current(tool.tool_id) == generation:
                return entries
        raise Unavailable(f"the figures of {tool.tool_id} keep changing", retry_after=1.0)

    async def of(self, recounted: Recounted, generations: Mapping[str, int]) -> dict[str, ToolEntries]:
        """Computes the entries of the recounted tools without storing them. Tools that are gone, merged or failed have
        none.

        `generations` must have been read before the recount.
        """
        now = recounted.now
        shares = await self._coverage.shares(now)
        found: dict[str, ToolEntries] = {}
        for number, (tool_id, windows) in enumerate(recounted.windows.items()):
            if windows.made_at is not None and tool_id not in recounted.failed:
                found[tool_id] = entries_of(tool_id, windows.made_at, generations[tool_id], windows, shares, now)
            if number % _TOOLS_PER_TURN == 0:
                await asyncio.sleep(0)  # lets requests that wait go first
        return found

    async def save(self, entries: Mapping[str, Sequence[SentimentCacheEntry]]) -> list[str]:
        """Stores these entries of each tool, those of one tool in one batch.

        Returns the tools that were recounted since their entries were computed: these may have replaced later ones, and
        must be computed again.
        """
        recounts = {tool_id: of_tool[0].recounts for tool_id, of_tool in entries.items() if of_tool}
        if not recounts:
            return []
        batches = [(tool_id, [Upsert(each.to_document()) for each in entries[tool_id]]) for tool_id in recounts]
        await self._store.batch_many(SENTIMENT_CACHE.name, batches)
        self._recounts |= recounts
        windows = await self._store.read_many(CATALOG.name, [(tool_id, WindowTables.ID) for tool_id in recounts])
        of_tools = zip(recounts.items(), windows, strict=True)
        return [tool_id for (tool_id, number), each in of_tools if not is_of_last_recount(number, each)]


def entries_of(
    tool_id: str, made_at: datetime, generation: int, windows: Windows, shares: Shares, now: datetime
) -> ToolEntries:
    entries: ToolEntries = {}
    updated_ts, window_ends = unix_seconds(now), window_end(now)
    analyzers = windows.analyzers_at(window_ends)
    for period, tally in windows.tallies(window_ends).items():
        positive, negative, neutral = percentages(tally.positive, tally.negative, tally.neutral)
        start, end = shares.seconds[period]
        entries[period] = SentimentCacheEntry(
            created_at=now,
            updated_at=now,
            tool_id=tool_id,
            period=period,
            **tally.figures(),
            analyzers=analyzers[period],
            positive_percentage=positive,
            negative_percentage=negative,
            neutral_percentage=neutral,
            period_start_ts=start,
            period_end_ts=end,
            last_updated_ts=updated_ts,
            generation=generation,
            recounts=windows.recounts,
            coverage=shares.of(period, made_at),
            oldest_mention_ts=windows.oldest_of_hour(window_ends) if period == "HOUR_1" else None,
        )
    return entries
