"""Feeds have a verdict, and record who disabled them, and why.

Before, `disabled_reason` alone told a person's decision from the app's. Feeds that the app disabled, for a cause that
may pass, are probed from now on: the first within a day, and not all at once.
"""

from __future__ import annotations

import hashlib
import re
from datetime import datetime, timedelta

from models.errors import ChangedMeanwhile
from models.feed import Feed
from models.verdict import DisabledCause
from services.feeds.form import DISABLED_BY_HAND
from services.feeds.probing import WAITS, next_probe
from services.feeds.verdicts import judged
from services.ports import Document, Query, Store, Where, pages, readable
from services.store.containers import FEEDS

_TRIES = 8
_PAGE = 500
_DAY = timedelta(days=1)
_CAUSES: tuple[tuple[str, DisabledCause], ...] = (
    (r"^410\b", "gone"),
    (r"^404\b", "not_found"),
    (r"^\d+ errors in a row", "errors"),
    (r"^\d+ workers in a row died", "worker_died"),
    (r"is registered already, as ", "duplicate"),
)
"""How the version before began, or ended, its reasons. Any other was written by a person."""


async def run(store: Store, now: datetime) -> None:
    query = Query((Where("entity_type", "eq", "Feed"),), limit=_PAGE)
    async for page in pages(store, FEEDS.name, query):
        for document in page.items:
            await _migrate(store, document, now)


async def _migrate(store: Store, document: Document, now: datetime) -> None:
    found: Document | None = document
    for _ in range(_TRIES):
        feed = readable(found, Feed.from_document)
        if feed is None or feed.verdict is not None:
            return
        after = judged(migrated(feed, now))
        if after.enabled and after.verdict not in ("new", "silent", "stale", "empty"):
            after = after.model_copy(update={"verdict_since": None})  # nobody has recorded when this began
        try:
            await store.replace(FEEDS.name, after.to_document(), feed.stored_etag or "")
        except ChangedMeanwhile:
            found = await store.read(FEEDS.name, feed.feed_id, Feed.ID)
            continue
        return
    raise ChangedMeanwhile(f"feed {document['feed_id']} keeps changing: run the migration again")


def migrated(feed: Feed, now: datetime) -> Feed:
    """The feed with the fields that follow from its older ones. `updated_at` stays: nothing was fetched or edited."""
    changes: dict[str, object] = {}
    if feed.fetch_count and feed.first_fetched_at is None:
        days = max(1.0, (now - feed.created_at) / _DAY)
        changes |= {
            "first_fetched_at": feed.created_at,
            "articles_per_day": max(feed.articles_per_hour * 24, feed.total_articles_fetched / days),
            "newest_article_at": _newest(feed),
        }
    if not feed.enabled and feed.disabled_by is None:
        cause = cause_of(feed.disabled_reason or DISABLED_BY_HAND)
        changes |= {"disabled_by": "person" if cause is None else "app", "disabled_cause": cause}
        if cause is not None and next_probe(cause, 0, now, 0.0) is not None:
            changes["probe_at"] = now + WAITS[0] * _share(feed.feed_id)
    return feed.changed(feed.updated_at, **changes)


def cause_of(reason: str) -> DisabledCause | None:
    """Why the app disabled a feed with this reason; None if a person did."""
    return next((cause for pattern, cause in _CAUSES if re.search(pattern, reason)), None)


def _newest(feed: Feed) -> datetime | None:
    if feed.last_successful_fetch is None:
        return None
    return max(feed.created_at, feed.last_successful_fetch - timedelta(hours=feed.silent_hours))


def _share(feed_id: str) -> float:
    """Between 0 and 1, by the id: a second run of the migration plans the same time."""
    return int(hashlib.sha256(feed_id.encode()).hexdigest()[:8], 16) / 0xFFFFFFFF
