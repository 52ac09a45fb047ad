"""The backlog: how many articles are ingested and not analysed, or could not be analysed. Counted when it is asked for.

Until an article is analysed, nobody can know which tools it names. So the backlog is one of the whole app.
"""

from __future__ import annotations

import asyncio
import math
import time
from collections.abc import Callable
from dataclasses import dataclass
from datetime import datetime

from models.errors import ToolpulseError
from models.values import parse_time
from services import deadline, telemetry
from services.ports import LastWrite, Query, Store, Where
from services.store.containers import ARTICLES

KEPT_SECONDS = 2.0
KEPT_TIMES_ITS_READ = 20
"""A backlog that took long to count is kept for longer, so that counting takes at most a twentieth of the time."""
MOST_KEPT_SECONDS = 5.0
"""But not for longer than this: a busy worker takes long to count too, and figures must not seem incomplete for long
after they are complete."""
AWAITED_SECONDS = 1.0

_DUE = (Where("analysis_due_since", "gt", ""),)
_EVERY_TIME = Where("timestamp", "gt", "")  # the embedded store then counts by the index of by_status
_FAILED = (Where("status", "eq", "error"), _EVERY_TIME, Where("deleted_at", "missing"))


@dataclass(frozen=True, slots=True)
class Backlog:
    """`pending` articles have an analysis due, the first of them since `oldest_due`; the analysis of the `failed`
    articles was given up (status `error`). Null: the store did not answer in time."""

    pending: int | None
    failed: int | None
    oldest_due: datetime | None = None

    @property
    def is_empty(self) -> bool:
        return self.pending == 0 and self.failed == 0

    def oldest_seconds(self, now: datetime) -> int:
        """For how long the analysis of the oldest pending article has been due."""
        return 0 if self.oldest_due is None else max(0, int((now - self.oldest_due).total_seconds()))


UNKNOWN = Backlog(None, None)


class BacklogReader:
    """Callers in one process share one read, and for `kept_seconds` its result; 0 keeps none. An empty backlog is kept
    until the next write only. `seconds` measures time that passes."""

    def __init__(
        self,
        store: Store,
        kept_seconds: float = KEPT_SECONDS,
        seconds: Callable[[], float] = time.monotonic,
        last_write: LastWrite = lambda: None,
    ) -> None:
        self._store = store
        self._kept_seconds = kept_seconds
        self._seconds = seconds
        self._last_write = last_write
        self._latest = UNKNOWN
        self._kept_until = -math.inf
        self._began = 0.0
        self._began_after: object = None
        self._reading: asyncio.Task[Backlog] | None = None

    async def counted(self, patience: float = AWAITED_SECONDS) -> Backlog:
        """The backlog as of a moment in the last two seconds, longer ago if it takes long to count. If it is empty, as
        of now, as far as `last_write` tells: figures that lack an article must not seem complete.

        UNKNOWN if the store does not answer within `patience`: an aggregate that is in the cache can be served without.
        """
        called, last_write = self._seconds(), self._last_write()
        while True:
            if self._reading is None:
                if called < self._kept_until and (not self._latest.is_empty or self._is_of(called, last_write)):
                    return self._latest
                # With a context of its own: the reading outlives the invocation that began it, and its deadline.
                self._began, self._began_after = self._seconds(), self._last_write()
                outside = deadline.outside()
                self._reading = asyncio.get_running_loop().create_task(self._read_and_keep(), context=outside)
            reading, is_of_now = self._reading, self._is_of(called, last_write)
            left = max(0.0, min(self._began, called) + patience - self._seconds())
            done, _ = await asyncio.wait([reading], timeout=left)
            if not done:
                return UNKNOWN
            if is_of_now or not reading.result().is_empty:
                return reading.result()

    def _is_of(self, called: float, last_write: object) -> bool:
        """Whether the last reading, which may be under way, has seen every write before a call at that time."""
        return self._began >= called or self._began_after == last_write

    async def read(self) -> Backlog:
        """The backlog as of now. Raises Unavailable.

        Reads one after the other, the articles due first and last: so an article that becomes an error, or is to be
        analysed again, between two of the reads is counted by one of them. For that, only the first may be stale.
        """
        pending = await self._store.count(ARTICLES.name, _DUE, may_be_stale=True)
        failed = await self._store.count(ARTICLES.name, _FAILED)
        oldest = (await self._store.query(ARTICLES.name, Query(order="by_analysis_due", limit=1))).items
        since = parse_time(oldest[0]["analysis_due_since"]) if oldest else None
        telemetry.record(telemetry.PENDING, max(pending, len(oldest)))
        telemetry.record(telemetry.FAILED, failed)
        return Backlog(max(pending, len(oldest)), failed, since)

    async def _read_and_keep(self) -> Backlog:
        try:
            self._latest = await self.read()
        except ToolpulseError:
            self._latest = UNKNOWN
        finally:
            self._reading = None
        took = self._seconds() - self._began
        # From the beginning on: an article that was stored meanwhile may be missing from the counts.
        longer = min((1 + KEPT_TIMES_ITS_READ) * took, took + MOST_KEPT_SECONDS)
        kept = max(self._kept_seconds, longer) if self._kept_seconds else 0.0
        self._kept_until = self._began + kept
        return self._latest
