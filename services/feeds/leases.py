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
from typing import Any, cast

from models.errors import ChangedMeanwhile
from models.feed import Feed, FeedAttemptDocument, FeedDocument
from models.values import format_time, is_ahead, is_over, parse_time
from services.logs import log_event
from services.ports import Clock, Document, Operation, Replace, Store, Upsert
from services.store.containers import FEEDS

log = logging.getLogger("toolpulse.ingest")

WORK_LEASE = timedelta(minutes=3)
"""Longer than the longest fetch with all its attempts and pauses, and all the work that follows it."""

INTERRUPTED_KEPT = timedelta(hours=1)
"""How long an interrupted attempt may still be running. During this time, each save of the feed counts its articles
again."""

MOST_DEATHS = 3
"""After so many deaths in a row of workers that worked on it alone, a feed is given up."""

MOST_INTERRUPTED = 20
TRIES = 8

RELEASED: dict[str, Any] = {"claim_id": None, "claimed_until": None, "current_attempt": None}
"""The fields that a save clears, whether the fetch succeeded or not."""

RECHECKED: dict[str, Any] = {"recheck_entries": True, "etag": None, "last_modified": None, "body_hash": None}
"""Set on a feed after an interrupted attempt, which may have stored an older form of an entry than the source has now.
The next attempt fetches the whole feed document and compares every entry with its article."""

_DISABLING = frozenset(
    {"enabled", "disabled_reason", "disabled_at", "disabled_by", "disabled_cause", "probes", "probe_at"}
    | {"verdict", "verdict_since", "verdict_reason"}
)
"""Fields that belong together: if a person disabled or enabled the feed meanwhile, all are as that person's change left
them."""


@dataclass(frozen=True, slots=True)
class Lease:
    """An attempt at a feed: the feed as the attempt has it, and the document as it is stored.

    `is_stored`: the attempt has the lease. Before, it must store no articles. `alone`: see FeedAttempt. `started_at` is
    later than the start of every earlier attempt at the feed, even if the clocks of the workers differ.
    """

    feed: Feed
    document: FeedDocument
    run_id: str
    attempt_no: int
    task_name: str
    started_at: datetime
    is_stored: bool = False
    alone: bool = False


@dataclass(frozen=True, slots=True)
class AtWork:
    """Another delivery of the same message has the lease of the feed."""

    feed_id: str


class Leases:
    def __init__(self, store: Store, clock: Clock) -> None:
        self._store = store
        self._clock = clock

    def begun(
        self, document: Document, run_id: str, attempt_no: int, task_name: str, *, alone: bool = False
    ) -> Lease | AtWork | None:
        """An attempt at the feed that was read as `document`. Writes nothing. None while an attempt of another run has
        the lease.

        A message that is delivered again takes over the feed from its earlier delivery, which has failed or died.
        """
        feed, now = cast(FeedDocument, document), self._clock()
        if is_leased(feed, now):
            current = feed["current_attempt"] or {}
            if current["run_id"] != run_id:
                log_skipped(feed["feed_id"], "another run works on it")
                return None
            if current["attempt_no"] >= attempt_no:
                log_skipped(feed["feed_id"], "another delivery works on it")
                return AtWork(feed["feed_id"])
        return replace(_begun(feed, run_id, attempt_no, task_name, now), alone=alone)

    async def acquire(self, lease: Lease) -> Lease | AtWork | None:
        """Stores the lease for WORK_LEASE; None if another attempt has had the feed meanwhile, or the feed is gone.
        Changes that a person made to the feed meanwhile are kept."""
        for _ in range(TRIES):
            # As a person's change writes the feed: a field that only looks different then would count as changed.
            wanted = Feed.from_document(_leased(lease, self._clock())).to_document()
            try:
                stored = await self._store.replace(FEEDS.name, wanted, lease.document["_etag"])
            except ChangedMeanwhile:
                fresh = await self._store.read(FEEDS.name, lease.feed.feed_id, Feed.ID)
                if fresh is None:
                    return None
                if _ours(fresh) != _ours(lease.document):
                    return AtWork(lease.feed.feed_id) if fresh.get("claim_id") == lease.run_id else None
                again = cast(FeedDocument, fresh)
                begun = _begun(again, lease.run_id, lease.attempt_no, lease.task_name, lease.started_at)
                lease = replace(begun, alone=lease.alone)
                continue
            return replace(lease, feed=Feed.from_document(stored), document=cast(FeedDocument, stored), is_stored=True)
        return None

    async def release(self, document: Document) -> None:
        """Takes the lease from a feed that must not be fetched any more, such as a disabled one."""
        after = _released(cast(FeedDocument, document), self._clock())
        with suppress(ChangedMeanwhile):
            await self._store.replace(FEEDS.name, without_nulls(after), document["_etag"])

    async def outlived(self, feed_id: str, run_id: str) -> None:
        """Records that an attempt of this run failed without the death of its worker, if it has the lease."""
        document = await self._store.read(FEEDS.name, feed_id, Feed.ID)
        current = document and document.get("current_attempt")
        if document is None or not current or current["run_id"] != run_id or not current.get("alone"):
            return
        with suppress(ChangedMeanwhile):
            after = {**document, "current_attempt": {**current, "alone": False}}
            await self._store.replace(FEEDS.name, after, document["_etag"])

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
        for _ in range(TRIES):
            fresh = await self._store.read(FEEDS.name, lease.feed.feed_id, Feed.ID)
            if fresh is None:
                return False
            if all(fresh.get(name) == value for name, value in wanted.items()):
                return True  # it was saved, and the response was lost
            if _ours(fresh) != _ours(lease.document):
                return False
            merged = _merged(wanted, lease.document, fresh)
            try:
                await self._store.batch(FEEDS.name, fresh["feed_id"], _operations(merged, fresh["_etag"], seen))
            except ChangedMeanwhile:
                continue
            return True
        return False


