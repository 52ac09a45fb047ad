"""Refreshes tools: recounts their dirty hours, and writes the entries that have changed or would become stale.

A run refreshes all active tools. The timer or a person begins it, its batches do the work, the last batch closes it.
One batch is done at once, more are sent as messages. A run whose batches do not end in time is closed by the next tick.
A tool that cannot be refreshed is named in the result and does not stop the others. If the document of a run cannot be
read, its batches are done all the same.
"""

from __future__ import annotations

import contextlib
import logging
import time
from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from typing import Any, Literal

from models.cache import FRESH_FOR, PERIODS, SentimentCacheEntry, is_mostly_unscored
from models.errors import ToolpulseError, UnreadableDocument
from models.run import MOST_ERRORS_KEPT, Attempt, JobRun
from models.tally import Tally
from models.timeline import WindowTables
from models.values import unix_seconds
from services.figures import breadth
from services.figures.count_documents import is_of_last_recount
from services.figures.counters import Counters
from services.figures.entries import Entries, Generations
from services.figures.metadata import LONGEST_REASON, Metadata, by_sentiment
from services.figures.recount import Recount
from services.logs import log_event, log_unreadable
from services.mentions.dirty_hours import dirty_hours_of_tools, tools_with_dirty_hours, tools_with_dirty_hours_among
from services.mentions.refresh_due import REFRESH_STAGE, RefreshMessage, batches_of, next_delay
from services.ports import Clock, Document, Query, Store, Where, query_all, readable
from services.store.containers import CATALOG, SENTIMENT_CACHE
from services.tools.catalog import Catalog
from services.topology import REFRESH_SENTIMENT_CACHE
from services.work import rules
from services.work.announcing import Announcer
from services.work.runs import RunEngine

log = logging.getLogger("toolpulse.cache")

WORKFLOW = "refresh_cache"
TASK = "refresh_tools"
SUBJECT = "sentiment_cache"
OVERDUE = REFRESH_SENTIMENT_CACHE.every - timedelta(minutes=1)

REWRITTEN_AT = FRESH_FOR - REFRESH_SENTIMENT_CACHE.every - timedelta(minutes=1)
"""The age from which an entry is written again although its figures are the same: the next refresh might come after it
has become stale."""

LATE = "not in time, and announced again"
_FIGURES = (*Tally().figures(), *breadth.FIELDS, "analyzers", "coverage", "searched_since_ts", "backfilled")
_ENTRIES = Where("period", "in", tuple(PERIODS))
_PAGE = 1000
_TRIES = 20


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
    """A run, and the messages of its batches that the caller must send."""

    run_id: str
    messages: list[str] = field(default_factory=list)


