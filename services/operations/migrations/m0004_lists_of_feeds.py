"""Feeds are stored with their host, the words of their name, and the key by which their names are sorted.

A feed gets these at its next write. Disabled feeds are not written for long, so all are written once.
"""

from __future__ import annotations

from contextlib import suppress
from datetime import datetime

from models.errors import ChangedMeanwhile
from models.feed import Feed
from services.ports import Query, Store, Where, pages, readable
from services.store.containers import FEEDS

_PAGE = 500
_ADDED = ("host", "name_key", "words")


async def run(store: Store, now: datetime) -> None:
    """A feed that another worker writes meanwhile gets the fields by that write."""
    async for page in pages(store, FEEDS.name, Query((Where("entity_type", "eq", "Feed"),), limit=_PAGE)):
        for document in page.items:
            feed = readable(document, Feed.from_document)
            if feed is not None and any(name not in document for name in _ADDED):
                with suppress(ChangedMeanwhile):
                    await store.replace(FEEDS.name, feed.to_document(), document["_etag"])
