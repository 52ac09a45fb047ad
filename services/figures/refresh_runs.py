"""The runs that refresh every watched tool: begun by the timer or a person, done batch by batch, closed by the last.

Up to a batch of tools is refreshed at once, more are fanned out over messages. Each batch leaves a completion; the one
that sees all of them closes the run and writes the cache's metadata; a run that never gets there is closed by the next.
What cannot be read of a run, or of the metadata, costs no figures.
"""

from __future__ import annotations

import logging
from collections.abc import Callable
from dataclasses import dataclass, field
from datetime import datetime, timedelta

from models.cache import MOST_TOOLS_LISTED, PERIODS, CacheMetadata
from models.errors import ChangedMeanwhile, UnreadableDocument
from models.run import BatchDone, JobRun, done_id
from models.states import RunStatus
from models.values import format_time, unix_seconds
from services.figures.counters import Counters
from services.figures.messages import MOST_TOOLS, RefreshMessage
from services.figures.refresh import Refresh, Refreshed
from services.logs import log_event
from services.mentions.dirty_hours import marked_tools
from services.ports import Clock, Page, Query, Store, Where
from services.store.containers import RUNS, SENTIMENT_CACHE
from services.store.listed import listed, log_unreadable
from services.tools.catalog import Catalog
from services.topology import REFRESH_SENTIMENT_CACHE

log = logging.getLogger("toolpulse.cache")

WORKFLOW = "refresh_cache"
SUBJECT = "sentiment_cache"
OVERDUE = REFRESH_SENTIMENT_CACHE.every - timedelta(minutes=1)

_ENTRIES = Where("period", "in", tuple(PERIODS))
_MOST_ERRORS_SHOWN = 50
_PAGE = 1000


@dataclass(frozen=True, slots=True)
class Begun:
    """A run, and the messages that have it done. None are left if it is done already."""

    run_id: str
    messages: list[str] = field(default_factory=list)


