"""Works on the messages of a stage: in portions, a few at once, until the deadline; and notes what fails.

An item that fails does not stop the others. Its failure is noted in its document, which is due again later, and given
up after some tries. An item that kills its worker is found at the third delivery of its message: from then on items are
worked on one at a time, each under a mark that counts as a failure if the worker does not come back.

A stage pauses while a service that it needs does not answer: its items stay due, no try counts, and their messages are
acknowledged, so that none comes back. Sweeps announce one item; every PROBED_EVERY one message is worked on, and the
first success ends the pause. The pause is stored, and read for each message: other workers may begin and end it.
"""

from __future__ import annotations

import asyncio
import contextlib
import logging
import random
import uuid
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from typing import Protocol

from models.errors import ChangedMeanwhile, Contended, ToolpulseError, Unavailable
from models.operations import StagePause
from models.run import MAX_ERRORS_KEPT, WORKER_DIED, Attempt, JobRun
from models.values import format_time, unix_milliseconds
from services import deadline
from services.logs import log_event
from services.ports import Clock, Document, Query, Store, readable
from services.store.change import Decided, Key, change, change_many
from services.store.containers import CATALOG, RUNS
from services.work import rules
from services.work.announcing import PAGE, Announcer
from services.work.backlog import pause_of
from services.work.stage import Stage, backoff, parts_of

log = logging.getLogger("toolpulse.work")

ALONE_AT_DELIVERY = 3
PROBED_EVERY = timedelta(seconds=20)
"""Less than a tick, so that the item that each sweep of a stage that pauses announces is worked on."""
RESUMED_IN = 16
"""So many messages, at most, announce the first items after a pause."""
BATCH = "batch:0001"
"""The subject of the attempt at all items that were done."""


@dataclass(frozen=True, slots=True)
class Worked:
    """What became of some items: how many are `done`, and why others `failed`. Items that `kill` their workers are to
    be worked on alone. For those `left` the deadline was too near. Items that are not due are in none of these.
    `counts` are further figures."""

    done: int = 0
    failed: Mapping[str, str] = field(default_factory=dict)
    kill: Sequence[str] = ()
    left: Sequence[str] = ()
    counts: Mapping[str, int] = field(default_factory=dict)


class Work(Protocol):
    """Does the work of those items that are due, and leaves the others. With `alone` there is one item, which counts as
    due. Raises Unavailable if the store or another service does not answer."""

    async def __call__(self, keys: Sequence[str], /, *, alone: bool) -> Worked: ...


@dataclass
class Handled:
    """What became of the items of one message. Those `left` had no turn before the deadline, or waited for a
    busy service until then: they were announced again. Items that wait for a pause to end are in none of these."""

    done: int = 0
    failed: dict[str, str] = field(default_factory=dict)
    left: list[str] = field(default_factory=list)
    tries: dict[str, int] = field(default_factory=dict)
    counts: Counter[str] = field(default_factory=Counter)

    def add(self, worked: Worked) -> None:
        self.done += worked.done
        self.left += worked.left
        self.counts.update(worked.counts)


