"""Writes runs and their attempts, and reads them. Callers decide what a run does and how its attempts are summed up.

A run and its attempts share a partition, so they are written together or not at all. The figures of a run are computed
from its attempts whenever it is closed: no counter is raised beside the work.

The attempts of an ingestion run are in the document of the run: one worker does the work of its message, and a document
for each fetch would cost more than the fetch. The attempts of a refresh or workflow are documents of their own, since
several workers record attempts of one run at once.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from datetime import datetime, timedelta
from typing import Any

from models.errors import ChangedMeanwhile, Conflict, InvalidInput, NotFound
from models.run import Attempt, JobRun, read_run
from models.values import CLOCKS_DIFFER, format_time, is_ahead, is_over
from services.ports import (
    Clock,
    Create,
    Listed,
    Operation,
    Query,
    Replace,
    Store,
    Upsert,
    Where,
    listed,
    listed_documents,
    query_all,
)
from services.store.change import until_unchanged
from services.store.containers import RUNS
from services.work import rules
from services.work.listing import EVERY_ATTEMPT, EVERY_RUN, AttemptFilter, RunFilter, history
from services.work.rules import with_attempts, with_documents

Summarize = Callable[[JobRun, Sequence[Attempt]], Mapping[str, Any]]
"""The fields of a run that follow from its attempts. The run is passed as it ends now, or as it ended before. Without a
`status` among the fields, the status is that of rules.status_of."""

LOST_AFTER = timedelta(minutes=5)
"""A run that has been QUEUED for longer has lost its message."""
STUCK_AFTER = timedelta(minutes=15)
"""A run that is RUNNING and has not been written for longer has lost its worker."""
SENT_WITHIN = timedelta(seconds=30)
"""A message is sent within this time after the document that it follows from was written."""
LOOKED_BACK = timedelta(days=2)
LONGEST_RUN = timedelta(hours=1)
"""For how long an ingestion may go on from message to message."""
_MOST_OVERDUE = 500
_PAGE = 500
_BATCH = 100
_ATTEMPTS = Where("entity_type", "eq", "Attempt")


class RunEngine:
    def __init__(self, store: Store, clock: Clock, new_id: Callable[[], str]) -> None:
        self._store = store
        self._clock = clock
        self._new_id = new_id

    async def accept(
        self,
        workflow: str,
        subject: str | None = None,
        parameters: dict[str, Any] | None = None,
        due_at: datetime | None = None,
    ) -> JobRun:
        """A new run, QUEUED and stored. The caller sends its message."""
        now = self._clock()
        run = rules.queued(workflow, self._new_id(), now, subject, parameters)
        return await self._create(run.changed(now, due_at=due_at))

    async def open(
        self,
        workflow: str,
        subject: str | None = None,
        parameters: dict[str, Any] | None = None,
        *,
        batches: int | None = None,
        invocation_id: str | None = None,
        since: datetime,
    ) -> JobRun:
        """A new run, in this number of batches if it has several, RUNNING and stored. `since` is when the caller began
        to prepare it."""
        queued = rules.queued(workflow, self._new_id(), since, subject, parameters)
        return await self._create(rules.begun(queued, invocation_id, since).changed(since, batches=batches))

    async def accept_all(self, runs: Sequence[JobRun]) -> None:
        """Stores runs that `rules` returned as queued, one by one in any order. A run that is stored stays as it is: a
        worker has begun it already."""
        await self._store.create_many(RUNS.name, [run.to_document() for run in runs])

    async def withdraw(self, run_id: str) -> None:
        """Deletes a run whose message will not be sent."""
        await self._store.delete(RUNS.name, run_id, JobRun.ID)

    async def find(self, run_id: str) -> JobRun | None:
        document = await self._store.read(RUNS.name, run_id, JobRun.ID)
        return None if document is None else read_run(document)

    async def get(self, run_id: str) -> JobRun:
        """Raises NotFound, also for an id that no run can have."""
        try:
            run = await self.find(run_id)
        except InvalidInput:
            run = None
        if run is None:
            raise NotFound(f"run: there is none with the id {run_id!r}; runs are kept for 14 days")
        return run

    async def page(self, limit: int, after: str | None, by: RunFilter = EVERY_RUN) -> Listed[JobRun]:
        """Runs, newest first."""
        return listed(await self._store.query(RUNS.name, by.query(limit, after)), read_run, "run_id")

    async def history(
        self, feed_id: str, limit: int, after: str | None, by: AttemptFilter = EVERY_ATTEMPT
    ) -> Listed[Attempt]:
        """The attempts at a feed in all runs, newest first; see services/work/listing.py."""
        return await history(self._store, feed_id, limit, after, by)

    async def attempts(self, run_id: str) -> list[Attempt]:
        """All attempts of the run that can be read, in the order of their start."""
        return (await self.listed_attempts(run_id)).items

    async def listed_attempts(self, run_id: str) -> Listed[Attempt]:
        """The attempts of the run, in the order of their start, and those that cannot be read."""
        run, found = await self.find(run_id), await self._documents(run_id)
        return found if run is None else with_documents(run, found)

    async def _documents(self, run_id: str, *where: Where) -> Listed[Attempt]:
        """The attempts that are documents of their own."""
        query = Query((_ATTEMPTS, *where), partition=run_id, limit=_PAGE)
        return listed_documents(await query_all(self._store, RUNS.name, query), Attempt.from_document, "id")

    async def begin(
        self, run_id: str, *, invocation_id: str | None = None, feeds: Sequence[str] = (), hosts: Sequence[str] = ()
    ) -> JobRun:
        """Makes a QUEUED or FAILED run RUNNING. Any other run is returned as it is. A run that is not stored becomes an
        ingestion run of these feeds and hosts: its message was faster than the process that claimed them."""

        async def once() -> JobRun:
            before = await self.find(run_id)
            now = self._clock()
            run = rules.begun(before or rules.queued_ingestion(run_id, now, feeds, hosts), invocation_id, now)
            if run is before:
                return run
            if before is not None:
                return await self.save(run)
            try:
                return await self._create(run)
            except Conflict as error:
                raise ChangedMeanwhile(str(error)) from error

        return await until_unchanged(once, f"run {run_id}")

    async def note(self, attempt: Attempt) -> None:
        """Records an attempt of a task that another document shows to be begun, over an earlier record of it."""
        await self._store.upsert(RUNS.name, attempt.to_document())

    async def attempts_at(self, subject: str, task: str, limit: int) -> Listed[Attempt]:
        """The attempts of a task at one subject in all runs, newest first."""
        where = (Where("subject", "eq", subject), _ATTEMPTS, Where("task_name", "eq", task))
        query = Query(where, order="by_subject", reverse=True, limit=limit, may_be_stale=True)
        return listed(await self._store.query(RUNS.name, query), Attempt.from_document, "id")

    async def record(self, run: JobRun, attempts: Sequence[Attempt]) -> JobRun:
        """Adds attempts to an ingestion run, over earlier records of them. Returns the run as it is stored then; a run
        that is gone stays gone."""
        known: JobRun | None = run

        async def once() -> JobRun:
            nonlocal known
            found, known = known or await self.find(run.run_id), None
            if found is None or not attempts:
                return run
            return await self.save(with_attempts(found, attempts).changed(self._clock()))

        return await until_unchanged(once, f"run {run.run_id}")

    async def start(self, run_id: str, task: str, subject: str) -> Attempt | None:
        """The next attempt of a task that several workers may try, STARTED; None if the task has succeeded.

        An attempt that another worker started and did not end is recorded as FAILED: that worker died or is overtaken.
        """

        async def once() -> Attempt | None:
            mine = (Where("subject", "eq", subject), Where("task_name", "eq", task))
            tried = (await self._documents(run_id, *mine)).items
            if any(each.status == "SUCCEEDED" for each in tried):
                return None
            now = self._clock()
            attempt = rules.started(run_id, task, subject, rules.next_number(tried, task, subject), now)
            died, _ = rules.without_open_ends(tried, now)
            operations = [*_replacing(died), Create(attempt.to_document())]
            try:
                *_, etag = await self._store.batch(RUNS.name, run_id, operations)
            except Conflict as error:
                raise ChangedMeanwhile(str(error)) from error
            return attempt.with_etag(etag)

        return await until_unchanged(once, f"{task} {subject} of run {run_id}")

    async def finish(self, attempt: Attempt) -> bool:
        """Records the end of an attempt that `start` returned. False if another worker has recorded its end: the
        counts of this worker are then dropped."""
        try:
            await self._store.replace(RUNS.name, attempt.to_document(), attempt.stored_etag or "")
        except ChangedMeanwhile:
            return False
        return True

    async def save(self, run: JobRun, attempts: Iterable[Attempt] = ()) -> JobRun:
        """Writes the run and these of its attempts, all or none. Raises ChangedMeanwhile, and writes nothing, if
        the run was written since it was read."""
        operations: list[Operation] = [*_replacing([run]), *(Upsert(each.to_document()) for each in attempts)]
        etag, *_ = await self._store.batch(RUNS.name, run.run_id, operations)
        return run.with_etag(etag)

    async def close(self, run_id: str, summarize: Summarize) -> JobRun | None:
        """Ends the run, with figures from its attempts; a run that has ended gets new figures. None if the run is gone.
        Attempts without an end are recorded as FAILED: their workers died, or are too late."""

        async def once() -> JobRun | None:
            run = await self.find(run_id)
            # Attempts are read after the run: a worker that records an attempt later closes the run again.
            return None if run is None else await self._close(run, await self._documents(run_id), summarize)

        return await until_unchanged(once, f"run {run_id}")

    async def close_with(self, run: JobRun, attempts: Sequence[Attempt], summarize: Summarize) -> JobRun | None:
        """Adds attempts to an ingestion run and ends it, in one write."""
        known: JobRun | None = run

        async def once() -> JobRun | None:
            nonlocal known
            found, known = known or await self.find(run.run_id), None
            if found is None:
                return None
            return await self._close(found, Listed([]), summarize, attempts)

        return await until_unchanged(once, f"run {run.run_id}")

    async def close_unless_changed(
        self, run: JobRun, summarize: Summarize, added: Sequence[Attempt] = ()
    ) -> JobRun | None:
        """Ends the run as `close` does, with the attempts `added`; returns None, and changes nothing, if another worker
        wrote the run since it was read."""

        async def once() -> JobRun | None:
            try:
                return await self._close(run, await self._documents(run.run_id), summarize, added)
            except ChangedMeanwhile as error:
                if error.operation:
                    raise  # one of its attempts
                return None

        return await until_unchanged(once, f"attempts of run {run.run_id}")

    async def overdue(
        self, workflows: Sequence[str], now: datetime, *, stuck_after: timedelta = STUCK_AFTER
    ) -> list[JobRun]:
        """The runs whose message was lost or whose worker died, the oldest first; then those of a clock that was
        ahead."""
        open_runs = Where("workflow_name", "in", tuple(workflows)), Where("status", "in", ("QUEUED", "RUNNING"))
        since, until = format_time(now - LOOKED_BACK), format_time(now - LOST_AFTER)
        spans = (
            (Where("started_at", "ge", since), Where("started_at", "le", until)),
            (Where("started_at", "gt", format_time(now + CLOCKS_DIFFER)),),
        )
        found: list[JobRun] = []
        for span in spans:
            query = Query((*open_runs, *span), order="by_start", limit=_MOST_OVERDUE)
            found += listed(await self._store.query(RUNS.name, query), read_run, "run_id").items
        return [run for run in found if run.status == "QUEUED" or not was_written_within(stuck_after, run, now)]

    async def may_send_again(
        self, runs: Iterable[JobRun], now: datetime, oldest_waiting: datetime | None
    ) -> list[JobRun]:
        """Those of these overdue runs whose messages this caller may send again.

        `oldest_waiting` is when the oldest message that waits in their queue was sent: the message of a run that was
        written later may wait. Each run is saved first, so that no other worker sends its message too, and so that the
        message has time for all its deliveries.
        """
        since = now - LOST_AFTER
        if oldest_waiting is not None:
            since = min(since, oldest_waiting - SENT_WITHIN)
        chosen = []
        for run in runs:
            if run.updated_at > since and not is_ahead(run.updated_at, now):
                continue
            try:
                chosen.append(await self.save(run.changed(now)))
            except ChangedMeanwhile:
                continue
        return chosen

    async def open_within(self, workflow: str, span: timedelta, now: datetime) -> list[JobRun]:
        """The runs that are not over and were written within this time. A run of a clock that was ahead is none."""
        where = (
            Where("workflow_name", "eq", workflow),
            Where("status", "in", ("QUEUED", "RUNNING")),
            Where("started_at", "ge", format_time(now - span - LONGEST_RUN)),
        )
        documents = await query_all(self._store, RUNS.name, Query(where, order="by_start", limit=_PAGE))
        runs = listed_documents(documents, read_run, "run_id").items
        return [run for run in runs if was_written_within(span, run, now)]

    async def _create(self, run: JobRun) -> JobRun:
        return read_run(await self._store.create(RUNS.name, run.to_document()))

    async def _close(
        self, run: JobRun, documents: Listed[Attempt], summarize: Summarize, added: Sequence[Attempt] = ()
    ) -> JobRun:
        """`documents` are the attempts that are documents of their own, `added` those to add to the run's document."""
        now, before = self._clock(), run
        run = with_attempts(run, added)
        died, attempts = rules.without_open_ends(with_documents(run, documents).items, now)
        # A run that no worker began cannot have succeeded.
        default = "FAILED" if run.status == "QUEUED" else rules.status_of(attempts)
        ended = run if run.is_finished else rules.ended(run, default, now)
        figures = dict(summarize(ended, attempts))
        after = rules.ended(run, figures.pop("status", default), now).changed(now, **figures)
        if not died and after == before.changed(after.updated_at):
            return before
        etag, *_ = await self._store.batch(RUNS.name, run.run_id, _replacing([after, *died]))
        return after.with_etag(etag)


def was_written_within(span: timedelta, run: JobRun, now: datetime) -> bool:
    return not is_over(run.updated_at + span, now, span)


def _replacing(documents: Iterable[JobRun | Attempt]) -> list[Operation]:
    return [Replace(each.to_document(), each.stored_etag or "") for each in documents]
