"""Ingests the entries of one feed document: hashes them, stores the new and changed ones, quarantines a flood.

When `ingest` returns, the articles and a flood are stored. ingestion.py then saves the attempt and the feed with its
`seen` document, and `saved` fills this process's cache.
"""

from __future__ import annotations

import asyncio
import logging
import sys
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TypeVar

from models.feed import Feed, FeedSeen, ShortHash
from models.raw_item import ParsedDocument, RawItem
from services import deadline
from services.articles.identity import Candidate, Entry, Source, SourceAttempt, entries_of, in_languages, without_text
from services.articles.matching import DocumentCache, KnownEntries, candidates_of, seen_document
from services.articles.quarantine import FLOOD, VOLUME, add_batch, add_ids, sort_out
from services.articles.writing import ArticleWriter, Writing
from services.feeds.outcome import OVER_BUDGET, Ingested
from services.feeds.volume import is_implausible, room_for_new
from services.logs import log_event
from services.store.containers import FEEDS

log = logging.getLogger("toolpulse.ingest")

T = TypeVar("T")

WRITING_AT_ONCE = 4
"""The most feeds whose articles are stored at once. A busy store then finishes one feed after the other, instead of all
at the end. Four feeds fill the connections to Cosmos DB."""
WRITING_AT_ONCE_EMBEDDED = 64
"""The same for the embedded store, which commits together what several feeds write."""

IN_THREAD_ENTRIES = 300
IN_THREAD_NEW = 20
"""More entries than this are hashed in a thread, so that other feeds need not wait for the event loop; and more new
entries, whose texts are cleaned and whose languages are decided."""

PER_POLL = 5_000
"""New and changed entries of one feed that one poll ingests. The next polls ingest the others."""
PORTION = 500
"""Entries that are matched and written at a time. The memory for matching and writing depends on this number, not on
the size of the feed document."""

AWAITS_REVIEW = "awaits_review"
"""The reason of entries that are left for a later poll, since a batch of the feed is in quarantine already. Only one
batch of a feed is there at a time, so that a feed cannot fill the quarantine."""
AMBIGUOUS = "ambiguous"
"""Entries of a flood that are left out for good: each may be several known articles."""


@dataclass(slots=True)
class _Intake:
    """Entries that are being stored, portion by portion, and what was done with them so far.

    `languages_before` counts the languages of the feed's texts, `room` is how many entries may be stored that the feed
    does not know. `groups` are the hashes of the valid entries, by their present form; the entries in `excess` exceed
    the room."""

    writer: ArticleWriter
    languages_before: Mapping[str, int]
    room: int = sys.maxsize
    groups: dict[ShortHash, str] = field(default_factory=dict)
    excess: list[Candidate] = field(default_factory=list)

    async def store(self, entries: Sequence[Entry]) -> None:
        """Stores what is new or changed among these entries."""
        source, now, known = self.writer.attempt.source, self.writer.attempt.at, self.writer.known

        def made() -> tuple[list[Candidate], Counter[str]]:
            return in_languages(candidates_of(entries, source, now, known), self.languages_before)

        candidates, languages = await _in_thread_if_many(entries, made, IN_THREAD_NEW)
        new = [each for each in candidates if not known.has(each.id_hash)]
        excess = new[max(0, self.room) :]
        out = {each.entry.form_hash for each in excess}
        await self.writer.write([each for each in candidates if each.entry.form_hash not in out])
        done = self.writer.done
        done.entries += len(entries)
        done.languages = languages + Counter(done.languages)
        self.groups |= {each.entry.form_hash: "".join(each.hashes()) for each in candidates}
        self.room -= len(new) - len(excess)
        self.excess += map(without_text, excess)


