"""Marks stories whose signals are due: their articles, or what these say of tools, have changed.

services/signals decides the signals, and deletes the marks. A message asks for it; the marks are what counts.
"""

from __future__ import annotations

from collections.abc import Collection
from datetime import datetime, timedelta

from models.signal import SignalsDue
from models.story import day_of
from services.ports import Store
from services.store.containers import STORIES

LOST_AFTER = timedelta(minutes=1)
"""After this time, a message that asks for the signals of a story counts as lost."""


async def mark_signals_due(store: Store, event_ids: Collection[str], now: datetime) -> None:
    """To be called after the change was written. A story that is marked already gets a new ETag, so that a worker that
    has begun to decide its signals does not delete the mark."""
    marks = [
        SignalsDue(created_at=now, updated_at=now, day=day_of(each), event_id=each, signals_due_at=now + LOST_AFTER)
        for each in event_ids
    ]
    if marks:
        await store.write_many(STORIES.name, [each.to_document() for each in marks])
