"""The one place that writes runs and their attempts: accepted, begun, tried, closed. It decides nothing about the work.

A run and its attempts share a partition, so they are written together or not at all. The figures of a run are derived
from its attempts when it is closed, by whoever closes it, and as often as somebody does.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any

from models.errors import ChangedMeanwhile, Conflict
from models.run import Attempt, JobRun, read_run
from models.values import format_time
from services.ports import Clock, Create, Operation, Query, Replace, Store, Upsert, Where, listed
from services.runs import rules
from services.store.containers import RUNS

Summarize = Callable[[JobRun, Sequence[Attempt]], Mapping[str, Any]]
"""The fields of a run that follow from its attempts. The run is handed in as it ends now, or has ended before. `status`
may be among the fields; otherwise it follows from rules.status_of."""

LOST_AFTER = timedelta(minutes=5)
"""A run that is QUEUED for longer has lost its message."""
STUCK_AFTER = timedelta(minutes=15)
"""A run that is RUNNING and was not written for longer has lost its worker."""
LOOKED_BACK = timedelta(days=2)
_MOST_OVERDUE = 500
_PAGE = 500
_BATCH = 100
_TRIES = 8
_ATTEMPTS = Where("entity_type", "eq", "Attempt")


@dataclass(frozen=True, slots=True)
class Begun:
    """`is_first`: no other delivery of the run's message has begun the run, as far as its record tells."""

    run: JobRun
    is_first: bool


