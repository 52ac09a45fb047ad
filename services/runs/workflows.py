"""Long work as runs: accepted at once, done page by page, gone on with from its checkpoint after any crash.

A workflow is a row of pages that can each be done again. What one does is in backfill.py, reanalysis.py, merging.py,
deletion.py and priorities.py; here is when to stop, where to go on, and what the run says of it.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from typing import Any, Protocol

from models.errors import ChangedMeanwhile, ToolpulseError
from models.run import JobRun
from models.states import RunStatus
from models.values import format_time
from services.logs import log_event
from services.ports import Clock, Document, Query, Store, Where
from services.store.containers import RUNS

log = logging.getLogger("toolpulse.analysis")

BACKFILL = "backfill_tools"
REANALYZE = "reanalyze_tool"
MERGE = "merge_tool"
DELETE = "delete_article"
PRIORITIZE = "apply_source_priority"

TURN = timedelta(minutes=2)
"""How long one message works on a run before it hands on to the next. The page under way then may take as long again:
host.json's functionTimeout is longer than both, and a test holds it to that."""
LAST_DELIVERY = 5
LOST_AFTER = timedelta(minutes=5)
STUCK_AFTER = timedelta(minutes=15)
LOOKED_BACK = timedelta(days=2)
MOST_ERRORS_SHOWN = 50


class RunImpossible(ToolpulseError):
    """What was accepted can no longer be done: the run fails for good, and says why."""


@dataclass(frozen=True, slots=True)
class Step:
    """What one page came to. `checkpoint` is where the next begins; None when all is done.

    `failed` has why, by article: what it says stayed as it was. `changed` are the tools whose figures are others now:
    their entries are to go, after the run's last page.
    """

    checkpoint: Mapping[str, Any] | None
    progress: int = 0
    counts: Mapping[str, int] = field(default_factory=dict)
    failed: Mapping[str, str] = field(default_factory=dict)
    changed: tuple[str, ...] = ()


class Workflow(Protocol):
    async def step(self, run: JobRun) -> Step:
        """One page, from `run.checkpoint` on. Doing it again changes nothing more."""
        ...


@dataclass(frozen=True, slots=True)
class Turn:
    """`goes_on`: the run's message is to be sent once more. `changed` as in Step, when the run is done."""

    goes_on: bool = False
    changed: tuple[str, ...] = ()


