"""Works on the messages of `group-headlines`: groups all articles that are due, in portions, under a lease.

One worker groups at a time, since what it decides depends on what others have decided. What is left when the deadline
is near is due still, and gets another message.
"""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from functools import partial

from models.article import Article
from models.errors import Unavailable
from models.story import LEASE, GroupingLease
from models.values import is_over
from services.mentions.due import SIGNALS_STAGE
from services.ports import Clock, Document, Store
from services.store.change import DELETE, Decided, change
from services.store.containers import ARTICLES, CATALOG
from services.stories.stage import DELAY_SECONDS, GroupingAnnouncer
from services.stories.writing import GroupWriter
from services.work.handling import Handled, Handler, Worked

PORTION = 100
MAX_LISTED = 1000
"""The most due articles that one message has grouped."""
BUSY_SECONDS = 10.0
"""How long a message waits while another worker groups: that one groups all that is due, unless it dies."""


@dataclass(frozen=True, slots=True)
class Grouping:
    """Works on the messages of `group-headlines`."""

    store: Store
    writer: GroupWriter
    announcer: GroupingAnnouncer
    clock: Clock
    new_id: Callable[[], str]

    async def handle(self, source_ids: Sequence[str], delivery: int = 1, invocation_id: str | None = None) -> Handled:
        """Groups the articles that a message names, and all others that are due. Raises Unavailable if the store or the
        queues did not answer."""
        lease = Lease(self.store, self.clock, self.new_id())
        keys = [*source_ids, *await self.announcer.due(MAX_LISTED)]
        if not keys:
            return Handled()
        if not await lease.hold():
            await self.announcer.again(BUSY_SECONDS)
            return Handled(left=list(source_ids))
        handler = Handler(
            *(self.announcer.stage, partial(self._work, lease), self.store, self.announcer.announcer, self.clock),
            portion=PORTION,
            at_once=1,
            new_id=self.new_id,
        )
        try:
            handled = await handler.handle(keys, delivery, invocation_id)
        finally:
            with contextlib.suppress(Unavailable):  # then the lease ends by itself
                await lease.release()
        if handled.done and await self.announcer.due(1):  # also what depends on these articles
            await self.announcer.again(DELAY_SECONDS)
        return handled

    async def _work(self, lease: Lease, source_ids: Sequence[str], *, alone: bool) -> Worked:
        if not await lease.hold():
            raise Unavailable("another worker groups articles", retry_after=BUSY_SECONDS)
        stage = self.announcer.stage
        found = await self.store.read_many(ARTICLES.name, [(each, Article.ID) for each in source_ids])
        now = self.clock()
        due = [each for each in found if each is not None and (alone or stage.is_due(each, now))]
        kill = [] if alone else [each["source_id"] for each in due if stage.has_killed(each)]
        wanted = [each for each in due if each["source_id"] not in kill]
        if not wanted:
            return Worked(kill=kill)
        grouped = await self.writer.group(wanted)
        await self.announcer.announcer.announce(SIGNALS_STAGE, sorted(grouped.events))
        counts = {"grouped": len(grouped.finished), "stories": len(grouped.events), "mentions": grouped.mentions}
        return Worked(len(grouped.finished), grouped.failed, kill=kill, counts=counts)


class Lease:
    """The right of one worker to group articles: a document in `catalog`, which ends if the worker dies."""

    def __init__(self, store: Store, clock: Clock, holder: str) -> None:
        self._store = store
        self._clock = clock
        self._holder = holder

    async def hold(self) -> bool:
        """Takes the lease, or renews it. False if another worker has it."""
        now = self._clock()

        def decide(stored: Document | None) -> Decided:
            if stored is not None and stored["holder"] != self._holder and not _has_ended(stored, now):
                return None
            return GroupingLease(created_at=now, updated_at=now, holder=self._holder).to_document()

        after = await change(self._store, CATALOG.name, GroupingLease.PARTITION, GroupingLease.ID, decide)
        return after is not None and after["holder"] == self._holder

    async def release(self) -> None:
        def decide(stored: Document | None) -> Decided:
            return DELETE if stored is not None and stored["holder"] == self._holder else None

        await change(self._store, CATALOG.name, GroupingLease.PARTITION, GroupingLease.ID, decide)


def _has_ended(stored: Document, now: datetime) -> bool:
    until = stored.get("ttl_timestamp")
    return until is None or is_over(datetime.fromtimestamp(until, UTC), now, LEASE)
