"""Quarantine: batches of entries that wait for a person, and the review of quarantined items.

entries.py finds what is quarantined: floods, and what exceeds a feed's daily volume. ingestion.py ingests the batches
that a person released.

A person may say that only the ids of a feed have changed. An entry of the flood is then known by its URL, without
parameters of tracking and sessions, or by its headline, with or without words that most headlines of the flood
share at their start or end: both among what the same feed has published before. Where these lead to several articles,
the entry is ambiguous: merging the wrong articles is worse than leaving an entry out, since its article is counted
already.
"""

from __future__ import annotations

import asyncio
import json
from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any, NamedTuple, get_args

from pydantic import Field

from models.article import Article, ObservationDocument
from models.errors import ChangedMeanwhile, Conflict, InvalidInput, NotFound
from models.feed import UNCONDITIONAL, Feed
from models.quarantine import BatchReason, Decision, QuarantineItem, QuarantinePart, quarantine_id
from models.raw_item import LONGEST_DATE, RawItem
from models.request import Author, Reason, Request
from models.run import INGEST_FEEDS
from models.states import ReviewStatus
from models.values import format_time, parse_time
from services.articles.identity import Candidate, Source, SourceAttempt, entries_of, is_weak, normalize_headline
from services.articles.matching import KnownEntries, candidates_of, without_affix
from services.articles.writing import alias
from services.parse.text import one_line, strip_publisher
from services.parse.urls import link_of
from services.ports import Clock, Delete, Document, Listed, Query, Replace, Store, Where, listed, pages, query_all
from services.store.change import change, until_unchanged
from services.store.containers import ARTICLES, FEEDS, LOCATORS, QUARANTINE
from services.work.runs import RunEngine

PART_BYTES = 1_500_000
SAMPLES = 20
FLOOD: BatchReason = "FLOOD"
VOLUME: BatchReason = "VOLUME"
_REASONS: dict[BatchReason, str] = {
    "FLOOD": "{} new ids, at least half with known URLs or headlines; words that most headlines share do not count",
    "VOLUME": "{} new entries beyond those that the feed may bring in a day by its history",
}
STATUSES: tuple[ReviewStatus, ...] = get_args(ReviewStatus)
_ITEMS = Where("entity_type", "eq", "QuarantineItem")
_PARTS = Where("entity_type", "eq", "QuarantinePart")


async def add_batch(
    store: Store, feed_id: str, entries: Sequence[Candidate], now: datetime, reason: BatchReason
) -> str:
    """Stores the batch and returns its id. A batch that is stored already is not stored again."""
    name = quarantine_id("BATCH", feed_id, "|".join(sorted(each.id_hash for each in entries)))
    if await store.read(QUARANTINE.name, name, name) is not None:
        return name
    items = [each.entry.item for each in entries]
    parts = [
        QuarantinePart(created_at=now, quarantine_id=name, number=number, items=tuple(some))
        for number, some in enumerate(parts_of(items), start=1)
    ]
    # The parts first: an item that people can see can be released.
    await store.write_many(QUARANTINE.name, [part.to_document() for part in parts])
    item = QuarantineItem(
        created_at=now,
        quarantine_id=name,
        kind="BATCH",
        subject=feed_id,
        reason_code=reason,
        reason=_REASONS[reason].format(len(items)),
        item_count=len(items),
        parts=len(parts),
        payload={"samples": [{"url": each.url, "headline": each.headline} for each in items[:SAMPLES]]},
    )
    await store.create_many(QUARANTINE.name, [item.to_document()])
    return name


async def released_batch(store: Store, name: str) -> QuarantineItem | None:
    """The batch, if a person released it and it was not ingested since."""
    document = await store.read(QUARANTINE.name, name, name)
    item = QuarantineItem.from_document(document) if document else None
    return item if item is not None and item.waits_for_ingestion else None


async def items_of(store: Store, item: QuarantineItem) -> list[RawItem]:
    """The entries of the batch."""
    parts = await _parts(store, item.quarantine_id)
    return [item_of(each) for part in parts for each in part["items"]]


