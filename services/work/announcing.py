"""Sends the messages of stages, and sends them again for due items whose messages were lost or whose workers died.

Messages only wake workers up: losing one costs at most a minute.
"""

from __future__ import annotations

import logging
import random
import time
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta

from models.errors import Unavailable
from models.values import CLOCKS_DIFFER, format_time, is_ahead
from services import deadline
from services.logs import log_event
from services.ports import Clock, Document, Query, Queues, Store, Where, pages
from services.work.backlog import first_due, pause_of
from services.work.stage import Stage

log = logging.getLogger("toolpulse.work")

MAX_REMEMBERED = 20_000
SENT_WITHIN = timedelta(seconds=30)
"""A message is sent within this time after its item became due."""
PAGE = 500
_MAX_PAGES = 100


class Announcer:
    """Sends messages for due items. What waits in a delayed message that this process sent is not sent again.

    Call it after the items were made due: whoever gets the message finds them. `seconds` measures time that passes.
    """

    def __init__(self, queues: Queues, seconds: Callable[[], float] = time.monotonic) -> None:
        self._queues = queues
        self.seconds = seconds
        self._waiting: dict[tuple[str, str], float] = {}
        self._delays: dict[str, float] = {}

    async def announce(self, stage: Stage, keys: Iterable[str]) -> list[str]:
        """Returns the keys for which messages were sent. Raises Unavailable: the items stay due then."""
        return await self.announce_groups(stage, [list(dict.fromkeys(keys))])

    async def announce_stored(self, stage: Stage, keys: Sequence[str]) -> None:
        """As `announce`, for items that were accepted: if the queue does not answer, a sweep announces them later."""
        try:
            await self.announce(stage, keys)
        except Unavailable as error:
            log_event(log, logging.WARNING, "work_not_announced", stage=stage.name, items=len(keys), error=str(error))

    async def announce_documents(
        self, stage: Stage, documents: Iterable[Document], *, delay_seconds: float | None = None
    ) -> list[str]:
        """As `announce`, for the documents of due items; in messages by group, if the stage has groups."""
        groups: dict[str, dict[str, None]] = {}
        for each in documents:
            group = "" if stage.group is None else stage.group(each)
            groups.setdefault(group, {})[each[stage.key]] = None
        return await self.announce_groups(stage, groups.values(), delay_seconds=delay_seconds)

    async def announce_groups(
        self, stage: Stage, groups: Iterable[Iterable[str]], *, delay_seconds: float | None = None
    ) -> list[str]:
        began = self.seconds()
        delay = self._delays.get(stage.name, stage.delay_seconds) if delay_seconds is None else delay_seconds
        wanted = [[key for key in keys if self._waiting.get((stage.name, key), 0.0) <= began] for keys in groups]
        messages = [message for keys in wanted for message in stage.messages(keys)]
        await self.send(stage, messages, delay_seconds=delay)
        sent = [key for keys in wanted for key in keys]
        if stage.delay_seconds and delay_seconds is None and self._queues.delays:
            if len(self._waiting) > MAX_REMEMBERED:
                self._waiting = {each: until for each, until in self._waiting.items() if until > began}
            self._waiting |= {(stage.name, key): began + delay for key in sent}
        return sent

    def slow_down(self, stage: Stage, seconds: float) -> None:
        """The messages that this process sends from now on wait for so long."""
        self._delays[stage.name] = seconds

    async def send(self, stage: Stage, messages: Sequence[str], *, delay_seconds: float = 0.0) -> None:
        """Sends these messages, whatever waits."""
        if messages:
            await self._queues.send(stage.queue, messages, delay_seconds=delay_seconds)


@dataclass(frozen=True, slots=True)
class Announced:
    """What of one stage was last announced as overdue: all items due up to `due_until`, at `at` or later."""

    due_until: datetime
    at: datetime