def log_skipped(feed_id: str, reason: str) -> None:
    log_event(log, logging.DEBUG, "feed_skipped", feed_id=feed_id, reason=reason)


def is_leased(feed: FeedDocument, now: datetime) -> bool:
    """Whether an attempt has the lease. A claim without an attempt is one of an earlier version, and counts no more."""
    until = feed.get("claimed_until")
    return bool(feed.get("current_attempt") and until) and not is_over(parse_time(until), now, WORK_LEASE)


def interrupted_attempts(feed: FeedDocument, now: datetime) -> list[FeedAttemptDocument]:
    """The attempts that began and never saved the feed, except those that were counted and began long ago, or by a
    clock that was ahead."""
    current = feed.get("current_attempt")
    found = [*feed.get("interrupted_attempts", ()), *([current] if current else [])]
    return [each for each in found if each.get("counted") is None or _may_run(each, now)][-MOST_INTERRUPTED:]


def deaths_of(feed: FeedDocument, now: datetime) -> int:
    """How many workers in a row have died while they worked on the feed alone. A saved feed has counted its attempts:
    then the row ends."""
    return sum(bool(each.get("alone")) and each.get("counted") is None for each in interrupted_attempts(feed, now))


def _may_run(attempt: FeedAttemptDocument, now: datetime) -> bool:
    return not is_over(parse_time(attempt["started_at"]) + INTERRUPTED_KEPT, now, INTERRUPTED_KEPT)


def _begun(feed: FeedDocument, run_id: str, attempt_no: int, task_name: str, now: datetime) -> Lease:
    """The attempt. Another one that had the lease is interrupted."""
    interrupted = interrupted_attempts(feed, now)
    # A message that was sent twice may try again under the same number. Each attempt counts what it added itself.
    numbers = [each["attempt_no"] + 1 for each in interrupted if each["run_id"] == run_id]
    begun = _released(feed, now)
    started_at = _after_earlier_attempts(feed, now)
    number = max([attempt_no, *numbers])
    return Lease(Feed.from_document(begun), feed, run_id, number, task_name, started_at)


def _leased(lease: Lease, now: datetime) -> FeedDocument:
    attempt: FeedAttemptDocument = {
        "run_id": lease.run_id,
        "attempt_no": lease.attempt_no,
        "task_name": lease.task_name,
        "started_at": format_time(lease.started_at),
    }
    if lease.alone:
        attempt["alone"] = True
    return {
        **_released(lease.document, now),
        "claim_id": lease.run_id,
        "claimed_until": format_time(now + WORK_LEASE),
        "current_attempt": attempt,
        "updated_at": max(lease.document["updated_at"], format_time(now)),
    }


def _after_earlier_attempts(feed: FeedDocument, now: datetime) -> datetime:
    """`now`, or a second after the latest time that an earlier attempt has recorded. Times of a clock that was ahead
    do not count: the feed would be due by that clock again."""
    current = feed.get("current_attempt")
    recorded = (feed.get("last_fetch_time"), current["started_at"] if current else None)
    times = [parse_time(each) for each in recorded if each is not None]
    return max([now, *(each + timedelta(seconds=1) for each in times if not is_ahead(each, now))])


def _released(feed: FeedDocument, now: datetime) -> FeedDocument:
    """The feed without a lease. An attempt that never saved the feed is listed as interrupted."""
    released = cast(FeedDocument, {**feed, **RELEASED, "interrupted_attempts": interrupted_attempts(feed, now)})
    return _rechecked(released) if feed.get("current_attempt") else released


def _rechecked(feed: FeedDocument) -> FeedDocument:
    return cast(FeedDocument, {**feed, **RECHECKED})


def _operations(feed: Document, etag: str, seen: Document | None) -> list[Operation]:
    return [Replace(feed, etag), *([Upsert(seen)] if seen is not None else [])]


def _merged(wanted: Document, before: FeedDocument, fresh: Document) -> Document:
    """`wanted`, but with all changes that others made to the feed since `before`."""
    theirs = {name for name in before.keys() | fresh.keys() if before.get(name) != fresh.get(name)}
    if theirs & {"enabled", "disabled_by"}:
        theirs |= _DISABLING
    merged = {**wanted, **{name: fresh.get(name) for name in theirs if name != "updated_at"}}
    return without_nulls(merged)


def _ours(feed: Mapping[str, Any]) -> tuple[Any, ...]:
    """A worker that finds another value here has lost the feed to another attempt."""
    attempt = feed.get("current_attempt") or {}
    return attempt.get("run_id"), attempt.get("attempt_no"), feed.get("feed_url"), feed.get("last_fetch_time")


def without_nulls(document: Mapping[str, Any]) -> Document:
    return {name: value for name, value in document.items() if value is not None}