class Refresh:
    """`seconds` measures how long a batch takes."""

    def __init__(
        self,
        store: Store,
        catalog: Catalog,
        recount: Recount,
        entries: Entries,
        generations: Generations,
        counters: Counters,
        announcer: Announcer,
        clock: Clock,
        new_id: Callable[[], str],
        seconds: Callable[[], float] = time.perf_counter,
    ) -> None:
        self._store = store
        self._catalog = catalog
        self._recount = recount
        self._entries = entries
        self._generations = generations
        self._counters = counters
        self._metadata = Metadata(store, counters)
        self._announcer = announcer
        self._clock = clock
        self._engine = RunEngine(store, clock, new_id)
        self._seconds = seconds

    async def tick(self, invocation_id: str | None = None) -> Begun:
        """The work of the timer: closes overdue runs, begins a run, and does it at once if it is a single batch."""
        for run in await self._engine.overdue([WORKFLOW], self._clock(), stuck_after=OVERDUE):
            await self._close(run, await self._engine.attempts(run.run_id))
        with self._counters.failures():
            begun = await self.begin(invocation_id)
        if len(begun.messages) > 1:
            return begun
        for message in begun.messages:
            await self.work(RefreshMessage.from_message(message))
        return Begun(begun.run_id)

    async def begin(self, invocation_id: str | None = None) -> Begun:
        """A run of all tools that are active or have dirty hours, with the messages of all its batches."""
        since = self._clock()
        entries = await query_all(self._store, SENTIMENT_CACHE.name, Query((_ENTRIES,), limit=_PAGE))
        active = dict.fromkeys(tool.tool_id for tool in await self._catalog.active())
        # A tool that is gone, merged or no longer active loses its entries, and keeps its generation.
        for entry in entries:
            if entry["tool_id"] not in active:
                await self._store.delete(SENTIMENT_CACHE.name, entry["tool_id"], entry["id"])
        # Merged tools have dirty hours too: what they had counted has left them.
        tool_ids = list(active | dict.fromkeys(await tools_with_dirty_hours(self._store)))
        batches = batches_of(tool_ids) or [()]
        run = await self._engine.open(
            WORKFLOW, SUBJECT, {"tools": len(tool_ids)}, batches=len(batches), invocation_id=invocation_id, since=since
        )
        messages = [RefreshMessage(batch, run.run_id, f"{number:04}") for number, batch in enumerate(batches, 1)]
        return Begun(run.run_id, [message.to_message() for message in messages])

    async def work(self, message: RefreshMessage) -> None:
        """Refreshes the tools of a message. Does nothing for a batch that is done, or whose run was closed without it.
        A batch whose run cannot be read is done without the run."""
        run: JobRun | None = None
        try:
            if message.run_id is not None:
                run = await self._engine.find(message.run_id)
                if run is None or run.is_finished:
                    return
        except UnreadableDocument as error:
            log_unreadable(error)
        if run is None:
            await self._refresh_announced(message.tool_ids)
            return
        attempt = await self._engine.start(run.run_id, TASK, f"batch:{message.batch}")
        if attempt is not None:
            await self._try(attempt, message)
        attempts = await self._engine.attempts(run.run_id)
        if len(done_batches(attempts)) == run.batches:
            await self._close(run, attempts)

    async def _refresh_announced(self, tool_ids: Sequence[str]) -> None:
        """Tools with dirty hours, and tools whose entries are old or of an earlier recount: a reader has found them, or
        a worker has died before it wrote them. Others were refreshed since."""
        began = self._seconds()
        dirty = await tools_with_dirty_hours_among(self._store, tool_ids)
        others = [tool_id for tool_id in tool_ids if tool_id not in dirty]
        keys = [(tool_id, WindowTables.ID) for tool_id in others]
        windows = dict(zip(others, await self._store.read_many(CATALOG.name, keys), strict=True)) if keys else {}
        young = Counter(
            entry["tool_id"]
            for entry in (await self._young_entries(others)).values()
            if is_of_last_recount(entry["recounts"], windows[entry["tool_id"]])
        )
        due = [tool_id for tool_id in tool_ids if tool_id in dirty or young[tool_id] < len(PERIODS)]
        if due:
            refreshed = await self.refresh_tools(due)
            await self._announcer.announce(REFRESH_STAGE, refreshed.late)
            self._announcer.slow_down(REFRESH_STAGE, next_delay(self._seconds() - began))

    async def refresh_tools(self, tool_ids: Sequence[str]) -> Refreshed:
        refreshed = Refreshed()
        try:
            for batch in batches_of(tool_ids):
                await self._refresh_or_divide(batch, refreshed)
        except Exception:
            self._counters.errors(len(tool_ids) - len(refreshed.done))
            raise
        for tool_id, error in refreshed.failed.items():
            log_event(log, logging.ERROR, "tool_not_refreshed", tool_id=tool_id, error=error)
        self._counters.errors(len(refreshed.failed))
        return refreshed

    async def _refresh_or_divide(self, tool_ids: Sequence[str], refreshed: Refreshed) -> None:
        """If a document of one tool fails the whole batch, each tool is refreshed alone."""
        try:
            for _ in range(_TRIES):
                tool_ids = await self._refresh(tool_ids, refreshed)
                if not tool_ids:
                    return
            # Other workers keep recounting these tools. The last of them writes their entries.
            refreshed.done += tool_ids
        except UnreadableDocument as error:
            if len(tool_ids) == 1:
                refreshed.failed[tool_ids[0]] = reason_of(error)
                return
            for tool_id in tool_ids:
                await self._refresh_or_divide([tool_id], refreshed)

    async def _refresh(self, tool_ids: Sequence[str], refreshed: Refreshed) -> Sequence[str]:
        """Returns the tools that another worker has recounted meanwhile, and that must be refreshed again."""
        dirty_hours = await dirty_hours_of_tools(self._store, tool_ids)
        # The entries of a tool that is recounted are all written again.
        young = await self._young_entries([tool_id for tool_id in tool_ids if tool_id not in dirty_hours])
        stored = await self._store.read_many(SENTIMENT_CACHE.name, [Generations.key(tool_id) for tool_id in tool_ids])
        generations = {
            tool_id: self._generations.learn(tool_id, document)
            for tool_id, document in zip(tool_ids, stored, strict=True)
        }
        now = self._clock()
        recounted = await self._recount.windows_of(tool_ids, now, dirty_hours)
        computed = await self._entries.of(recounted, generations)
        changed = {
            tool_id: [entry for entry in entries.values() if not can_stay(young.get(entry["id"]), entry, now)]
            for tool_id, entries in computed.items()
        }
        overtaken = await self._entries.save(changed)
        refreshed.written += sum(map(len, changed.values()))
        refreshed.failed |= {tool_id: reason_of(error) for tool_id, error in recounted.failed.items()}
        refreshed.late += [each for each in tool_ids if each not in recounted.windows and each not in recounted.failed]
        refreshed.done += [tool_id for tool_id in computed if tool_id not in overtaken]
        refreshed.weeks |= {tool_id: entries["DAY_7"] for tool_id, entries in computed.items()}
        return overtaken

    async def _young_entries(self, tool_ids: Sequence[str]) -> dict[str, Document]:
        """The entries that may be too young to be written again, by id. With a refresh every 15 minutes there are
        none."""
        if not tool_ids:
            return {}
        where = (
            Where("tool_id", "in", tuple(tool_ids)),
            Where("last_updated_ts", "gt", unix_seconds(self._clock() - REWRITTEN_AT)),
        )
        page = await self._store.query(SENTIMENT_CACHE.name, Query(where, limit=_PAGE))
        return {document["id"]: document for document in page.items}

    async def _try(self, attempt: Attempt, message: RefreshMessage) -> None:
        began = self._seconds()
        try:
            refreshed = await self.refresh_tools(message.tool_ids)
            await self._announcer.announce(REFRESH_STAGE, refreshed.late)
        except Exception as error:
            with contextlib.suppress(ToolpulseError):
                await self._engine.finish(rules.failed(attempt, error, self._milliseconds(began), self._clock()))
            raise
        failed = {**refreshed.failed, **dict.fromkeys(refreshed.late, LATE)}
        await self._engine.finish(
            rules.succeeded(
                attempt,
                self._milliseconds(began),
                self._clock(),
                progress=len(refreshed.done),
                counts={
                    "entries_written": refreshed.written,
                    "tools_failed": len(failed),
                    **by_sentiment(refreshed.weeks.values()),
                },
                errors=tuple(f"{tool_id}: {failed[tool_id]}" for tool_id in sorted(failed)),
                tool_ids=tuple(refreshed.done),
                unscored_tools=tuple(name for name, week in refreshed.weeks.items() if _is_mostly_unscored(week)),
            )
        )

    def _milliseconds(self, began: float) -> int:
        return round((self._seconds() - began) * 1000)

    async def _close(self, run: JobRun, attempts: Sequence[Attempt]) -> None:
        """Writes the metadata first: if this process dies in between, the next tick closes the run."""
        errors = batch_errors(run, attempts)
        await self._metadata.refresh_ended(run, done_batches(attempts), status_of(run, attempts), errors, self._clock())
        closed = await self._engine.close_unless_changed(run, summary)
        if closed is not None:
            fields = {"run_id": run.run_id, "status": closed.status, "tools": closed.progress}
            level = logging.INFO if closed.status == "SUCCEEDED" else logging.ERROR
            log_event(log, level, "cache_refreshed", **fields, failed=closed.metrics["tools_failed"])


