"""A worker's lease on a claimed feed: acquired once, renewed while the worker works, released when it saves the feed.

The lease keeps a feed from being fetched twice at once, and keeps a worker that lost its claim from saving the feed.
Everything else that a worker stores is right without the lease. Claiming the feeds that are due is in claims.py.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any, cast

from models.errors import ChangedMeanwhile
from models.feed import Feed, FeedAttemptDocument, FeedDocument
from models.values import format_time, parse_time
from services.logs import log_event
from services.ports import Clock, Document, Operation, Replace, Store, Upsert
from services.store.containers import FEEDS

log = logging.getLogger("toolpulse.ingest")

WORK_LEASE = timedelta(minutes=3)
"""Longer than the longest fetch with all its attempts and pauses, and all the work that follows it."""

INTERRUPTED_KEPT = timedelta(hours=1)
"""How long an interrupted attempt may still be running. During this time, each save of the feed counts its articles
again."""

MOST_INTERRUPTED = 20
TRIES = 8

RELEASED: dict[str, Any] = {"claim_id": None, "claimed_until": None, "current_attempt": None}
"""The fields that a save clears, whether the fetch succeeded or not."""

RECHECKED: dict[str, Any] = {"recheck_entries": True, "etag": None, "last_modified": None, "body_hash": None}
"""Set on a feed after an interrupted attempt, which may have stored an older form of an entry than the source has now.
The next attempt fetches the whole feed document and compares every entry with its article."""

_OURS = ("claim_id", "current_attempt", "feed_url")
"""A worker that finds another value in one of these has lost the feed to another attempt."""


@dataclass(frozen=True, slots=True)
class Lease:
    """The feed as the attempt acquired it, the document as it was stored then, and the attempt.

    `started_at` is later than the start of every earlier attempt at the feed, even if the clocks of the workers differ.
    """

    feed: Feed
    document: FeedDocument
    run_id: str
    attempt_no: int
    started_at: datetime


@dataclass(frozen=True, slots=True)
class AtWork:
    """Another delivery of the same message works on the feed."""

    feed_id: str


class Leases:
    def __init__(self, store: Store, clock: Clock) -> None:
        self._store = store
        self._clock = clock

    async def acquire(
        self,
        document: Document | None,
        run_id: str,
        attempt_no: int,
        task_name: str,
        *,
        even_disabled: bool = False,
    ) -> Lease | AtWork | None:
        """Begins an attempt at the feed; None if the run no longer has the claim, or the feed was disabled.

        `document` is the feed as it was read. A message that is delivered again takes over the feed from its earlier
        delivery, which has failed or died.
        """
        for _ in range(TRIES):
            now = self._clock()
            if document is None or document.get("claim_id") != run_id:
                log_event(log, logging.DEBUG, "feed_skipped", run_id=run_id, reason="gone, or of another run")
                return None
            feed = cast(FeedDocument, document)
            if _is_at_work(feed, run_id, attempt_no, now):
                log_event(
                    log, logging.DEBUG, "feed_skipped", feed_id=feed["feed_id"], reason="another delivery works on it"
                )
                return AtWork(feed["feed_id"])
            wanted = even_disabled or feed["enabled"]
            after = _acquired(feed, run_id, attempt_no, task_name, now) if wanted else _released(feed, now)
            try:
                stored = await self._store.replace(FEEDS.name, without_nulls(after), feed["_etag"])
            except ChangedMeanwhile:
                document = await self._store.read(FEEDS.name, feed["feed_id"], Feed.ID)
                continue
            return _lease(stored) if wanted else None
        return None

    async def claim_for(self, run_id: str, feed_id: str) -> Document | None:
        """Claims a feed for a run that fetches nothing; None if the feed is gone.

        Raises ChangedMeanwhile while another run has the claim.
        """
        document = await self._store.read(FEEDS.name, feed_id, Feed.ID)
        if document is None or document.get("claim_id") == run_id:
            return document
        feed, now = cast(FeedDocument, document), self._clock()
        if is_claimed(feed, now):
            raise ChangedMeanwhile(f"feed {feed_id} is being fetched")
        return await self._store.replace(FEEDS.name, claimed_by(run_id, feed, now + WORK_LEASE), feed["_etag"])

    async def save(self, feeds: Sequence[tuple[Lease, Feed, Document | None]]) -> list[bool | BaseException]:
        """Saves each feed, released, with its `seen` document if there is one; False for a feed that was lost to
        another attempt.

        Changes that a person made to the feed since it was acquired are kept.
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
            if any(fresh.get(name) != lease.document.get(name) for name in _OURS):
                return False
            merged = _merged(wanted, lease.document, fresh)
            try:
                await self._store.batch(FEEDS.name, fresh["feed_id"], _operations(merged, fresh["_etag"], seen))
            except ChangedMeanwhile:
                continue
            return True
        return False


