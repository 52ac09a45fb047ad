"""The rules of WebSub subscriptions: when a hub is asked what, what its answers mean, how a push is proved, and how far
polling slows down. Pure; subscriptions.py does what they decide.

A push is a reason to fetch the feed soon, never a source of articles. Polling goes on in any case.
"""

from __future__ import annotations

import hashlib
import hmac
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta

from models.feed import Feed
from models.raw_item import Hub
from models.websub import FeedSubscription, FeedWebSub, WebSubMode, WebSubState

LEASE = timedelta(days=10)
"""What hubs are asked for."""
LONGEST_LEASE = timedelta(days=30)
RENEWED_AFTER = 0.8
"""The share of a lease after which it is renewed."""
VERIFIED_WITHIN = timedelta(hours=1)
"""How long after a request the hub may verify it."""
RETRIES = (timedelta(minutes=15), timedelta(hours=1), timedelta(hours=6), timedelta(days=1))
"""The waits after requests that were not verified; the last one again and again."""
AFTER_REFUSAL = timedelta(days=1)
LEAVING_TRIES = 3
LEAVING_RETRY = timedelta(minutes=15)
UNANSWERED_AFTER = 2
"""Requests without a verification, before the feed shows that the hub does not answer."""

PUSH_GAP = timedelta(seconds=30)
"""At least so long after a fetch, a push has the feed fetched again: pushes cannot have it fetched faster."""
NOTED_AGAIN = timedelta(seconds=5)
"""Pushes to a feed that is due already are noted at most so often."""
FRESH_PUSH = timedelta(minutes=10)
CHECKED_AGAIN = timedelta(minutes=2)
"""A fetch that finds nothing so soon after a push may have met an older copy of the feed: the feed is due again."""
SLOWED = 4
SLOWEST = timedelta(hours=1)
LATE = timedelta(minutes=10)
"""An article of this age, found by a poll without a push, was missed by the hub."""
DISTRUSTED = timedelta(days=1)
"""After the hub missed an article, polling is as without a hub."""

METHODS = ("sha256", "sha1", "sha384", "sha512")
LONGEST_CHALLENGE = 2_000
_TRY_AGAIN = (408, 425, 429)


@dataclass(frozen=True, slots=True)
class Step:
    """What is stored, and then asked of the hub. `subscription` None deletes it; `websub` is what the feed shows."""

    subscription: FeedSubscription | None
    websub: FeedWebSub | None
    asked: WebSubMode | None = None


@dataclass(frozen=True, slots=True)
class Verification:
    """The parameters of a hub's request to the callback."""

    mode: str
    topic: str
    challenge: str = ""
    lease_seconds: int | None = None


def named(known: FeedWebSub | None, hub: Hub | None, now: datetime) -> FeedWebSub | None:
    """What the feed shows after a feed document that names this hub, or none."""
    if hub is not None and known is not None and (known.hub, known.topic) == hub:
        return known if known.is_named else known.model_copy(update={"is_named": True, "next_at": now})
    if hub is not None:
        return FeedWebSub(hub=hub.url, topic=hub.topic, next_at=now)
    if known is None or known.state == "named":
        return None
    return known.model_copy(update={"is_named": False, "next_at": now}) if known.is_named else known