def portions(entries: Sequence[T]) -> Iterator[Sequence[T]]:
    """All entries in order, in portions of at most PORTION.

    The portions are of nearly equal size: a flood is looked for in each of them, so none may be too small to show one.
    """
    count = -(-len(entries) // PORTION)
    for number in range(count):
        yield entries[number * len(entries) // count : (number + 1) * len(entries) // count]


class NoTurn(Exception):
    """Raised if the deadline was near before the feed could be stored."""


@dataclass
class EntryIngestion:
    """Ingests the entries of feed documents and of released batches. `turns` are those of feeds to be stored."""

    shared: Writing
    cache: DocumentCache
    turns: asyncio.Semaphore = field(default_factory=lambda: asyncio.Semaphore(WRITING_AT_ONCE))

    async def ingest(self, feed: Feed, attempt: SourceAttempt, document: ParsedDocument) -> Ingested:
        """Stores what is new or changed in the feed's document. Raises NoTurn if the deadline is near before the feed's
        turn."""
        source, items = attempt.source, document.items
        entries = await _in_thread_if_many(items, lambda: entries_of(source, items))
        forms = [each.form_hash for each in entries]
        refused = len(items) - len(entries)
        cached = self.cache.has_all(feed.feed_id, feed.body_hash, forms)
        known = KnownEntries()
        unknown: list[Entry] = []
        if not cached:
            # What a stale document lacks is found by its alias.
            keys = [(feed.feed_id, FeedSeen.ID)]
            (stored,) = await self.shared.store.read_many(FEEDS.name, keys, may_be_stale=True)
            known = KnownEntries((stored or {}).get("hashes", ""))
            unknown = [each for each in entries if each.form_hash not in known.groups]
        log_event(
            log,
            logging.DEBUG,
            "feed_parsed",
            feed_id=feed.feed_id,
            version=document.version,
            entries=len(entries),
            unknown=len(unknown),
            cached=cached,
            warnings=document.warnings,
            skipped=document.skipped,
        )
        if not unknown:
            return Ingested(len(entries), refused, form_hashes=tuple(forms))
        async with deadline.turn(self.turns) as has_turn:
            if not has_turn:
                raise NoTurn
            ingested = await self._ingest(feed, attempt, document, forms, known, unknown)
        ingested.entries = len(entries)
        ingested.refused += refused
        return ingested

    async def _ingest(
        self,
        feed: Feed,
        attempt: SourceAttempt,
        document: ParsedDocument,
        forms: Sequence[ShortHash],
        known: KnownEntries,
        unknown: Sequence[Entry],
    ) -> Ingested:
        """Stores the unknown entries. The result counts only these."""
        present = {each.url for each in document.items}
        writer = ArticleWriter(self.shared, attempt, known, present)
        unknown = list({each.form_hash: each for each in unknown}.values())
        room = 0 if is_implausible(feed, len(unknown), attempt.at) else room_for_new(feed, attempt.at)
        intake = _Intake(writer, feed.languages, room)
        for portion in portions(unknown[:PER_POLL]):
            if writer.done.entries and deadline.is_near():
                break
            await intake.store(portion)
        done, flood = writer.done, writer.flood
        held, left = _held_and_left(feed, flood, intake.excess)
        if held:
            reason = FLOOD if flood else VOLUME
            done.quarantine_id = await add_batch(self.shared.store, feed.feed_id, held, attempt.at, reason)
        fresh = intake.groups
        done.refused = done.entries - len(fresh)
        for each in left:
            del fresh[each.entry.form_hash]
        kept = known.groups | fresh
        groups = {form: kept[form] for form in forms if form in kept}
        done.held = len(held)
        done.skipped = +Counter({OVER_BUDGET: len(unknown) - done.entries, AWAITS_REVIEW: len(left)})
        done.seen = seen_document(feed.feed_id, known.with_entries(groups.values()), attempt.time)
        done.form_hashes = tuple(groups)
        return done

    async def ingest_released(
        self, feed: Feed, attempt: SourceAttempt, items: Sequence[RawItem], *, have_new_ids: bool = False
    ) -> Ingested:
        """Stores a batch that a person released from quarantine. Its entries are in the feed's `seen` document
        already. With `have_new_ids`, entries that are known articles under new ids change nothing but their locators,
        and ambiguous ones are left out."""
        valid, refused, left = 0, 0, 0
        if have_new_ids:
            found = await sort_out(self.shared.store, items, attempt)
            await add_ids(self.shared.store, found.known, attempt)
            valid, left = len(found.known) + len(found.ambiguous), len(found.ambiguous)
            refused = len(items) - valid - len(found.new)
            items = [each.entry.item for each in found.new]
        writer = ArticleWriter(self.shared, attempt, KnownEntries(), frozenset(each.url for each in items))
        intake = _Intake(writer, feed.languages)
        for portion in portions(items):
            await intake.store(entries_of(attempt.source, portion))
        done, count = writer.done, len(intake.groups)
        done.entries, done.refused = valid + count, refused + len(items) - count
        done.skipped = +Counter({AMBIGUOUS: left})
        return done

    def saved(self, feed: Feed, ingested: Ingested) -> None:
        """Caches the hashes of the feed document, once `feed` was saved."""
        if ingested.form_hashes and feed.body_hash is not None:
            self.cache.keep(feed.feed_id, feed.body_hash, ingested.form_hashes)


def _held_and_left(
    feed: Feed, flood: Sequence[Candidate], excess: Sequence[Candidate]
) -> tuple[Sequence[Candidate], Sequence[Candidate]]:
    """Which entries are quarantined, and which are left until a person has reviewed the batch that is there."""
    if feed.quarantine_id is not None:
        return (), (*flood, *excess)
    return (flood, excess) if flood else (excess, ())


def source_of(feed: Feed, title: str | None = None) -> Source:
    return Source(feed.feed_id, feed.source_name, feed.source_priority, title or feed.title, feed.full_text)


async def _in_thread_if_many(items: Sequence[object], work: Callable[[], T], many: int = IN_THREAD_ENTRIES) -> T:
    return await asyncio.to_thread(work) if len(items) > many else work()