class Workflows:
    def __init__(
        self, store: Store, workflows: Mapping[str, Workflow], clock: Clock, new_id: Callable[[], str]
    ) -> None:
        self._store = store
        self._workflows = workflows
        self._clock = clock
        self._new_id = new_id

    async def accept(self, workflow: str, subject: str | None, **parameters: Any) -> JobRun:
        """The run, stored; its message is for the caller to send."""
        now = self._clock()
        run = JobRun(
            created_at=now,
            updated_at=now,
            run_id=self._new_id(),
            workflow_name=workflow,
            started_at=now,
            subject=subject,
            parameters=parameters,
        )
        await self._store.create(RUNS.name, run.to_document())
        return run

    async def withdraw(self, run: JobRun) -> None:
        """What it was accepted for has come to nothing."""
        await self._store.delete(RUNS.name, run.run_id, JobRun.ID)

    async def advance(self, run_id: str, delivery: int = 1, invocation_id: str | None = None) -> Turn:
        """Works on the run for one turn. A finished one, or one that somebody else works on, is left alone.

        `invocation_id` is the function's, for the record of who took the run up.
        """
        document = await self._store.read(RUNS.name, run_id, JobRun.ID)
        run = JobRun.from_document(document) if document is not None else None
        if run is None or run.status in ("SUCCEEDED", "PARTIAL"):
            # Whoever finished it may have died before its events left.
            return Turn(changed=_changed(run)) if run is not None else Turn()
        try:
            return await self._worked_on(run, invocation_id)
        except ChangedMeanwhile:
            if delivery < LAST_DELIVERY:
                raise
            # Who changed it goes on with it, by a message of their own; `clean_up` sends one if they died.
            return Turn()
        except RunImpossible as error:
            await self._fail(run_id, str(error))
            return Turn()
        except Exception as error:
            if delivery >= LAST_DELIVERY:
                await self._fail(run_id, f"{type(error).__name__}: gave up after {delivery} deliveries")
            raise

    async def overdue(self, now: datetime) -> list[str]:
        """The runs whose message must have been lost, or whose worker died."""
        where = (
            Where("workflow_name", "in", tuple(self._workflows)),
            Where("status", "in", ("QUEUED", "RUNNING")),
            Where("started_at", "ge", format_time(now - LOOKED_BACK)),
            Where("started_at", "le", format_time(now - LOST_AFTER)),
        )
        page = await self._store.query(RUNS.name, Query(where, order="by_start", limit=500))
        return [run["run_id"] for run in page.items if _is_lost(run, now)]

    async def _worked_on(self, run: JobRun, invocation_id: str | None) -> Turn:
        until = self._clock() + TURN
        if run.status != "RUNNING":
            now = self._clock()
            run = await self._saved(
                run, status="RUNNING", running_since=now, ended_at=None, invocation_id=invocation_id
            )
        workflow = self._workflows[run.workflow_name]
        while True:
            step = await workflow.step(run)
            counts = {**(run.metrics or {})}
            for name, count in {**step.counts, "failed": len(step.failed)}.items():
                counts[name] = counts.get(name, 0) + count
            errors = (*run.errors, *(f"{source_id}: {why}" for source_id, why in sorted(step.failed.items())))
            changed = list(dict.fromkeys((*_changed(run), *step.changed)))
            says = {
                "progress": run.progress + step.progress,
                "metrics": counts,
                "parameters": {**run.parameters, "changed": changed} if changed else run.parameters,
                "errors": errors[:MOST_ERRORS_SHOWN],
            }
            if step.checkpoint is None:
                return await self._ended(run, says)
            run = await self._saved(run, **says, checkpoint=dict(step.checkpoint))
            if self._clock() >= until:
                return Turn(goes_on=True)

    async def _ended(self, run: JobRun, says: Mapping[str, Any]) -> Turn:
        """PARTIAL as of an ingestion: what failed is as it was, all else is done."""
        counts = says["metrics"]
        status: RunStatus = "PARTIAL" if counts["failed"] else "SUCCEEDED"
        run = await self._saved(run, **says, status=status, ended_at=self._clock())
        level = logging.WARNING if counts["failed"] else logging.INFO
        said = {"run_id": run.run_id, "workflow": run.workflow_name, "status": status}
        log_event(log, level, "run_ended", **said, **counts)
        return Turn(changed=_changed(run))

    async def _saved(self, run: JobRun, **changes: Any) -> JobRun:
        """Raises ChangedMeanwhile if somebody else works on it too: then their pages go on from here as well."""
        after = run.changed(self._clock(), **changes)
        return JobRun.from_document(await self._store.replace(RUNS.name, after.to_document(), run.stored_etag or ""))

    async def _fail(self, run_id: str, why: str) -> None:
        document = await self._store.read(RUNS.name, run_id, JobRun.ID)
        if document is None:
            return
        run = JobRun.from_document(document)
        if not run.is_finished:
            log_event(log, logging.ERROR, "run_failed", run_id=run_id, workflow=run.workflow_name, why=why)
            await self._saved(run, status="FAILED", ended_at=self._clock(), errors=(*run.errors, why))


def _changed(run: JobRun) -> tuple[str, ...]:
    changed = run.parameters.get("changed")
    return tuple(str(each) for each in changed) if isinstance(changed, list) else ()


def _is_lost(run: Document, now: datetime) -> bool:
    if run["status"] == "QUEUED":
        return True
    return bool(run["updated_at"] <= format_time(now - STUCK_AFTER))