def next_step(
    feed: Feed | None, known: FeedSubscription | None, now: datetime, new_text: Callable[[], str]
) -> Step | None:
    """What is to be done now for a feed and its subscription; None if nothing is. `new_text` gives texts that nobody
    can guess."""
    websub = feed.websub if feed is not None and feed.enabled else None
    if feed is None or websub is None or not websub.is_named:
        return _leaving(feed, known, now)
    if known is not None and (known.hub, known.topic) != (websub.hub, websub.topic):
        return _leaving(feed, known, now)
    if known is not None and known.mode == "subscribe" and known.websub_due_at > now:
        if websub.next_at == known.websub_due_at:
            return None
        return Step(known, _shown(websub, known, "active" if _is_alive(known, now) else "requested"))
    before = known or FeedSubscription(
        created_at=now,
        updated_at=now,
        feed_id=feed.feed_id,
        hub=websub.hub,
        topic=websub.topic,
        token=f"{feed.feed_id}.{new_text()}",
        secret=new_text(),
        websub_due_at=now,
    )
    tries = before.tries if before.mode == "subscribe" else 0
    due = now + RETRIES[min(tries, len(RETRIES) - 1)]
    until = now + VERIFIED_WITHIN
    after = before.changed(now, mode="subscribe", tries=tries + 1, verify_until=until, websub_due_at=due)
    state: WebSubState = "unanswered" if tries >= UNANSWERED_AFTER else "requested"
    return Step(after, _shown(websub, after, "active" if _is_alive(after, now) else state), "subscribe")


def _leaving(feed: Feed | None, known: FeedSubscription | None, now: datetime) -> Step | None:
    websub = feed.websub if feed is not None else None
    left = Step(None, _left(feed, websub, now))
    if known is None:
        return left if left.websub != websub else None
    if not _is_alive(known, now):
        return left
    is_asked = known.mode == "unsubscribe"
    if is_asked and known.websub_due_at > now:
        return None
    if is_asked and known.tries >= LEAVING_TRIES:
        return left
    tries = known.tries + 1 if is_asked else 1
    due, until = now + LEAVING_RETRY, now + VERIFIED_WITHIN
    after = known.changed(now, mode="unsubscribe", tries=tries, verify_until=until, websub_due_at=due)
    return Step(after, None if websub is None else _shown(websub, after, "leaving"), "unsubscribe")


def after_answer(feed: Feed | None, known: FeedSubscription, status_code: int | None, now: datetime) -> Step | None:
    """What follows from the hub's answer to a request; None if the app waits for the verification, or tries again."""
    refused = status_code is not None and 400 <= status_code < 500 and status_code not in _TRY_AGAIN
    if not refused:
        return None
    websub = feed.websub if feed is not None else None
    if known.mode == "unsubscribe":
        return Step(None, _left(feed, websub, now))
    return _refused(websub, known, now, known.lease_ends)


def verified(feed: Feed | None, known: FeedSubscription, asked: Verification, now: datetime) -> Step | None:
    """What follows from a verification; None if it does not fit what the app has asked for: the hub gets a 404."""
    websub = feed.websub if feed is not None else None
    if asked.topic != known.topic:
        return None
    if asked.mode == "denied":
        return _refused(websub, known, now, None) if known.mode == "subscribe" else None
    is_open = known.verify_until is not None and now <= known.verify_until
    if asked.mode != known.mode or not is_open or not 1 <= len(asked.challenge) <= LONGEST_CHALLENGE:
        return None
    if known.mode == "unsubscribe":
        return Step(None, _left(feed, websub, now))
    if asked.lease_seconds is None or asked.lease_seconds < 1:
        return None
    lease = min(timedelta(seconds=min(asked.lease_seconds, 10**9)), LONGEST_LEASE)
    after = known.changed(now, tries=0, lease_ends=now + lease, websub_due_at=now + lease * RENEWED_AFTER)
    return Step(after, None if websub is None else _shown(websub, after, "active"))


def is_signed(known: FeedSubscription, body: bytes, signature: str) -> bool:
    """Whether the push is the hub's: `signature` is the header X-Hub-Signature, `method=hexadecimal digits`."""
    method, _, digest = signature.strip().partition("=")
    if method.lower() not in METHODS:
        return False
    expected = hmac.new(known.secret.encode(), body, getattr(hashlib, method.lower())).hexdigest()
    return hmac.compare_digest(expected.encode(), digest.strip().lower().encode())


