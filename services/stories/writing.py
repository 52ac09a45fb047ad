"""Groups articles and writes what follows, until members, stories, mentions and articles agree.

The worker has the lease. The order of writes lets the next try repair a crash:
    1. every other article whose decision changes is made due, so that the next try decides it again in any case;
    2. keys, then members: from here on, later articles find these;
    3. the marks that the signals of stories are due, then the stories, counted from their members;
    4. mentions by their ETags; their hours are marked dirty, also of mentions that were right already, as long as
       their article is not; their tools are announced; then the stories that were updated;
    5. the lease is renewed. If another worker had it meanwhile, no article is finished;
    6. articles by the ETags that they were read with: their story, and that they are no longer due.
An article that another writer changed in between stays due, and so does one of whose documents another writer changed
one. If another worker had the lease and has finished the article, it is due again: either may have written last.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Awaitable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any

from models.article import Article
from models.errors import ChangedMeanwhile, UnreadableDocument
from models.story import StoryMember, day_of, removed_story
from models.values import format_time, parse_time
from services.logs import log_unreadable
from services.mentions.dirty_hours import mark_dirty_by_tool
from services.mentions.refresh_due import REFRESH_STAGE
from services.mentions.signals_due import mark_signals_due
from services.mentions.understanding import published_at
from services.ports import (
    BatchOutcome,
    Clock,
    Create,
    Delete,
    Document,
    Operation,
    Query,
    Replace,
    Store,
    Upsert,
    Where,
    listed_documents,
    readable,
)
from services.store.containers import ARTICLES, LOCATORS, MENTIONS, STORIES
from services.stories.announcing import GroupingAnnouncer
from services.stories.constraints import read_constraints
from services.stories.documents import (
    day_of_time,
    decided_fields,
    member_of,
    signed,
    story_of,
)
from services.stories.great_stories import GREAT, can_wait
from services.stories.grouping import Change, Decision, Known, replay
from services.stories.index import StoredArticles, readable_member
from services.stories.keys import Entry, key_id
from services.stories.keys import changed as changed_key
from services.stories.lease import Lease
from services.work.announcing import Announcer

log = logging.getLogger("toolpulse.stories")

MOST_DECISIONS = 1000
"""The most articles that are decided again at once. The others are made due."""
WRITES_AT_ONCE = 25
"""Members, or mentions, in one batch: so many are far below the limit of two megabytes."""
STORIES_AT_ONCE = 8
_TRIES = 8
INLINE = 8
"""Up to so many articles are signed on the event loop, in a millisecond or two; more in a thread."""


_Named = tuple[str, Operation]
"""An operation with the article or story that it is for."""


class LeaseLost(ChangedMeanwhile):
    """Another worker has grouped meanwhile."""


@dataclass(slots=True)
class Outcome:
    """`finished` are the articles that are no longer due; `unfinished` those that stay due, since another writer was
    quicker or since they cannot be grouped; `waiting` those that stay due until their story is counted. `stories`
    counts the stories that were updated, `mentions` the mentions that changed their story."""

    finished: set[str] = field(default_factory=set)
    unfinished: set[str] = field(default_factory=set)
    waiting: set[str] = field(default_factory=set)
    stories: int = 0
    mentions: int = 0

    def add(self, other: Outcome) -> None:
        self.finished |= other.finished
        self.unfinished = (self.unfinished | other.unfinished) - other.finished - other.waiting
        # One that a later portion decided again is grouped again before the message ends.
        self.waiting = (self.waiting | other.waiting) - other.unfinished
        self.stories += other.stories
        self.mentions += other.mentions


@dataclass(slots=True)
class _Batch:
    """The articles that are grouped together. `documents` and `articles` are all whose articles are written: those that
    are due, and others whose decision changes. `decided` has their decisions, None for a deleted article. `lost`,
    `left` and `waiting` stay due: since another writer was quicker, to be decided again, until their story is counted.
    """

    stored: StoredArticles
    now: datetime
    documents: dict[str, Document] = field(default_factory=dict)
    articles: dict[str, Article] = field(default_factory=dict)
    changes: dict[str, Change] = field(default_factory=dict)
    decided: dict[str, Known | None] = field(default_factory=dict)
    before: dict[str, Decision | None] = field(default_factory=dict)
    lost: set[str] = field(default_factory=set)
    left: set[str] = field(default_factory=set)
    waiting: set[str] = field(default_factory=set)

    @property
    def wanted(self) -> list[str]:
        return [name for name in self.decided if name in self.documents and name not in self.lost]

    def event_of(self, name: str) -> str | None:
        known = self.decided[name]
        return None if known is None or known.decision is None else known.decision.event_id

    def events_of(self, name: str) -> set[str]:
        """The stories of the article, now and before."""
        before = self.before.get(name)
        events = {self.event_of(name), before.event_id if before else None, self.articles[name].event_id}
        return {event for event in events if event is not None}


class GroupWriter:
    """`great`: from so many articles on, the count of a story may wait."""

    def __init__(
        self,
        store: Store,
        announcer: GroupingAnnouncer,
        refreshes: Announcer,
        clock: Clock,
        great: int = GREAT,
    ) -> None:
        self._store = store
        self._announcer = announcer
        self._refreshes = refreshes
        self._clock = clock
        self._great = great

    async def group(self, documents: Sequence[Document], lease: Lease) -> Outcome:
        """Groups these articles, which are due. Raises LeaseLost, ChangedMeanwhile and Unavailable: then all of them
        stay due."""
        batch = _Batch(StoredArticles(self._store), self._clock())
        try:
            return await self._grouped(batch, documents, lease)
        except ChangedMeanwhile as error:
            await self._repair(batch, batch.documents, overtaken=isinstance(error, LeaseLost))
            raise

    async def _grouped(self, batch: _Batch, documents: Sequence[Document], lease: Lease) -> Outcome:
        unread = await self._read(batch, documents)
        await batch.stored.prefetch([each.after for each in batch.changes.values() if each.after])
        replayed = await replay(batch.changes.values(), batch.stored, MOST_DECISIONS)
        batch.decided = {name: change.after for name, change in batch.changes.items()}
        batch.decided |= dict.fromkeys(batch.documents.keys() - batch.decided.keys())
        decided = {each.source_id: each for each in replayed.decided}
        batch.before = {name: _decision(each.before) for name, each in batch.changes.items()}
        batch.before |= {name: await self._decision_of(batch, name) for name in decided if name not in batch.before}
        batch.decided |= decided
        batch.left = left = set(replayed.remaining)
        left |= await self._make_due(batch, (decided.keys() | left) - batch.changes.keys())
        undecided = {name for name in left if _decision(batch.decided.get(name)) is None}
        for name in undecided:
            batch.decided.pop(name, None)
        await _checked(lease.holds())
        await self._write_keys(batch)
        await _checked(lease.holds())
        await self._write_members(batch)
        await _checked(lease.holds())
        events = await self._write_stories(batch)
        await _checked(lease.holds())
        mentions = await self._write_mentions(batch)
        await self._announcer.updated(sorted(events))
        await _checked(lease.renew())
        wanted = [name for name in batch.wanted if name not in left]
        finished = await self._finish(batch, wanted)
        await self._repair(batch, set(wanted) - finished)
        waiting = finished & batch.waiting
        unfinished = unread | batch.lost | left | (batch.documents.keys() - finished)
        return Outcome(finished - waiting, unfinished, waiting, len(events), mentions)

    async def _read(self, batch: _Batch, documents: Sequence[Document]) -> set[str]:
        """Reads the articles with their members, and signs them. Returns the articles that cannot be grouped."""
        failed: set[str] = set()
        days: dict[str, str] = {}
        for document in documents:
            try:
                article = Article.from_document(document)
            except UnreadableDocument as error:
                log_unreadable(error)
                failed.add(document["source_id"])
                continue
            batch.documents[article.source_id] = document
            batch.articles[article.source_id] = article
            days[article.source_id] = day_of_time(published_at(article))
        await batch.stored.read_members(days)
        for name, article in batch.articles.items():
            if batch.stored.documents[name] is None and (
                article.deleted_at is not None or article.event_id is not None
            ):
                batch.stored.documents[name] = await self._member_anywhere(name)
        living = [each for each in batch.articles.values() if each.deleted_at is None]
        named = {each.source_id: each.grouping_corrections or () for each in living}
        said = await read_constraints(self._store, named)

        def changed() -> None:
            for article in living:
                try:
                    signature = signed(article)
                except Exception:
                    # A fault in one article must not stop the others; id and traceback are logged.
                    log.exception("article_not_signed source_id=%s", article.source_id)
                    failed.add(article.source_id)
                    continue
                before = _known(batch.stored.documents[article.source_id])
                decision = None if before is None else before.decision
                after = Known(article.source_id, published_at(article), signature, said[article.source_id], decision)
                batch.changes[article.source_id] = Change(before, after)

        if len(living) <= INLINE:
            changed()
        else:
            await asyncio.to_thread(changed)
        for name, article in batch.articles.items():
            before = _known(batch.stored.documents[name])
            if article.deleted_at is not None and before is not None:
                batch.changes[name] = Change(before, None)
        for name in failed & batch.documents.keys():
            del batch.documents[name], batch.articles[name]
        return failed

    async def _member_anywhere(self, name: str) -> Document | None:
        """The member of an article that was published on another day when it was grouped last: its first source has
        left it, or the time of a deleted article is lost."""
        page = await self._store.query(STORIES.name, Query((Where("id", "eq", name),), limit=1))
        return page.items[0] if page.items else None

    async def _decision_of(self, batch: _Batch, name: str) -> Decision | None:
        return _decision(_known(batch.stored.documents.get(name)))

    async def _make_due(self, batch: _Batch, names: Collection[str]) -> set[str]:
        """Makes other articles due. They become part of the batch. Returns those that stay due after it: they were
        edited or deleted, and the batch decides by what is stored of them from before. Raises ChangedMeanwhile."""
        wanted = [name for name in names if name not in batch.documents]
        found = await self._store.read_many(ARTICLES.name, [(name, Article.ID) for name in wanted]) if wanted else []
        time, due, stay_due = format_time(batch.now), list[Document](), set[str]()
        for document in found:
            article = readable(document, Article.from_document)
            if document is not None and article is not None:
                batch.documents[article.source_id] = document
                batch.articles[article.source_id] = article
                if document.get("grouping_due_since") is None:
                    due.append({**document, "grouping_due_since": time, "updated_at": time})
                if document.get("grouping_due_since") is not None or article.deleted_at is not None:
                    stay_due.add(article.source_id)
        batches = [(each["source_id"], [Replace(each, each["_etag"])]) for each in due]
        outcomes = await self._store.batch_many(ARTICLES.name, batches) if batches else []
        for document, outcome in zip(due, outcomes, strict=True):
            if isinstance(outcome, Exception):
                raise ChangedMeanwhile(f"article {document['source_id']} was changed meanwhile")
            batch.documents[document["source_id"]] = {**document, "_etag": outcome[0]}
        return stay_due

    async def _write_keys(self, batch: _Batch) -> None:
        """Raises ChangedMeanwhile if another worker wrote one of the keys."""
        added: dict[str, set[Entry]] = {}
        removed: dict[str, set[Entry]] = {}
        for name, change in batch.changes.items():
            for known, entries in ((change.before, removed), (change.after, added)):
                if known is not None:
                    entry = known.signature.minute, name.removeprefix("dedup:")
                    for key in known.signature.keys:
                        entries.setdefault(key, set()).add(entry)
        for key in removed:
            removed[key] -= added.get(key, set())
        touched = {key: added.get(key, set()) | removed.get(key, set()) for key in {**added, **removed}}
        await batch.stored.read_keys(touched)
        batches: list[tuple[str, list[Operation]]] = []
        for key in touched:
            writes = changed_key(key, batch.stored.keys, added.get(key, ()), removed.get(key, ()), batch.now)
            if writes:
                batches.append((key_id(key), writes))
        for outcome in await self._store.batch_many(LOCATORS.name, batches) if batches else ():
            if isinstance(outcome, Exception):
                raise ChangedMeanwhile("a key of the grouping was changed meanwhile")

    async def _write_members(self, batch: _Batch) -> None:
        by_day: dict[str, list[_Named]] = {}
        moved: dict[str, list[_Named]] = {}
        for name in batch.decided:
            before = batch.stored.documents.get(name)
            write = _member_write(batch, name)
            if write is not None:
                if before is not None and before["day"] != write[0]:
                    moved.setdefault(before["day"], []).append((name, Delete(name, before["_etag"])))
                by_day.setdefault(write[0], []).append((name, write[1]))
        lost = await self._in_batches(STORIES.name, moved)
        lost |= await self._in_batches(STORIES.name, by_day)
        if lost:
            raise ChangedMeanwhile(f"{len(lost)} members of stories were changed meanwhile")

    async def _write_stories(self, batch: _Batch, *, may_wait: bool = True) -> set[str]:
        """Counts the stories of these articles anew, and marks that their signals are due: the members are written.
        Returns them, also those that have no article any more. `may_wait`: great ones may be counted later."""
        of_event: dict[str, set[str]] = {}
        for name in batch.wanted:
            for event in batch.events_of(name):
                of_event.setdefault(event, set()).add(name)
        alone = {
            event
            for event, names in of_event.items()
            if len(names) == 1 and self._is_new(batch, next(iter(names))) and _begins(batch, next(iter(names)), event)
        }
        keys = [(day_of(event), event) for event in sorted(of_event.keys() - alone)]
        read = await self._store.read_many(STORIES.name, keys) if keys else []
        stories = {
            event: story
            for (_, event), story in zip(keys, read, strict=True)
            if not (may_wait and self._can_wait(batch, event, of_event[event], story))
        }
        wanted = list(stories)
        await mark_signals_due(self._store, wanted, batch.now)
        members: list[list[Document]] = []
        for start in range(0, len(wanted), STORIES_AT_ONCE):
            some = wanted[start : start + STORIES_AT_ONCE]
            members += await asyncio.gather(*(batch.stored.members_of(event) for event in some))
        headlines = await self._headlines(batch, members)
        by_day: dict[str, list[_Named]] = {}
        for (event, before), found in zip(stories.items(), members, strict=True):
            try:
                write = _story_write(event, before, found, headlines, batch.now)
            except (KeyError, TypeError, ValueError, AttributeError):
                readable_ones = listed_documents(found, StoryMember.from_document, "source_id").items
                whole = [each.to_document() for each in readable_ones]
                write = _story_write(event, before, whole, headlines, batch.now)
            if write is not None:
                of_day = by_day.setdefault(day_of(event), [])
                if isinstance(write, Delete):
                    of_day.append((event, Upsert(removed_story(event, batch.now))))
                of_day.append((event, write))
        for event in await self._in_batches(STORIES.name, by_day):
            batch.lost |= of_event[event]
        return alone | set(wanted)

    def _can_wait(self, batch: _Batch, event: str, names: set[str], story: Document | None) -> bool:
        """Whether the story is counted later: then one of these articles stays due. Not if one of them has left it: the
        article would not remember the story."""
        if not can_wait(story, batch.now, self._great) or any(batch.event_of(name) != event for name in names):
            return False
        staying = names - batch.left
        if staying:
            batch.waiting.add(min(staying))
        return bool(staying)

    @staticmethod
    def _is_new(batch: _Batch, name: str) -> bool:
        return batch.before.get(name) is None and batch.articles[name].event_id is None

    async def _headlines(self, batch: _Batch, members: Iterable[Sequence[Document]]) -> dict[str, str]:
        """The headlines of the first articles of stories."""
        firsts = [first["source_id"] for found in members if len(found) > 1 and (first := _first(found)) is not None]
        unknown = [name for name in firsts if name not in batch.articles]
        found = await self._store.read_many(ARTICLES.name, [(name, Article.ID) for name in unknown]) if unknown else []
        articles = [article for each in found if (article := readable(each, Article.from_document)) is not None]
        read = {each.source_id: each.canonical.headline for each in articles}
        own = {name: each.canonical.headline for name, each in batch.articles.items()}
        return read | own

    async def _write_mentions(self, batch: _Batch) -> int:
        """Returns how many mentions changed their story."""
        keys = [
            (tool_id, name)
            for name in batch.wanted
            if batch.event_of(name) is not None
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
        batch.lost |= await self._in_batches(MENTIONS.name, changed)
        if moments:
            await mark_dirty_by_tool(self._store, moments, batch.now)
            await self._refreshes.announce(REFRESH_STAGE, moments)
        return sum(len(each) for each in changed.values())

    async def _finish(self, batch: _Batch, names: Sequence[str]) -> set[str]:
        """The articles that were written: they are no longer due, but for those that wait for their story."""
        time = format_time(batch.now)
        batches: list[tuple[str, list[Operation]]] = []
        for name in names:
            known, document = batch.decided[name], batch.documents[name]
            decision = None if known is None else known.decision
            after = {key: each for key, each in document.items() if key not in ("grouping_due_since", *_OF_STORY)}
            after["updated_at"] = time
            if name in batch.waiting:
                after["grouping_due_since"] = time
            if decision is not None:
                after["event_id"] = decision.event_id
                if decision.near_duplicate_of is not None:
                    after["near_duplicate_of"] = decision.near_duplicate_of
            batches.append((name, [Replace(after, document["_etag"])]))
        outcomes = await self._store.batch_many(ARTICLES.name, batches) if batches else []
        return {name for (name, _), outcome in zip(batches, outcomes, strict=True) if isinstance(outcome, list)}

    async def _repair(self, batch: _Batch, names: Collection[str], *, overtaken: bool = False) -> None:
        """Makes those of these articles due that another worker has finished meanwhile, who had the lease: this one may
        have written older decisions over its own. All stories are counted anew: the articles may not remember them."""
        for _ in range(_TRIES if names else 0):
            found = await self._store.read_many(ARTICLES.name, [(name, Article.ID) for name in names])
            time = format_time(self._clock())
            due = [each for each in found if each is not None and each.get("grouping_due_since") is None]
            if not due:
                break
            overtaken = True
            after = [{**each, "grouping_due_since": time, "updated_at": max(each["updated_at"], time)} for each in due]
            batches = [(each["source_id"], [Replace(each, each["_etag"])]) for each in after]
            await self._store.batch_many(ARTICLES.name, batches)
        if overtaken:
            await self._write_stories(batch, may_wait=False)

    async def _in_batches(self, container: str, by_partition: Mapping[str, Sequence[_Named]]) -> set[str]:
        """Does the operations, each with a name. Returns the names of those that failed with their batch."""
        batches: list[tuple[str, list[Operation]]] = []
        names: list[list[str]] = []
        for partition, writes in by_partition.items():
            for start in range(0, len(writes), WRITES_AT_ONCE):
                some = writes[start : start + WRITES_AT_ONCE]
                batches.append((partition, [operation for _, operation in some]))
                names.append([name for name, _ in some])
        outcomes: list[BatchOutcome] = await self._store.batch_many(container, batches) if batches else []
        return {
            name
            for some, outcome in zip(names, outcomes, strict=True)
            if isinstance(outcome, Exception)
            for name in some
        }


_OF_STORY = ("event_id", "near_duplicate_of")
_STORED_ONLY = ("_etag", "_ts", "created_at", "updated_at")


async def _checked(has_lease: Awaitable[bool]) -> None:
    if not await has_lease:
        raise LeaseLost("another worker groups")


def _known(document: Document | None) -> Known | None:
    return None if document is None else readable_member(document)


def _decision(known: Known | None) -> Decision | None:
    return None if known is None else known.decision


def _begins(batch: _Batch, name: str, event: str) -> bool:
    known = batch.decided[name]
    return (
        known is not None
        and known.decision is not None
        and known.decision.story_reason is None
        and (known.decision.event_id == event)
    )


def _first(members: Sequence[Document]) -> Document | None:
    return min(members, key=lambda each: (each["published_at"], each["source_id"]), default=None)


def _same(before: Document | None, after: Document) -> bool:
    if before is None:
        return False
    return {k: v for k, v in before.items() if k not in _STORED_ONLY} == {
        k: v for k, v in after.items() if k not in _STORED_ONLY
    }


def _written(before: Document | None, after: Document) -> Operation | None:
    """None if nothing changes."""
    if _same(before, after):
        return None
    return Create(after) if before is None else Replace(after, before["_etag"])


def _member_write(batch: _Batch, name: str) -> tuple[str, Operation] | None:
    """The day and the write of the member; None if there is nothing to write."""
    before, known = batch.stored.documents.get(name), batch.decided[name]
    if known is None:
        return None if before is None else (before["day"], Delete(before["id"], before["_etag"]))
    if known.decision is None:
        return None
    after: dict[str, Any]
    if name in batch.changes:
        after = member_of(batch.articles[name], known, before, batch.now)
    else:
        assert before is not None, "an article that is decided again is stored"
        try:
            stored = StoryMember.from_document(before)
        except UnreadableDocument as error:
            log_unreadable(error)  # its article is due: the next grouping of it writes the member anew
            batch.lost.add(name)
            return None
        after = stored.changed(batch.now, **decided_fields(known.decision)).to_document()
    write = _written(before if before is None or before["day"] == after["day"] else None, after)
    return None if write is None else (after["day"], write)


def _story_write(
    event: str, before: Document | None, members: Sequence[Document], headlines: Mapping[str, str], now: datetime
) -> Operation | None:
    first = _first(members)
    if len(members) < 2 or first is None or first["source_id"] not in headlines:
        return None if before is None else Delete(before["id"], before["_etag"])
    return _written(before, story_of(event, members, headlines[first["source_id"]], before, now).to_document())
