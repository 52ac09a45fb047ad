"""Finds ingestion work whose message was lost: released batches not ingested, runs not ended.

Stored documents show what is overdue, and its message is sent again.
"""

from __future__ import annotations

import logging
from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import Any

from models.feed import Feed
from models.run import INGEST_FEEDS, Attempt, IngestionBatch, JobRun
from services.articles.attempts import Correction, added_by, interrupted_record, is_removed, unlisted_attempts
from services.feeds.claims import IngestMessage
from services.feeds.last_attempt import record_of
from services.ports import Store
from services.runs import rules
from services.runs.engine import STUCK_AFTER, RunEngine, was_written_within
from services.store.containers import FEEDS
from services.topology import LAST_DELIVERY

log = logging.getLogger("toolpulse.upkeep")

LOST_MESSAGE = "its message was lost or given up; its feeds are claimed anew"


class OverdueIngestion:
    def __init__(self, store: Store, engine: RunEngine) -> None:
        self._store = store
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
        """Closes the run with the articles of all its attempts, recorded or not. Other runs will claim its feeds."""
        documents = await self._store.read_many(FEEDS.name, [(each, Feed.ID) for each in _feeds_of(run)])
        known = await self._engine.attempts(run.run_id)
        found: list[Attempt] = []
        for feed_id, document in zip(_feeds_of(run), documents, strict=True):
            if is_removed(document, run):
                found += await unlisted_attempts(self._store, run, feed_id, document, known, LAST_DELIVERY, now)
            if document is not None:
                saved = record_of(document, run)
                found += [saved] if saved is not None else []
                found += await self._open_attempts(run, known, Feed.from_document(document), now)

        def summary(ended: JobRun, attempts: Sequence[Attempt]) -> Mapping[str, Any]:
            return rules.ingestion_summary(ended, attempts, given_up=LOST_MESSAGE)

        await self._engine.close_unless_changed(run, summary, added=found)

    async def _open_attempts(self, run: JobRun, known: Sequence[Attempt], feed: Feed, now: datetime) -> list[Attempt]:
        """The records of the run's attempts that never saved the feed."""
        found = []
        for each in (*feed.interrupted_attempts, feed.current_attempt):
            if each is not None and each.run_id == run.run_id:
                added = await added_by(self._store, run.run_id, feed.feed_id, each.attempt_no)
                found.append(interrupted_record(known, Correction(feed.feed_id, each, added), now))
        return found


def _feeds_of(run: JobRun) -> Sequence[str]:
    """The feeds of the run. Earlier versions have them among its parameters."""
    feeds = run.parameters.get("feeds")
    if isinstance(feeds, list):
        return [str(each) for each in feeds]
    return run.claimed if isinstance(run, IngestionBatch) else ()
