"""The stage of signals: stories whose articles, or what these say of tools, have changed.

Their marks (models/signal.py) are written after the change, by whoever makes it. services/signals decides the signals,
and deletes the marks.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from datetime import datetime
from typing import Any

from models.signal import SignalsDue, due_id
from models.story import day_of
from services.ports import Store
from services.store.containers import STORIES
from services.topology import GENERATE_IDEAS
from services.work.stage import Stage, Tries

IDEAS = "processing.generate_ideas"
EVENTS_UPDATED = "events_updated"
MAX_TRIES = 15
"""Over about four days: then the story is old."""


def ideas_form(event_ids: Sequence[str]) -> dict[str, Any]:
    """The message that says that these stories were updated."""
    return {"event": IDEAS, "event_ids": event_ids, "trigger_reason": EVENTS_UPDATED}


SIGNALS_STAGE = Stage(
    name="signals",
    queue=GENERATE_IDEAS,
    container=STORIES.name,
    order="by_signals_due",
    due="signals_due_at",
    key="event_id",
    form=ideas_form,
    named="event_ids",
    tries=Tries(address=lambda event_id: (day_of(event_id), due_id(event_id)), most=MAX_TRIES),
    workflow="generate_ideas",
)


async def mark_signals_due(store: Store, event_ids: Collection[str], now: datetime) -> None:
    """To be called after the change was written. A story that is marked already gets a new ETag, so that a worker that
    has begun to decide its signals does not delete the mark."""
    marks = [
        SignalsDue(created_at=now, updated_at=now, day=day_of(each), event_id=each, signals_due_at=now)
        for each in event_ids
    ]
    if marks:
        await store.write_many(STORIES.name, [each.to_document() for each in marks])
