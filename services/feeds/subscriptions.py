"""Subscribes to the hubs that feeds name, verifies, renews and ends subscriptions, and takes pushes.

websub.py decides. What is asked of a hub is stored before the hub is asked, since it may verify before it answers; a
feed and its subscription are written in one batch. After a crash in between, the hub is asked again when the wait for
its verification is over.
"""

from __future__ import annotations

import asyncio
import hmac
import logging
from collections.abc import Callable
from datetime import timedelta
from typing import Protocol
from urllib.parse import urlencode

from models.errors import ChangedMeanwhile, Conflict, NotFound
from models.feed import Feed
from models.values import format_time
from models.websub import FeedSubscription
from services import deadline
from services.feeds.form import is_feed_id
from services.feeds.websub import (
    LEASE,
    Step,
    Verification,
    after_answer,
    is_signed,
    next_step,
    pushed,
    verified,
)
from services.logs import log_event
from services.ports import Clock, Create, Delete, Operation, Query, Replace, Store, Where, readable
from services.store.containers import FEEDS

log = logging.getLogger("toolpulse.websub")

AT_ONCE = 10
MOST_AT_A_TIME = 200
"""Feeds that one tick looks after."""
_TRIES = 8
_CALLBACK = "/api/websub/"

Decide = Callable[[Feed | None, FeedSubscription | None], Step | None]


class Posts(Protocol):
    """The part of the fetcher that hubs need."""

    async def post_form(self, url: str, form: bytes) -> int | None:
        """The status code of the response; None without one."""
        ...


class Subscriptions:
    """`public_url` is where hubs reach this app; without it, no hub is asked, and verifications and pushes are still
    answered. `new_text` gives texts that nobody can guess."""

    def __init__(self, store: Store, posts: Posts, clock: Clock, public_url: str, new_text: Callable[[], str]) -> None:
        self._store = store
        self._posts = posts
        self._clock = clock
        self._public_url = public_url.rstrip("/")
        self._new_text = new_text

    async def work(self) -> int:
        """Does what is due. Returns the number of requests to hubs."""
        if not self._public_url:
            return 0
        where = (Where("websub_due_at", "le", format_time(self._clock())),)
        page = await self._store.query(FEEDS.name, Query(where, limit=MOST_AT_A_TIME))
        places = asyncio.Semaphore(AT_ONCE)

        async def work(feed_id: str) -> bool:
            async with places:
                return not deadline.is_near() and await self._work(feed_id)

        due = dict.fromkeys(each["feed_id"] for each in page.items)
        return sum(await asyncio.gather(*(work(each) for each in due)))

    async def verify(self, token: str, asked: Verification) -> str:
        """The challenge, if the hub may have it. Raises NotFound."""
        feed_id = _feed_of(token)
        found: list[FeedSubscription] = []

        def decide(feed: Feed | None, known: FeedSubscription | None) -> Step | None:
            if known is None or not _is_token(known, token):
                return None
            step = verified(feed, known, asked, self._clock())
            found[:] = [known] if step is not None else []
            return step

        await self._change(feed_id, decide)
        if not found:
            raise NotFound("websub: nothing like this was asked for")
        fields = {"feed_id": feed_id, "mode": asked.mode, "lease_seconds": asked.lease_seconds}
        log_event(log, logging.INFO, "websub_verified", **fields)
        return asked.challenge

    async def push(self, token: str, body: bytes, signature: str) -> bool:
        """Whether the push is the hub's: its feed is then fetched soon. Raises NotFound for an unknown subscription."""
        feed_id = _feed_of(token)
        feed, known = await self._read(feed_id)
        if known is None or not _is_token(known, token):
            raise NotFound("websub: there is no such subscription")
        if not is_signed(known, body, signature):
            log_event(log, logging.WARNING, "websub_push_refused", feed_id=feed_id)
            return False
        for _ in range(_TRIES):
            after = pushed(feed, self._clock()) if feed is not None else None
            if feed is None or after is None:
                return True
            try:
                await self._store.replace(FEEDS.name, after.to_document(), feed.stored_etag or "")
            except ChangedMeanwhile:
                feed, _ = await self._read(feed_id)
                continue
            log_event(log, logging.INFO, "websub_pushed", feed_id=feed_id)
            return True
        raise ChangedMeanwhile(f"feed {feed_id} keeps changing")  # the hub pushes again

    async def _work(self, feed_id: str) -> bool:
        """Whether the hub was asked."""
        now = self._clock()
        step = await self._change(feed_id, lambda feed, known: next_step(feed, known, now, self._new_text))
        known = step.subscription if step is not None else None
        if step is None or known is None or step.asked is None:
            return False
        status = await self._posts.post_form(known.hub, self._form(known))
        asked = {"feed_id": feed_id, "mode": step.asked, "status_code": status, "tries": known.tries}
        log_event(log, logging.INFO, "websub_asked", **asked)

        def answered(feed: Feed | None, present: FeedSubscription | None) -> Step | None:
            """The hub may have verified before it answered."""
            if present is None or (present.mode, present.tries) != (known.mode, known.tries):
                return None
            return after_answer(feed, present, status, self._clock())

        await self._change(feed_id, answered)
        return True

    def _form(self, known: FeedSubscription) -> bytes:
        fields = {
            "hub.callback": f"{self._public_url}{_CALLBACK}{known.token}",
            "hub.mode": known.mode,
            "hub.topic": known.topic,
        }
        if known.mode == "subscribe":
            fields |= {"hub.lease_seconds": str(int(LEASE / timedelta(seconds=1))), "hub.secret": known.secret}
        return urlencode(fields).encode()

    async def _read(self, feed_id: str) -> tuple[Feed | None, FeedSubscription | None]:
        keys = [(feed_id, Feed.ID), (feed_id, FeedSubscription.ID)]
        feed, known = await self._store.read_many(FEEDS.name, keys)
        return readable(feed, Feed.from_document), readable(known, FeedSubscription.from_document)

    async def _change(self, feed_id: str, decide: Decide) -> Step | None:
        """Writes what is decided, and returns it."""
        for _ in range(_TRIES):
            feed, known = await self._read(feed_id)
            step = decide(feed, known)
            if step is None:
                return None
            operations = self._operations(feed, known, step)
            try:
                if operations:
                    await self._store.batch(FEEDS.name, feed_id, operations)
            except (Conflict, ChangedMeanwhile):
                continue
            return step
        raise ChangedMeanwhile(f"feed {feed_id} keeps changing")

    def _operations(self, feed: Feed | None, known: FeedSubscription | None, step: Step) -> list[Operation]:
        operations: list[Operation] = []
        after = step.subscription
        if known is None and after is not None:
            operations.append(Create(after.to_document()))
        elif known is not None and after is None:
            operations.append(Delete(FeedSubscription.ID, known.stored_etag))
        elif known is not None and after is not None and after != known:
            operations.append(Replace(after.to_document(), known.stored_etag or ""))
        if feed is not None and feed.websub != step.websub:
            changed = feed.changed(self._clock(), websub=step.websub)
            operations.append(Replace(changed.to_document(), feed.stored_etag or ""))
        return operations


def _feed_of(token: str) -> str:
    """The feed that the token begins with. Raises NotFound."""
    feed_id = token.rpartition(".")[0]
    if not is_feed_id(feed_id):
        raise NotFound("websub: there is no such subscription")
    return feed_id


def _is_token(known: FeedSubscription, token: str) -> bool:
    return hmac.compare_digest(known.token.encode(), token.encode())
