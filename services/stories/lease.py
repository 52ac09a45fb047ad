"""The right of one worker to group articles: a document in `catalog`, which expires if the worker dies.

A worker that paused for longer than its lease may write once more. `holds` and `renew` tell it so: what it has grouped
becomes due then, and is grouped again.
"""

from __future__ import annotations

from collections.abc import Callable
from contextlib import suppress
from datetime import UTC, datetime, timedelta

from models.errors import ChangedMeanwhile, Conflict
from models.story import LEASE, GroupingLease
from models.values import is_over
from services.ports import Clock, Document, Store
from services.store.containers import CATALOG

_KEY = GroupingLease.PARTITION, GroupingLease.ID


class Lease:
    """The lease of one worker, who has it after `acquire` returned True."""

    def __init__(self, store: Store, clock: Clock, new_id: Callable[[], str]) -> None:
        self._store = store
        self._clock = clock
        self._holder = new_id()
        self._etag: str | None = None
        self._renewed_at = clock()

    async def acquire(self) -> bool:
        """False if another worker has it."""
        now, stored = self._clock(), await self._store.read(CATALOG.name, *_KEY)
        if stored is not None and not _has_ended(stored, now):
            return False
        document = self._document(now)
        try:
            if stored is None:
                written = await self._store.create(CATALOG.name, document)
            else:
                written = await self._store.replace(CATALOG.name, document, stored["_etag"])
        except (Conflict, ChangedMeanwhile):
            return False
        self._etag, self._renewed_at = written["_etag"], now
        return True

    async def holds(self) -> bool:
        """Whether the worker still has it, by its own clock. Renews a lease of which half is over. To be called before
        each write."""
        passed = self._clock() - self._renewed_at
        return timedelta(0) <= passed < LEASE / 2 or await self.renew()

    async def renew(self) -> bool:
        """False if another worker has had it since."""
        if self._etag is None:
            return False
        now = self._clock()
        try:
            written = await self._store.replace(CATALOG.name, self._document(now), self._etag)
        except ChangedMeanwhile:
            return False
        self._etag, self._renewed_at = written["_etag"], now
        return True

    async def release(self) -> None:
        if self._etag is not None:
            with suppress(ChangedMeanwhile):
                await self._store.delete(CATALOG.name, *_KEY, self._etag)
            self._etag = None

    def _document(self, now: datetime) -> Document:
        return GroupingLease(created_at=now, updated_at=now, holder=self._holder).to_document()


def _has_ended(stored: Document, now: datetime) -> bool:
    until = stored.get("ttl_timestamp")
    return until is None or is_over(datetime.fromtimestamp(until, UTC), now, LEASE)
