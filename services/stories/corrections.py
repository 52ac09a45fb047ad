"""Reads and writes corrections of articles and stories, and names them in their articles."""

from __future__ import annotations

import asyncio
import contextlib
import random
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from models.article import Article
from models.errors import ChangedMeanwhile, Conflict, InvalidInput, NotFound
from models.grouping_correction import MOST_ARTICLES, GroupingCorrection, partition_of_correction
from models.story import StoryMember, day_of
from models.values import format_time
from services.articles.contention import ROUNDS, wait_seconds
from services.ports import Clock, Document, Listed, Operation, Query, Replace, Store, Where, listed, query_all
from services.store.containers import ARTICLES, STORIES

STATES = ("active", "undone")

_ALL = (Where("entity_type", "eq", "GroupingCorrection"),)
_PAGE = 500


@dataclass(frozen=True, slots=True)
class GroupingCorrections:
    store: Store
    clock: Clock
    chance: Callable[[], float] = random.random

    async def find(self, correction_id: str) -> GroupingCorrection | None:
        try:
            partition = partition_of_correction(correction_id)
        except ValueError:
            return None
        document = await self.store.read(STORIES.name, partition, correction_id)
        return None if document is None else GroupingCorrection.from_document(document)

    async def get(self, correction_id: str) -> GroupingCorrection:
        """Raises NotFound."""
        found = await self.find(correction_id)
        if found is None:
            raise NotFound(f"correction: there is none with the id {correction_id[:200]!r}")
        return found

    async def page(self, state: str | None, limit: int, after: str | None) -> Listed[GroupingCorrection]:
        """One page of all corrections, those of the latest days first; with `state`, it may be shorter than `limit`."""
        page = await self.store.query(STORIES.name, Query(_ALL, reverse=True, limit=limit, after=after))
        found = listed(page, GroupingCorrection.from_document, "correction_id")
        items = [each for each in found.items if state in (None, "active" if each.is_active else "undone")]
        return Listed(items, found.next, found.unreadable)

    async def of_article(self, article: Article) -> list[GroupingCorrection]:
        """The corrections that name the article, in the order in which they were made."""
        found = [await self.find(each) for each in article.grouping_corrections or ()]
        return sorted((each for each in found if each is not None), key=lambda each: (each.made_at, each.correction_id))

    async def make(self, correction: GroupingCorrection) -> GroupingCorrection:
        """The stored correction. Making it again changes nothing."""
        with contextlib.suppress(Conflict):
            await self.store.create(STORIES.name, correction.to_document())
        return await self.get(correction.correction_id)

    async def undo(self, correction_id: str, author: str, reason: str | None) -> GroupingCorrection:
        """The correction without effect. Undoing it again changes nothing. Raises NotFound."""
        for _ in range(ROUNDS):
            before = await self.get(correction_id)
            if not before.is_active:
                return before
            now = self.clock()
            after = before.changed(now, undone_at=now, undone_by=author, undone_reason=reason)
            try:
                stored = await self.store.replace(STORIES.name, after.to_document(), before.stored_etag or "")
            except ChangedMeanwhile:
                continue
            return GroupingCorrection.from_document(stored)
        raise ChangedMeanwhile(f"correction {correction_id} keeps changing: try again")

    async def name_in_articles(self, correction: GroupingCorrection) -> int:
        """Lets its articles name the correction, and makes their grouping due. Returns how many of them there are: an
        article that is deleted or has expired is left out."""
        waiting = sorted({*correction.articles, *correction.others})
        named = 0
        for round_no in range(ROUNDS):
            found = await self.store.read_many(ARTICLES.name, [(each, Article.ID) for each in waiting])
            batches: list[tuple[str, Sequence[Operation]]] = []
            for article in found:
                if article is not None and not article.get("deleted_at"):
                    after = self._named(article, correction.correction_id)
                    batches.append((article["source_id"], [Replace(after, article["_etag"])]))
            outcomes = await self.store.batch_many(ARTICLES.name, batches) if batches else []
            waiting = [key for (key, _), done in zip(batches, outcomes, strict=True) if not isinstance(done, list)]
            named += len(batches) - len(waiting)
            if not waiting:
                return named
            await asyncio.sleep(wait_seconds(round_no, self.chance()))
        raise ChangedMeanwhile(f"{len(waiting)} articles keep changing: try again")

    def _named(self, article: Document, correction_id: str) -> Document:
        time = format_time(self.clock())
        names = dict.fromkeys((*article.get("grouping_corrections", ()), correction_id))
        updated = max(article["updated_at"], time)
        return {**article, "grouping_corrections": list(names), "grouping_due_since": time, "updated_at": updated}

    async def members(self, event_id: str, field: str) -> list[str]:
        """The articles of a story. Raises NotFound, and InvalidInput for what is no id of a story, or a story of more
        articles than a correction can name."""
        try:
            day_of(event_id)
        except ValueError as error:
            raise InvalidInput(field, str(error)) from None
        where = (Where("event_id", "eq", event_id), Where("entity_type", "eq", "StoryMember"))
        found = await query_all(self.store, STORIES.name, Query(where, order="by_story", limit=_PAGE))
        members = [StoryMember.from_document(each).source_id for each in found]
        if not members:
            raise NotFound(f"{field}: there is no story with the id {event_id}")
        if len(members) > MOST_ARTICLES:
            raise InvalidInput(field, f"a story of at most {MOST_ARTICLES} articles, not of {len(members)}")
        return members
