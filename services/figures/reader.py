"""Reads the aggregate of a tool from this process's memory or from the store, or computes it.

Never serves an entry of an older generation than this process knows, or than the store had when it was read.
Concurrent misses of a tool share one computation. A stale entry is served at once, and its tool is announced.

Figures of a tool count every article that is ingested if no article waits for its analysis (its mentions are written
and their hours dirty before it ends), no hour of the tool is dirty, and the entry is of the tool's last recount. These
three are read in this order: whatever happens between two of the reads, a figure that lacks an article shows in one of
them. The entry may be read before or after.
"""

from __future__ import annotations

import asyncio
import hashlib
import json
import logging
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime, timedelta
from functools import cached_property
from typing import Any

from models.cache import Period, SentimentCacheEntry, entry_id
from models.errors import ChangedMeanwhile, Unavailable, UnreadableDocument
from models.resources.base import View
from models.resources.figures import AggregateResource
from models.tool import Tool
from services import deadline
from services.figures.entries import Entries, Generations, ToolEntries
from services.figures.metadata import Counters, ReadResult
from services.figures.recount import recounted_since
from services.logs import log_event
from services.mentions.due import REFRESH_STAGE, few_tools_with_dirty_hours, tools_with_dirty_hours_among
from services.ports import Clock, Document, LastWrite, Listed, Store, readable
from services.store.change import until_unchanged
from services.store.containers import SENTIMENT_CACHE
from services.tools.catalog import Catalog
from services.work.announcing import Announcer
from services.work.backlog import UNKNOWN, Backlog, BacklogReader

log = logging.getLogger("toolpulse.cache")

MAX_KEPT = 20_000
_COMPUTED_AT_ONCE = 8


@dataclass(frozen=True, slots=True)
class Completeness:
    """Whether figures count every ingested article.

    The fields of every aggregate; models/resources/figures.py describes them. `pending_articles` and
    `failed_articles` are null if they could not be counted.
    """

    pending_articles: int | None
    failed_articles: int | None
    complete: bool

    @classmethod
    def of(cls, backlog: Backlog, *, is_recounted: bool = True) -> Completeness:
        """`is_recounted`: the figures count all mentions that are stored."""
        return cls(backlog.pending, backlog.failed, backlog.is_empty and is_recounted)

    def shown(self) -> dict[str, Any]:
        return {name: getattr(self, name) for name in self.__slots__}


@dataclass(slots=True)
class CompletenessReader:
    """Reads what figures lack. All callers share a reading of the backlog, and what was read after it: the tools with
    dirty hours, and the numbers of the last recounts."""

    store: Store
    backlog: BacklogReader
    _after: Backlog = UNKNOWN
    _dirty: asyncio.Task[set[str] | None] | None = None
    _recounts: dict[str, object] = field(default_factory=dict)

    async def of_all(self) -> Completeness:
        """Of figures that were recounted when they were read, as those of a history are."""
        return Completeness.of(await self.backlog.counted())

    async def of_tools(self, recounts: Mapping[str, int]) -> dict[str, Completeness]:
        """Of these tools (any number), by tool. `recounts` has that number of the tool's entry."""
        backlog = await self.backlog.counted()
        if not backlog.is_empty or not recounts:
            return dict.fromkeys(recounts, Completeness.of(backlog))
        if self._dirty is None or self._after is not backlog:
            reading, self._after, self._recounts = few_tools_with_dirty_hours(self.store), backlog, {}
            self._dirty = asyncio.get_running_loop().create_task(reading, context=deadline.outside())
        last = self._recounts  # others may begin a later one
        try:
            if (dirty := await asyncio.shield(self._dirty)) is None:
                dirty = await tools_with_dirty_hours_among(self.store, list(recounts))
            outdated = recounts.keys() & dirty | await recounted_since(self.store, recounts, last)
        except Unavailable:  # an aggregate that is in the cache can be served without
            outdated = set(recounts)
        return {tool_id: Completeness.of(backlog, is_recounted=tool_id not in outdated) for tool_id in recounts}


async def changed_since(store: Store, recounts: Mapping[str, int]) -> set[str]:
    """The tools of which a mention was added, changed or removed since the recount with this number."""
    # Dirty hours are read first: a recount deletes them in the batch that raises its number.
    return await tools_with_dirty_hours_among(store, list(recounts)) | await recounted_since(store, recounts, {})


NOT_KNOWN = Completeness.of(UNKNOWN)


