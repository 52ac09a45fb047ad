"""The runs that refresh every watched tool: begun by the timer or a person, done in batches, closed by the last batch.

One batch is refreshed at once, more are sent as messages. A run whose batches do not end in time is closed by the next
tick. What cannot be read of a run, or of the cache's metadata, costs no figures.
"""

from __future__ import annotations

import contextlib
import logging
import time
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from typing import Any

from models.cache import MOST_TOOLS_LISTED, PERIODS, CacheMetadata
from models.errors import ToolpulseError, UnreadableDocument
from models.run import MOST_ERRORS_KEPT, Attempt, JobRun
from models.states import RunStatus
from services.figures.counters import Counters
from services.figures.messages import MOST_TOOLS, RefreshMessage
from services.figures.refresh import Refresh, Refreshed
from services.logs import log_event, log_unreadable
from services.mentions.dirty_hours import marked_tools
from services.ports import Clock, Page, Query, Store, Where, listed
from services.runs import rules
from services.runs.engine import RunEngine
from services.store.containers import SENTIMENT_CACHE
from services.tools.catalog import Catalog
from services.topology import REFRESH_SENTIMENT_CACHE

log = logging.getLogger("toolpulse.cache")

WORKFLOW = "refresh_cache"
TASK = "refresh_tools"
SUBJECT = "sentiment_cache"
OVERDUE = REFRESH_SENTIMENT_CACHE.every - timedelta(minutes=1)

_ENTRIES = Where("period", "in", tuple(PERIODS))
_PAGE = 1000


@dataclass(frozen=True, slots=True)
class Begun:
    """A run, and the messages of its batches that are still to be sent."""

    run_id: str
    messages: list[str] = field(default_factory=list)