def reason_of(error: Exception) -> str:
    return f"{type(error).__name__}: {error}"[:LONGEST_REASON]


def _is_mostly_unscored(week: Document) -> bool:
    return is_mostly_unscored(week["total_mentions"], week["unscored_mentions"])


def can_stay(document: Document | None, entry: Document, now: datetime) -> bool:
    """Whether the stored entry can stay instead of `entry`, which was just computed.

    Both must have the same figures, and the stored one must not become stale before the next refresh. If the tool was
    recounted since, the stored entry is replaced in any case: its figures may be wrong for its own, older window.
    """
    stored = readable(document, SentimentCacheEntry.from_document)
    if document is None or stored is None or stored.is_ahead(now):
        return False
    is_same = all(document.get(name) == entry.get(name) for name in ("generation", "recounts", *_FIGURES))
    return is_same and timedelta(seconds=stored.age_seconds(now)) < REWRITTEN_AT


def done_batches(attempts: Iterable[Attempt]) -> list[Attempt]:
    """The attempts that have succeeded, one for each batch that is done."""
    return list({each.subject: each for each in attempts if each.status == "SUCCEEDED"}.values())


def status_of(run: JobRun, attempts: Iterable[Attempt]) -> Literal["SUCCEEDED", "PARTIAL", "FAILED"]:
    """FAILED if no batch is done, or no tool could be refreshed; PARTIAL if a batch is missing, or a tool was not
    refreshed."""
    batches = done_batches(attempts)
    failed = sum(batch.counts.get("tools_failed", 0) for batch in batches)
    if not batches or (failed and not any(batch.progress for batch in batches)):
        return "FAILED"
    return "SUCCEEDED" if len(batches) == run.batches and not failed else "PARTIAL"


def batch_errors(run: JobRun, attempts: Sequence[Attempt]) -> list[str]:
    """The errors of the batches that are not done: their number, and why their last tries failed."""
    done = {batch.subject for batch in done_batches(attempts)}
    missing = (run.batches or 0) - len(done)
    if not missing:
        return []
    failed = [each for each in rules.last_of_each(attempts) if each.status == "FAILED" and each.subject not in done]
    reasons = [f"{each.subject}: {each.error_message or each.error_type}" for each in failed]
    return [f"{missing} of {run.batches} batches did not end in time", *reasons]


def summary(run: JobRun, attempts: Sequence[Attempt]) -> dict[str, Any]:
    """The fields of a run that follow from its batches, for RunEngine.close_unless_changed."""
    batches = done_batches(attempts)
    errors = [*batch_errors(run, attempts), *sorted(error for batch in batches for error in batch.errors)]
    return {
        "status": status_of(run, attempts),
        "progress": sum(batch.progress or 0 for batch in batches),
        "metrics": {
            name: sum(batch.counts.get(name, 0) for batch in batches) for name in ("entries_written", "tools_failed")
        },
        "errors": tuple(errors[:MOST_ERRORS_KEPT]),
    }
