"""Feeds list interrupted attempts, and articles record that an analysis is due.

Before, a feed had `unsaved_since`, `unsaved_run` and `unsaved_delivery` for workers that had died, and `seen_at` to
check whether its `seen` document was the latest. An article that was edited after its analysis had no field for the
analysis that was due.
"""

from __future__ import annotations

from collections.abc import AsyncIterator
from datetime import datetime
from typing import Any

from models.article import Article
from models.errors import ChangedMeanwhile
from models.feed import Feed, FeedSeen
from models.observation import attempt_key
from models.run import FETCH_FEED
from services.ports import Document, Query, Store, Where, pages
from services.store.containers import ARTICLES, FEEDS

OBSOLETE = ("claim_delivery", "unsaved_run", "unsaved_delivery", "unsaved_since", "seen_at")
NOT_TRUSTED: dict[str, Any] = {"recheck_entries": True, "etag": None, "last_modified": None, "body_hash": None}
_TRIES = 8
_PAGE = 500


async def run(store: Store, now: datetime) -> None:
    """Migrates articles before feeds: as soon as a feed is migrated, its next attempt counts the articles of its
    interrupted attempts."""
    uncounted = {
        feed["feed_id"]: feed
        async for feed in _documents(store, FEEDS.name, Where("entity_type", "eq", "Feed"))
        if feed.get("unsaved_since")
    }
    async for article in _documents(store, ARTICLES.name, Where("entity_type", "eq", "Article")):
        await _name_attempts(store, article, uncounted)
        await _change(store, ARTICLES.name, article, _with_due_analysis)
    async for feed in _documents(store, FEEDS.name, Where("entity_type", "eq", "Feed")):
        seen = await store.read(FEEDS.name, feed["feed_id"], FeedSeen.ID)
        await _change(store, FEEDS.name, feed, lambda document, seen=seen: _with_attempts(document, seen))


def _with_due_analysis(article: Document) -> Document:
    reading = article.get("canonical") or {}
    if article.get("deleted_at") or "analysis_due_since" in article:
        return article
    if article.get("status") == "pending":
        return {**article, "analysis_due_since": article["created_at"]}
    if article.get("status") == "analyzed" and article.get("analyzed_revision") != reading.get("revision"):
        return {**article, "analysis_due_since": reading.get("scraped_at") or article["updated_at"]}
    return article


def _with_attempts(feed: Document, seen: Document | None) -> Document:
    after = {name: value for name, value in feed.items() if name not in OBSOLETE}
    if feed.get("unsaved_since"):
        run_id, attempt_no = _attempt(feed)
        attempt = {
            "run_id": run_id,
            "attempt_no": attempt_no,
            "task_name": FETCH_FEED,
            "started_at": feed["unsaved_since"],
        }
        after |= {"interrupted_attempts": [attempt], **NOT_TRUSTED}
    elif seen is not None and any(name in feed for name in OBSOLETE) and feed.get("seen_at") != seen["updated_at"]:
        after |= NOT_TRUSTED
    return {name: value for name, value in after.items() if value is not None}


def _attempt(feed: Document) -> tuple[str, int]:
    """The run and number of the last attempt that began and did not save the feed."""
    if feed.get("claim_delivery"):
        return feed["claim_id"], feed["claim_delivery"]
    return feed.get("unsaved_run") or "unknown", feed.get("unsaved_delivery") or 1


async def _name_attempts(store: Store, article: Document, uncounted: dict[str, Document]) -> None:
    """Writes the attempt into the first observation of each source that no attempt has counted."""
    for feed_id in uncounted.keys() & set(article.get("source_attribution", {})):
        feed, own = uncounted[feed_id], article["source_attribution"][feed_id]
        counted_until = max(feed.get("last_successful_fetch") or "", feed.get("last_new_article_at") or "")
        if own["crawl_timestamp"] <= counted_until:
            continue
        day = own["crawl_timestamp"]
        name = f"obs:{feed_id}:{day[:4]}{day[5:7]}{day[8:10]}"
        observation = await store.read(ARTICLES.name, article["source_id"], name)
        if observation is not None and "added_by_attempt" not in observation:
            created = article["created_at"] == own["crawl_timestamp"] and article["sources"][0] == feed_id
            key = attempt_key(_attempt(feed)[0], feed_id, _attempt(feed)[1])
            named = {**observation, "added_by_attempt": key, "created_article": created}
            await store.upsert(ARTICLES.name, named)


async def _change(store: Store, container: str, document: Document, change: Any) -> None:
    name = Feed.ID if container == FEEDS.name else Article.ID
    partition = document["feed_id"] if container == FEEDS.name else document["source_id"]
    found: Document | None = document
    for _ in range(_TRIES):
        if found is None:
            return
        after = change(found)
        if after == found:
            return
        try:
            await store.replace(container, after, found["_etag"])
        except ChangedMeanwhile:
            found = await store.read(container, partition, name)
            continue
        return
    raise ChangedMeanwhile(f"{container} {partition} keeps changing: run the migration again")


async def _documents(store: Store, container: str, where: Where) -> AsyncIterator[Document]:
    async for page in pages(store, container, Query((where,), limit=_PAGE)):
        for document in page.items:
            yield document