class RefreshRuns:
    def __init__(
        self,
        store: Store,
        catalog: Catalog,
        refresh: Refresh,
        counters: Counters,
        clock: Clock,
        new_id: Callable[[], str],
    ) -> None:
        self._store = store
        self._catalog = catalog
        self._refresh = refresh
        self._counters = counters
        self._clock = clock
        self._new_id = new_id

    async def tick(self, invocation_id: str | None = None) -> Begun:
        """What the timer does: closes what is overdue, and refreshes everything, at once if it is little."""
        await self._close_overdue()
        begun = await self.begin(invocation_id)
        if len(begun.messages) > 1:
            return begun
        for message in begun.messages:
            await self.work(RefreshMessage.from_message(message))
        return Begun(begun.run_id)

    async def begin(self, invocation_id: str | None = None) -> Begun:
        """A run of everything that is to be refreshed, its work still to be done by the messages."""
        now = self._clock()
        entries = await self._stored_entries()
        active = [tool.tool_id for tool in await self._catalog.active()]
        await self._delete_orphans(entries, set(active))
        # What was merged has marks too, and tombstones that wait for a recount.
        tool_ids = list(dict.fromkeys([*active, *await marked_tools(self._store)]))
        batches = [tool_ids[start : start + MOST_TOOLS] for start in range(0, len(tool_ids), MOST_TOOLS)] or [[]]
        run = JobRun(
            created_at=now,
            updated_at=now,
            run_id=self._new_id(),
            workflow_name=WORKFLOW,
            invocation_id=invocation_id,
            status="RUNNING",
            started_at=now,
            running_since=now,
            subject=SUBJECT,
            parameters={"tools": len(tool_ids)},
            batches=len(batches),
        )
        await self._store.create(RUNS.name, run.to_document())
        messages = [
            RefreshMessage(tuple(batch), run.run_id, f"{number:04}").to_message()
            for number, batch in enumerate(batches, 1)
        ]
        return Begun(run.run_id, messages)

    async def work(self, message: RefreshMessage) -> None:
        """Does what a message says. One that has been done, or whose run was closed without it, does nothing; one whose
        run cannot be read is done without it."""
        if message.run_id is None or message.batch is None:
            await self._refreshed(message)
            return
        try:
            run = await self._run(message.run_id)
        except UnreadableDocument as error:
            log_unreadable(error)
            await self._refreshed(message)
            return
        if run is None or run.is_finished:
            return
        started = self._clock()
        if await self._store.read(RUNS.name, run.run_id, done_id(message.batch)) is None:
            await self._leave_done(run, message.batch, await self._refreshed(message), started)
        await self._close_if_done(run)

    async def _refreshed(self, message: RefreshMessage) -> Refreshed:
        refreshed = await self._refresh.refresh_tools(message.tool_ids)
        self._counters.errors(len(refreshed.failed))
        return refreshed

    async def _leave_done(self, run: JobRun, batch: str, refreshed: Refreshed, started: datetime) -> None:
        now = self._clock()
        done = BatchDone(
            created_at=now,
            updated_at=now,
            run_id=run.run_id,
            batch=batch,
            subjects_done=tuple(refreshed.done),
            subjects_failed=tuple(sorted(refreshed.failed)),
            entries_written=refreshed.written,
            duration_ms=max(0, round((now - started).total_seconds() * 1000)),
        )
        await self._store.create_many(RUNS.name, [done.to_document()])

    async def _close_if_done(self, run: JobRun) -> None:
        done = await self._done(run)
        if len(done) == run.batches:
            await self._close(run, done)

    async def _close_overdue(self) -> None:
        """What was begun so long ago, and never got all its batches, ends with what there is."""
        now = self._clock()
        where = (
            Where("subject", "eq", SUBJECT),
            Where("status", "eq", "RUNNING"),
            Where("started_at", "le", format_time(now - OVERDUE)),
        )
        page = await self._store.query(RUNS.name, Query(where, order="by_subject", limit=20))
        for run in listed(page, JobRun.from_document, "run_id").items:
            await self._close(run, await self._done(run))

    async def _close(self, run: JobRun, done: list[BatchDone]) -> None:
        """Metadata first: a crash in between leaves a run that somebody else closes."""
        failed = sorted({subject for each in done for subject in each.subjects_failed})
        missing = (run.batches or 0) - len(done)
        complete = not failed and not missing
        now = self._clock()
        ended = max((each.created_at for each in done), default=now) if missing else now
        if done:
            await self._counters.flush()
            await self._write_metadata(run, done, complete, ended)
        status: RunStatus = "SUCCEEDED" if complete else "PARTIAL" if done else "FAILED"
        errors = [f"{tool_id}: not refreshed" for tool_id in failed]
        if missing:
            errors.insert(0, f"{missing} of {run.batches} batches did not end in time")
        closed = run.changed(
            now,
            status=status,
            ended_at=max(now, run.started_at),
            progress=sum(len(each.subjects_done) for each in done),
            metrics={"entries_written": sum(each.entries_written for each in done), "tools_failed": len(failed)},
            errors=tuple(errors[:_MOST_ERRORS_SHOWN]),
        )
        try:
            await self._store.replace(RUNS.name, closed.to_document(), run.stored_etag or "")
        except ChangedMeanwhile:
            return  # somebody else saw the last batch as well
        log_event(log, logging.INFO, "cache_refreshed", run_id=run.run_id, status=status, tools=closed.progress)

    async def _write_metadata(self, run: JobRun, done: list[BatchDone], complete: bool, ended: datetime) -> None:
        document = await self._store.read(SENTIMENT_CACHE.name, CacheMetadata.PARTITION, CacheMetadata.ID)
        held = listed(Page([document] if document else []), CacheMetadata.from_document, "id").items
        before = held[0] if held else None
        if before is not None and before.last_refresh_ts > unix_seconds(ended):
            return
        counted = await self._counters.last_24_hours()
        tools = sorted(subject for each in done for subject in each.subjects_done)
        metadata = CacheMetadata(
            created_at=before.created_at if before else ended,
            updated_at=ended,
            last_refresh_ts=unix_seconds(ended),
            last_refresh_duration_ms=max(0, round((ended - run.started_at).total_seconds() * 1000)),
            total_entries=await self._store.count(SENTIMENT_CACHE.name, (_ENTRIES,)),
            cache_hits_24h=counted.hits,
            cache_misses_24h=counted.misses,
            error_count_24h=counted.errors,
            tools_refreshed=tuple(tools[:MOST_TOOLS_LISTED]),
            tools_refreshed_count=len(tools),
            last_refresh_status="SUCCEEDED" if complete else "PARTIAL",
            last_refresh_run_id=run.run_id,
        )
        await self._store.upsert(SENTIMENT_CACHE.name, metadata.to_document())

    async def _run(self, run_id: str) -> JobRun | None:
        document = await self._store.read(RUNS.name, run_id, JobRun.ID)
        return JobRun.from_document(document) if document else None

    async def _done(self, run: JobRun) -> list[BatchDone]:
        found: list[BatchDone] = []
        after: str | None = None
        while True:
            where = (Where("id", "ge", "DONE:"), Where("id", "lt", "DONE;"))
            page = await self._store.query(RUNS.name, Query(where, partition=run.run_id, limit=_PAGE, after=after))
            found += listed(page, BatchDone.from_document, "id").items
            after = page.next
            if after is None:
                return found

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
        """The entries of tools that are gone or merged, or no longer watched. Their generations stay."""
        for tool_id, each in entries:
            if tool_id not in active:
                await self._store.delete(SENTIMENT_CACHE.name, tool_id, each)
