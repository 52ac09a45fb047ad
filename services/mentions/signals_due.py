"""The stage of signals: stories whose articles, or what these say of tools, have changed.

Their marks (models/signal.py) are written after the change, by whoever makes it. services/signals decides the signals,
and deletes the marks.
"""

from __future__ import annotations

import json
from collections.abc import Collection, Sequence
from datetime import datetime

from models.errors import InvalidInput
from models.signal import SignalsDue, due_id
from models.story import day_of
from services.ports import Store
from services.store.containers import STORIES
from services.topology import GENERATE_IDEAS
from services.work.stage import Stage, Tries

IDEAS = "processing.generate_ideas"
EVENTS_UPDATED = "events_updated"
MOST_NAMED = 100
"""The most stories in one message."""
MOST_TRIES = 15
"""Over about four days: then the story is old."""


def ideas_messages(event_ids: Sequence[str]) -> list[str]:
    """The messages that say that these stories were updated."""
    parts = [event_ids[start : start + MOST_NAMED] for start in range(0, len(event_ids), MOST_NAMED)]
    return [
        json.dumps({"event": IDEAS, "event_ids": part, "trigger_reason": EVENTS_UPDATED}, separators=(",", ":"))
        for part in parts
    ]


def event_ids_of(message: str) -> list[str]:
    """The stories that a message of `generate-ideas` names, each once. Raises InvalidInput for a text that
    `ideas_messages` never writes."""
    try:
        ids = json.loads(message)["event_ids"]
        for each in ids:
            day_of(each)
    except (ValueError, TypeError, KeyError, AttributeError) as error:
        raise InvalidInput("message", "must be a JSON object with event_ids, a list of ids of stories") from error
    return list(dict.fromkeys(ids))


SIGNALS_STAGE = Stage(
    name="signals",
    queue=GENERATE_IDEAS,
    container=STORIES.name,
    order="by_signals_due",
    due="signals_due_at",
    key="event_id",
    messages=ideas_messages,
    tries=Tries(address=lambda event_id: (day_of(event_id), due_id(event_id)), most=MOST_TRIES),
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
