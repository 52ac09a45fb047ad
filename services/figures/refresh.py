"""Refreshes tools: recounts their dirty hours, and writes the entries that have changed or would become stale.

A run refreshes all active tools. The timer or a person begins it, its batches do the work, the last batch closes it.
A run of the timer takes most of the time until the next tick: each tool has its own place in it. The batches of a
person's run, new tools, and tools whose entries would become stale, are refreshed at once.
A run whose batches do not end in time is closed by the next tick.
A tool that cannot be refreshed is named in the result and does not stop the others.
"""

from __future__ import annotations

import contextlib
import itertools
import logging
import math
import time
import zlib
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from typing import Any

from models.cache import FRESH_FOR, is_mostly_unscored
from models.errors import ChangedMeanwhile, ToolpulseError, UnreadableDocument
from models.run import MAX_ERRORS_KEPT, Attempt, JobRun
from models.values import CLOCKS_DIFFER, format_time, unix_seconds
from services.figures.entries import Entries, Generations
from services.figures.metadata import ENTRIES, LONGEST_REASON, Counters, by_sentiment, last_refreshes, refresh_ended
from services.figures.recount import Recount
from services.logs import log_event
from services.mentions.due import (
    MAX_TOOLS,
    REFRESH_STAGE,
    RefreshMessage,
    dirty_hours_of_tools,
    next_delay,
)
from services.ports import Clock, Document, Query, Store, Where, query_all
from services.store.change import until_unchanged
from services.store.containers import SENTIMENT_CACHE
from services.tools.catalog import Catalog
from services.topology import REFRESH_SENTIMENT_CACHE
from services.work import rules
from services.work.announcing import Announcer
from services.work.runs import RunEngine, milliseconds_since
from services.work.stage import parts_of

log = logging.getLogger("toolpulse.cache")

WORKFLOW = "refresh_cache"
TASK = "refresh_tools"
SUBJECT = "sentiment_cache"
OVERDUE = REFRESH_SENTIMENT_CACHE.every - timedelta(minutes=1)

# The places of tools in a run of the timer. The last batches end minutes before the next tick.
PLACES, PLACE_SECONDS = 8, 90
# In a batch of such a run, unless there are thousands of tools. Fewer would cost more messages.
TOOLS_AT_ONCE = 5
# A message is delivered, and its tools are refreshed, within this time.
LATE_BY = timedelta(minutes=1)
# An entry that is younger when a run begins may wait for any place.
YOUNG = FRESH_FOR - LATE_BY - timedelta(seconds=PLACES * PLACE_SECONDS)
# The age from which an entry is written again although its figures are the same: the next refresh might come after it
# has become stale.
REWRITTEN_AT = FRESH_FOR - REFRESH_SENTIMENT_CACHE.every - LATE_BY

LATE = "not in time, and announced again"
_OF_MOMENT = ("created_at", "updated_at", "last_updated_ts", "period_start_ts", "period_end_ts", "oldest_mention_ts")


@dataclass(slots=True)
class Refreshed:
    """The tools that were refreshed, those that failed with the reason, those that had no turn before the deadline, and
    how many entries were written. `weeks` has the DAY_7 of each refreshed tool."""

    done: list[str] = field(default_factory=list)
    failed: dict[str, str] = field(default_factory=dict)
    late: list[str] = field(default_factory=list)
    written: int = 0
    weeks: dict[str, Document] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Begun:
    """A run, and the messages of its batches that the caller must send, each after its delay in seconds."""

    run_id: str
    messages: list[str] = field(default_factory=list)
    delays: list[int] = field(default_factory=list)


