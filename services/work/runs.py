"""Writes runs and their attempts, and reads them. Callers decide what a run does and how its attempts are summed up.

A run and its attempts share a partition, so they are written together or not at all. The figures of a run are computed
from its attempts whenever it is closed: no counter is raised beside the work.

The attempts of an ingestion run are in the document of the run: one worker does the work of its message, and a document
for each fetch would cost more than the fetch. The attempts of a refresh or workflow are documents of their own, since
several workers record attempts of one run at once.
"""

from __future__ import annotations

import contextlib
import time
from collections.abc import AsyncIterator, Callable, Iterable, Sequence
from datetime import datetime, timedelta
from typing import Any, NamedTuple, TypeVar

from models.errors import InvalidInput, NotFound, ToolpulseError, Unavailable
from models.run import Attempt, IngestionBatch, JobRun, read_run
from models.values import is_over
from services.ports import (
    Clock,
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
from services.topology import FUNCTION_TIMEOUT
from services.work import rules
from services.work.rules import Summarize, in_run, with_attempts, with_documents
from services.work.stage import Stage

Run = TypeVar("Run", bound=JobRun)

LEASE = FUNCTION_TIMEOUT + timedelta(minutes=1)
"""A worker that has not written its run for so long has died: no invocation lasts longer."""
_ATTEMPTS = Where("entity_type", "eq", "Attempt")


def milliseconds_since(began: float) -> int:
    """The time that has passed since `began`, of `time.perf_counter`."""
    return round((time.perf_counter() - began) * 1000)


def run_stage(name: str, queue: str, which: Where) -> Stage:
    """A stage whose items are open runs: those for which the condition is true."""
    return Stage(
        name=name,
        queue=queue,
        container=RUNS.name,
        order="by_due",
        due="due_at",
        key=RUNS.partition_key,
        named="run_id",
        most=1,
        where=(which,),
        furthest=LEASE,
    )


class Begun(NamedTuple):
    """A run that an invocation has begun. `has_died`: the invocation before did not end."""

    run: JobRun
    has_died: bool


class RunEngine:
    """Writes runs and their attempts, and reads them."""

    def __init__(self, store: Store, clock: Clock, new_id: Callable[[], str]) -> None:
        self._store = store
        self._clock = clock
        self.new_id = new_id
        self._begun: dict[str, int] = {}

    async def accept(self, workflow: str, subject: str | None = None, **parameters: Any) -> JobRun:
        """A new run, QUEUED, due and stored. The caller sends its message."""
        now = self._clock()
        run = JobRun.queued(workflow, self.new_id(), now, subject, parameters).changed(now, due_at=now)
        return read_run(await self._store.create(RUNS.name, run.to_document()))

    @contextlib.asynccontextmanager
    async def accepted_for(self, workflow: str, subject: str | None, **parameters: Any) -> AsyncIterator[JobRun]:
        """The run that follows a change, which the `with` block makes. The run is withdrawn if the change is
        refused."""
        run = await self.accept(workflow, subject, **parameters)
        try:
            yield run
        except Unavailable:
            raise  # the change may have been made
        except ToolpulseError:
            await self.withdraw(run.run_id)
            raise

    async def add(self, runs: Sequence[JobRun]) -> None:
        """Stores new runs, one by one in any order. The caller sends the messages of those that are due."""
        await self._store.create_many(RUNS.name, [run.to_document() for run in runs])

    async def withdraw(self, run_id: str) -> None:
        """Deletes a run whose message was not sent, since its change was refused or needs none."""
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

    async def attempts(self, run: JobRun, *which: Where) -> list[Attempt]:
        """The attempts of the run that can be read, all or those that meet these conditions, in the order of their
        start."""
        return (await self.listed_attempts(run, *which)).items

    async def count_succeeded(self, run: JobRun) -> int:
        """How many attempts of the run have succeeded, of those in documents of their own."""
        return await self._store.count(RUNS.name, (_ATTEMPTS, Where("status", "eq", "SUCCEEDED")), run.run_id)

    async def listed_attempts(self, run: JobRun, *which: Where) -> Listed[Attempt]:
        """The attempts of the run, in the order of their start, and those that cannot be read."""
        documents = await query_all(self._store, RUNS.name, Query((_ATTEMPTS, *which), partition=run.run_id))
        return with_documents(run, listed_documents(documents, Attempt.from_document, "id"))

    async def begin(self, run_id: str, delivery: int = 1, invocation_id: str | None = None) -> Begun | None:
        """Leases the run to an invocation: it is RUNNING, and due again after LEASE. None if the run is gone or over,
        or another invocation has it. A message that is delivered again takes the run over from its earlier
        delivery."""

        async def once() -> Begun | None:
            run, now = await self.find(run_id), self._clock()
            if run is None or run.is_finished:
                return None
            is_leased = run.status == "RUNNING" and run.due_at is not None and not is_over(run.due_at, now, LEASE)
            if is_leased and delivery == 1:
                return None
            # A worker that could not hand the run back is alive.
            has_died = run.status == "RUNNING" and self._begun.get(run_id) != run.invocations
            ends = run.taken_over(has_died=has_died) if isinstance(run, IngestionBatch) else {}
            begun = run.begun(invocation_id, now, due_at=now + LEASE, invocations=run.invocations + 1, **ends)
            self._begun[run_id] = begun.invocations
            return Begun(await self.save(begun), has_died)

        return await until_unchanged(once, f"run {run_id}")

    async def note(self, attempt: Attempt) -> None:
        """Records an attempt of a task that another document shows to be begun, over an earlier record of it."""
        await self._store.upsert(RUNS.name, attempt.to_document())

    async def attempts_at(self, subject: str, task: str, limit: int) -> Listed[Attempt]:
        """The attempts of a task at one subject in all runs, newest first."""
        where = (Where("subject", "eq", subject), _ATTEMPTS, Where("task_name", "eq", task))
        query = Query(where, order="by_subject", reverse=True, limit=limit, may_be_stale=True)
        return listed(await self._store.query(RUNS.name, query), Attempt.from_document, "id")

    async def hand_back(self, run: JobRun, attempts: Sequence[Attempt], due_at: datetime) -> None:
        """Adds attempts to an ingestion run that is to go on with another message, at the latest from `due_at` on."""

        def handed_back(found: JobRun) -> JobRun:
            after = with_attempts(found, attempts)
            return after if after.is_finished else after.changed(self._clock(), status="QUEUED", due_at=due_at)

        await self._changed(run, handed_back)

    async def close_with(self, run: JobRun, attempts: Sequence[Attempt], summarize: Summarize) -> None:
        """Adds attempts to an ingestion run and ends it, in one write; does not end it if another worker has handed it
        back."""

        def closed(found: JobRun) -> JobRun:
            after = with_attempts(found, attempts)
            known = {each.id: each for each in (*in_run(found).items, *attempts)}.values()
            return after if after.status == "QUEUED" else rules.closed(after, [*known], summarize, self._clock())

        await self._changed(run, closed)

    async def _changed(self, run: JobRun, decide: Callable[[JobRun], JobRun]) -> None:
        """Saves what `decide` makes of the run, or of the run that was written meanwhile."""
        known: JobRun | None = run

        async def once() -> None:
            nonlocal known
            found, known = known or await self.find(run.run_id), None
            if found is not None and (after := decide(found)) is not found:
                await self.save(after)

        await until_unchanged(once, f"run {run.run_id}")
        self._begun.pop(run.run_id, None)

    async def save(self, run: Run, attempts: Iterable[Attempt] = ()) -> Run:
        """Writes the run and these of its attempts, all or none. Raises ChangedMeanwhile, and writes nothing, if
        the run was written since it was read."""
        replaced = Replace(run.to_document(), run.stored_etag or "")
        operations: list[Operation] = [replaced, *(Upsert(each.to_document()) for each in attempts)]
        etag, *_ = await self._store.batch(RUNS.name, run.run_id, operations)
        return run.with_etag(etag)

    async def overdue(self, workflow: str, subject: str, span: timedelta) -> list[JobRun]:
        """The runs of this workflow and subject that are not over and were not written within this time."""
        where = (
            Where("subject", "eq", subject),
            Where("workflow_name", "eq", workflow),
            Where("status", "in", ("QUEUED", "RUNNING")),
        )
        documents = await query_all(self._store, RUNS.name, Query(where, order="by_subject"))
        runs, now = listed_documents(documents, read_run, "run_id").items, self._clock()
        return [run for run in runs if is_over(run.updated_at + span, now, span)]
