"""Records in the store when each timer ran, so that every instance can read it.

A timer that runs every 30 seconds does not write every 30 seconds: a heartbeat is stored when the last one that this
process stored is five minutes old or, by a clock that was set back, in the future, or when the outcome has changed.
"""

from __future__ import annotations

import logging
from collections.abc import Sequence
from datetime import datetime, timedelta

from models.errors import Unavailable
from models.operations import Heartbeat
from services.logs import log_event
from services.ports import Clock, Query, Store, listed, readable
from services.store.containers import CATALOG

STORED_AT_LEAST_EVERY = timedelta(minutes=5)

log = logging.getLogger("toolpulse.heartbeats")


class Heartbeats:
    """Records and reads the runs of timers."""

    def __init__(self, store: Store, clock: Clock) -> None:
        self._store = store
        self._clock = clock
        self._stored: dict[str, tuple[datetime, bool]] = {}

    async def record(self, timer: str, started: datetime, error: str | None = None) -> None:
        """Records the outcome of a run that began at `started`. Without `error` it succeeded.

        A heartbeat that cannot be stored is logged, not raised: the run has done its work, and its messages must be
        sent.
        """
        now, succeeded = self._clock(), error is None
        last = self._stored.get(timer)
        if last and last[1] == succeeded and timedelta(0) <= now - last[0] < STORED_AT_LEAST_EVERY:
            return
        try:
            document = await self._store.read(CATALOG.name, Heartbeat.PARTITION, timer)
            known = readable(document, Heartbeat.from_document) or Heartbeat.first(timer, now)
            await self._store.upsert(CATALOG.name, known.beaten(started, now, error).to_document())
        except Unavailable as failure:
            log_event(log, logging.WARNING, "heartbeat_not_stored", timer=timer, error=str(failure))
            return
        self._stored[timer] = (now, succeeded)

    async def list(self, timers: Sequence[str]) -> dict[str, Heartbeat]:
        """The stored heartbeats among `timers`, by name."""
        page = await self._store.query(CATALOG.name, Query(partition=Heartbeat.PARTITION, may_be_stale=True))
        beats = listed(page, Heartbeat.from_document, "id").items
        return {beat.id: beat for beat in beats if beat.id in timers}
