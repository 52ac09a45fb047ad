"""A worker's lease on a feed: acquired before the first article is stored, released when the feed is saved.

An attempt that finds nothing new writes its feed once, at the end, and needs no lease: of two such attempts one saves
the feed, since the write is conditional. The lease keeps two attempts from storing articles of a feed at once, and an
attempt that lost the feed from saving it. Everything else that a worker stores is right without the lease. Choosing the
feeds that are due is in claims.py.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from typing import Any

from models.errors import ChangedMeanwhile
from models.feed import Feed, FeedLease
from models.values import is_ahead, is_over, parse_time
from services.logs import log_event
from services.ports import Clock, Document, Operation, Replace, Store, Upsert
from services.store.change import change, change_together
from services.store.containers import FEEDS

log = logging.getLogger("toolpulse.ingest")

WORK_LEASE = timedelta(minutes=3)
"""Longer than the longest fetch with all its attempts and pauses, and all the work that follows it."""

MOST_DEATHS = 3
"""After so many deaths in a row of workers that worked on it alone, a feed is given up."""

RELEASED: dict[str, Any] = {"lease": None, "worker_deaths": 0}
"""The fields that a save clears, whether the fetch succeeded or not."""

_DISABLING = frozenset(
    {"enabled", "disabled_reason", "disabled_at", "disabled_by", "disabled_cause", "probes", "probe_at"}
    | {"verdict", "verdict_since", "verdict_reason"}
)
"""Fields that belong together: if a person disabled or enabled the feed meanwhile, all are as that person's change left
them."""


@dataclass(frozen=True, slots=True)
class Lease:
    """An attempt at a feed: the feed as the attempt has it, and the document as it is stored.

    `is_stored`: the attempt has the lease. Before, it must store no articles. `alone`: see FeedLease. `started_at` is
    later than the start of every earlier attempt at the feed, even if the clocks of the workers differ. `died` is the
    attempt whose lease this one takes over: it never saved the feed.
    """

    feed: Feed
    document: Document
    run_id: str
    attempt_no: int
    task_name: str
    started_at: datetime
    is_stored: bool = False
    alone: bool = False
    died: FeedLease | None = None


class Leases:
    """Acquires, saves and releases leases of feeds."""

    def __init__(self, store: Store, clock: Clock) -> None:
        self._store = store
        self._clock = clock

    def begun(
        self, document: Document, run_id: str, attempt_no: int, task_name: str, *, alone: bool = False
    ) -> Lease | None:
        """An attempt at the feed that was read as `document`. Writes nothing. None while an attempt of another run, or
        of another delivery of the message, has the lease.

        A message that is delivered again takes over the feed from its earlier delivery, which has failed or died.
        """
        feed, now = Feed.from_document(document), self._clock()
        died = feed.lease
        if died is not None and is_leased(feed, now) and (died.run_id != run_id or died.attempt_no >= attempt_no):
            log_skipped(feed.feed_id, "another attempt works on it")
            return None
        if died is not None and died.run_id == run_id:
            attempt_no = max(attempt_no, died.attempt_no + 1)  # a message that was sent twice counts anew
        deaths = feed.worker_deaths + (died is not None and died.alone)
        released = feed.model_copy(update={"lease": None, "worker_deaths": deaths})
        started_at = _after_earlier_attempts(feed, now)
        return Lease(released, document, run_id, attempt_no, task_name, started_at, alone=alone, died=died)

    async def acquire(self, lease: Lease) -> Lease | None:
        """Stores the lease for WORK_LEASE; None if another attempt has had the feed meanwhile, or the feed is gone.
        Changes that a person made to the feed meanwhile are kept."""
        now = self._clock()
        mine = FeedLease(
            run_id=lease.run_id,
            attempt_no=lease.attempt_no,
            task_name=lease.task_name,
            started_at=lease.started_at,
            until=now + WORK_LEASE,
            alone=lease.alone,
        )

        is_free = False

        def decide(stored: Document | None) -> Document | None:
            nonlocal is_free
            is_free = stored is not None and _ours(stored) == _ours(lease.document)
            if stored is None or not is_free:
                return None
            feed, deaths = Feed.from_document(stored), lease.feed.worker_deaths
            return feed.changed(max(now, feed.updated_at), lease=mine, worker_deaths=deaths).to_document()

        feed_id = lease.feed.feed_id
        stored = await change(self._store, FEEDS.name, feed_id, Feed.ID, decide, known=lease.document)
        if stored is None or not is_free:
            return None
        return replace(lease, feed=Feed.from_document(stored), document=stored, is_stored=True)

    async def release(self, document: Document) -> None:
        """Takes the lease from a feed that must not be fetched any more, such as a disabled one."""
        after = Feed.from_document(document).changed(self._clock(), lease=None)
        with suppress(ChangedMeanwhile):
            await self._store.replace(FEEDS.name, after.to_document(), document["_etag"])

    async def outlived(self, feed_id: str, run_id: str) -> None:
        """Records that an attempt of this run failed without the death of its worker, if it has the lease."""

        def decide(stored: Document | None) -> Document | None:
            lease = (stored or {}).get("lease")
            if stored is None or not lease or lease["run_id"] != run_id or not lease.get("alone"):
                return None
            return {**stored, "lease": {**lease, "alone": False}}

        await change(self._store, FEEDS.name, feed_id, Feed.ID, decide)

    async def save(self, feeds: Sequence[tuple[Lease, Feed, Document | None]]) -> list[bool | BaseException]:
        """Saves each feed, released, with its `seen` document if there is one; False for a feed that was lost to
        another attempt.

        Changes that a person made to the feed since it was read are kept.
        """
        wanted = [after.to_document() for _, after, _ in feeds]
        batches = [
            (lease.feed.feed_id, _operations(document, lease.document["_etag"], seen))
            for document, (lease, _, seen) in zip(wanted, feeds, strict=True)
        ]
        results: list[bool | BaseException] = [False] * len(feeds)
        try:
            results = [isinstance(each, list) for each in await self._store.batch_many(FEEDS.name, batches)]
        except Exception as error:
            # One by one, so that a fault in one feed keeps no other feed from being saved.
            log_event(log, logging.WARNING, "feeds_saved_one_by_one", feeds=len(feeds), error=type(error).__name__)
        left = [index for index, is_saved in enumerate(results) if not is_saved]
        again = (self._save(feeds[index][0], wanted[index], feeds[index][2]) for index in left)
        for index, result in zip(left, await asyncio.gather(*again, return_exceptions=True), strict=True):
            results[index] = result
        return results

    async def _save(self, lease: Lease, wanted: Document, seen: Document | None) -> bool:
        is_saved = False

        def decide(found: Sequence[Document | None]) -> Sequence[Operation]:
            nonlocal is_saved
            (fresh,) = found
            # After a response that was lost, the feed is as it was to be saved.
            was_saved = fresh is not None and all(fresh.get(name) == value for name, value in wanted.items())
            is_saved = was_saved or (fresh is not None and _ours(fresh) == _ours(lease.document))
            if fresh is None or was_saved or not is_saved:
                return []
            return _operations(_merged(wanted, lease.document, fresh), fresh["_etag"], seen)

        await change_together(self._store, FEEDS.name, lease.feed.feed_id, [Feed.ID], decide)
        return is_saved


def log_skipped(feed_id: str, reason: str) -> None:
    log_event(log, logging.DEBUG, "feed_skipped", feed_id=feed_id, reason=reason)


def is_leased(feed: Feed, now: datetime) -> bool:
    """Whether an attempt has the lease."""
    return feed.lease is not None and not is_over(feed.lease.until, now, WORK_LEASE)


def leasing_run(feed: Mapping[str, Any], now: datetime) -> str | None:
    """The run whose attempt has the lease of the stored feed."""
    lease = feed.get("lease")
    return None if not lease or is_over(parse_time(lease["until"]), now, WORK_LEASE) else lease["run_id"]


def _after_earlier_attempts(feed: Feed, now: datetime) -> datetime:
    """`now`, or a second after the latest time that an earlier attempt has recorded. Times of a clock that was ahead
    do not count: the feed would be due by that clock again."""
    times = [feed.last_fetch_time, feed.lease.started_at if feed.lease is not None else None]
    return max([now, *(each + timedelta(seconds=1) for each in times if each is not None and not is_ahead(each, now))])


def _operations(feed: Document, etag: str, seen: Document | None) -> list[Operation]:
    return [Replace(feed, etag), *([Upsert(seen)] if seen is not None else [])]


def _merged(wanted: Document, before: Document, fresh: Document) -> Document:
    """`wanted`, but with all changes that others made to the feed since `before`."""
    theirs = {name for name in before.keys() | fresh.keys() if before.get(name) != fresh.get(name)}
    if theirs & {"enabled", "disabled_by"}:
        theirs |= _DISABLING
    merged = {**wanted, **{name: fresh.get(name) for name in theirs if name != "updated_at"}}
    return {name: value for name, value in merged.items() if value is not None}


def _ours(feed: Mapping[str, Any]) -> tuple[Any, ...]:
    """A worker that finds another value here has lost the feed to another attempt."""
    lease = feed.get("lease") or {}
    return lease.get("run_id"), lease.get("attempt_no"), feed.get("feed_url"), feed.get("last_fetch_time")