def is_claimed(feed: FeedDocument, now: datetime) -> bool:
    return (feed.get("claimed_until") or "") > format_time(now)


def claimed_by(run_id: str, feed: FeedDocument, until: datetime) -> FeedDocument:
    """The feed with a new claim. The attempt of a run that lost the claim stays until the feed is acquired."""
    return {**feed, "claim_id": run_id, "claimed_until": format_time(until)}


def interrupted_attempts(feed: FeedDocument, now: datetime) -> list[FeedAttemptDocument]:
    """The attempts that began and never saved the feed, except those that were counted and began long ago."""
    oldest = format_time(now - INTERRUPTED_KEPT)
    current = feed.get("current_attempt")
    found = [*feed.get("interrupted_attempts", ()), *([current] if current else [])]
    return [each for each in found if each.get("counted") is None or each["started_at"] > oldest][-MOST_INTERRUPTED:]


def _acquired(feed: FeedDocument, run_id: str, attempt_no: int, task_name: str, now: datetime) -> FeedDocument:
    interrupted = interrupted_attempts(feed, now)
    # A message that was sent twice may try again under the same number. Each attempt counts what it added itself.
    numbers = [each["attempt_no"] + 1 for each in interrupted if each["run_id"] == run_id]
    acquired: FeedDocument = {
        **feed,
        "claimed_until": format_time(now + WORK_LEASE),
        "current_attempt": {
            "run_id": run_id,
            "attempt_no": max([attempt_no, *numbers]),
            "task_name": task_name,
            "started_at": format_time(_after_earlier_attempts(feed, now)),
        },
        "interrupted_attempts": interrupted,
        "updated_at": max(feed["updated_at"], format_time(now)),
    }
    return _rechecked(acquired) if feed.get("current_attempt") else acquired


def _after_earlier_attempts(feed: FeedDocument, now: datetime) -> datetime:
    """`now`, or a second after the latest time that an earlier attempt has recorded."""
    current = feed.get("current_attempt")
    recorded = (feed.get("last_fetch_time"), current["started_at"] if current else None)
    return max([now, *(parse_time(each) + timedelta(seconds=1) for each in recorded if each is not None)])


def _released(feed: FeedDocument, now: datetime) -> FeedDocument:
    """The feed without claim. An attempt that never saved the feed is listed as interrupted."""
    released = cast(FeedDocument, {**feed, **RELEASED, "interrupted_attempts": interrupted_attempts(feed, now)})
    return _rechecked(released) if feed.get("current_attempt") else released


def _rechecked(feed: FeedDocument) -> FeedDocument:
    return cast(FeedDocument, {**feed, **RECHECKED})


def _is_at_work(feed: FeedDocument, run_id: str, attempt_no: int, now: datetime) -> bool:
    current = feed.get("current_attempt")
    is_same_run = current is not None and current["run_id"] == run_id and current["attempt_no"] >= attempt_no
    return is_same_run and is_claimed(feed, now)


def _lease(stored: Document) -> Lease:
    feed = Feed.from_document(stored)
    attempt = feed.current_attempt
    assert attempt is not None, "an acquired feed has an attempt"
    return Lease(feed, cast(FeedDocument, stored), attempt.run_id, attempt.attempt_no, attempt.started_at)


def _operations(feed: Document, etag: str, seen: Document | None) -> list[Operation]:
    return [Replace(feed, etag), *([Upsert(seen)] if seen is not None else [])]


def _merged(wanted: Document, before: FeedDocument, fresh: Document) -> Document:
    """`wanted`, but with all changes that others made to the feed since `before`."""
    theirs = {name for name in before.keys() | fresh.keys() if before.get(name) != fresh.get(name)}
    return without_nulls({**wanted, **{name: fresh.get(name) for name in theirs if name != "updated_at"}})


def without_nulls(document: Mapping[str, Any]) -> Document:
    return {name: value for name, value in document.items() if value is not None}