def pushed(feed: Feed, now: datetime) -> Feed | None:
    """The feed after a push: due at once, or as soon after its last fetch as pushes may have it. None if that changes
    nothing. A feed that fails or was asked to wait keeps its schedule."""
    websub = feed.websub
    if websub is None or not feed.enabled:
        return None
    waits = feed.consecutive_errors > 0 or (feed.retry_after_until is not None and feed.retry_after_until > now)
    soon = now if feed.last_fetch_time is None else max(now, feed.last_fetch_time + PUSH_GAP)
    due = feed.next_fetch_time if waits else min(feed.next_fetch_time, soon)
    if websub.last_push is not None and abs(now - websub.last_push) < NOTED_AGAIN and due == feed.next_fetch_time:
        return None
    return feed.changed(now, websub=websub.model_copy(update={"last_push": now}), next_fetch_time=due)


def after_poll(
    websub: FeedWebSub | None, new_articles: int, published: Sequence[datetime], last: datetime | None, now: datetime
) -> FeedWebSub | None:
    """What the feed shows after a successful poll. `last` is when the one before was."""
    if websub is None or websub.state != "active" or not new_articles or last is None:
        return websub
    if websub.last_push is not None and websub.last_push >= last:
        return websub
    is_late = any(last < each < now - LATE for each in published)
    return websub.model_copy(update={"missed_at": now}) if is_late else websub


def slowed(websub: FeedWebSub | None, next_fetch_time: datetime, new_articles: int, now: datetime) -> datetime:
    """The next fetch of a feed, fetched at `now`, whose own rhythm would have it fetched at `next_fetch_time`."""
    if websub is None or websub.last_push is None:
        return next_fetch_time
    return after_push(websub.last_push, _slowed(websub, websub.last_push, next_fetch_time, new_articles, now), now)


def after_push(last_push: datetime, next_fetch_time: datetime, fetched_at: datetime) -> datetime:
    """The next fetch: soon, if a push came during the fetch that began at `fetched_at`, or right before it. The hub may
    have told of something that this fetch did not see, and a push right after another one is not noted. A push that a
    clock ahead has noted counts no more."""
    if not -NOTED_AGAIN < last_push - fetched_at < FRESH_PUSH:
        return next_fetch_time
    return min(next_fetch_time, fetched_at + PUSH_GAP)


def _slowed(
    websub: FeedWebSub, last_push: datetime, next_fetch_time: datetime, new_articles: int, now: datetime
) -> datetime:
    if websub.lease_ends is None or websub.lease_ends <= now:
        return next_fetch_time
    if abs(now - last_push) < FRESH_PUSH and not new_articles:
        return min(next_fetch_time, now + CHECKED_AGAIN)
    if websub.missed_at is not None and now - websub.missed_at < DISTRUSTED:
        return next_fetch_time
    wait = next_fetch_time - now
    return now + min(wait * SLOWED, max(wait, SLOWEST))


def _is_alive(known: FeedSubscription, now: datetime) -> bool:
    return known.lease_ends is not None and known.lease_ends > now


def _refused(websub: FeedWebSub | None, known: FeedSubscription, now: datetime, lease_ends: datetime | None) -> Step:
    after = known.changed(now, lease_ends=lease_ends, verify_until=None, websub_due_at=now + AFTER_REFUSAL)
    state: WebSubState = "active" if _is_alive(after, now) else "refused"
    return Step(after, None if websub is None else _shown(websub, after, state))


def _left(feed: Feed | None, websub: FeedWebSub | None, now: datetime) -> FeedWebSub | None:
    """What the feed shows without a subscription. A hub that it names is asked next, once the feed is enabled."""
    if feed is None or websub is None or not websub.is_named:
        return None
    return FeedWebSub(hub=websub.hub, topic=websub.topic, next_at=now)


def _shown(websub: FeedWebSub, known: FeedSubscription, state: WebSubState) -> FeedWebSub:
    changes = {"state": state, "lease_ends": known.lease_ends, "next_at": known.websub_due_at}
    return websub.model_copy(update=changes)
