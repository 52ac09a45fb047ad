"""Finds ingestion work whose message was lost: released batches not ingested, runs not ended.

Stored documents show what is overdue, and its message is sent again.
"""

from __future__ import annotations

import logging
from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import Any

from models.run import INGEST_FEEDS, Attempt, JobRun
from services.feeds.claims import IngestMessage
from services.work import rules
from services.work.runs import STUCK_AFTER, RunEngine, was_written_within

log = logging.getLogger("toolpulse.upkeep")

LOST_MESSAGE = "its message was lost or given up; its feeds are claimed anew"


class OverdueIngestion:
    """Closes ingestion runs that never ended, and finds the released batches whose message was lost."""

    def __init__(self, engine: RunEngine) -> None:
        self._engine = engine

    async def runs(self, now: datetime, oldest_waiting: datetime | None = None) -> list[IngestMessage]:
        """The messages of released batches that the caller must send again; see RunEngine.may_send_again. Other runs
        that never ended are closed."""
        released = []
        for run in await self._engine.overdue([INGEST_FEEDS], now):
            if isinstance(run.parameters.get("held"), str):
                released.append(run)
            elif not was_written_within(STUCK_AFTER, run, now):
                await self._close(run, now)
        again = await self._engine.may_send_again(released, now, oldest_waiting)
        return [IngestMessage(run.run_id, quarantine_id=str(run.parameters["held"])) for run in again]

    async def _close(self, run: JobRun, now: datetime) -> None:
        """Closes the run. Attempts that it does not know the end of have died. Other runs will claim its feeds."""

        def summary(ended: JobRun, attempts: Sequence[Attempt]) -> Mapping[str, Any]:
            return rules.ingestion_summary(ended, attempts, given_up=LOST_MESSAGE)

        await self._engine.close_unless_changed(run, summary, added=rules.attempts_without_end(run, now))
