"""The human gate: what is held back, and what a person decided about it. Holding and letting in are done elsewhere."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, get_args

from models.errors import ChangedMeanwhile, InvalidInput, NotFound
from models.quarantine import QuarantineItem
from models.run import IngestionBatch
from models.states import ReviewStatus
from services.articles.held import HeldBatches
from services.articles.messages import FeedBatch
from services.ports import Clock, Query, Store, Where
from services.store.containers import QUARANTINE, RUNS
from services.store.listed import Listed, listed

STATUSES: tuple[ReviewStatus, ...] = get_args(ReviewStatus)
DECISIONS = tuple(status for status in STATUSES if status != "PENDING")
_LONGEST_NOTE = 2000
_TRIES = 8


@dataclass(frozen=True, slots=True)
class Reviewed:
    """The item as it is now, and what is to be queued because of it."""

    item: QuarantineItem
    batch: FeedBatch | None


class Quarantine:
    def __init__(self, store: Store, clock: Clock, new_id: Callable[[], str]) -> None:
        self._store = store
        self._clock = clock
        self._new_id = new_id

    async def page(self, status: str | None, limit: int, after: str | None) -> Listed[QuarantineItem]:
        """Newest first."""
        where = [_ITEMS] + ([Where("manual_review_status", "eq", status)] if status else [])
        query = Query(tuple(where), order="by_created", reverse=True, limit=limit, after=after)
        page = await self._store.query(QUARANTINE.name, query)
        return listed(page, QuarantineItem.from_document, "quarantine_id")

    async def review(self, quarantine_id: str, decision: Any, note: Any = None) -> Reviewed:
        """Records the decision. The same one again is queued again, since its message may have been lost.

        Raises InvalidTransition if another was made before.
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
            await HeldBatches(self._store).let_go(item.subject, item.quarantine_id)
        return Reviewed(item, await self._to_queue(item))

    async def _get(self, quarantine_id: str) -> QuarantineItem:
        try:
            found = await self._store.read(QUARANTINE.name, quarantine_id, quarantine_id)
        except InvalidInput:  # no store would take such an id
            found = None
        if found is None:
            raise NotFound(f"quarantine: there is nothing with the id {quarantine_id!r}")
        return QuarantineItem.from_document(found)

    async def _to_queue(self, item: QuarantineItem) -> FeedBatch | None:
        """A run of its own, stored before its message can be sent, so that a lost one is seen."""
        if item.kind != "BATCH" or item.manual_review_status != "CLEARED_RETRY_APPROVED":
            return None
        now = self._clock()
        run = IngestionBatch(
            run_id=self._new_id(),
            started_at=now,
            created_at=now,
            updated_at=now,
            subject=item.subject,
            parameters={"held": item.quarantine_id},
        )
        await self._store.upsert(RUNS.name, run.to_document())
        return FeedBatch(run.run_id, held=item.quarantine_id)


_ITEMS = Where("entity_type", "eq", "QuarantineItem")