class RunEngine:
    def __init__(self, store: Store, clock: Clock, new_id: Callable[[], str]) -> None:
        self._store = store
        self._clock = clock
        self._new_id = new_id

    async def accept(
        self, workflow: str, subject: str | None = None, parameters: dict[str, Any] | None = None
    ) -> JobRun:
        """A new run, QUEUED and stored. The caller sends its message."""
        run = rules.queued(workflow, self._new_id(), self._clock(), subject, parameters)
        return read_run(await self._store.create(RUNS.name, run.to_document()))

    async def open(
        self,
        workflow: str,
        subject: str | None = None,
        parameters: dict[str, Any] | None = None,
        *,
        batches: int,
        invocation_id: str | None = None,
        since: datetime,
    ) -> JobRun:
        """A new run of so many batches that is RUNNING, stored. `since` is when its caller began to prepare it."""
        queued = rules.queued(workflow, self._new_id(), since, subject, parameters)
        run = rules.begun(queued, invocation_id, since).changed(since, batches=batches)
        return read_run(await self._store.create(RUNS.name, run.to_document()))

    async def accept_all(self, runs: Sequence[JobRun]) -> None:
        """Stores runs that `rules.queued` made, in no order and not as one."""
        await self._store.write_many(RUNS.name, [run.to_document() for run in runs])

    async def withdraw(self, run: JobRun) -> None:
        """Deletes a run whose message will not be sent."""
        await self._store.delete(RUNS.name, run.run_id, JobRun.ID)

    async def find(self, run_id: str) -> JobRun | None:
        document = await self._store.read(RUNS.name, run_id, JobRun.ID)
        return None if document is None else read_run(document)

    async def begin(
        self,
        run_id: str,
        *,
        delivery: int,
        invocation_id: str | None = None,
        workflow: str = "ingest_feeds",
    ) -> Begun:
        """Makes a QUEUED or FAILED run RUNNING, and one that nobody recorded. Any other run is returned as it is."""
        is_contended = False
        for _ in range(_TRIES):
            before = await self.find(run_id)
            now = self._clock()
            run = rules.begun(before or rules.queued(workflow, run_id, now), invocation_id, now)
            if run is before:
                return Begun(run, is_first=False)
            try:
                if before is None:
                    stored = await self._store.create(RUNS.name, run.to_document())
                else:
                    stored = await self._store.replace(RUNS.name, run.to_document(), before.stored_etag or "")
            except (Conflict, ChangedMeanwhile):
                is_contended = True
                continue
            is_new = before is None or before.status == "QUEUED"
            return Begun(read_run(stored), is_first=is_new and delivery == 1 and not is_contended)
        raise ChangedMeanwhile(f"run {run_id} keeps changing")

    async def attempts(self, run_id: str) -> list[Attempt]:
        """All attempts of the run that can be read, in no order. One that cannot be read is logged."""
        return await self._attempts(run_id)

    async def record(self, run_id: str, attempts: Sequence[Attempt]) -> None:
        """Writes attempts of one run, whatever is stored of them: up to 100 all or none."""
        for start in range(0, len(attempts), _BATCH):
            operations = [Upsert(each.to_document()) for each in attempts[start : start + _BATCH]]
            await self._store.batch(RUNS.name, run_id, operations)

    async def start(self, run_id: str, task: str, subject: str) -> Attempt | None:
        """The next attempt of a task that any number of workers may try, STARTED; None if the task has succeeded.

        An attempt that somebody else started and did not end is recorded as FAILED: its worker died, or is overtaken.
        """
        for _ in range(_TRIES):
            mine = (Where("subject", "eq", subject), Where("task_name", "eq", task))
            tried = await self._attempts(run_id, *mine)
            if any(each.status == "SUCCEEDED" for each in tried):
                return None
            now = self._clock()
            attempt = rules.started(run_id, task, subject, rules.next_number(tried, task, subject), now)
            open_ones = [each for each in tried if each.status == "STARTED"]
            died = [Replace(rules.worker_died(each, now).to_document(), each.stored_etag or "") for each in open_ones]
            try:
                *_, etag = await self._store.batch(RUNS.name, run_id, [*died, Create(attempt.to_document())])
            except (Conflict, ChangedMeanwhile):
                continue
            return attempt.with_etag(etag)
        raise ChangedMeanwhile(f"{task} {subject} of run {run_id} keeps changing")

    async def finish(self, attempt: Attempt) -> bool:
        """Records the end of an attempt that `start` gave. False if somebody else has recorded it as ended: then what
        this worker counted does not count."""
        try:
            await self._store.replace(RUNS.name, attempt.to_document(), attempt.stored_etag or "")
        except ChangedMeanwhile:
            return False
        return True

    async def save(self, run: JobRun, attempts: Iterable[Attempt] = ()) -> JobRun:
        """Writes the run and these of its attempts, all or none. Raises ChangedMeanwhile, and writes nothing, if
        somebody else has written the run since it was read."""
        operations: list[Operation] = [Replace(run.to_document(), run.stored_etag or "")]
        operations += [Upsert(each.to_document()) for each in attempts]
        etag, *_ = await self._store.batch(RUNS.name, run.run_id, operations)
        return run.with_etag(etag)

    async def close(
        self, run_id: str, summarize: Summarize, *, known: tuple[JobRun, Sequence[Attempt]] | None = None
    ) -> JobRun | None:
        """Writes what the run's attempts add up to, in a run that has ended too; None if the run is gone. Attempts
        without an end are recorded as FAILED: their workers died, or are not waited for.

        `known` are the run and all its attempts as a caller holds them who knows that nobody else has worked on the
        run. Otherwise both are read.
        """
        for _ in range(_TRIES):
            run, attempts = known or (await self.find(run_id), None)
            if run is None:
                return None
            if attempts is None:  # after the run: a worker that records an attempt later closes the run again
                attempts = await self._attempts(run_id)
            try:
                return await self._close(run, attempts, summarize)
            except ChangedMeanwhile:
                known = None
        raise ChangedMeanwhile(f"run {run_id} keeps changing")

    async def close_unless_changed(self, run: JobRun, summarize: Summarize) -> JobRun | None:
        """As `close`; None if somebody else has written the run since it was read."""
        for _ in range(_TRIES):
            try:
                return await self._close(run, await self._attempts(run.run_id), summarize)
            except ChangedMeanwhile as error:
                if not error.operation:
                    return None
        raise ChangedMeanwhile(f"attempts of run {run.run_id} keep changing")

    async def overdue(
        self, workflows: Sequence[str], now: datetime, *, stuck_after: timedelta = STUCK_AFTER
    ) -> list[JobRun]:
        """The runs whose message must have been lost, or whose worker died, the oldest first."""
        where = (
            Where("workflow_name", "in", tuple(workflows)),
            Where("status", "in", ("QUEUED", "RUNNING")),
            Where("started_at", "ge", format_time(now - LOOKED_BACK)),
            Where("started_at", "le", format_time(now - LOST_AFTER)),
        )
        page = await self._store.query(RUNS.name, Query(where, order="by_start", limit=_MOST_OVERDUE))
        runs = listed(page, read_run, "run_id").items
        return [run for run in runs if run.status == "QUEUED" or run.updated_at <= now - stuck_after]

    async def _close(self, run: JobRun, attempts: Sequence[Attempt], summarize: Summarize) -> JobRun:
        now = self._clock()
        open_ones = [each for each in attempts if each.status == "STARTED"]
        died = [rules.worker_died(each, now) for each in open_ones]
        attempts = [*died, *(each for each in attempts if each.status != "STARTED")]
        # A run that nobody began cannot have succeeded.
        default = "FAILED" if run.status == "QUEUED" else rules.status_of(attempts)
        ended = run if run.is_finished else rules.ended(run, default, now)
        says = dict(summarize(ended, attempts))
        after = rules.ended(run, says.pop("status", default), now).changed(now, **says)
        if not died and after == run.changed(after.updated_at):
            return run
        operations = [Replace(after.to_document(), run.stored_etag or "")]
        operations += [Replace(each.to_document(), each.stored_etag or "") for each in died]
        etag, *_ = await self._store.batch(RUNS.name, run.run_id, operations)
        return after.with_etag(etag)

    async def _attempts(self, run_id: str, *where: Where) -> list[Attempt]:
        found: list[Attempt] = []
        after: str | None = None
        while True:
            query = Query((_ATTEMPTS, *where), partition=run_id, limit=_PAGE, after=after)
            page = await self._store.query(RUNS.name, query)
            found += listed(page, Attempt.from_document, "id").items
            after = page.next
            if after is None:
                return found
