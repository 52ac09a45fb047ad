"""The backlog of a stage: how many items are due, and how many were given up. Counted when it is asked for."""

from __future__ import annotations

import asyncio
import math
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from datetime import datetime

from models.errors import ToolpulseError
from models.operations import StagePause
from services import deadline, telemetry
from services.ports import Document, LastWrite, Query, Store, Where, readable
from services.store.containers import CATALOG
from services.work.stage import Stage

KEPT_SECONDS = 2.0
AWAITED_SECONDS = 1.0


@dataclass(frozen=True, slots=True)
class Backlog:
    """The backlog of a stage.

    `pending` items are due, the first of them since `oldest_due`; `failed` ones were given up. Null: the store did
    not answer in time.
    """

    pending: int | None
    failed: int | None
    oldest_due: datetime | None = None

    @property
    def is_empty(self) -> bool:
        return self.pending == 0 and self.failed == 0

    def oldest_seconds(self, now: datetime) -> int:
        """For how long the oldest pending item has been due."""
        return 0 if self.oldest_due is None else max(0, int((now - self.oldest_due).total_seconds()))


UNKNOWN = Backlog(None, None)


async def first_due(store: Store, stage: Stage, *, may_be_stale: bool = False) -> Document | None:
    """The item that has been due for longest."""
    query = Query(stage.where, order=stage.order, limit=1, may_be_stale=may_be_stale)
    items = (await store.query(stage.container, query)).items
    return items[0] if items else None


async def pause_of(store: Store, stage: Stage) -> StagePause | None:
    """The pause of the stage, while one lasts."""
    stored = await store.read(CATALOG.name, StagePause.PARTITION, stage.name)
    return readable(stored, StagePause.from_document)


@dataclass
class BacklogReader:
    """Callers in one process share one read, and for `kept_seconds` its result; 0 keeps none. An empty backlog is kept
    until the next write only. `seconds` measures time that passes."""

    store: Store
    stage: Stage
    kept_seconds: float = KEPT_SECONDS
    seconds: Callable[[], float] = time.monotonic
    last_write: LastWrite = lambda: None
    _latest: Backlog = field(default=UNKNOWN, init=False)
    _kept_until: float = field(default=-math.inf, init=False)
    _began: float = field(default=0.0, init=False)
    _began_after: object = field(default=None, init=False)
    _reading: asyncio.Task[Backlog] | None = field(default=None, init=False)

    async def counted(self, patience: float = AWAITED_SECONDS) -> Backlog:
        """The backlog as of a moment in the last seconds. If it is empty, as of now, as far as `last_write` tells:
        figures that lack an article must not seem complete.

        UNKNOWN if the store does not answer within `patience`: an aggregate that is in the cache can be served without.
        """
        called, last_write = self.seconds(), self.last_write()
        while True:
            if (kept := self.kept(called, last_write)) is not None:
                return kept
            if self._reading is None:
                # With a context of its own: the reading outlives the invocation that began it, and its deadline.
                self._began, self._began_after = self.seconds(), self.last_write()
                self._reading = asyncio.create_task(self._read_and_keep(), context=deadline.outside())
            reading, is_of_now = self._reading, self._is_of(called, last_write)
            left = max(0.0, min(self._began, called) + patience - self.seconds())
            done, _ = await asyncio.wait([reading], timeout=left)
            if not done:
                return UNKNOWN
            if is_of_now or not reading.result().is_empty:
                return reading.result()

    def kept(self, called: float, last_write: object) -> Backlog | None:
        """What `counted` returns to a call at that time without waiting, if it can."""
        is_kept = self._reading is None and called < self._kept_until
        return self._latest if is_kept and (not self._latest.is_empty or self._is_of(called, last_write)) else None

    def _is_of(self, called: float, last_write: object) -> bool:
        """Whether the last reading, which may be under way, has seen every write before a call at that time."""
        return self._began >= called or self._began_after == last_write

    async def read(self) -> Backlog:
        """The backlog as of now. Raises Unavailable.

        Reads one after the other, the items due first and last: so an item that is given up, or becomes due again,
        between two of the reads is counted by one of them. For that, only the first may be stale.
        """
        store, stage = self.store, self.stage
        pending = await store.count(stage.container, (*stage.where, Where(stage.due, "gt", "")), may_be_stale=True)
        failed = await store.count(stage.container, stage.failed) if stage.failed else 0
        first = await first_due(store, stage)
        pending = max(pending, first is not None)
        telemetry.record(telemetry.PENDING, pending)
        telemetry.record(telemetry.FAILED, failed)
        return Backlog(pending, failed, None if first is None else stage.due_at(first))

    async def _read_and_keep(self) -> Backlog:
        try:
            self._latest = await self.read()
        except ToolpulseError:
            self._latest = UNKNOWN
        finally:
            self._reading = None
        self._kept_until = self.seconds() + self.kept_seconds if self.kept_seconds else -math.inf
        return self._latest
