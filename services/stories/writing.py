"""Groups articles and writes what follows, until members, mentions and articles agree.

One worker groups at a time, under a lease, since what it decides depends on what others have decided. The order of
writes lets the next try repair a crash, since an article stays due until the last write:
    1. keys, by which later articles find these;
    2. other articles that depend on what changes are made due: those whose story an article opened that has left it or
       was edited, those that repeated it, and those that repeat an earlier article which arrived later;
    3. members; deleted articles lose theirs; then the marks of the stories, which are counted by whoever decides their
       signals (services/stories/members.py);
    4. mentions by their ETags; their hours are marked dirty, and their tools announced;
    5. articles by the ETags that they were read with: their story, and that they are no longer due.
An article of which another writer changed a document in between stays due.
"""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from functools import partial

from models.article import Article
from models.errors import ChangedMeanwhile, Unavailable, UnreadableDocument
from models.story import LEASE, GroupingLease
from models.values import format_time, is_over, parse_time
from services.logs import log_unreadable
from services.mentions.due import REFRESH_STAGE, SIGNALS_STAGE, mark_dirty, mark_signals_due
from services.mentions.understanding import published_at
from services.ports import (
    Clock,
    Create,
    Delete,
    Document,
    Operation,
    Query,
    Replace,
    Store,
    Where,
    readable,
)
from services.store.change import Decided, change, change_many
from services.store.containers import ARTICLES, CATALOG, MENTIONS, STORIES
from services.stories.candidates import Candidates, read_members
from services.stories.grouping import Known, copies_before, decide_all
from services.stories.members import day_of_time, is_same, known, member_of, signed
from services.stories.pins import members_of, read_constraints
from services.stories.stage import DELAY_SECONDS, GroupingAnnouncer
from services.work.handling import Handled, Handler, Worked
from services.work.rules import reason_of
from services.work.stage import parts_of

PORTION = 100
MAX_LISTED = 250
"""The most due articles that one message has grouped. An article of many sources takes 100 kB of memory."""
MAX_KEPT = 500
"""The most articles that are kept in memory for the next portion of a message to be compared with."""
BUSY_SECONDS = 10.0
"""How long a message waits while another worker groups: that one groups all that is due, unless it dies."""

WRITES_AT_ONCE = 25
"""Members, or mentions, in one batch: so many are far below the limit of two megabytes."""

_OF_GROUPING = ("grouping_due_since", "grouping_tries", "grouping_error", "event_id", "near_duplicate_of")
_Named = tuple[str, Operation]
"""An operation with the article that it is for."""


@dataclass(slots=True)
class Outcome:
    """The outcome of a grouping.

    `finished` are the articles that are no longer due; `failed` says why others cannot be grouped. `events` are the
    stories that changed, `mentions` counts the mentions that changed their story.
    """

    finished: set[str] = field(default_factory=set)
    failed: dict[str, str] = field(default_factory=dict)
    events: set[str] = field(default_factory=set)
    mentions: int = 0


@dataclass(slots=True)
class _Batch:
    """The articles that are grouped together, as they were read, with their members. `stays`: those that stay due."""

    now: datetime
    documents: dict[str, Document] = field(default_factory=dict)
    articles: dict[str, Article] = field(default_factory=dict)
    members: dict[str, Document | None] = field(default_factory=dict)
    decided: dict[str, Known] = field(default_factory=dict)
    stays: set[str] = field(default_factory=set)

    def event_of(self, name: str) -> str | None:
        """Its story; null for a deleted article."""
        return _event(self.decided.get(name))

    def events_of(self, name: str) -> set[str]:
        """The stories of the article, now and before."""
        member = self.members[name]
        events = {self.event_of(name), self.articles[name].event_id, None if member is None else member.get("event_id")}
        return {event for event in events if event is not None}

    def begins_alone(self, name: str) -> bool:
        """Whether the article is new, and begins a story."""
        known = self.decided.get(name)
        is_new = self.members[name] is None and self.articles[name].event_id is None
        return is_new and known is not None and known.decision is not None and known.decision.story_reason is None