@dataclass(slots=True)
class Refresh:
    """Refreshes tools."""

    store: Store
    catalog: Catalog
    entries: Entries
    generations: Generations
    counters: Counters
    announcer: Announcer
    clock: Clock
    recount: Recount
    engine: RunEngine

    async def tick(self, invocation_id: str | None = None) -> Begun:
        """The work of the timer: closes overdue runs, and begins a run. The first one waits for nothing: a single batch
        is done here."""
        for run in await self.engine.overdue(WORKFLOW, SUBJECT, OVERDUE):
            await self._close(run, await self.engine.attempts(run))
        with self.counters.failures():
            refreshed, _ = await last_refreshes(self.store)
            begun = await self.begin(invocation_id, is_paced=refreshed is not None)
        if begun.delays != [0]:
            return begun
        await self.work(RefreshMessage.from_message(begun.messages[0]))
        return Begun(begun.run_id)

    async def begin(self, invocation_id: str | None = None, *, is_paced: bool = False) -> Begun:
        """A run of all active tools, with the messages of all its batches. `is_paced`: each tool waits for its place,
        unless it is new."""
        # Both lists may be of a moment ago, as they are in any case when the batches begin.
        since, tools = self.clock(), await self.catalog.active(may_be_stale=True)
        tool_ids = [tool.tool_id for tool in tools]
        known = {tool.tool_id for tool in tools if tool.created_at <= since - REFRESH_SENTIMENT_CACHE.every}
        # Usually there are none: to list all entries would cost a read of each.
        is_old = Where("last_updated_ts", "lt", unix_seconds(since - YOUNG))
        old = await query_all(self.store, SENTIMENT_CACHE.name, Query((ENTRIES, is_old), may_be_stale=True))
        # A tool that is gone, merged or no longer active loses its entries, and keeps its generation.
        for entry in old:
            if entry["tool_id"] not in tool_ids:
                await self.store.delete(SENTIMENT_CACHE.name, entry["tool_id"], entry["id"])
        waiting = known - become_stale(old, since) if is_paced else set[str]()
        at_once = [(0, some) for some in parts_of([each for each in tool_ids if each not in waiting], MAX_TOOLS)]
        batches = [*at_once, *paced(each for each in tool_ids if each in waiting)] or [(0, [])]
        queued = JobRun.queued(WORKFLOW, self.engine.new_id(), since, SUBJECT, {"tools": len(tool_ids)})
        run = queued.begun(invocation_id, since).changed(since, batches=len(batches))
        await self.engine.add([run])
        last = batches[-1][0]
        messages = [
            RefreshMessage(tuple(some), run.run_id, f"{number:04}", delay == last).to_message()
            for number, (delay, some) in enumerate(batches, 1)
        ]
        return Begun(run.run_id, messages, [delay for delay, _ in batches])

    async def work(self, message: RefreshMessage, delivery: int = 1) -> None:
        """Refreshes the tools of a message. Does nothing for a message that is delivered again after its batch was
        done, or whose run is over."""
        if message.run_id is None:
            began = time.perf_counter()
            refreshed = await self.refresh_tools(message.tool_ids)
            await self.announcer.announce(REFRESH_STAGE, refreshed.late)
            self.announcer.slow_down(REFRESH_STAGE, next_delay(time.perf_counter() - began))
            return
        run, batch = await self.engine.find(message.run_id), f"batch:{message.batch}"
        if run is None or run.is_finished:
            return
        attempts = await self.engine.attempts(run, Where("subject", "eq", batch)) if delivery > 1 else []
        if batch not in done_batches(attempts):
            number = rules.next_number(attempts, TASK, batch)
            await self._try(Attempt.started(run.run_id, TASK, batch, number, self.clock()), message.tool_ids)
        # A count costs the same however many batches there are: only the last one reads the ends of all.
        if (message.may_end or delivery > 1) and await self.engine.count_succeeded(run) >= (run.batches or 0):
            attempts = await self.engine.attempts(run)
            if len(done_batches(attempts)) == run.batches:
                await self._close(run, attempts)

    async def refresh_tools(self, tool_ids: Sequence[str]) -> Refreshed:
        """Refreshes the tools of one message."""
        refreshed, left = Refreshed(), tool_ids

        async def once() -> None:
            nonlocal left
            left = await self._refresh(left, refreshed)
            if left:
                raise ChangedMeanwhile("other workers have recounted these tools")

        try:
            await until_unchanged(once, f"{len(tool_ids)} tools")
        except Exception:
            self.counters.errors(len(tool_ids) - len(refreshed.done))
            raise
        for tool_id, error in refreshed.failed.items():
            log_event(log, logging.ERROR, "tool_not_refreshed", tool_id=tool_id, error=error)
        self.counters.errors(len(refreshed.failed))
        return refreshed

    async def _refresh(self, tool_ids: Sequence[str], refreshed: Refreshed) -> Sequence[str]:
        """Returns the tools that another worker has recounted meanwhile, and that must be refreshed again."""
        dirty_hours = await dirty_hours_of_tools(self.store, tool_ids)
        stored = await self.store.read_many(SENTIMENT_CACHE.name, [Generations.key(tool_id) for tool_id in tool_ids])
        generations: dict[str, int] = {}
        for tool_id, document in zip(tool_ids, stored, strict=True):
            try:
                generations[tool_id] = self.generations.learn(tool_id, document)
            except UnreadableDocument as error:
                refreshed.failed[tool_id] = reason_of(error)
        now = self.clock()
        recounted = await self.recount.windows_of(list(generations), now, dirty_hours)
        computed = await self.entries.of(recounted, generations)
        # The entries of a tool that is recounted are all written again.
        since = format_time(now - REWRITTEN_AT)
        may_stay = [each for each in computed if each not in dirty_hours and recounted.found.get(each, "") > since]
        keys = [(tool_id, entry["id"]) for tool_id in may_stay for entry in computed[tool_id].values()]
        young = await self.store.read_many(SENTIMENT_CACHE.name, keys) if keys else []
        before = {entry["id"]: entry for entry in young if entry is not None}
        changed = {
            tool_id: [entry for entry in entries.values() if not can_stay(before.get(entry["id"]), entry)]
            for tool_id, entries in computed.items()
        }
        overtaken = await self.entries.save(changed)
        refreshed.written += sum(map(len, changed.values()))
        refreshed.failed |= {tool_id: reason_of(error) for tool_id, error in recounted.failed.items()}
        refreshed.late += sorted(generations.keys() - recounted.windows.keys() - recounted.failed.keys())
        refreshed.done += [tool_id for tool_id in computed if tool_id not in overtaken]
        refreshed.weeks |= {tool_id: entries["DAY_7"] for tool_id, entries in computed.items()}
        return overtaken

    async def _try(self, attempt: Attempt, tool_ids: Sequence[str]) -> None:
        """Refreshes the tools of a batch, and records how it ended. Of a worker that dies there is no attempt."""
        began = time.perf_counter()
        try:
            refreshed = await self.refresh_tools(tool_ids)
            await self.announcer.announce(REFRESH_STAGE, refreshed.late)
        except Exception as error:
            with contextlib.suppress(ToolpulseError):
                why = rules.reason_of(error)
                await self.engine.note(attempt.failed(why, milliseconds_since(began), self.clock()))
            raise
        failed = {**refreshed.failed, **dict.fromkeys(refreshed.late, LATE)}
        ended = attempt.succeeded(
            milliseconds_since(began),
            self.clock(),
            progress=len(refreshed.done),
            counts={
                "entries_written": refreshed.written,
                "tools_failed": len(failed),
                **by_sentiment(refreshed.weeks.values()),
            },
            errors=tuple(f"{tool_id}: {failed[tool_id]}" for tool_id in sorted(failed)),
            tool_ids=tuple(refreshed.done),
            unscored_tools=tuple(
                tool_id
                for tool_id, week in refreshed.weeks.items()
                if is_mostly_unscored(week["total_mentions"], week["unscored_mentions"])
            ),
        )
        await self.engine.note(ended)

    async def _close(self, run: JobRun, attempts: Sequence[Attempt]) -> None:
        """Writes the metadata first: if this process dies in between, the next tick closes the run."""
        after = rules.closed(run, attempts, summary, self.clock())
        await refresh_ended(self.store, self.counters, after, list(done_batches(attempts).values()))
        with contextlib.suppress(ChangedMeanwhile):  # another worker has closed it
            await self.engine.save(after)
            level = logging.INFO if after.status == "SUCCEEDED" else logging.ERROR
            fields = {"run_id": run.run_id, "status": after.status, "tools": after.progress}
            log_event(log, level, "cache_refreshed", **fields, failed=after.metrics["tools_failed"])


