"""Ingests the entries of one fetched document: hashes them, stores the new and changed ones, holds a flood.

Everything found is stored when `ingest` returns, except what ingestion.py saves afterwards: the attempt, the feed with
its `seen` document, and this process's cache.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from typing import TypeVar

from models.feed import Feed, FeedSeen
from models.raw_item import ParsedDocument, RawItem
from services.articles.article_documents import Moment
from services.articles.identity import Candidate, Entry, ShortHash, Source, entry_of, examined, shared_url_hash
from services.articles.known import DocumentCache, KnownEntries, seen_document
from services.articles.matching import Matched, match_and_write
from services.articles.merge import Attempt
from services.articles.quarantined_batches import QuarantinedBatches
from services.articles.writing import ArticleWriter
from services.logs import log_event
from services.ports import Document, Store
from services.store.containers import FEEDS

log = logging.getLogger("toolpulse.ingest")

T = TypeVar("T")

IN_THREAD_ENTRIES = 300
"""More entries than this take longer than other feeds should wait for the event loop."""


@dataclass(frozen=True, slots=True)
class Ingested:
    """What came of a document. `found` entries could be read, `refused` could not. `seen` is to be saved with the feed;
    `form_hashes` are to be cached after that."""

    found: int = 0
    refused: int = 0
    matched: Matched = field(default_factory=Matched)
    seen: Document | None = None
    form_hashes: tuple[ShortHash, ...] = ()
    quarantine_id: str | None = None


class EntryIngestion:
    def __init__(self, store: Store, cache: DocumentCache, hashes_kept: timedelta) -> None:
        self._store = store
        self._cache = cache
        self._kept_seconds = int(hashes_kept.total_seconds())
        self._quarantined = QuarantinedBatches(store)

    async def ingest(self, feed: Feed, document: ParsedDocument, attempt: Attempt, now: Moment) -> Ingested:
        """Stores what is new or changed in the feed's document."""
        source, items = source_of(feed, document.title), document.items
        entries = await _in_thread_if_many(items, lambda: _entries(source, items))
        forms = tuple(each.form_hash for each in entries)
        refused = len(items) - len(entries)
        if self._cache.has_all(feed.feed_id, feed.body_hash, forms):
            _log_parsed(feed, document, entries=len(entries), unknown=0, cached=True)
            return Ingested(len(entries), refused, form_hashes=forms)
        stored = await self._store.read(FEEDS.name, feed.feed_id, FeedSeen.ID)
        hashes = stored.get("hashes", "") if stored is not None else ""
        known = KnownEntries(hashes, trusted=not feed.recheck_entries)
        unknown = [each for each in entries if not known.has_form(each.form_hash)]
        _log_parsed(feed, document, entries=len(entries), unknown=len(unknown), cached=False)
        if not unknown:
            return Ingested(len(entries), refused, form_hashes=forms)
        candidates = await _in_thread_if_many(unknown, lambda: _candidates(source, unknown, now.at, known))
        writer = self._writer(feed, source, attempt, now)
        trust_hashes = feed.last_fetch_time is not None and not feed.recheck_entries
        matched = await match_and_write(writer, candidates, known, trust_hashes=trust_hashes)
        held = matched.held
        quarantine_id = await self._quarantined.hold(feed.feed_id, held, now.at) if held else None
        fresh = {each.entry.form_hash: "".join(each.hashes()) for each in candidates}
        groups = {form: group for form in forms if (group := fresh.get(form) or known.group(form)) is not None}
        return Ingested(
            len(entries),
            refused + len(unknown) - len(candidates),
            matched,
            seen_document(feed.feed_id, known.with_entries(groups.values()), now.at),
            tuple(groups),
            quarantine_id,
        )

    async def ingest_released(self, feed: Feed, items: Sequence[RawItem], attempt: Attempt, now: Moment) -> Ingested:
        """Stores a batch that a person released from quarantine. That the feed had these entries lately is no reason to
        hold them again."""
        source, known = source_of(feed), KnownEntries()
        entries = _entries(source, items)
        candidates = await _in_thread_if_many(items, lambda: _candidates(source, entries, now.at, known))
        writer = self._writer(feed, source, attempt, now)
        matched = await match_and_write(writer, candidates, known, trust_hashes=False)
        return Ingested(len(candidates), len(items) - len(candidates), matched)

    def saved(self, feed: Feed, ingested: Ingested) -> None:
        """Caches the document. `feed` is the feed as it was saved with what was ingested."""
        if ingested.form_hashes and feed.body_hash is not None:
            self._cache.keep(feed.feed_id, feed.body_hash, ingested.form_hashes)

    def _writer(self, feed: Feed, source: Source, attempt: Attempt, now: Moment) -> ArticleWriter:
        return ArticleWriter(self._store, source, attempt, now, self._kept_seconds, feed.recheck_entries)


def source_of(feed: Feed, title: str | None = None) -> Source:
    return Source(feed.feed_id, feed.source_name, feed.source_priority, title or feed.title)


def _log_parsed(feed: Feed, document: ParsedDocument, *, entries: int, unknown: int, cached: bool) -> None:
    log_event(
        log,
        logging.DEBUG,
        "feed_parsed",
        feed_id=feed.feed_id,
        version=document.version,
        entries=entries,
        unknown=unknown,
        cached=cached,
        warnings=document.warnings,
        skipped=document.skipped,
    )


async def _in_thread_if_many(items: Sequence[object], work: Callable[[], T]) -> T:
    return await asyncio.to_thread(work) if len(items) > IN_THREAD_ENTRIES else work()


def _entries(source: Source, items: Sequence[RawItem]) -> list[Entry]:
    """Without those that are no valid Unicode."""
    entries = []
    for item in items:
        try:
            entries.append(entry_of(source, item))
        except ValueError:
            continue
    return entries


def _candidates(source: Source, unknown: Sequence[Entry], now: datetime, known: KnownEntries) -> list[Candidate]:
    """Each form once, without those whose URL identifies nothing."""
    candidates = []
    for entry in {each.form_hash: each for each in unknown}.values():
        try:
            candidate = examined(entry, source, now)
        except ValueError:
            continue
        if entry.item.article_id is None and known.has(shared_url_hash(source, candidate.url)):
            shared = entry._replace(item=entry.item._replace(url_shared=True))
            candidate = examined(shared, source, now)
        candidates.append(candidate)
    return candidates
