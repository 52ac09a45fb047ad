"""A worker's hold on a feed: taken up once, kept while it works, and given back with the save. Store only, no rules.

Whatever the worker stored meanwhile is right without it; the lease only keeps a feed from being fetched twice at once,
and the save from being done by somebody whose claim is another's by now.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta

from models.errors import ChangedMeanwhile
from models.feed import Feed
from models.values import format_time, parse_time
from services.articles.messages import Claimed
from services.feeds.outcome import RELEASED
from services.logs import log_event
from services.ports import Clock, Document, Store
from services.runs.attempts import give_up_unsaved
from services.store.containers import FEEDS

log = logging.getLogger("toolpulse.ingest")

WORK_LEASE = timedelta(minutes=3)
"""Longer than the longest fetch, with all its attempts and pauses, and all that follows it."""

TRIES = 8


@dataclass(frozen=True, slots=True)
class Lease:
    """The feed as it was when this delivery took it up, and as it is stored since."""

    feed: Feed
    document: Document


@dataclass(frozen=True, slots=True)
class AtWork:
    """Another delivery of the message, which is no older, is at work on the feed."""

    feed_id: str


class Leases:
    def __init__(self, store: Store, clock: Clock) -> None:
        self._store = store
        self._clock = clock

    async def take_up(
        self, document: Document | None, claim: Claimed, delivery: int, *, even_disabled: bool = False
    ) -> Lease | AtWork | None:
        """The feed, if it is this delivery's to work on; None if its claim is not the message's any more.

        A message that is delivered again takes over from its delivery before, which has failed or died. Of a run that
        has lost the feed, the attempts at it are taken back: whoever takes it up counts anew what they counted.
        """
        for _ in range(TRIES):
            now = self._clock()
            if document is None or document.get("claim_id") != claim.claim_id:
                return None
            if _is_at_work(document, delivery, now):
                return AtWork(claim.feed_id)
            if document.get("unsaved_run"):
                await self._give_up(document, document["unsaved_run"], document["unsaved_delivery"])
            taken = {
                **document,
                "claimed_until": format_time(now + WORK_LEASE),
                "claim_delivery": delivery,
                "unsaved_run": None,
                "unsaved_delivery": 0,
                "unsaved_since": document.get("unsaved_since") or format_time(now),
                # Never back: the moment of what is done under the lease follows from it.
                "updated_at": max(document["updated_at"], format_time(now)),
            }
            if document.get("unsaved_since"):
                taken |= _NOT_KNOWN
            wanted = even_disabled or document["enabled"]
            if not wanted:
                taken = {**document, **RELEASED, "unsaved_since": document.get("unsaved_since")}
            try:
                stored = await self._store.replace(FEEDS.name, without_nulls(taken), document["_etag"])
            except ChangedMeanwhile:
                document = await self._store.read(FEEDS.name, claim.feed_id, Feed.ID)
                continue
            if document.get("claim_delivery"):  # not before: until then it may have been saved after all
                await self._give_up(document, claim.claim_id, document["claim_delivery"])
            return Lease(Feed.from_document(stored), stored) if wanted else None
        return None

    async def _give_up(self, feed: Document, run_id: str, delivery: int) -> None:
        since = parse_time(feed["unsaved_since"])
        await give_up_unsaved(self._store, run_id, feed["feed_id"], delivery, since)

    async def claim_for(self, run_id: str, feed_id: str) -> Document | None:
        """Claims a feed for a run that is no fetch; None if it is gone. ChangedMeanwhile while it is another's."""
        document = await self._store.read(FEEDS.name, feed_id, Feed.ID)
        if document is None or document.get("claim_id") == run_id:
            return document
        now = self._clock()
        if str(document.get("claimed_until") or "") > format_time(now):
            raise ChangedMeanwhile(f"feed {feed_id} is being fetched")
        return await self._store.replace(FEEDS.name, claimed_by(run_id, document, now + WORK_LEASE), document["_etag"])

    async def save(self, feeds: Sequence[tuple[Lease, Feed]]) -> list[bool | BaseException]:
        """Writes the feeds and gives them back; False for one that is no longer ours.

        What a person changed meanwhile stays as that person wanted it.
        """
        wanted = [after.to_document() for _, after in feeds]
        changes = [(document, lease.document["_etag"]) for document, (lease, _) in zip(wanted, feeds, strict=True)]
        try:
            won = await self._store.replace_many(FEEDS.name, changes)
        except Exception as error:
            # Each sees by itself whether it is the one, and a bug over one keeps no other from being saved.
            log_event(log, logging.WARNING, "feeds_saved_one_by_one", feeds=len(feeds), error=type(error).__name__)
            won = [False] * len(feeds)
        results: list[bool | BaseException] = list(won)
        others = [place for place, saved in enumerate(won) if not saved]
        again = (self._save(feeds[place][0], wanted[place]) for place in others)
        for place, result in zip(others, await asyncio.gather(*again, return_exceptions=True), strict=True):
            results[place] = result
        return results

    async def _save(self, lease: Lease, wanted: Document) -> bool:
        held = lease.document
        for _ in range(TRIES):
            fresh = await self._store.read(FEEDS.name, lease.feed.feed_id, Feed.ID)
            if fresh is None:
                return False
            if all(fresh.get(name) == value for name, value in wanted.items()):
                return True  # it was written, though the answer was lost
            if any(fresh.get(name) != held.get(name) for name in _OURS):
                return False
            try:
                await self._store.replace(FEEDS.name, _merged(wanted, held, fresh), fresh["_etag"])
            except ChangedMeanwhile:
                continue
            return True
        return False


_NOT_KNOWN = dict.fromkeys(("etag", "last_modified", "body_hash", "seen_at"))
"""What says that a document, or an entry, is as it was when the feed was saved. A worker that died since may have taken
in another form of it, which has been taken back."""

_OURS = ("claim_id", "claim_delivery", "feed_url")


def claimed_by(run_id: str, feed: Document, until: datetime) -> Document:
    """The feed with a new claim. A run that had taken it up has lost it."""
    claimed = {**feed, "claim_id": run_id, "claimed_until": format_time(until), "claim_delivery": 0}
    if feed.get("claim_delivery"):
        claimed |= {"unsaved_run": feed["claim_id"], "unsaved_delivery": feed["claim_delivery"]}
    return claimed


def _is_at_work(document: Document, delivery: int, now: datetime) -> bool:
    begun = document.get("claim_delivery") or 0
    return begun >= delivery and str(document.get("claimed_until") or "") > format_time(now)


def _merged(wanted: Document, before: Document, fresh: Document) -> Document:
    """Our changes to `before`, and everybody else's, which win."""
    theirs = {name for name in before.keys() | fresh.keys() if before.get(name) != fresh.get(name)}
    return without_nulls({**wanted, **{name: fresh.get(name) for name in theirs if name != "updated_at"}})


def without_nulls(document: Document) -> Document:
    return {name: value for name, value in document.items() if value is not None}
