"""The record of a run, written by all deliveries of its message: whoever ends last sums up what all of them did.

A message that was sent twice has two deliveries that both count as the first, and share its feeds out among them.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Collection, Iterable, Sequence
from dataclasses import dataclass

from models.errors import ChangedMeanwhile, Conflict
from models.run import Attempt, IngestionBatch
from services.articles import runs
from services.ports import Clock, Document, Store
from services.runs.attempts import held_of, saved_attempts
from services.store.containers import RUNS

TRIES = 8


@dataclass(frozen=True, slots=True)
class Begun:
    """A run under way. `alone`: nobody else has worked on it, as far as its record tells."""

    run: IngestionBatch
    alone: bool


class RunRecord:
    def __init__(
        self, store: Store, tickers: Callable[[Iterable[str]], Awaitable[Sequence[str]]], clock: Clock
    ) -> None:
        self._store = store
        self._tickers = tickers
        self._clock = clock

    async def begin(self, run_id: str, delivery: int, invocation_id: str | None = None) -> Begun:
        """Says that the run is under way; of two that say so at once, one is told that it is not alone."""
        overtaken = False
        for _ in range(TRIES):
            before = await self._read(run_id)
            run = runs.begun(before, run_id, invocation_id, self._clock())
            if run is before:
                return Begun(run, alone=False)
            try:
                stored = await self._write(run)
            except (ChangedMeanwhile, Conflict):
                overtaken = True
                continue
            is_first = before is None or before.status == "QUEUED"
            return Begun(IngestionBatch.from_document(stored), alone=delivery == 1 and is_first and not overtaken)
        raise ChangedMeanwhile(f"run {run_id} keeps changing")

    async def end(
        self, run: IngestionBatch, own: Sequence[Attempt], *, did_all: bool, elsewhere: Collection[str] = ()
    ) -> list[Attempt]:
        """Closes the run with what came of it, and answers the attempts that it was closed with.

        `did_all`: nobody else can have done any of it. `elsewhere` are the feeds that another delivery was found at
        work on: while it is, the run is its to close.
        """
        attempts = list(own)
        for _ in range(TRIES):
            if not did_all:
                # In this order: what is not held any more has its attempt.
                if elsewhere and await held_of(self._store, run.run_id, elsewhere):
                    return attempts
                attempts = [*own, *await saved_attempts(self._store, run.run_id)]
            tickers = await self._tickers(each.subject for each in attempts)
            ended = runs.closed(run, attempts, tickers, max(self._clock(), run.started_at))
            try:
                await self._write(ended)
            except ChangedMeanwhile:
                fresh = await self._read(run.run_id)
                if fresh is None:
                    return attempts
                run, did_all = fresh, False
                continue
            return attempts
        raise ChangedMeanwhile(f"run {run.run_id} keeps changing")

    async def _read(self, run_id: str) -> IngestionBatch | None:
        document = await self._store.read(RUNS.name, run_id, IngestionBatch.ID)
        return IngestionBatch.from_document(document) if document else None

    async def _write(self, run: IngestionBatch) -> Document:
        """Raises ChangedMeanwhile, or Conflict, where somebody else has written it since it was read."""
        if run.stored_etag is None:
            return await self._store.create(RUNS.name, run.to_document())
        return await self._store.replace(RUNS.name, run.to_document(), run.stored_etag)
