"""Carries out workflows: long work that is accepted at once and done page by page, and resumes after a crash.

A workflow is a sequence of pages, each of which can be done again; services/workflows has the workflows. The driver
decides when to stop and where to resume. It records each try of a page as an attempt of the run, together with the
checkpoint that the page led to.
"""

from __future__ import annotations

import contextlib
import logging
import time
from collections import Counter
from collections.abc import Awaitable, Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from typing import Any

from models.comparison import Comparison
from models.errors import ChangedMeanwhile, Conflict, ToolpulseError, Unavailable
from models.run import LONG_WORKFLOWS, MAX_ERRORS_KEPT, Attempt, CountName, JobRun
from models.states import RunStatus
from services.logs import log_event
from services.ports import Clock, Where
from services.topology import LAST_DELIVERY, REANALYZE_TOOLS
from services.work import rules
from services.work.runs import LEASE, RunEngine, milliseconds_since, run_stage
from services.work.stage import message_of

log = logging.getLogger("toolpulse.analysis")

TIME_PER_MESSAGE = timedelta(minutes=2)
"""How long the work for one message lasts before the next message is sent. The page that is under way then may take as
long again: a test checks that host.json's functionTimeout is longer than both."""
_PAGE = "page:"
Counted = Mapping[CountName, int]


class RunImpossible(ToolpulseError):
    """The work of the run can no longer be done: the run becomes FAILED, with this reason."""


@dataclass(frozen=True, slots=True)
class PageResult:
    """The result of a page.

    `checkpoint` is where the next page begins; None after the last page.

    `failed` has the reason by article: such an article stays as it was. `changed_tools` are the tools whose figures
    have changed: their cache entries are deleted after the run's last page. `report` is what the run has found up to
    this page; it replaces the report of the page before.
    """

    checkpoint: Mapping[str, Any] | None
    progress: int = 0
    counts: Counted = field(default_factory=dict)
    failed: Mapping[str, str] = field(default_factory=dict)
    changed_tools: tuple[str, ...] = ()
    report: Comparison | None = None


def page_after(run: JobRun) -> str | None:
    """The cursor in the run's checkpoint, which the workflows keep under `after`; None for the first page."""
    after = (run.checkpoint or {}).get("after")
    return after if isinstance(after, str) else None


ChangedTools = tuple[str, ...] | None
"""The tools whose figures a run has changed, after its last page. None: the run has more pages, and its message must be
sent again."""
Workflow = Callable[[JobRun], Awaitable[PageResult]]
"""A kind of workflow: does one page, from the checkpoint of the run on. Doing it again changes nothing more."""


class _Overtaken(Exception):
    """Another delivery of the message has taken over the run."""


