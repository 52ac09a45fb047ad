"""One feed, from its answer to what its document will say: entries hashed, the unknown ones taken in, floods held.

Everything that it finds is stored when it returns, but for what services/articles/pipeline.py saves last: the attempt,
the feed, its `seen` document and this process's memory.
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
from models.values import format_time
from services.articles.canonical import Moment
from services.articles.held import HeldBatches
from services.articles.identity import Candidate, Entry, Mark, Source, entry_of, examined, shared_mark
from services.articles.intake import Intake, Taken
from services.articles.memory import Memory
from services.articles.recent import Recent, seen_document
from services.articles.together import Together
from services.logs import log_event
from services.ports import Document, Store
from services.store.containers import FEEDS

log = logging.getLogger("toolpulse.ingest")

T = TypeVar("T")

IN_THREAD_ENTRIES = 300
"""More take longer than the others should wait."""


@dataclass(frozen=True, slots=True)
class Processed:
    """What came of a document. `seen` is to be saved after the feed; `marks` are to be remembered after that."""

    found: int = 0
    refused: int = 0
    taken: Taken = field(default_factory=Taken)
    seen: Document | None = None
    marks: tuple[Mark, ...] = ()
    quarantine_id: str | None = None


class Processing:
    def __init__(self, store: Store, memory: Memory, hashes_kept: timedelta, *, calls_at_once: int = 1) -> None:
        self._store = store
        self._memory = memory
        self._intake = Intake(Together(store, at_once=calls_at_once), hashes_kept)
        self._held = HeldBatches(store)

    async def process(self, feed: Feed, document: ParsedDocument, now: Moment) -> Processed:
        """Takes in what is new or changed in the feed's document."""
        source, items = source_of(feed, document.title), document.items
        entries = await _apart_if_many(items, lambda: _entries(source, items))
        marks = tuple(each.mark for each in entries)
        refused = len(items) - len(entries)
        if self._memory.has_all(feed.feed_id, feed.body_hash, marks):
            _tell(feed, document, entries=len(entries), unknown=0, in_memory=True)
            return Processed(len(entries), refused, marks=marks)
        recent = Recent.of(await self._store.read(FEEDS.name, feed.feed_id, FeedSeen.ID), feed.seen_at)
        unknown = [each for each in entries if not recent.has(each.mark)]
        _tell(feed, document, entries=len(entries), unknown=len(unknown), in_memory=False)
        if not unknown:
            return Processed(len(entries), refused, marks=marks)
        candidates = await _apart_if_many(unknown, lambda: _candidates(source, unknown, now.at, recent))
        taken = await self._intake.take_in(
            source, candidates, recent, now, counted_until(feed), unsure=feed.seen_at is None
        )
        quarantine_id = await self._held.hold(feed.feed_id, taken.held, now.at) if taken.held else None
        fresh = {each.entry.mark: "".join(each.marks()) for each in candidates}
        groups = {mark: group for mark in marks if (group := fresh.get(mark) or recent.group(mark)) is not None}
        return Processed(
            len(entries),
            refused + len(unknown) - len(candidates),
            taken,
            seen_document(feed.feed_id, recent.with_entries(groups.values()), now.at),
            tuple(groups),
            quarantine_id,
        )

    async def let_in(self, feed: Feed, items: Sequence[RawItem], now: Moment) -> Processed:
        """Takes in a batch that was held. That the feed had it lately is no reason to hold it again."""
        source = source_of(feed)
        candidates = await _apart_if_many(items, lambda: _candidates(source, _entries(source, items), now.at, Recent()))
        taken = await self._intake.take_in(
            source, candidates, Recent(), now, counted_until(feed), unsure=feed.seen_at is None
        )
        return Processed(len(candidates), len(items) - len(candidates), taken)

    def remember(self, feed: Feed, processed: Processed) -> None:
        """`feed` as it was saved with what was processed."""
        if processed.marks and feed.body_hash is not None:
            self._memory.keep(feed.feed_id, feed.body_hash, processed.marks)


def _tell(feed: Feed, document: ParsedDocument, *, entries: int, unknown: int, in_memory: bool) -> None:
    log_event(
        log,
        logging.DEBUG,
        "feed_parsed",
        feed_id=feed.feed_id,
        version=document.version,
        entries=entries,
        unknown=unknown,
        in_memory=in_memory,
        warnings=document.warnings,
        skipped=document.skipped,
    )


async def _apart_if_many(items: Sequence[object], work: Callable[[], T]) -> T:
    return await asyncio.to_thread(work) if len(items) > IN_THREAD_ENTRIES else work()


def moment_of(feed: Feed) -> Moment:
    """The one time of a processing, by the feed as it was taken up: later than that of the save before, and not
    earlier than that of a dead try, whatever the clock of either worker says."""
    if feed.last_fetch_time is None:
        return Moment(feed.updated_at)
    return Moment(max(feed.updated_at, feed.last_fetch_time + timedelta(seconds=1)))


def source_of(feed: Feed, title: str | None = None) -> Source:
    return Source(feed.feed_id, feed.source_name, feed.source_priority, title or feed.title)


def counted_until(feed: Feed) -> str:
    """Up to when what was stored has been counted. A fetch that failed counted nothing, so its time says nothing."""
    times = [each for each in (feed.last_successful_fetch, feed.last_new_article_at) if each is not None]
    return format_time(max(times)) if times else ""


def _entries(source: Source, items: Sequence[RawItem]) -> list[Entry]:
    """All that are text; one that is not never loses the others."""
    entries = []
    for item in items:
        try:
            entries.append(entry_of(source, item))
        except ValueError:
            continue
    return entries


def _candidates(source: Source, unknown: Sequence[Entry], now: datetime, recent: Recent) -> list[Candidate]:
    """Each form once, and none whose URL identifies nothing."""
    candidates = []
    for entry in {each.mark: each for each in unknown}.values():
        try:
            candidate = examined(entry, source, now)
        except ValueError:
            continue
        if entry.item.article_id is None and recent.knows(shared_mark(source, candidate.url)):
            shared = entry._replace(item=entry.item._replace(url_shared=True))
            candidate = examined(shared, source, now)
        candidates.append(candidate)
    return candidates