@dataclass
class Handler:
    """Works on the messages of one stage: `portion` items at a time, of all messages at most `at_once` portions."""

    stage: Stage
    work: Work
    store: Store
    announcer: Announcer
    clock: Clock
    portion: int = 50
    at_once: int = 4
    new_id: Callable[[], str] = lambda: uuid.uuid4().hex
    _turns: asyncio.Semaphore = field(init=False)

    def __post_init__(self) -> None:
        self._turns = asyncio.Semaphore(self.at_once)

    async def handle(self, keys: Sequence[str], delivery: int = 1, invocation_id: str | None = None) -> Handled:
        """Raises Unavailable if a service does not answer: the queue delivers the message again. A stage that pauses
        raises it only if the pause cannot be stored."""
        began, handled = self.clock(), Handled()
        pause = await pause_of(self.store, self.stage) if self.stage.pauses else None
        if pause is not None and not await self._may_probe(pause):
            await self._note_wait(keys, pause.reason)
            return handled
        alone = delivery >= ALONE_AT_DELIVERY and self.stage.tries is not None
        left, size = list(dict.fromkeys(keys)), self.stage.most
        while left:
            portion = left[: 1 if alone else self.portion]
            async with deadline.turn(self._turns) as has_turn:
                if not has_turn:
                    break
                try:
                    await (self._alone(portion[0], handled) if alone else self._together(portion, handled))
                except Unavailable as error:
                    if deadline.is_near() and len(left) > 1:
                        size = max(1, len(portion) // 2)  # in smaller messages the work ends in time
                        break
                    if not self.stage.pauses or isinstance(error, Contended):
                        raise
                    await self._pause(left, error)
                    left, pause = [], None
            left = left[len(portion) :]
        if pause is not None and (handled.done or handled.failed):
            await self._resume()
        handled.left += left
        messages = [each for part in parts_of(handled.left, size) for each in self.stage.messages(part)]
        await self.announcer.send(self.stage, messages)
        await self._end(handled, began, invocation_id)
        return handled

    async def _may_probe(self, pause: StagePause) -> bool:
        """Whether to try now what pauses. Of several workers, one may."""
        now = self.clock()
        if timedelta(0) <= now - pause.updated_at < PROBED_EVERY:
            return False
        with contextlib.suppress(ChangedMeanwhile):
            await self.store.replace(CATALOG.name, pause.changed(now).to_document(), pause.stored_etag or "")
            return True
        return False

    async def _pause(self, keys: Sequence[str], error: Unavailable) -> None:
        """Pauses the stage, or notes why it still pauses. Raises Unavailable if that cannot be stored."""
        reason, now = str(error)[: rules.LONGEST_REASON], self.clock()
        log_event(log, logging.WARNING, "stage_pauses", stage=self.stage.name, reason=reason)

        def decide(stored: Document | None) -> Decided:
            known = readable(stored, StagePause.from_document)
            pause = known or StagePause(created_at=now, stage=self.stage.name, reason=reason)
            return pause.changed(pause.updated_at, reason=reason).to_document()

        await change(self.store, CATALOG.name, StagePause.PARTITION, self.stage.name, decide)
        await self._note_wait(keys, reason)

    async def _note_wait(self, keys: Sequence[str], reason: str) -> None:
        """Writes why these items wait into their documents, once. Nothing depends on it."""
        tries, now = self.stage.tries, self.clock()
        assert tries is not None, "only stages with tries pause"

        def decide(_: Key, document: Document | None) -> Decided:
            is_due = document is not None and self.stage.is_due(document, now)
            if document is None or not is_due or document.get(tries.error) in (reason, WORKER_DIED):
                return None
            return {**document, tries.error: reason, "updated_at": format_time(now)}

        with contextlib.suppress(ToolpulseError):
            await change_many(self.store, self.stage.container, [tries.address(key) for key in keys], decide)

    async def _resume(self) -> None:
        """Announces the first items, mixed and in small messages: one for which the service fails pauses the stage
        again, and some of the others are worked on before. The next sweep announces what is left."""
        await self.store.delete(CATALOG.name, StagePause.PARTITION, self.stage.name)
        due = await self.store.query(self.stage.container, Query(self.stage.where, order=self.stage.order, limit=PAGE))
        keys = [each[self.stage.key] for each in due.items]
        random.shuffle(keys)
        await self.announcer.announce_groups(self.stage, parts_of(keys, 1 + len(keys) // RESUMED_IN))
        log_event(log, logging.INFO, "stage_resumed", stage=self.stage.name)

    async def _end(self, handled: Handled, began: datetime, invocation_id: str | None) -> None:
        if not (handled.done or handled.failed or handled.left):
            return
        fields = {"done": handled.done, "failed": len(handled.failed), "left": len(handled.left), **handled.counts}
        level = logging.WARNING if handled.failed else logging.INFO
        log_event(log, level, "work_done", stage=self.stage.name, **fields)
        if self.stage.workflow is None or not (handled.done or handled.failed):
            return
        run = run_of(self.stage.workflow, self.new_id(), handled, began, self.clock(), invocation_id)
        try:
            await self.store.create(RUNS.name, run.to_document())
        except ToolpulseError as error:  # the work is done
            log_event(log, logging.WARNING, "run_not_recorded", stage=self.stage.name, error=str(error))

    async def _together(self, keys: Sequence[str], handled: Handled) -> None:
        """Works on these items. If that fails as a whole, halves them until the item that fails is alone."""
        try:
            worked = await self.work(keys, alone=False)
        except Unavailable:
            raise
        except Exception as error:
            # A fault in one item must not stop the others; its key and traceback are logged.
            if len(keys) > 1:
                half = len(keys) // 2
                await self._together(keys[:half], handled)
                await self._together(keys[half:], handled)
                return
            log.exception("work_failed stage=%s key=%s", self.stage.name, keys[0])
            worked = Worked(failed={keys[0]: rules.reason_of(error)})
        handled.add(worked)
        for key, why in worked.failed.items():
            await self._note(key, why, handled)
        for key in worked.kill:
            await self._alone(key, handled)

    async def _alone(self, key: str, handled: Handled) -> None:
        """Works on one item under a mark: its document says that a worker died, until the work is done."""
        if not await self._mark(key, handled):
            return
        try:
            worked = await self.work([key], alone=True)
        except Unavailable:
            with contextlib.suppress(ToolpulseError):  # if the store does not answer, the try stays counted
                await self._unmark(key)
            raise
        except Exception as error:
            log.exception("work_failed stage=%s key=%s", self.stage.name, key)
            worked = Worked(failed={key: rules.reason_of(error)})
        handled.add(worked)
        if not (worked.done or worked.failed):
            await self._unmark(key)  # it could not be done now, and no worker died of it
        for why in worked.failed.values():
            await self._note(key, why, handled, is_counted=True)

    async def _mark(self, key: str, handled: Handled) -> bool:
        """Whether the item is due, and may be tried once more."""
        now, marked = self.clock(), False

        def decide(document: Document | None) -> Decided:
            nonlocal marked
            marked = document is not None and self.stage.is_due(document, now)
            return self.stage.after_failure(document, WORKER_DIED, now) if document is not None and marked else None

        document = await self._changed(key, decide)
        if not marked or document is None:
            return False
        if self.stage.due not in document:
            self._given_up(key, WORKER_DIED, handled)
            return False
        return True

    async def _unmark(self, key: str) -> None:
        def decide(document: Document | None) -> Decided:
            if document is None or not self.stage.has_killed(document) or self.stage.due not in document:
                return None
            return self.stage.uncounted(document, self.clock())

        await self._changed(key, decide)

    async def _note(self, key: str, why: str, handled: Handled, *, is_counted: bool = False) -> None:
        """Notes the failure in the item's document, unless the item was done meanwhile."""
        handled.failed[key] = why
        stage = self.stage
        if stage.tries is None:
            log_event(log, logging.ERROR, "work_failed", stage=stage.name, key=key, why=why)
            return
        now = self.clock()

        def decide(document: Document | None) -> Decided:
            if document is None or stage.due not in document:
                return None
            return stage.after_failure(document, why, now, is_counted=is_counted)

        document = await self._changed(key, decide)
        if document is None:
            return
        handled.tries[key] = document.get(stage.tries.count) or 1
        if stage.due not in document:
            self._given_up(key, why, handled)
        else:
            wait = backoff(document[stage.tries.count]).total_seconds()
            await self.announcer.send(stage, stage.messages([key]), delay_seconds=wait)

    async def _changed(self, key: str, decide: Callable[[Document | None], Decided]) -> Document | None:
        assert self.stage.tries is not None, "only items that count their failures are marked"
        partition, name = self.stage.tries.address(key)
        return await change(self.store, self.stage.container, partition, name, decide)

    def _given_up(self, key: str, why: str, handled: Handled) -> None:
        handled.failed[key] = why
        log_event(log, logging.ERROR, "work_given_up", stage=self.stage.name, key=key, why=why)


def run_of(
    workflow: str, run_id: str, handled: Handled, began: datetime, ended: datetime, invocation_id: str | None = None
) -> JobRun:
    """The run of one invocation as it ended: PARTIAL if some items failed, FAILED if all did. Its document has one
    attempt for what was done, and one for each item that failed.

    Written once, when the invocation ends: a worker that dies leaves no run, but a mark in the document of the item
    that it had alone, which the next worker records.
    """
    took = max(0, unix_milliseconds(ended) - unix_milliseconds(began))
    failed = list(handled.failed.items())[:MAX_ERRORS_KEPT]
    attempts = []
    if handled.done:
        attempt = Attempt.started(run_id, workflow, BATCH, 1, began)
        attempts = [attempt.succeeded(took, ended, progress=handled.done, counts=dict(handled.counts))]
    for key, why in failed:
        attempt = Attempt.started(run_id, workflow, key, max(1, handled.tries.get(key, 1)), began)
        has_died = why == WORKER_DIED
        attempts.append(attempt.worker_died(ended) if has_died else attempt.failed(why, took, ended))
    begun = JobRun.queued(workflow, run_id, began).begun(invocation_id, began)
    return begun.ended(rules.status_of(attempts), ended).changed(
        ended,
        attempts=tuple(each.in_run() for each in attempts),
        progress=handled.done,
        metrics={**handled.counts, "failed": len(handled.failed)},
        errors=tuple(f"{key}: {why}" for key, why in failed),
    )