def become_stale(entries: Iterable[Document], now: datetime) -> set[str]:
    """The tools of which an entry becomes stale before the tool's place in a run that begins now."""
    since = unix_seconds(now - FRESH_FOR + LATE_BY)
    return {each["tool_id"] for each in entries if each.get("last_updated_ts", 0) - since < place_of(each["tool_id"])}


def place_of(tool_id: str) -> int:
    """The seconds from a tick to the tool's place in the run, the same in each run."""
    return (zlib.crc32(tool_id.encode()) % PLACES + 1) * PLACE_SECONDS


def paced(tool_ids: Iterable[str]) -> Iterator[tuple[int, list[str]]]:
    """Batches of these tools, each with its delay in seconds. The tools of one place are spread over its seconds."""
    for place, group in itertools.groupby(sorted(tool_ids, key=place_of), place_of):
        tools = list(group)
        size = min(MAX_TOOLS, max(TOOLS_AT_ONCE, math.ceil(len(tools) / PLACE_SECONDS)))
        batches = list(parts_of(tools, size))
        yield from ((place + n * PLACE_SECONDS // len(batches), some) for n, some in enumerate(batches))


def reason_of(error: Exception) -> str:
    return f"{type(error).__name__}: {error}"[:LONGEST_REASON]


def can_stay(stored: Document | None, entry: Document) -> bool:
    """Whether the stored entry can stay instead of `entry`, which was just computed: if it is young and both have the
    same figures. If the tool was recounted since, the stored entry is replaced in any case: its figures may be wrong
    for its own, older window."""
    if stored is None:
        return False
    age = entry["last_updated_ts"] - stored["last_updated_ts"]
    is_young = -CLOCKS_DIFFER.total_seconds() <= age < REWRITTEN_AT.total_seconds()
    return is_young and _figures_of(stored) == _figures_of(entry)


def _figures_of(entry: Document) -> Document:
    """All that does not follow from the moment of the computation; what a store adds begins with an underscore."""
    return {name: each for name, each in entry.items() if name not in _OF_MOMENT and name[0] != "_"}


def done_batches(attempts: Iterable[Attempt]) -> dict[str, Attempt]:
    """By batch, the attempt that has succeeded."""
    return {each.subject: each for each in attempts if each.status == "SUCCEEDED"}


def summary(run: JobRun, attempts: Sequence[Attempt]) -> dict[str, Any]:
    """The fields of a run that follow from its batches. FAILED if no batch is done, or no tool
    could be refreshed; PARTIAL if a batch is missing, or a tool was not refreshed."""
    done = done_batches(attempts)
    counts = {
        name: sum(batch.counts.get(name, 0) for batch in done.values()) for name in ("entries_written", "tools_failed")
    }
    progress, failed, missing = sum(batch.progress or 0 for batch in done.values()), counts["tools_failed"], list[str]()
    if len(done) < (run.batches or 0):
        tried = [each for each in rules.last_of_each(attempts) if each.subject not in done]
        missing = [f"{(run.batches or 0) - len(done)} of {run.batches} batches did not end in time"]
        missing += [f"{each.subject}: {each.error_message or each.error_type}" for each in tried]
    status = "PARTIAL" if missing or failed else "SUCCEEDED"
    errors = [*missing, *sorted(error for batch in done.values() for error in batch.errors)]
    return {
        "status": "FAILED" if not done or (failed and not progress) else status,
        "progress": progress,
        "metrics": counts,
        "errors": tuple(errors[:MAX_ERRORS_KEPT]),
    }