class RefreshRuns:
    """`seconds` measures how long a batch took."""

    def __init__(
        self,
        store: Store,
        catalog: Catalog,
        refresh: Refresh,
        counters: Counters,
        clock: Clock,
        new_id: Callable[[], str],
        seconds: Callable[[], float] = time.perf_counter,
    ) -> None:
        self._store = store
        self._catalog = catalog
        self._refresh = refresh
        self._counters = counters
        self._clock = clock
        self._engine = RunEngine(store, clock, new_id)
        self._seconds = seconds

    async def tick(self, invocation_id: str | None = None) -> Begun:
        """What the timer does: closes overdue runs, begins a run, and does it at once if it is a single batch."""
        for run in await self._engine.overdue([WORKFLOW], self._clock(), stuck_after=OVERDUE):
            await self._close(run, await self._engine.attempts(run.run_id))
        begun = await self.begin(invocation_id)
        if len(begun.messages) > 1:
            return begun
        for message in begun.messages:
            await self.work(RefreshMessage.from_message(message))
        return Begun(begun.run_id)

    async def begin(self, invocation_id: str | None = None) -> Begun:
        """A run of all tools that are to be refreshed, with the messages of all its batches."""
        since = self._clock()
        entries = await self._stored_entries()
        active = [tool.tool_id for tool in await self._catalog.active()]
        await self._delete_orphans(entries, set(active))
        # Merged tools have marks too, and tombstones that wait for a recount.
        tool_ids = list(dict.fromkeys([*active, *await marked_tools(self._store)]))
        batches = [tool_ids[start : start + MOST_TOOLS] for start in range(0, len(tool_ids), MOST_TOOLS)] or [[]]
        run = await self._engine.open(
            WORKFLOW, SUBJECT, {"tools": len(tool_ids)}, batches=len(batches), invocation_id=invocation_id, since=since
        )
        messages = [
            RefreshMessage(tuple(batch), run.run_id, f"{number:04}").to_message()
            for number, batch in enumerate(batches, 1)
        ]
        return Begun(run.run_id, messages)

    async def work(self, message: RefreshMessage) -> None:
        """Refreshes the tools of a message. A batch that is done, or whose run was closed without it, is left alone;
        a batch whose run cannot be read is done without the run."""
        if message.run_id is None or message.batch is None:
            await self._refreshed(message)
            return
        try:
            run = await self._engine.find(message.run_id)
        except UnreadableDocument as error:
            log_unreadable(error)
            await self._refreshed(message)
            return
        if run is None or run.is_finished:
            return
        attempt = await self._engine.start(run.run_id, TASK, f"batch:{message.batch}")
        if attempt is not None:
            await self._try(attempt, message)
        attempts = await self._engine.attempts(run.run_id)
        if len(done_batches(attempts)) == run.batches:
            await self._close(run, attempts)

    async def _try(self, attempt: Attempt, message: RefreshMessage) -> None:
        began = self._seconds()
        try:
            refreshed = await self._refreshed(message)
        except Exception as error:
            with contextlib.suppress(ToolpulseError):
                await self._engine.finish(rules.failed(attempt, error, self._milliseconds(began), self._clock()))
            raise
        await self._engine.finish(
            rules.succeeded(
                attempt,
                self._milliseconds(began),
                self._clock(),
                progress=len(refreshed.done),
                counts={"entries_written": refreshed.written, "tools_failed": len(refreshed.failed)},
                errors=tuple(f"{tool_id}: not refreshed" for tool_id in sorted(refreshed.failed)),
                tool_ids=tuple(refreshed.done),
            )
        )

    def _milliseconds(self, began: float) -> int:
        return round((self._seconds() - began) * 1000)

    async def _refreshed(self, message: RefreshMessage) -> Refreshed:
        refreshed = await self._refresh.refresh_tools(message.tool_ids)
        self._counters.errors(len(refreshed.failed))
        return refreshed

    async def _close(self, run: JobRun, attempts: Sequence[Attempt]) -> None:
        """Writes the metadata first: after a crash in between somebody else closes the run."""
        if done_batches(attempts):
            await self._counters.flush()
            await self._write_metadata(run, attempts)
        closed = await self._engine.close_unless_changed(run, summary)
        if closed is not None:
            fields = {"run_id": run.run_id, "status": closed.status, "tools": closed.progress}
            log_event(log, logging.INFO, "cache_refreshed", **fields)

    async def _write_metadata(self, run: JobRun, attempts: Sequence[Attempt]) -> None:
        """The refresh ended with its last batch: the next tick may have noticed that only now."""
        batches = done_batches(attempts)
        ended_ms = max(batch.ended_ms or 0 for batch in batches)
        ended = datetime.fromtimestamp(ended_ms / 1000, UTC)
        document = await self._store.read(SENTIMENT_CACHE.name, CacheMetadata.PARTITION, CacheMetadata.ID)
        readable = listed(Page([document] if document else []), CacheMetadata.from_document, "id").items
        before = readable[0] if readable else None
        if before is not None and before.last_refresh_ts > ended_ms // 1000:
            return
        counted = await self._counters.last_24_hours()
        tools = sorted(tool_id for batch in batches for tool_id in batch.tool_ids)
        metadata = CacheMetadata(
            created_at=before.created_at if before else ended,
            updated_at=ended,
            last_refresh_ts=ended_ms // 1000,
            last_refresh_duration_ms=max(0, ended_ms - (run.began_ms or ended_ms)),
            total_entries=await self._store.count(SENTIMENT_CACHE.name, (_ENTRIES,)),
            cache_hits_24h=counted.hits,
            cache_misses_24h=counted.misses,
            error_count_24h=counted.errors,
            tools_refreshed=tuple(tools[:MOST_TOOLS_LISTED]),
            tools_refreshed_count=len(tools),
            last_refresh_status="SUCCEEDED" if status_of(run, attempts) == "SUCCEEDED" else "PARTIAL",
            last_refresh_run_id=run.run_id,
        )
        await self._store.upsert(SENTIMENT_CACHE.name, metadata.to_document())

    async def _stored_entries(self) -> list[tuple[str, str]]:
        """(tool, id) of every entry."""
        found: list[tuple[str, str]] = []
        after: str | None = None
        while True:
            page = await self._store.query(SENTIMENT_CACHE.name, Query((_ENTRIES,), limit=_PAGE, after=after))
            found += [(document["tool_id"], document["id"]) for document in page.items]
            after = page.next
            if after is None:
                return found

    async def _delete_orphans(self, entries: list[tuple[str, str]], active: set[str]) -> None:
        """Deletes the entries of tools that are gone, merged, or no longer watched. Their generations stay."""
        for tool_id, entry_id in entries:
            if tool_id not in active:
                await self._store.delete(SENTIMENT_CACHE.name, tool_id, entry_id)


def done_batches(attempts: Iterable[Attempt]) -> list[Attempt]:
    """The attempts that have succeeded, one for each batch that is done."""
    return list({each.subject: each for each in attempts if each.status == "SUCCEEDED"}.values())


def status_of(run: JobRun, attempts: Iterable[Attempt]) -> RunStatus:
    """FAILED without a batch; PARTIAL if a batch is missing, or a tool was not refreshed."""
    batches = done_batches(attempts)
    if not batches:
        return "FAILED"
    is_whole = len(batches) == run.batches and not any(batch.counts.get("tools_failed") for batch in batches)
    return "SUCCEEDED" if is_whole else "PARTIAL"


def summary(run: JobRun, attempts: Sequence[Attempt]) -> dict[str, Any]:
    """What the batches of a run add up to, for RunEngine.close."""
    batches = done_batches(attempts)
    errors = sorted(error for batch in batches for error in batch.errors)
    missing = (run.batches or 0) - len(batches)
    if missing:
        errors.insert(0, f"{missing} of {run.batches} batches did not end in time")
    return {
        "status": status_of(run, attempts),
        "progress": sum(batch.progress or 0 for batch in batches),
        "metrics": {
            name: sum(batch.counts.get(name, 0) for batch in batches) for name in ("entries_written", "tools_failed")
        },
        "errors": tuple(errors[:MOST_ERRORS_KEPT]),
    }