async def finish_batch(store: Store, item: QuarantineItem, now: datetime, left_out: int = 0) -> None:
    """Records that the batch was ingested, and deletes its parts."""
    done = item.changed(now, released_at=now, left_out=left_out)
    await _without_parts(store, done.to_document(), item.stored_etag or "")


async def delete_dropped(store: Store) -> None:
    """Deletes the parts of batches that a person dropped."""
    dropped = Where("manual_review_status", "eq", "CLEARED_TERMINAL")
    where = (Where("kind", "eq", "BATCH"), Where("parts", "gt", 0), dropped)
    page = await store.query(QUARANTINE.name, Query(where, limit=100, may_be_stale=True))
    for document in page.items:
        await forget_in_feed(store, document["subject"], document["pk"])
        try:
            await _without_parts(store, document, document["_etag"])
        except ChangedMeanwhile:
            continue  # another worker deletes the parts


async def forget_in_feed(store: Store, feed_id: str, name: str) -> None:
    """Removes the batch from the feed's document, so that the next poll finds what was left because of it. A fetch
    that is under way keeps its own changes."""

    def without(feed: Document | None) -> Document | None:
        if feed is None or feed.get("quarantine_id") != name:
            return None
        return {key: value for key, value in feed.items() if key not in ("quarantine_id", *UNCONDITIONAL)}

    await change(store, FEEDS.name, feed_id, Feed.ID, without)


async def _without_parts(store: Store, document: Document, etag: str) -> None:
    parts = [Delete(part["id"]) for part in await _parts(store, document["pk"])]
    await store.batch(QUARANTINE.name, document["pk"], [Replace({**document, "parts": 0}, etag), *parts])


async def _parts(store: Store, name: str) -> list[Document]:
    return await query_all(store, QUARANTINE.name, Query((_PARTS,), partition=name, limit=10))


def parts_of(items: Iterable[RawItem]) -> Iterator[list[dict[str, Any]]]:
    """The items as JSON, in parts that fit into a document."""
    part: list[dict[str, Any]] = []
    size = 0
    for item in items:
        written = json_of(item)
        length = len(json.dumps(written, ensure_ascii=False).encode())
        if part and size + length > PART_BYTES:
            yield part
            part, size = [], 0
        part.append(written)
        size += length
    if part:
        yield part


def json_of(item: RawItem) -> dict[str, Any]:
    fields = {name: list(value) if isinstance(value, tuple) else value for name, value in item._asdict().items()}
    published = format_time(item.published) if item.published else None
    return {**fields, "published": published, "date_text": one_line(item.date_text[:LONGEST_DATE])}


def item_of(written: dict[str, Any]) -> RawItem:
    """The item that `json_of` wrote."""
    lists = {name: tuple(written[name]) for name in ("tags", "tickers", "repairs")}
    published = parse_time(written["published"]) if written["published"] else None
    return RawItem(**{**written, **lists, "published": published})


class Review(Request, examples={"drop": {"decision": "drop", "author": "Ada", "reason": "spam"}}):
    """The decision of a person on an item in quarantine."""

    decision: Decision = Field(
        description="Of a flood: `same_articles_new_ids` adds the ids to the articles that the entries are, and "
        "ingests the others. Of any batch: `new_articles` ingests all entries, `drop` none. Of a full text: "
        "`CLEARED_RETRY_APPROVED` tries it again, `CLEARED_TERMINAL` gives it up."
    )
    author: Author = Field(description="The name of the person who says so.")
    reason: Reason = Field(description="Why.")


@dataclass(frozen=True, slots=True)
class Reviewed:
    """The item after the review, and the run whose message is to be sent for a released batch."""

    item: QuarantineItem
    run_id: str | None