@dataclass(frozen=True)
class Aggregate:
    """An entry as it is served: `name` is the tool's primary name, `analyzer` the present analyzer with its version,
    `body` the JSON, `etag` the ETag of the body. Both are made when they are asked for: a list needs neither."""

    entry: SentimentCacheEntry
    name: str
    analyzer: str
    completeness: Completeness
    made_at: datetime
    state: ReadResult = "HIT"
    view: View = "default"
    answers: dict[object, Any] = field(default_factory=dict, init=False, compare=False)
    """What a caller has made of it and may find again."""

    @property
    def resource(self) -> AggregateResource:
        offered = is_reanalysis_offered(self.entry.analyzers, self.analyzer)
        facts = {"is_stale": self.entry.is_stale(self.made_at), "reanalysis_offered": offered}
        return AggregateResource.of(self.entry, self.name, self.view, **facts, **self.completeness.shown())

    @cached_property
    def body(self) -> bytes:
        return json.dumps(self.resource.shown(), ensure_ascii=False, separators=(",", ":")).encode()

    @cached_property
    def etag(self) -> str:
        return f'"{hashlib.blake2b(self.body, digest_size=12).hexdigest()}"'

    def in_view(self, view: View, now: datetime) -> Aggregate:
        """The default view is the one that is kept."""
        return self if view == "default" else replace(self, made_at=now, view=view)

    def with_completeness(self, current: Completeness, now: datetime) -> Aggregate:
        """This aggregate, which was read before `current` was counted."""
        if not self.completeness.complete and current.complete:
            current = replace(current, complete=False)
        return self if current == self.completeness else replace(self, completeness=current, made_at=now)


@dataclass(slots=True)
class Recent:
    """What this process read from the store within the last `seconds`, 0 for nothing: aggregates by the text that named
    the tool and by the period, and tools by the text."""

    seconds: float
    last_write: LastWrite = lambda: None
    kept: dict[object, tuple[datetime, datetime, object, Any]] = field(default_factory=dict)

    def get(self, key: object, now: datetime, last_write: object) -> Any:
        """None if nothing is kept, or no longer."""
        if key in self.kept:
            since, until, before, found = self.kept[key]
            if since <= now < until and before in (None, last_write):
                return found
            del self.kept[key]
        return None

    def put(self, key: object, found: Any, since: datetime, last_write: object, until: datetime | None = None) -> None:
        """`since` is when the read of the store began, and `last_write` the last write before, if the next write may be
        one that `found` lacks. It is kept up to `until` at most."""
        if not self.seconds:
            return
        while len(self.kept) >= MAX_KEPT:
            del self.kept[next(iter(self.kept))]
        end = since + timedelta(seconds=self.seconds)
        self.kept[key] = since, min(end, until or end), last_write, found


