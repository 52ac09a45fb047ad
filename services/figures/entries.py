"""Computes, stores and invalidates the four entries of a tool together.

An entry carries the generation that was read before its computation began. A reader compares it with the stored
generation, and so never serves an entry of a computation that began before an invalidation and ended after it.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime

from models.cache import (
    PERIODS,
    CacheGeneration,
    Period,
    SentimentCacheEntry,
    entry_id,
    generation_id,
    percentages,
    window_end,
)
from models.errors import ChangedMeanwhile
from models.tool import Tool
from models.values import format_time, unix_seconds
from services.figures.coverage import Coverage, Shares
from services.figures.recount import Recount, Recounted, recounted_since
from services.figures.windows import Windows
from services.ports import Clock, Create, Delete, Document, Operation, Replace, Store, Upsert
from services.store.change import change_together, until_unchanged
from services.store.containers import SENTIMENT_CACHE

ToolEntries = dict[Period, SentimentCacheEntry]
EntryDocuments = dict[Period, Document]
"""A tool's entries as they are stored. A refresh writes them and does not read them: validating figures that were just
computed would take as long as computing them."""

_TOOLS_PER_TURN = 8


@dataclass(slots=True)
class Generations:
    """The generations of tools. `known` is the highest that this process has read: it serves no entry of a lower
    one. Every process keeps aggregates in memory for `memory_seconds`."""

    store: Store
    clock: Clock
    memory_seconds: float = 0.0
    sleep: Callable[[float], Awaitable[None]] = asyncio.sleep
    _known: dict[str, int] = field(default_factory=dict)

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
        return self.learn(tool_id, await self.store.read(SENTIMENT_CACHE.name, *self.key(tool_id)))

    async def raise_(self, tool_id: str) -> None:
        """Invalidates the tool's entries: raises the generation and deletes them, in one batch.

        When this returns, this process no longer serves an entry of an older generation.
        """
        names = [generation_id(tool_id), *(entry_id(tool_id, period) for period in PERIODS)]
        raised = 0

        def decide(stored: Sequence[Document | None]) -> list[Operation]:
            nonlocal raised
            before, *entries = stored
            now, raised = self.clock(), self.learn(tool_id, before) + 1
            after = CacheGeneration(tool_id=tool_id, generation=raised, created_at=now).to_document()
            written = Create(after) if before is None else Replace(after, before["_etag"])
            return [*(Delete(each["id"], each["_etag"]) for each in entries if each is not None), written]

        await change_together(self.store, SENTIMENT_CACHE.name, tool_id, names, decide)
        self._known[tool_id] = max(raised, self.known(tool_id))

    async def raise_all(self, tool_ids: Collection[str]) -> None:
        """`raise_` for each of these tools."""
        for tool_id in sorted(tool_ids):
            await self.raise_(tool_id)

    async def known_everywhere(self) -> None:
        """Returns when no process serves an entry of a generation older than those raised before this call."""
        await self.sleep(self.memory_seconds)


@dataclass(slots=True)
class Entries:
    """Computes the entries of tools, and stores them."""

    store: Store
    recount: Recount
    generations: Generations
    coverage: Coverage
    clock: Clock

    async def computed(self, tool: Tool) -> ToolEntries:
        """The tool's entries as of now, stored. Their generation was still the tool's after they were stored, and they
        were of the last recount.

        Raises ChangedMeanwhile if the tool has just been merged, Unavailable if it keeps being changed.
        """

        async def once() -> ToolEntries | None:
            generation = self.generations.known(tool.tool_id)  # the caller has just read it
            recounted = await self.recount.windows_of([tool.tool_id], self.clock())
            recounted.raise_failure()
            documents = (await self.of(recounted, {tool.tool_id: generation})).get(tool.tool_id)
            if documents is None:
                return None
            overtaken = await self.save({tool.tool_id: list(documents.values())})
            if overtaken or await self.generations.current(tool.tool_id) != generation:
                raise ChangedMeanwhile(f"the figures of {tool.tool_id} have changed")
            return {period: SentimentCacheEntry.from_document(each) for period, each in documents.items()}

        if (entries := await until_unchanged(once, f"the figures of {tool.tool_id}")) is None:
            raise ChangedMeanwhile(f"the tool {tool.tool_id} has just been merged")
        return entries

    async def of(self, recounted: Recounted, generations: Mapping[str, int]) -> dict[str, EntryDocuments]:
        """Computes the entries of the recounted tools without storing them. Tools that are gone, merged or failed have
        none.

        `generations` must have been read before the recount.
        """
        now = recounted.now
        shares = Shares(await self.coverage.fetches(now), now)
        found: dict[str, EntryDocuments] = {}
        for number, (tool_id, windows) in enumerate(recounted.windows.items()):
            if windows.made_at is not None and tool_id not in recounted.failed:
                found[tool_id] = entry_documents(tool_id, windows.made_at, generations[tool_id], windows, shares, now)
            if number % _TOOLS_PER_TURN == 0:
                await asyncio.sleep(0)  # lets requests that wait go first
        return found

    async def save(self, entries: Mapping[str, Sequence[Document]]) -> list[str]:
        """Stores these entries of each tool, those of one tool in one batch.

        Returns the tools that were recounted since their entries were computed: these may have replaced later ones, and
        must be computed again.
        """
        recounts = {tool_id: of_tool[0]["recounts"] for tool_id, of_tool in entries.items() if of_tool}
        if not recounts:
            return []
        batches = [(tool_id, [Upsert(each) for each in entries[tool_id]]) for tool_id in recounts]
        await self.store.batch_many(SENTIMENT_CACHE.name, batches)
        return sorted(await recounted_since(self.store, recounts, {}))


def entry_documents(
    tool_id: str, made_at: datetime, generation: int, windows: Windows, shares: Shares, now: datetime
) -> EntryDocuments:
    """Each is what SentimentCacheEntry would store: without fields that are null."""
    documents: EntryDocuments = {}
    written, window_ends = format_time(now), window_end(now)
    since, sources = windows.since or made_at, windows.sources()
    made_ts, since_ts = unix_seconds(made_at), unix_seconds(since)
    common = {
        "tool_id": tool_id,
        "entity_type": "SentimentCacheEntry",
        "schema_version": "1",
        "created_at": written,
        "updated_at": written,
        "last_updated_ts": unix_seconds(now),
        "generation": generation,
        "recounts": windows.recounts,
        "searched_since_ts": since_ts,
    }
    for period, figures in windows.at(window_ends).items():
        counts = (figures[f"{each}_count"] for each in ("positive", "negative", "neutral"))
        positive, negative, neutral = percentages(*counts)
        start, end = shares.seconds[period]
        document = documents[period] = {
            "id": entry_id(tool_id, period),
            "period": period,
            **common,
            **{name: each for name, each in figures.items() if each is not None},
            "positive_percentage": positive,
            "negative_percentage": negative,
            "neutral_percentage": neutral,
            "period_start_ts": start,
            "period_end_ts": end,
            "backfilled": since_ts < made_ts and start < made_ts,
        }
        if (coverage := shares.of(shares.windows[period], since, sources)) is not None:
            document["coverage"] = coverage
        if period == "HOUR_1" and (oldest := windows.oldest_of_hour(window_ends)) is not None:
            document["oldest_mention_ts"] = oldest
    return documents