class Grouping:
    """Groups articles and writes the result, for the messages of `group-headlines`."""

    def __init__(self, store: Store, announcer: GroupingAnnouncer, clock: Clock, new_id: Callable[[], str]) -> None:
        self._store = store
        self._announcer = announcer
        self._clock = clock
        self._new_id = new_id

    async def handle(self, source_ids: Sequence[str], delivery: int = 1, invocation_id: str | None = None) -> Handled:
        """Groups the articles that a message names, and all others that are due. Raises Unavailable if the store or the
        queues did not answer."""
        lease = Lease(self._store, self._clock, self._new_id())
        due = {each["source_id"]: each for each in await self._announcer.due(MAX_LISTED)}
        keys = [*source_ids, *due]
        if not keys:
            return Handled()
        if not await lease.hold():
            await self._announcer.again(BUSY_SECONDS)
            return Handled(left=list(source_ids))
        stage, sends, work = self._announcer.stage, self._announcer.announcer, partial(self._work, lease, due, [])
        handler = Handler(stage, work, self._store, sends, self._clock, PORTION, at_once=1, new_id=self._new_id)
        try:
            handled = await handler.handle(keys, delivery, invocation_id)
        finally:
            with contextlib.suppress(Unavailable, ChangedMeanwhile):  # it ends by itself, or another worker has it
                await lease.release()
        if handled.done and await self._announcer.due(1):  # also what depends on these articles
            await self._announcer.again(0.0 if len(due) == MAX_LISTED else DELAY_SECONDS)
        return handled

    async def _work(
        self, lease: Lease, due: dict[str, Document], kept: list[Candidates], source_ids: Sequence[str], *, alone: bool
    ) -> Worked:
        """`due` has articles that were read already: each is used once, since another try must not find it again.
        `kept` is what the last portion knew of others, which no other worker changes while the lease lasts."""
        if not await lease.hold():
            raise Unavailable("another worker groups articles", retry_after=BUSY_SECONDS)
        found: list[Document | None] = [due.pop(each) for each in source_ids if each in due and not alone]
        known = {each["source_id"] for each in found if each is not None}
        keys = [(each, Article.ID) for each in source_ids if each not in known]
        found += await self._store.read_many(ARTICLES.name, keys) if keys else ()
        wanted, kill = self._announcer.stage.turns(found, self._clock(), alone=alone)
        if not wanted:
            return Worked(kill=kill)
        candidates = kept.pop() if kept else Candidates()
        grouped = await self.group(wanted, candidates)
        if len(candidates.decided) < MAX_KEPT:
            kept.append(candidates)
        await self._announcer.announcer.announce(SIGNALS_STAGE, sorted(grouped.events))
        counts = {"grouped": len(grouped.finished), "stories": len(grouped.events), "mentions": grouped.mentions}
        return Worked(len(grouped.finished), grouped.failed, kill=kill, counts=counts)

    async def group(self, documents: Sequence[Document], candidates: Candidates) -> Outcome:
        """Groups these articles. Raises Unavailable: then all of them stay due."""
        batch, outcome = _Batch(self._clock()), Outcome()
        due = await self._read(batch, documents, outcome)
        await candidates.read(self._store, due, batch.articles.keys())
        # Of a hundred articles it takes up to half a second, in which other work goes on.
        batch.decided = await asyncio.to_thread(decide_all, due, candidates.names, candidates.decided)
        await candidates.write_keys(self._store, due, batch.now)
        await self._make_dependents_due(batch, candidates)
        await self._write_members(batch)
        outcome.events = {event for name in batch.articles for event in batch.events_of(name)}
        counted = {event for name in batch.articles if not batch.begins_alone(name) for event in batch.events_of(name)}
        await mark_signals_due(self._store, sorted(counted), batch.now)
        outcome.mentions = await self._write_mentions(batch)
        outcome.finished = await self._finish(batch)
        candidates.decided |= {name: each for name, each in batch.decided.items() if name in outcome.finished}
        # Whoever was quicker with one may have finished it, and this worker may have written after that.
        await self._make_due(batch.documents.keys() - outcome.finished, batch.now)
        return outcome

    async def _read(self, batch: _Batch, documents: Sequence[Document], outcome: Outcome) -> list[Known]:
        """Reads the articles with their members, and signs those that were not deleted."""
        for document in documents:
            try:
                article = Article.from_document(document)
            except UnreadableDocument as error:
                log_unreadable(error)
                outcome.failed[document["source_id"]] = reason_of(error)
                continue
            batch.documents[article.source_id] = document
            batch.articles[article.source_id] = article
        days = {name: day_of_time(published_at(each)) for name, each in batch.articles.items()}
        batch.members = await read_members(self._store, days)
        for name, article in batch.articles.items():
            if batch.members[name] is None and (article.deleted_at is not None or article.event_id is not None):
                batch.members[name] = await self._member_anywhere(name)
        living = [each for each in batch.articles.values() if each.deleted_at is None]
        signatures = await asyncio.to_thread(lambda: [signed(each) for each in living])
        said = await read_constraints(self._store, {each.source_id: each.grouping_corrections or () for each in living})
        return [
            Known(each.source_id, published_at(each), signature, said[each.source_id])
            for each, signature in zip(living, signatures, strict=True)
        ]

    async def _member_anywhere(self, name: str) -> Document | None:
        """The member of an article that was published on another day when it was grouped last: its first source has
        left it, or the time of a deleted article is lost."""
        page = await self._store.query(STORIES.name, Query((Where("id", "eq", name),), limit=1))
        return page.items[0] if page.items else None

    async def _make_dependents_due(self, batch: _Batch, candidates: Candidates) -> None:
        """Makes the articles due that depend on what changes. Those in the batch that were decided earlier stay due."""
        found: set[str] = set()
        for name in batch.articles:
            before, after = readable(batch.members[name], known), batch.decided.get(name)
            if after is not None:
                near = (candidates.decided.get(each) for each in candidates.names[name])
                found.update(copies_before(after, [each for each in near if each is not None]))
                if before is None or (_event(before) == _event(after) and before.signature == after.signature):
                    continue
                found |= after.constraints.partners
            event = _event(before) if before is not None else batch.articles[name].event_id
            if event is not None:
                members = await members_of(self._store, event)
                found.update(
                    each["id"] for each in members if name in (each.get("opening"), each.get("near_duplicate_of"))
                )
                decided = [batch.decided[each] for each in found & batch.decided.keys()]
                batch.stays |= {each.source_id for each in decided if after is not None and each.place < after.place}
            found.discard(name)
        await self._make_due(found - batch.articles.keys(), batch.now)

    async def _make_due(self, names: Collection[str], now: datetime) -> None:
        time = format_time(now)

        def decide(_: tuple[str, str], document: Document | None) -> Decided:
            if document is None or document.get("grouping_due_since") is not None:
                return None
            return {**document, "grouping_due_since": time, "updated_at": max(document["updated_at"], time)}

        if names:
            await change_many(self._store, ARTICLES.name, [(name, Article.ID) for name in sorted(names)], decide)

    async def _write_members(self, batch: _Batch) -> None:
        """Articles whose members another writer changed stay due."""
        by_day: dict[str, list[_Named]] = {}
        moved: dict[str, list[_Named]] = {}
        for name, article in batch.articles.items():
            before, known = batch.members[name], batch.decided.get(name)
            after = None if known is None else member_of(article, known, before, batch.now)
            if before is not None and (after is None or after["day"] != before["day"]):
                moved.setdefault(before["day"], []).append((name, Delete(name, before["_etag"])))
                before = None
            if after is not None and (before is None or not is_same(before, after)):
                write = Create(after) if before is None else Replace(after, before["_etag"])
                by_day.setdefault(after["day"], []).append((name, write))
        batch.stays |= await self._in_batches(STORIES.name, moved)
        batch.stays |= await self._in_batches(STORIES.name, by_day)

    async def _write_mentions(self, batch: _Batch) -> int:
        """Returns how many mentions changed their story."""
        keys = [
            (tool_id, name)
            for name in batch.decided
            if name not in batch.stays
            for tool_id in batch.articles[name].tool_ids_ever_detected
        ]
        found = await self._store.read_many(MENTIONS.name, keys) if keys else []
        time = format_time(batch.now)
        changed: dict[str, list[_Named]] = {}
        moments: dict[str, list[datetime]] = {}
        for (tool_id, name), mention in zip(keys, found, strict=True):
            if mention is None or mention.get("removed_at"):
                continue
            event = batch.event_of(name)
            if mention.get("event_id") != event:
                after = {**mention, "event_id": event, "updated_at": time}
                changed.setdefault(tool_id, []).append((name, Replace(after, mention["_etag"])))
            if mention.get("event_id") != event or batch.articles[name].event_id != event:
                moments.setdefault(tool_id, []).append(parse_time(mention["published_at"]))
        batch.stays |= await self._in_batches(MENTIONS.name, changed)
        if moments:
            await mark_dirty(self._store, moments, batch.now)
            await self._announcer.announcer.announce(REFRESH_STAGE, moments)
        return sum(len(each) for each in changed.values())

    async def _finish(self, batch: _Batch) -> set[str]:
        """The articles that were written: they are no longer due."""
        time = format_time(batch.now)
        writes: dict[str, list[_Named]] = {}
        for name in batch.documents.keys() - batch.stays:
            known, document = batch.decided.get(name), batch.documents[name]
            after = {key: each for key, each in document.items() if key not in _OF_GROUPING} | {"updated_at": time}
            if known is not None and known.decision is not None:
                after["event_id"] = known.decision.event_id
                if known.decision.near_duplicate_of is not None:
                    after["near_duplicate_of"] = known.decision.near_duplicate_of
            writes[name] = [(name, Replace(after, document["_etag"]))]
        return writes.keys() - await self._in_batches(ARTICLES.name, writes)

    async def _in_batches(self, container: str, by_partition: Mapping[str, Sequence[_Named]]) -> set[str]:
        """Does the operations, each with a name. Returns the names of those that failed with their batch."""
        batches: list[tuple[str, list[Operation]]] = []
        names: list[list[str]] = []
        for partition, writes in by_partition.items():
            for some in parts_of(writes, WRITES_AT_ONCE):
                batches.append((partition, [operation for _, operation in some]))
                names.append([name for name, _ in some])
        outcomes = await self._store.batch_many(container, batches) if batches else []
        failed = [some for some, outcome in zip(names, outcomes, strict=True) if isinstance(outcome, Exception)]
        return {name for some in failed for name in some}


