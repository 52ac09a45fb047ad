"""Quarantine: what is held until a person reviews it, and the review.

Floods are held in entries.py; a released batch is ingested in ingestion.py.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, get_args

from models.errors import ChangedMeanwhile, InvalidInput, NotFound
from models.quarantine import QuarantineItem
from models.run import INGEST_FEEDS
from models.states import ReviewStatus
from services.articles.quarantined_batches import QuarantinedBatches
from services.feeds.claims import IngestMessage
from services.ports import Clock, Listed, Query, Store, Where, listed
from services.runs.engine import RunEngine
from services.store.containers import QUARANTINE

STATUSES: tuple[ReviewStatus, ...] = get_args(ReviewStatus)
DECISIONS = tuple(status for status in STATUSES if status != "PENDING")
_LONGEST_NOTE = 2000
_TRIES = 8


@dataclass(frozen=True, slots=True)
class Reviewed:
    """The item as it is now, and the message that is to be queued because of the review."""

    item: QuarantineItem
    batch: IngestMessage | None


class Quarantine:
    def __init__(self, store: Store, engine: RunEngine, clock: Clock) -> None:
        self._store = store
        self._engine = engine
        self._clock = clock

    async def page(self, status: str | None, limit: int, after: str | None) -> Listed[QuarantineItem]:
        """Newest first."""
        where = [_ITEMS] + ([Where("manual_review_status", "eq", status)] if status else [])
        query = Query(tuple(where), order="by_created", reverse=True, limit=limit, after=after)
        page = await self._store.query(QUARANTINE.name, query)
        return listed(page, QuarantineItem.from_document, "quarantine_id")

    async def review(self, quarantine_id: str, decision: Any, note: Any = None) -> Reviewed:
        """Records the decision. The same decision again queues the batch again, since its message may have been lost.

        Raises InvalidTransition if another decision was made before.
        """
        if decision not in DECISIONS:
            raise InvalidInput("decision", f"one of {', '.join(DECISIONS)}")
        if note is not None and not (isinstance(note, str) and 1 <= len(note) <= _LONGEST_NOTE):
            raise InvalidInput("note", f"text of 1 to {_LONGEST_NOTE} characters")
        for _ in range(_TRIES):
            item = await self._get(quarantine_id)
            if item.manual_review_status == decision:
                return await self._followed(item)
            decided = item.reviewed(self._clock(), decision, note)
            try:
                stored = await self._store.replace(QUARANTINE.name, decided.to_document(), item.stored_etag or "")
            except ChangedMeanwhile:
                continue
            return await self._followed(QuarantineItem.from_document(stored))
        raise ChangedMeanwhile(f"quarantine item {quarantine_id} keeps changing: try again")

    async def _followed(self, item: QuarantineItem) -> Reviewed:
        if item.kind == "BATCH" and item.manual_review_status == "CLEARED_TERMINAL":
            await QuarantinedBatches(self._store).forget_in_feed(item.subject, item.quarantine_id)
        return Reviewed(item, await self._to_queue(item))

    async def _get(self, quarantine_id: str) -> QuarantineItem:
        try:
            found = await self._store.read(QUARANTINE.name, quarantine_id, quarantine_id)
        except InvalidInput:  # no store would take such an id
            found = None
        if found is None:
            raise NotFound(f"quarantine: there is nothing with the id {quarantine_id!r}")
        return QuarantineItem.from_document(found)

    async def _to_queue(self, item: QuarantineItem) -> IngestMessage | None:
        """The message of a run of its own. The run is stored first, so that a lost message is noticed."""
        if item.kind != "BATCH" or item.manual_review_status != "CLEARED_RETRY_APPROVED":
            return None
        run = await self._engine.accept(INGEST_FEEDS, item.subject, {"held": item.quarantine_id})
        return IngestMessage(run.run_id, quarantine_id=item.quarantine_id)


_ITEMS = Where("entity_type", "eq", "QuarantineItem")