def overdue_range(
    until: datetime, now: datetime, oldest_waiting: datetime | None, last: Announced | None
) -> tuple[datetime | None, datetime] | None:
    """The items to announce again, of those due up to `until`: due after the first time (None: any) up to the second;
    None for no item.

    `oldest_waiting` is when the oldest message that waits in the queue was sent: the messages of items that have been
    due for longer have left the queue. Items that were announced again are left alone until the messages of `last` have
    left the queue. A `last` of a clock that was ahead does not count.
    """
    if oldest_waiting is not None:
        until = min(until, oldest_waiting - SENT_WITHIN)
    if last is None or is_ahead(last.at, now) or last.at <= until:
        return None, until
    return (last.due_until, until) if last.due_until < until else None


class Sweeper:
    """Announces what is overdue, at every tick and when a worker starts. What one sweep has announced, the next ones of
    this process do not announce again while the messages wait; another worker that starts may."""

    def __init__(self, store: Store, queues: Queues, announcer: Announcer, clock: Clock) -> None:
        self._store = store
        self._queues = queues
        self._announcer = announcer
        self._clock = clock
        self._last: dict[str, Announced] = {}

    async def sweep(self, stage: Stage, *, at_start: bool = False, ahead: bool = False) -> int:
        """Announces what is overdue, and returns how many items. `at_start`: all that is due is overdue, since the
        worker before this one may have died with its messages; of a backlog, which may have started this worker, one
        page. `ahead`, and at a start: so is what a clock that was ahead has made due."""
        # A stale read is enough: what it misses the next sweep finds, and messages are only hints.
        first = await first_due(self._store, stage, may_be_stale=True)
        if first is None:
            return 0
        now, announced = self._clock(), 0
        if stage.pauses and await pause_of(self._store, stage) is not None:
            return await self._announce_probe(stage, now)
        if ahead or at_start:
            furthest = format_time(now + stage.furthest + CLOCKS_DIFFER)
            announced = await self._announce(stage, Where(stage.due, "gt", furthest))
        until = now if at_start else now - stage.overdue_after
        since = stage.due_at(first)
        if since is None or since > until:
            return announced
        return announced + await self._announce_until(stage, until, now, 1 if at_start else _MAX_PAGES)

    async def _announce_probe(self, stage: Stage, now: datetime) -> int:
        """Announces one item of a stage that pauses. Any of them: the service may answer for all but one."""
        query = Query((*stage.where, Where(stage.due, "le", format_time(now))), order=stage.order, limit=PAGE)
        due = (await self._store.query(stage.container, query)).items
        some = [random.choice(due)] if due else []  # noqa: S311 - not a secret
        return len(await self._announcer.announce_documents(stage, some))

    async def _announce_until(self, stage: Stage, until: datetime, now: datetime, most_pages: int) -> int:
        oldest, last = await self._queues.oldest(stage.queue), self._last.get(stage.name)
        overdue = overdue_range(until, now, oldest, last)
        if overdue is None:
            return 0
        after, until = overdue
        # Items that `last` covers are not announced again this time, and must not wait for longer.
        self._last[stage.name] = Announced(until, now if after is None or last is None else last.at)
        span = [] if after is None else [Where(stage.due, "gt", format_time(after))]
        announced = await self._announce(
            stage, Where(stage.due, "le", format_time(until)), *span, most_pages=most_pages
        )
        if announced == PAGE and most_pages == 1:
            del self._last[stage.name]  # the next tick announces the rest
        if announced:
            log_event(log, logging.INFO, "overdue_work_announced", stage=stage.name, items=announced)
        return announced

    async def _announce(self, stage: Stage, *span: Where, most_pages: int = _MAX_PAGES) -> int:
        """What is left at the deadline is announced once these messages have left the queue."""
        query = Query((*stage.where, *span), order=stage.order, limit=PAGE, may_be_stale=True)
        announced, number = 0, 0
        async for page in pages(self._store, stage.container, query):
            announced += len(await self._announcer.announce_documents(stage, page.items))
            number += 1
            if number == most_pages or deadline.is_near():
                break
        return announced