class Quarantine:
    """The review: a person decides once for each item whether it is released or dropped."""

    def __init__(self, store: Store, engine: RunEngine, clock: Clock) -> None:
        self._store = store
        self._engine = engine
        self._clock = clock

    async def page(self, status: str | None, limit: int, after: str | None) -> Listed[QuarantineItem]:
        """Newest first."""
        where = (_ITEMS, Where("manual_review_status", "eq", status)) if status else (_ITEMS,)
        query = Query(where, order="by_created", reverse=True, limit=limit, after=after)
        page = await self._store.query(QUARANTINE.name, query)
        return listed(page, QuarantineItem.from_document, "quarantine_id")

    async def review(self, quarantine_id: str, decision: Any, author: str, reason: str) -> Reviewed:
        """Records the decision, and who made it and why. The same decision of the same person again queues the batch
        again unless it was ingested, since its message may have been lost.

        Raises Conflict if another decision, or another person's, was recorded before.
        """

        async def once() -> Reviewed:
            item = await self.get(quarantine_id)
            if decision not in item.decisions:
                raise InvalidInput("decision", f"one of {', '.join(item.decisions)}")
            if item.decision is not None and (item.decision, item.reviewed_by) != (decision, author):
                raise Conflict(
                    f"quarantine item {quarantine_id} was reviewed already by {item.reviewed_by}: {item.decision}"
                )
            if item.decision is not None:
                return Reviewed(item, await self._run_of(item))
            item = item.reviewed(self._clock(), decision, author, reason)
            run_id = await self._run_of(item)
            stored = await self._store.replace(QUARANTINE.name, item.to_document(), item.stored_etag or "")
            return Reviewed(QuarantineItem.from_document(stored), run_id)

        reviewed = await until_unchanged(once, f"quarantine item {quarantine_id}")
        if reviewed.item.decision == "drop":
            await forget_in_feed(self._store, reviewed.item.subject, quarantine_id)
        return reviewed

    async def get(self, quarantine_id: str) -> QuarantineItem:
        try:
            found = await self._store.read(QUARANTINE.name, quarantine_id, quarantine_id)
        except InvalidInput:  # a store refuses such an id
            found = None
        if found is None:
            raise NotFound(f"quarantine: there is nothing with the id {quarantine_id!r}")
        return QuarantineItem.from_document(found)

    async def _run_of(self, item: QuarantineItem) -> str | None:
        """The run that ingests a batch that is released. The run is stored before the review: if this
        process dies in between, or another review is stored, the run finds nothing to ingest; if the process dies
        afterwards, the run is overdue."""
        if item.kind != "BATCH" or not item.waits_for_ingestion:
            return None
        return (await self._engine.accept(INGEST_FEEDS, item.subject, held=item.quarantine_id)).run_id


_PAGE = 500


class StoredEntry(NamedTuple):
    """What the feed has published in one article, as an observation has it. `headline` is empty if the article was
    deleted."""

    source_id: str
    url: str
    headline: str
    day: str


class Known(NamedTuple):
    """An entry that is a known article under a new id. `created_at` is that of the article."""

    candidate: Candidate
    source_id: str
    created_at: str = ""


class Ambiguous(NamedTuple):
    """An entry that may be several articles, or is one of several that may be one article.

    `source_ids` are the articles that the entry may be.
    """

    candidate: Candidate
    source_ids: tuple[str, ...]


class SortedOut(NamedTuple):
    """The entries of a flood, sorted."""

    known: tuple[Known, ...]
    new: tuple[Candidate, ...]
    ambiguous: tuple[Ambiguous, ...]


def stored_entry(observation: ObservationDocument, source: Source) -> StoredEntry:
    headline = ""
    if not observation.get("deleted_at"):
        names = (observation.get("publisher"), source.name, source.title)
        headline = normalize_headline(strip_publisher(observation["headline"], names))
    url, day = link_of(observation["url"]), observation["published_at"][:10]
    return StoredEntry(observation["source_id"], url, headline, day)