class Lease:
    """The right of one worker to group articles: a document in `catalog`, which ends if the worker dies."""

    def __init__(self, store: Store, clock: Clock, holder: str) -> None:
        self._store = store
        self._clock = clock
        self._holder = holder
        self._held: Document | None = None

    async def hold(self) -> bool:
        """Takes the lease, or renews it if a third of its time is over. False if another worker has it, or had it since
        this one took it: what this one knows may have changed."""
        now = self._clock()
        if self._held is not None and not is_over(parse_time(self._held["updated_at"]) + LEASE / 3, now, LEASE):
            return True

        before = self._held

        def decide(stored: Document | None) -> Decided:
            is_mine = stored is not None and stored["holder"] == self._holder
            is_free = stored is None or is_over(parse_time(stored["updated_at"]) + LEASE, now, LEASE)
            if is_mine or (is_free and before is None):
                return GroupingLease(created_at=now, holder=self._holder).to_document()
            return None

        key = GroupingLease.PARTITION, GroupingLease.ID
        after = await change(self._store, CATALOG.name, *key, decide, known=self._held)
        self._held = after if after is not None and after["holder"] == self._holder else None
        return self._held is not None

    async def release(self) -> None:
        if self._held is not None:
            etag, self._held = self._held["_etag"], None
            await self._store.delete(CATALOG.name, GroupingLease.PARTITION, GroupingLease.ID, etag)


def _event(known: Known | None) -> str | None:
    return None if known is None or known.decision is None else known.decision.event_id