@dataclass(frozen=True, slots=True)
class Workflows:
    """Carries out runs of workflows."""

    engine: RunEngine
    workflows: Mapping[str, Workflow]
    clock: Clock

    async def carry_out(self, run: JobRun) -> None:
        """Does the work of a correction while a person waits. Raises Conflict if the work cannot be done, Unavailable
        if another worker does it."""
        await self.advance(run.run_id)
        after = await self.engine.get(run.run_id)
        if after.status == "FAILED":
            raise Conflict(after.errors[0] if after.errors else "correction: could not be made")
        if not after.is_finished:
            raise Unavailable("correction: another worker is making it", retry_after=5.0)

    async def advance(self, run_id: str, delivery: int = 1, invocation_id: str | None = None) -> ChangedTools:
        """Works on the run for TIME_PER_MESSAGE. For a run that is done, only returns its result again.

        A message that is delivered again takes over the run: the worker of the earlier delivery has usually died. If
        it is still running, it stops at its next page.
        """
        run = await self.engine.find(run_id)
        if run is None:
            return ()
        attempts = [] if run.status == "QUEUED" else await self.engine.attempts(run)
        if run.status in ("SUCCEEDED", "PARTIAL"):
            # The worker that finished the run may have died before it sent its messages.
            return changed_tools(attempts)
        try:
            return await self._work(run, attempts, delivery, invocation_id)
        except _Overtaken:
            # The other worker has a message of its own.
            log_event(log, logging.INFO, "run_overtaken", run_id=run_id, workflow=run.workflow_name)
        except RunImpossible:
            pass  # recorded in the run
        return ()

    async def _work(
        self, run: JobRun, attempts: Sequence[Attempt], delivery: int, invocation_id: str | None
    ) -> ChangedTools:
        until = self.clock() + TIME_PER_MESSAGE
        run, known = await self._take_over(run, attempts, invocation_id)
        workflow = self.workflows[run.workflow_name]
        while True:
            page, began = known[-1], time.perf_counter()
            try:
                result = await workflow(run)
            except Exception as error:
                await self._record_failure(run, known[:-1], page, error, milliseconds_since(began), delivery)
                raise
            now = self.clock()
            known[-1] = _finished(page, result, milliseconds_since(began), now)
            if result.report is not None:
                run = run.changed(now, report=result.report)
            if result.checkpoint is None:
                return await self._end(run, known, now)
            is_over = now >= until
            following = [] if is_over else [next_page(run, known, now)]
            due_at = now if is_over else now + LEASE
            after = run.changed(now, checkpoint=dict(result.checkpoint), due_at=due_at, **summary(known))
            run = await self._save(after, [known[-1], *following])
            if is_over:
                return None
            known += following

    async def _take_over(
        self, run: JobRun, attempts: Sequence[Attempt], invocation_id: str | None
    ) -> tuple[JobRun, list[Attempt]]:
        """The run as RUNNING, and its attempts. The last of them is the one that begins now."""
        now = self.clock()
        died = [each.worker_died(now) for each in attempts if each.status == "STARTED"]
        known = [*(each for each in attempts if each.status != "STARTED"), *died]
        page = next_page(run, known, now)
        begun = run.begun(invocation_id, now).changed(
            now, invocation_id=invocation_id, due_at=now + LEASE, **summary(known)
        )
        return await self._save(begun, [*died, page]), [*known, page]

    async def _end(self, run: JobRun, known: Sequence[Attempt], now: datetime) -> ChangedTools:
        """Ends the run after its last page; as PARTIAL if some articles failed, which then stay as they were."""
        figures = summary(known)
        status: RunStatus = "PARTIAL" if figures["metrics"]["failed"] else "SUCCEEDED"
        run = await self._save(run.ended(status, now).changed(now, **figures), [known[-1]])
        level = logging.WARNING if status == "PARTIAL" else logging.INFO
        fields = {"run_id": run.run_id, "workflow": run.workflow_name, "status": status}
        log_event(log, level, "run_ended", **fields, **figures["metrics"])
        return changed_tools(known)

    async def _record_failure(
        self, run: JobRun, others: Sequence[Attempt], page: Attempt, error: Exception, duration_ms: int, delivery: int
    ) -> None:
        """A page that fails at the last delivery, or cannot be done, fails the run. After another failure the next
        delivery tries the page again. If the failure cannot be recorded, the next worker finds an attempt without an
        end, and records it as failed."""
        now = self.clock()
        reason = None
        if isinstance(error, RunImpossible):
            reason = str(error)
        elif delivery >= LAST_DELIVERY:
            reason = f"{type(error).__name__}: gave up after {delivery} deliveries"
        after = run.changed(now, due_at=now + LEASE)
        if reason is not None:
            errors = (*summary(others)["errors"][: MAX_ERRORS_KEPT - 1], reason)
            after = run.ended("FAILED", now).changed(now, errors=errors)
        with contextlib.suppress(ToolpulseError):
            await self._save(after, [page.failed(rules.reason_of(error), duration_ms, now)])
            if reason is not None:
                log_event(log, logging.ERROR, "run_failed", run_id=run.run_id, workflow=run.workflow_name, why=reason)

    async def _save(self, run: JobRun, attempts: Sequence[Attempt]) -> JobRun:
        try:
            return await self.engine.save(run, attempts)
        except ChangedMeanwhile as error:
            raise _Overtaken from error


def summary(attempts: Iterable[Attempt]) -> dict[str, Any]:
    """The sums over the pages that succeeded. A page counts once, however many workers died at it."""
    pages = [each for each in attempts if each.status == "SUCCEEDED"]
    counts: Counter[str] = Counter()
    for page in pages:
        counts.update(page.counts)
    failed = counts.pop("failed", 0)
    errors = [error for page in sorted(pages, key=_page_and_try) for error in page.errors]
    return {
        "progress": sum(page.progress or 0 for page in pages),
        "metrics": {**counts, "failed": failed},
        "errors": tuple(errors[:MAX_ERRORS_KEPT]),
    }


def changed_tools(attempts: Iterable[Attempt]) -> tuple[str, ...]:
    """The tools whose figures the run has changed."""
    found = [tool_id for page in sorted(attempts, key=_page_and_try) for tool_id in page.tool_ids]
    return tuple(dict.fromkeys(found))


def next_page(run: JobRun, attempts: Sequence[Attempt], now: datetime) -> Attempt:
    """The next attempt at the first page that has not succeeded."""
    done = [_page_and_try(each)[0] for each in attempts if each.status == "SUCCEEDED"]
    subject = f"{_PAGE}{max(done, default=0) + 1:04}"
    number = rules.next_number(attempts, run.workflow_name, subject)
    return Attempt.started(run.run_id, run.workflow_name, subject, number, now)


def _page_and_try(attempt: Attempt) -> tuple[int, int]:
    number = attempt.subject.removeprefix(_PAGE)
    return int(number) if number.isdecimal() else 0, attempt.attempt_no


def _finished(page: Attempt, result: PageResult, duration_ms: int, now: datetime) -> Attempt:
    errors = [f"{source_id}: {why}" for source_id, why in sorted(result.failed.items())]
    return page.succeeded(
        duration_ms,
        now,
        progress=result.progress,
        counts={**result.counts, "failed": len(result.failed)},
        errors=tuple(errors[:MAX_ERRORS_KEPT]),
        tool_ids=tuple(result.changed_tools),
    )


WORKFLOWS_STAGE = run_stage("workflows", REANALYZE_TOOLS, Where("workflow_name", "in", LONG_WORKFLOWS))


def completed_messages(tool_ids: Iterable[str], run_id: str) -> list[str]:
    """The messages of `reanalysis-completed` for tools whose generation was raised, so that their entries can be
    deleted."""
    return [message_of({"tool_id": each, "run_id": run_id}) for each in tool_ids]
