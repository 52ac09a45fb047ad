"""Handles the messages of `group-headlines`: groups all articles that are due, in portions, under the lease.

What is left when the deadline is near is due still, and gets another message. A deleted article is forgotten while a
person waits, with or without the lease: its member keeps no word of it.
"""

from __future__ import annotations

import asyncio
import contextlib
import logging
import time
from collections.abc import Callable
from dataclasses import dataclass
from datetime import timedelta
from typing import Self

from models.article import Article
from models.errors import ChangedMeanwhile, Unavailable, UnreadableDocument
from models.story import LEASE, day_of, first_article, removed_story
from models.values import format_time
from services import deadline
from services.logs import log_event
from services.mentions.understanding import published_at
from services.ports import Clock, Document, Query, Queues, Store, Where, query_all
from services.store.containers import ARTICLES, STORIES
from services.stories.announcing import BUSY_SECONDS, GroupingAnnouncer, GroupMessage
from services.stories.documents import day_of_time, without_words
from services.stories.lease import Lease
from services.stories.writing import GroupWriter, LeaseLost, Outcome
from services.work.announcing import Announcer

log = logging.getLogger("toolpulse.stories")

FIRST_PORTION = 10
MOST_IN_PORTION = 100
PORTION_SECONDS = 3.0
"""How long a portion may take. A busy store makes portions smaller, so that each ends before the deadline."""
ROUNDS = 5
"""How often articles that other writers change meanwhile are tried in one message."""
PATIENCE_SECONDS = 5.0
"""How long a deletion waits for the lease. Afterwards a later grouping does what follows."""
_POLL_SECONDS = 0.1
_TRIES = 8


@dataclass(frozen=True, slots=True)
class Grouped:
    """How many articles were grouped, and whether articles are left."""

    articles: int = 0
    left: bool = False


def next_portion(portion: int, articles: int, seconds: float) -> int:
    """How many articles to group together after `articles`, in a portion of at most `portion`, took so long."""
    fitting = int(articles * PORTION_SECONDS / seconds) if seconds > 0 else MOST_IN_PORTION
    return max(1, min(fitting, 2 * portion, MOST_IN_PORTION))


