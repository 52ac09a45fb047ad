"""A worker's lease on a claimed feed: taken up once, kept while the worker works, given back when it saves the feed.

The lease keeps a feed from being fetched twice at once, and keeps a worker that lost its claim from saving. What a
worker stores besides the feed is right without the lease. Claiming what is due is in claims.py.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any

from models.errors import ChangedMeanwhile
from models.feed import Feed
from models.values import format_time, parse_time
from services.logs import log_event
from services.ports import Clock, Document, Operation, Replace, Store, Upsert
from services.store.containers import FEEDS

log = logging.getLogger("toolpulse.ingest")

WORK_LEASE = timedelta(minutes=3)
"""Longer than the longest fetch with all its attempts and pauses, and all the work that follows it."""

INTERRUPTED_KEPT = timedelta(hours=1)
"""For how long an interrupted attempt may still be running. Its articles are counted again until then."""

MOST_INTERRUPTED = 20
TRIES = 8

RELEASED: dict[str, Any] = {"claim_id": None, "claimed_until": None, "current_attempt": None}
"""What a save changes in the feed, whatever came of the fetch."""


@dataclass(frozen=True, slots=True)
class Lease:
    """The feed as this attempt took it up, and the document that is stored since."""

    feed: Feed
    document: Document

    @property
    def run_id(self) -> str:
        assert self.feed.current_attempt is not None, "a feed that was taken up has an attempt"
        return self.feed.current_attempt.run_id

    @property
    def attempt_no(self) -> int:
        assert self.feed.current_attempt is not None, "a feed that was taken up has an attempt"
        return self.feed.current_attempt.attempt_no

    @property
    def started_at(self) -> datetime:
        """Later than the start of every earlier attempt at the feed, whatever the clocks of the workers say."""
        assert self.feed.current_attempt is not None, "a feed that was taken up has an attempt"
        return self.feed.current_attempt.started_at


@dataclass(frozen=True, slots=True)
class AtWork:
    """Another delivery of the same message is at work on the feed."""

    feed_id: str


class Leases:
    def __init__(self, store: Store, clock: Clock) -> None:
        self._store = store
        self._clock = clock

    async def take_up(
        self,
        document: Document | None,
        run_id: str,
        attempt_no: int,
        task_name: str,
        *,
        even_disabled: bool = False,
    ) -> Lease | AtWork | None:
        """Begins an attempt at the feed; None if the run no longer has the claim, or the feed was disabled.

        `document` is the feed as it was read. A redelivered message takes the feed over from its earlier delivery,
        which has failed or died.
        """
        for _ in range(TRIES):
            now = self._clock()
            if document is None or document.get("claim_id") != run_id:
                return None
            if _is_at_work(document, run_id, attempt_no, now):
                return AtWork(document["feed_id"])
            wanted = even_disabled or document["enabled"]
            after = _taken_up(document, run_id, attempt_no, task_name, now) if wanted else _released(document, now)
            try:
                stored = await self._store.replace(FEEDS.name, without_nulls(after), document["_etag"])
            except ChangedMeanwhile:
                document = await self._store.read(FEEDS.name, document["feed_id"], Feed.ID)
                continue
            return Lease(Feed.from_document(stored), stored) if wanted else None
        return None

    async def claim_for(self, run_id: str, feed_id: str) -> Document | None:
        """Claims a feed for a run that fetches nothing; None if the feed is gone.

        Raises ChangedMeanwhile while another run has the claim.
        """
        document = await self._store.read(FEEDS.name, feed_id, Feed.ID)
        if document is None or document.get("claim_id") == run_id:
            return document
        now = self._clock()
        if str(document.get("claimed_until") or "") > format_time(now):
            raise ChangedMeanwhile(f"feed {feed_id} is being fetched")
        return await self._store.replace(FEEDS.name, claimed_by(run_id, document, now + WORK_LEASE), document["_etag"])

    async def save(self, feeds: Sequence[tuple[Lease, Feed, Document | None]]) -> list[bool | BaseException]:
        """Saves each feed, released, with its `seen` document if there is one; False for a feed that was lost to
        another attempt.

        What a person changed in the feed meanwhile is kept.
        """
        wanted = [after.to_document() for _, after, _ in feeds]
        batches = [
            (lease.feed.feed_id, _operations(document, lease.document["_etag"], seen))
            for document, (lease, _, seen) in zip(wanted, feeds, strict=True)
        ]
        try:
            saved = [isinstance(each, list) for each in await self._store.batch_many(FEEDS.name, batches)]
        except Exception as error:
            # One by one, so that a fault in one feed keeps no other feed from being saved.
            log_event(log, logging.WARNING, "feeds_saved_one_by_one", feeds=len(feeds), error=type(error).__name__)
            saved = [False] * len(feeds)
        results: list[bool | BaseException] = list(saved)
        left = [place for place, done in enumerate(saved) if not done]
        again = (self._save(feeds[place][0], wanted[place], feeds[place][2]) for place in left)
        for place, result in zip(left, await asyncio.gather(*again, return_exceptions=True), strict=True):
            results[place] = result
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


_OURS = ("claim_id", "current_attempt", "feed_url")


def claimed_by(run_id: str, feed: Document, until: datetime) -> Document:
    """The feed with a new claim. The attempt of a run that lost the claim stays until the feed is taken up."""
    return {**feed, "claim_id": run_id, "claimed_until": format_time(until)}


def interrupted_attempts(feed: Document, now: datetime) -> list[Document]:
    """The attempts that began and never saved the feed, without those that ended long ago and were counted."""
    oldest = format_time(now - INTERRUPTED_KEPT)
    found: list[Document] = list(feed.get("interrupted_attempts", ()))
    if feed.get("current_attempt"):
        found.append(feed["current_attempt"])
    return [each for each in found if each.get("counted") is None or each["started_at"] > oldest][-MOST_INTERRUPTED:]


def _taken_up(document: Document, run_id: str, attempt_no: int, task_name: str, now: datetime) -> Document:
    started_at = max(now, *_earlier(document)) if _earlier(document) else now
    interrupted = interrupted_attempts(document, now)
    # A message that was sent twice may try again under the same number. Each attempt counts what it added itself.
    numbers = [each["attempt_no"] for each in interrupted if each["run_id"] == run_id]
    taken = {
        **document,
        "claimed_until": format_time(now + WORK_LEASE),
        "current_attempt": {
            "run_id": run_id,
            "attempt_no": max(attempt_no, *(number + 1 for number in numbers)) if numbers else attempt_no,
            "task_name": task_name,
            "started_at": format_time(started_at),
        },
        "interrupted_attempts": interrupted,
        "updated_at": max(document["updated_at"], format_time(now)),
    }
    if document.get("current_attempt"):
        taken |= _NOT_TRUSTED
    return taken


_NOT_TRUSTED: dict[str, Any] = {"recheck_entries": True, "etag": None, "last_modified": None, "body_hash": None}
"""An interrupted attempt may have stored another form of an entry, which the source has taken back since. So the next
attempt fetches the whole document and compares every entry with its article."""


def _earlier(document: Document) -> list[datetime]:
    """Each a second after something that an earlier attempt has dated."""
    times = [document.get("last_fetch_time"), (document.get("current_attempt") or {}).get("started_at")]
    return [parse_time(each) + timedelta(seconds=1) for each in times if each is not None]


def _released(document: Document, now: datetime) -> Document:
    """The feed without claim; an attempt that never saved the feed is kept as interrupted."""
    after = {**document, **RELEASED, "interrupted_attempts": interrupted_attempts(document, now)}
    return after | _NOT_TRUSTED if document.get("current_attempt") else after


def _is_at_work(document: Document, run_id: str, attempt_no: int, now: datetime) -> bool:
    current = document.get("current_attempt") or {}
    is_same_run = current.get("run_id") == run_id and current["attempt_no"] >= attempt_no
    return is_same_run and str(document.get("claimed_until") or "") > format_time(now)


def _operations(feed: Document, etag: str, seen: Document | None) -> list[Operation]:
    return [Replace(feed, etag), *([Upsert(seen)] if seen is not None else [])]


def _merged(wanted: Document, before: Document, fresh: Document) -> Document:
    """This attempt's changes, and everybody else's since `before`, which win."""
    theirs = {name for name in before.keys() | fresh.keys() if before.get(name) != fresh.get(name)}
    return without_nulls({**wanted, **{name: fresh.get(name) for name in theirs if name != "updated_at"}})


def without_nulls(document: Document) -> Document:
    return {name: value for name, value in document.items() if value is not None}
