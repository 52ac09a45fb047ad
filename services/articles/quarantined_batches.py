"""Batches of entries in quarantine: stored in parts, read again when a person released them, and cleared.

The review is in quarantine.py; a released batch is ingested by ingestion.py.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Sequence
from datetime import datetime
from typing import Any

from models.errors import ChangedMeanwhile
from models.feed import Feed
from models.quarantine import QuarantineItem, QuarantinePart, quarantine_id
from models.raw_item import RawItem
from models.values import format_time, parse_time
from services.articles.article_documents import LONGEST_DATE
from services.articles.identity import Candidate
from services.parse.text import one_line
from services.ports import Document, Query, Store, Where, query_all
from services.store.containers import FEEDS, QUARANTINE

PART_BYTES = 1_500_000
SAMPLES = 20
_TRIES = 8
_PARTS = Where("entity_type", "eq", "QuarantinePart")


class QuarantinedBatches:
    def __init__(self, store: Store) -> None:
        self._store = store

    async def hold(self, feed_id: str, held: Sequence[Candidate], now: datetime) -> str:
        """Stores the batch, once however often it is held. Its id."""
        name = quarantine_id("BATCH", feed_id, "|".join(sorted(each.id_hash for each in held)))
        if await self._store.read(QUARANTINE.name, name, name) is not None:
            return name
        items = [each.entry.item for each in held]
        parts = [
            QuarantinePart(created_at=now, updated_at=now, quarantine_id=name, number=number, items=tuple(some))
            for number, some in enumerate(_in_parts(items), start=1)
        ]
        # The parts first: an item that people can see can be released.
        await self._store.write_many(QUARANTINE.name, [part.to_document() for part in parts])
        item = QuarantineItem(
            created_at=now,
            updated_at=now,
            quarantine_id=name,
            kind="BATCH",
            subject=feed_id,
            reason_code="FLOOD",
            reason=f"{len(items)} new ids, most of them with URLs or headlines that the feed had lately",
            item_count=len(items),
            parts=len(parts),
            payload={"samples": [{"url": each.url, "headline": each.headline} for each in items[:SAMPLES]]},
        )
        await self._store.create_many(QUARANTINE.name, [item.to_document()])
        return name

    async def released(self, name: str) -> QuarantineItem | None:
        """The batch, if a person released it and it was not ingested since."""
        document = await self._store.read(QUARANTINE.name, name, name)
        item = QuarantineItem.from_document(document) if document else None
        if item is None or item.manual_review_status != "CLEARED_RETRY_APPROVED" or item.released_at is not None:
            return None
        return item

    async def items(self, item: QuarantineItem) -> list[RawItem]:
        parts = await self._parts(item.quarantine_id)
        return [_read(each) for part in parts for each in part["items"]]

    async def finish(self, item: QuarantineItem, now: datetime) -> None:
        """Notes that the batch was ingested, and deletes its parts."""
        document = item.changed(now, released_at=now).to_document()
        stored = await self._store.replace(QUARANTINE.name, document, item.stored_etag or "")
        await self._clear(stored)

    async def sweep(self) -> None:
        """Deletes the parts of batches that were dropped, or whose parts a crash left behind."""
        where = (Where("kind", "eq", "BATCH"), Where("parts", "gt", 0), Where("reviewed_at", "gt", ""))
        page = await self._store.query(QUARANTINE.name, Query(where))
        for document in page.items:
            if document["manual_review_status"] == "CLEARED_TERMINAL" or document.get("released_at"):
                await self.forget_in_feed(document["subject"], document["pk"])
                await self._clear(document)

    async def forget_in_feed(self, feed_id: str, name: str) -> None:
        """Removes the batch from the feed's document. A fetch that is under way keeps its own changes."""
        for _ in range(_TRIES):
            feed = await self._store.read(FEEDS.name, feed_id, Feed.ID)
            if feed is None or feed.get("quarantine_id") != name:
                return
            without = {field: value for field, value in feed.items() if field != "quarantine_id"}
            try:
                await self._store.replace(FEEDS.name, without, feed["_etag"])
            except ChangedMeanwhile:
                continue
            return

    async def _clear(self, document: Document) -> None:
        name = document["pk"]
        for part in await self._parts(name):
            await self._store.delete(QUARANTINE.name, name, part["id"])
        try:
            await self._store.replace(QUARANTINE.name, {**document, "parts": 0}, document["_etag"])
        except ChangedMeanwhile:
            return  # the next sweep finds no parts

    async def _parts(self, name: str) -> list[Document]:
        return await query_all(self._store, QUARANTINE.name, Query((_PARTS,), partition=name, limit=10))


def _in_parts(items: Iterable[RawItem]) -> Iterator[list[dict[str, Any]]]:
    """The items as JSON, in parts that fit into a document."""
    part: list[dict[str, Any]] = []
    size = 0
    for item in items:
        written = _written(item)
        length = len(json.dumps(written, ensure_ascii=False).encode())
        if part and size + length > PART_BYTES:
            yield part
            part, size = [], 0
        part.append(written)
        size += length
    if part:
        yield part


def _written(item: RawItem) -> dict[str, Any]:
    return {
        "article_id": item.article_id,
        "url": item.url,
        "headline": item.headline,
        "published": format_time(item.published) if item.published else None,
        "published_flag": item.published_flag,
        "summary_html": item.summary_html,
        "content_html": item.content_html,
        "tags": list(item.tags),
        "tickers": list(item.tickers),
        "publisher": item.publisher,
        "date_text": one_line(item.date_text[:LONGEST_DATE]),
        "mended": list(item.mended),
        "url_shared": item.url_shared,
    }


def _read(written: dict[str, Any]) -> RawItem:
    published = written["published"]
    return RawItem(
        **{
            **written,
            "published": parse_time(published) if published else None,
            "tags": tuple(written["tags"]),
            "tickers": tuple(written["tickers"]),
            "mended": tuple(written.get("mended", ())),
        }
    )
