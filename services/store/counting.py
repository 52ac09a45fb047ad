"""Adds counts to stored documents once a minute. Nobody who counts waits for a write.

A process that ends flushes first; a process that is killed loses the counts of at most one interval.
"""

from __future__ import annotations

import asyncio
import logging
from collections import Counter
from collections.abc import Callable, Iterable, Mapping

from models.errors import ToolpulseError
from models.stored import StoredDocument
from services import deadline
from services.logs import log_event
from services.ports import Document, Store
from services.store.change import change

log = logging.getLogger("toolpulse.counts")

FLUSHED_EVERY_SECONDS = 60.0

Counts = tuple[StoredDocument, Counter[str]]
"""A document without counts, and what to add to its fields."""


async def add_counts(store: Store, seed: StoredDocument, amounts: Mapping[str, int]) -> None:
    """Adds the amounts to fields of the stored document; to those of `seed`, if there is none. Raises Unavailable: they
    may have been added."""

    def decide(stored: Document | None) -> Document:
        counted = stored or seed.to_document()
        return counted | {name: counted.get(name, 0) + amount for name, amount in amounts.items()}

    # A stale version is noticed when it is replaced, and costs half.
    (known,) = await store.read_many(seed.CONTAINER, [(seed.partition, seed.id)], may_be_stale=True)
    await change(store, seed.CONTAINER, seed.partition, seed.id, decide, known=known)


class CountWriter:
    """Adds counts to stored documents."""

    def __init__(self, store: Store, flushed_every: float = FLUSHED_EVERY_SECONDS) -> None:
        self._store = store
        self._flushed_every = flushed_every
        self._sources: list[Callable[[], Iterable[Counts]]] = []
        self._left: dict[tuple[str, str], Counts] = {}
        self._is_wanted = False
        self._flushing: asyncio.Task[None] | None = None

    def register(self, take: Callable[[], Iterable[Counts]]) -> None:
        """`take` returns what was counted since it was last called."""
        self._sources.append(take)

    def add(self, seed: StoredDocument, amounts: Mapping[str, int]) -> None:
        """Adds the amounts to those that are flushed within a minute."""
        self._left.setdefault((seed.partition, seed.id), (seed, Counter()))[1].update(amounts)
        self.soon()

    def soon(self) -> None:
        """Flushes within a minute. Without such a call there is no task, so that an idle worker has none."""
        self._is_wanted = True
        if self._flushing is None:
            self._flushing = asyncio.create_task(self._flush_while_wanted(), context=deadline.outside())

    async def flush(self) -> None:
        """Adds all counts to the stored ones. Raises Unavailable, and keeps the counts, if they cannot be stored."""
        left, self._left = self._left, {}
        for take in self._sources:
            for seed, amounts in take():
                left.setdefault((seed.partition, seed.id), (seed, Counter()))[1].update(amounts)
        try:
            for key in list(left):
                if left[key][1]:
                    await add_counts(self._store, *left[key])
                del left[key]
        finally:
            for key, (seed, amounts) in left.items():
                self._left.setdefault(key, (seed, Counter()))[1].update(amounts)

    async def close(self) -> None:
        if self._flushing is not None:
            self._flushing.cancel()
            await asyncio.wait([self._flushing])
        try:
            await self.flush()
        except ToolpulseError as error:
            log_event(log, logging.WARNING, "counters_lost", error=type(error).__name__)

    async def _flush_while_wanted(self) -> None:
        try:
            while self._is_wanted:
                self._is_wanted = False
                await asyncio.sleep(self._flushed_every)
                try:
                    await self.flush()
                except ToolpulseError as error:
                    self._is_wanted = True
                    log_event(log, logging.WARNING, "counters_not_flushed", error=type(error).__name__)
        finally:
            self._flushing = None