class Grouping:
    def __init__(
        self,
        store: Store,
        writer: GroupWriter,
        announcer: GroupingAnnouncer,
        clock: Clock,
        new_id: Callable[[], str],
        seconds: Callable[[], float] = time.monotonic,
    ) -> None:
        self._store = store
        self._writer = writer
        self.announcer = announcer
        self._clock = clock
        self._new_id = new_id
        self._seconds = seconds

    @classmethod
    def build(
        cls,
        store: Store,
        queues: Queues,
        refreshes: Announcer,
        threshold: int,
        interval: timedelta,
        clock: Clock,
        new_id: Callable[[], str],
    ) -> Self:
        announcer = GroupingAnnouncer(store, queues, threshold, interval, clock)
        return cls(store, GroupWriter(store, announcer, refreshes, clock), announcer, clock, new_id)

    async def work(self, message: GroupMessage) -> Grouped:
        """Raises Unavailable if the store or the queues did not answer."""
        lease = Lease(self._store, self._clock, self._new_id)
        if not await lease.acquire():
            await self.announcer.again(message, delay_seconds=BUSY_SECONDS)
            return Grouped(left=True)
        began = self._seconds()
        try:
            await self.announcer.begun()
            outcome, left = await self._all_due(lease)
        finally:
            with contextlib.suppress(Unavailable):  # then the lease ends by itself
                await lease.release()
        if left:
            await self.announcer.again(message)
        log_event(
            log,
            logging.WARNING if outcome.unfinished else logging.INFO,
            "articles_grouped",
            articles=len(outcome.finished),
            stories=outcome.stories,
            mentions=outcome.mentions,
            unfinished=len(outcome.unfinished),
            milliseconds=round(1000 * (self._seconds() - began)),
        )
        return Grouped(len(outcome.finished), left)

    async def _all_due(self, lease: Lease) -> tuple[Outcome, bool]:
        """Groups what is due, the first first. Whether the deadline came before the end of the list."""
        total, after, round_no = Outcome(), None, 1
        portion, renewed = FIRST_PORTION, self._seconds()
        while True:
            page = await self._store.query(ARTICLES.name, Query(order="by_grouping_due", limit=portion, after=after))
            due = [each for each in page.items if each["source_id"] not in total.waiting]
            if due:
                began = self._seconds()
                if began - renewed > LEASE.total_seconds() / 4:
                    if not await lease.renew():
                        return total, True
                    renewed = self._seconds()
                try:
                    total.add(await self._writer.group(due, lease))
                    renewed = self._seconds()
                except LeaseLost:
                    return total, True
                except ChangedMeanwhile:
                    total.add(Outcome(unfinished={each["source_id"] for each in due}))
                portion = next_portion(portion, len(due), self._seconds() - began)
            after = page.next
            if after is None:
                if not total.unfinished or round_no == ROUNDS:
                    return total, False
                round_no += 1
            if deadline.is_near():
                return total, True

    async def forget(self, source_id: str) -> None:
        """Removes every word of a deleted article from what the grouping has stored, and groups again what depends on
        it. To be called after its tombstone was written. Afterwards no grouping sees its text."""
        document = await self._store.read(ARTICLES.name, source_id, Article.ID)
        if document is None:
            return
        await self._remove_words(source_id, document)
        began = self._seconds()
        while True:
            lease = Lease(self._store, self._clock, self._new_id)
            if await lease.acquire():
                break
            if self._seconds() - began >= PATIENCE_SECONDS:
                return
            await asyncio.sleep(_POLL_SECONDS)
        # Another worker may have grouped the article until now, as it was before.
        await self._remove_words(source_id, document)
        for _ in range(_TRIES):
            document = await self._store.read(ARTICLES.name, source_id, Article.ID)
            if document is None or document.get("grouping_due_since") is None:
                break
            try:
                if source_id in (await self._writer.group([document], lease)).finished:
                    break
            except LeaseLost:
                break
            except ChangedMeanwhile:
                continue
        await lease.release()

    async def _remove_words(self, source_id: str, article: Document) -> None:
        for _ in range(_TRIES):
            member = await self._member(source_id, article)
            if member is None:
                return
            event = member.get("event_id")
            if not member.get("removed_at"):
                bare = without_words(member, format_time(self._clock()))
                try:
                    await self._store.replace(STORIES.name, bare, member["_etag"])
                except ChangedMeanwhile:
                    continue
            if event is not None and not await self._remove_words_of_story(event, source_id):
                continue
            return
        raise ChangedMeanwhile(f"the member of {source_id} keeps changing")

    async def _remove_words_of_story(self, event: str, source_id: str) -> bool:
        """Whether the story has no word of the article: the story that it began is counted anew, and no other has words
        until then."""
        if first_article(event) == source_id:
            if await self._store.read(STORIES.name, day_of(event), event) is not None:
                await self._store.upsert(STORIES.name, removed_story(event, self._clock()))
                await self._store.delete(STORIES.name, day_of(event), event)
            return True
        story = await self._store.read(STORIES.name, day_of(event), event)
        if story is not None and story.get("words"):
            try:
                await self._store.replace(STORIES.name, {**story, "words": []}, story["_etag"])
            except ChangedMeanwhile:
                return False
        return True

    async def _member(self, source_id: str, article: Document) -> Document | None:
        try:
            day = day_of_time(published_at(Article.from_document(article)))
        except UnreadableDocument:
            day = None
        found = None if day is None else await self._store.read(STORIES.name, day, source_id)
        if found is None:
            documents = await query_all(self._store, STORIES.name, Query((Where("id", "eq", source_id),), limit=10))
            found = documents[0] if documents else None
        return found
