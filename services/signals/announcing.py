"""Asks again for signals that are due, whose message was lost or whose worker died.

The marks of stories (models/signal.py) are the truth. A mark that was announced again waits longer each time: a story
whose signals cannot be decided does not fill the queue.
"""

from __future__ import annotations

import logging
from datetime import datetime, timedelta

from models.signal import SignalsDue
from models.values import is_ahead
from services.logs import log_event
from services.mentions.signals_due import LOST_AFTER
from services.ports import Clock, Operation, Query, Queues, Replace, Store, readable
from services.store.containers import STORIES
from services.stories.announcing import ideas_messages
from services.topology import GENERATE_IDEAS

log = logging.getLogger("toolpulse.signals")

AT_ONCE = 500
LONGEST_WAIT = timedelta(days=1)
MOST_DOUBLED = 16


class SignalsAnnouncer:
    def __init__(self, store: Store, queues: Queues, clock: Clock) -> None:
        self._store = store
        self._queues = queues
        self._clock = clock

    async def announce_overdue(self) -> int:
        """Sends messages for the stories whose signals are overdue, and returns how many these are."""
        page = await self._store.query(STORIES.name, Query(order="by_signals_due", limit=AT_ONCE))
        now = self._clock()
        marks = [readable(each, SignalsDue.from_document) for each in page.items]
        overdue = [each for each in marks if each is not None and _is_over(each, now)]
        if not overdue:
            return 0
        oldest = await self._queues.oldest(GENERATE_IDEAS)
        # The message of a later mark may wait in the queue.
        overdue = [each for each in overdue if oldest is None or each.updated_at < oldest]
        await self._queues.send(GENERATE_IDEAS, ideas_messages([each.event_id for each in overdue]))
        batches: list[tuple[str, list[Operation]]] = []
        for mark in overdue:
            after = mark.changed(
                now, signals_due_at=now + wait_after(mark.announcements), announcements=mark.announcements + 1
            )
            batches.append((mark.partition, [Replace(after.to_document(), mark.stored_etag or "")]))
        # A mark that another worker changed or deleted meanwhile stays as that one left it.
        await self._store.batch_many(STORIES.name, batches)
        if overdue:
            log_event(log, logging.INFO, "overdue_signals_announced", stories=len(overdue))
        return len(overdue)


def wait_after(announcements: int) -> timedelta:
    """How long a message that is sent again counts as under way."""
    return min(LOST_AFTER * (2 << min(announcements, MOST_DOUBLED)), LONGEST_WAIT)


def _is_over(mark: SignalsDue, now: datetime) -> bool:
    """A time that lies further ahead than any wait was set by a wrong clock."""
    return mark.signals_due_at <= now or is_ahead(mark.signals_due_at - LONGEST_WAIT, now)