def sorted_out(candidates: Sequence[Candidate], stored: Iterable[StoredEntry]) -> SortedOut:
    """Each candidate as a known entry, a new one or an ambiguous one. `stored` are all entries of the feed that were
    published before."""
    by_url: defaultdict[str, dict[str, StoredEntry]] = defaultdict(dict)
    by_headline: defaultdict[str, dict[str, StoredEntry]] = defaultdict(dict)
    for each in stored:
        by_url[each.url][each.source_id] = each
        if each.headline:
            by_headline[each.headline][each.source_id] = each
    headlines_at: defaultdict[str, set[str]] = defaultdict(set)
    for candidate in candidates:
        headlines_at[candidate.url].add(candidate.normalized_headline)

    headlines = {each.normalized_headline: each.normalized_headline for each in candidates}
    shortened = without_affix(headlines, by_headline.__contains__)
    headlines |= {each: known for each, known in shortened.items() if each not in by_headline}

    def with_both(candidate: Candidate) -> set[str]:
        return by_url[candidate.url].keys() & by_headline[headlines[candidate.normalized_headline]].keys()

    def articles_of(candidate: Candidate) -> list[str]:
        """The articles that the entry may be. Of several with its headline, the one of its day is meant. A URL of
        several articles or several entries identifies none of them."""
        headline = headlines[candidate.normalized_headline]
        of_url, of_headline = by_url[candidate.url], by_headline[headline]
        if both := with_both(candidate):
            of_headline = {each: of_headline[each] for each in both}
        elif is_weak(headline):
            of_headline = {}
        if not both and len(of_url) == len(headlines_at[candidate.url]) == 1:
            return sorted({*of_url, *of_headline})
        day = candidate.published.date().isoformat()
        of_day = [source_id for source_id, each in of_headline.items() if each.day == day]
        return of_day if len(of_day) == 1 else sorted(of_headline)

    articles = [articles_of(each) for each in candidates]
    rivals: defaultdict[str, set[tuple[str, str]]] = defaultdict(set)
    for candidate, found in zip(candidates, articles, strict=True):
        if len(found) == 1:
            rivals[found[0]].add((candidate.url, candidate.normalized_headline))
    known: list[Known] = []
    new: list[Candidate] = []
    ambiguous: list[Ambiguous] = []
    for candidate, found in zip(candidates, articles, strict=True):
        if not found:
            new.append(candidate)
        elif len(found) == 1 and (len(rivals[found[0]]) == 1 or found[0] in with_both(candidate)):
            known.append(Known(candidate, found[0]))
        else:
            ambiguous.append(Ambiguous(candidate, tuple(found)))
    return SortedOut(tuple(known), tuple(new), tuple(ambiguous))


async def sort_out(store: Store, items: Sequence[RawItem], attempt: SourceAttempt) -> SortedOut:
    """Which known articles the entries of a flood are. What the attempt's own run has stored does not count as known: a
    second try then decides as the first one did."""
    candidates = await asyncio.to_thread(_candidates, items, attempt)
    stored = await _stored(store, attempt)
    found = await asyncio.to_thread(sorted_out, candidates, stored)
    source_ids = list({each.source_id for each in found.known})
    articles = await store.read_many(ARTICLES.name, [(each, Article.ID) for each in source_ids])
    created = {each["source_id"]: each["created_at"] for each in articles if each is not None}
    # An entry whose article has expired is a new one.
    gone = (each.candidate for each in found.known if each.source_id not in created)
    known = (each._replace(created_at=at) for each in found.known if (at := created.get(each.source_id)))
    return SortedOut(tuple(known), (*found.new, *gone), found.ambiguous)


async def add_ids(store: Store, known: Sequence[Known], attempt: SourceAttempt) -> None:
    """Adds the id of each entry to its article: a locator alias as old as the article, which it never outlives. Doing
    it again changes nothing."""
    aliases = [{**alias(each.candidate, each.source_id, attempt), "created_at": each.created_at} for each in known]
    await store.create_many(LOCATORS.name, aliases)


async def _stored(store: Store, attempt: SourceAttempt) -> list[StoredEntry]:
    where = (Where("entity_type", "eq", "Observation"), Where("source", "eq", attempt.source.key))
    found: list[StoredEntry] = []
    async for page in pages(store, ARTICLES.name, Query(where, limit=_PAGE)):
        observations = page.items
        found += [
            stored_entry(each, attempt.source)
            for each in observations
            if not each.get("added_by_attempt", "").startswith(f"{attempt.run_id}:")
        ]
    return found


def _candidates(items: Sequence[RawItem], attempt: SourceAttempt) -> list[Candidate]:
    """Each locator once, without texts. Entries that are not valid are left out."""
    found = candidates_of(entries_of(attempt.source, items), attempt.source, attempt.at, KnownEntries())
    return list({each.locator_id: each._replace(text="") for each in found}.values())