@dataclass(slots=True)
class Reader:
    """Reads aggregates."""

    store: Store
    catalog: Catalog
    entries: Entries
    generations: Generations
    counters: Counters
    announcer: Announcer
    clock: Clock
    completeness: CompletenessReader
    analyzer: Callable[[], str]
    recent: Recent
    _computed_at_once: asyncio.Semaphore = field(default_factory=lambda: asyncio.Semaphore(_COMPUTED_AT_ONCE))
    _computing: dict[str, asyncio.Task[ToolEntries]] = field(default_factory=dict)

    async def read(self, text: str, period: Period) -> Aggregate:
        """The aggregate of the tool with that id, name or alias. Raises NotFound, Unavailable."""
        started, now = time.perf_counter(), self.clock()
        aggregate = await self._from_memory(text, period, now)
        if aggregate is None:
            with self.counters.failures():
                aggregate = await self._from_store(text, period, now)
        self._note([aggregate], time.perf_counter() - started)
        return aggregate

    async def _from_memory(self, text: str, period: Period, now: datetime) -> Aggregate | None:
        """An aggregate that says that it is complete is kept until the next write only."""
        if (text, period) not in self.recent.kept:
            return None
        reader, last_write = self.completeness.backlog, self.recent.last_write()
        backlog = reader.kept(reader.seconds(), last_write)
        if backlog is None:
            backlog, last_write = await reader.counted(), self.recent.last_write()
        # Meanwhile its generation may have been raised, or its tool refreshed.
        kept: Aggregate | None = self.recent.get((text, period), now, last_write)
        if kept is None or kept.entry.generation != self.generations.known(kept.entry.tool_id):
            return None
        found = kept.with_completeness(Completeness.of(backlog), now)
        self.recent.kept[text, period] = *self.recent.kept[text, period][:3], found
        return found

    async def _from_store(self, text: str, period: Period, now: datetime) -> Aggregate:
        known: Tool | None = self.recent.get(text, now, self.recent.last_write())

        async def once() -> Aggregate:
            nonlocal known
            last_write = self.recent.last_write()
            tool, known = known, None
            if tool is None:  # or if another process has just merged the one that was known
                tool = await self.catalog.get(text)
                self.recent.put(text, tool, now, last_write)
            (aggregate,) = await self._read([tool], period, now)
            hit = aggregate if aggregate.state == "HIT" else replace(aggregate, state="HIT")
            before = last_write if aggregate.completeness.complete else None
            self.recent.put((text, period), hit, now, before, aggregate.entry.fresh_until)
            return aggregate

        return await until_unchanged(once, f"the figures of {text}")

    async def read_all(self, tools: Sequence[Tool], period: Period) -> Listed[Aggregate]:
        """The aggregates of several tools. All stored entries are read in one call, missing ones are computed. Tools
        with a document that cannot be read are listed as unreadable, and count as failed reads. One that has just been
        merged is left out."""
        unreadable: list[str] = []
        with self.counters.failures():
            started, now = time.perf_counter(), self.clock()

            async def once() -> list[Aggregate]:
                unreadable.clear()
                return await self._read(tools, period, now, unreadable)

            aggregates = await until_unchanged(once, "the figures of some tool")
            self._note(aggregates, time.perf_counter() - started)
        self.counters.errors(len(unreadable))
        return Listed(aggregates, unreadable=tuple(unreadable))

    def _note(self, aggregates: Sequence[Aggregate], seconds: float) -> None:
        for each in aggregates:
            self.counters.read(each.state, seconds / len(aggregates))
            entry, state = each.entry, each.state
            log_event(log, logging.DEBUG, "cache_read", tool_id=entry.tool_id, period=entry.period, state=state)

    async def _read(
        self, tools: Sequence[Tool], period: Period, now: datetime, unreadable: list[str] | None = None
    ) -> list[Aggregate]:
        """Raises UnreadableDocument for a tool of which a document cannot be read, or adds it to `unreadable`; raises
        ChangedMeanwhile if this process knows a later generation than that of an entry."""
        keys = [(each.tool_id, entry_id(each.tool_id, period)) for each in tools]
        keys += [self.generations.key(each.tool_id) for each in tools]
        stored = await self.store.read_many(SENTIMENT_CACHE.name, keys)

        async def one(tool: Tool, document: Document | None, generation: Document | None) -> Aggregate | None:
            try:
                return await self._found(tool, period, now, document, generation)
            except (ChangedMeanwhile, UnreadableDocument) as error:
                if unreadable is None:
                    raise
                if isinstance(error, UnreadableDocument):  # else the tool has just been merged
                    log.exception("tool_unreadable tool_id=%s", tool.tool_id)
                    unreadable.append(tool.tool_id)
                return None

        read = await asyncio.gather(*map(one, tools, stored[: len(tools)], stored[len(tools) :]))
        found = [each for each in read if each is not None]
        await self._announce_stale(found)
        of_tools = await self.completeness.of_tools({each.entry.tool_id: each.entry.recounts for each in found})
        # Checked last: the generation may have been raised while an entry was read, or while a computation that this
        # read shares was under way.
        for entry in (each.entry for each in found):
            if entry.generation != self.generations.known(entry.tool_id):
                raise ChangedMeanwhile(f"the generation of {entry.tool_id} was raised")
        analyzer = self.analyzer()
        return [replace(each, analyzer=analyzer, completeness=of_tools[each.entry.tool_id]) for each in found]

    async def _found(
        self, tool: Tool, period: Period, now: datetime, document: Document | None, generation: Document | None
    ) -> Aggregate:
        """The stored entry if it can be read, is of the tool's generation and of a window that has ended, and counts no
        mention that has left its window; else a computed one. Completeness and analyzer are not set yet."""
        state: ReadResult
        self.generations.learn(tool.tool_id, generation)
        entry = readable(document, SentimentCacheEntry.from_document)
        known = self.generations.known(tool.tool_id)
        if entry is None or entry.generation != known or entry.counts_too_many(now) or entry.is_ahead(now):
            computing = self._computing.get(tool.tool_id) or self._begin_computing(tool)
            entry, state = (await asyncio.shield(computing))[period], "MISS"
        else:
            state = "STALE" if entry.is_stale(now) else "HIT"
        return Aggregate(entry, tool.primary_name, "", NOT_KNOWN, now, state)

    async def _announce_stale(self, found: Iterable[Aggregate]) -> None:
        """A stale entry is served also if its tool cannot be announced: the refresh of all tools comes in any case."""
        stale = [each.entry.tool_id for each in found if each.state == "STALE"]
        try:
            if stale:
                await self.announcer.announce(REFRESH_STAGE, stale)
        except Unavailable as error:
            log_event(log, logging.WARNING, "refresh_not_announced", tools=len(stale), error=str(error))

    def _begin_computing(self, tool: Tool) -> asyncio.Task[ToolEntries]:
        """A separate task, so that a cancelled caller does not cancel the computation for the others."""

        async def computed() -> ToolEntries:
            async with self._computed_at_once:
                return await self.entries.computed(tool)

        task = self._computing[tool.tool_id] = asyncio.get_running_loop().create_task(computed())
        task.add_done_callback(lambda _: self._computing.pop(tool.tool_id))
        return task


def is_reanalysis_offered(analyzers: Iterable[str], present: str) -> bool:
    """Whether another analyzer or version than the `present` one judged some of the mentions of a figure."""
    return any(each != present for each in analyzers)
