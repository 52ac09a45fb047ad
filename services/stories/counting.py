"""Counts stories: a story is counted from all of its members, so its figures are right whatever happened before.

Grouping marks the stories that it changed (services/mentions/signals_due.py). The worker that decides the signals of a
story counts the story first, from the members that it reads in any case.
"""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime

from models.article import Article
from models.story import StoryMember, day_of, removed_story
from services.ports import (
    Create,
    Delete,
    Document,
    Operation,
    Replace,
    Store,
    Upsert,
    readable,
)
from services.store.change import change_together
from services.store.containers import ARTICLES, STORIES
from services.stories.documents import story_of

_STORED_ONLY = ("_etag", "_ts", "created_at", "updated_at")


async def count_story(store: Store, event_id: str, members: Sequence[StoryMember], now: datetime) -> None:
    """Writes the story that these members make; a story of fewer than two has no document."""
    headline = await _headline(store, members) if len(members) > 1 else None
    documents = [each.to_document() for each in members]

    def decide(found: Sequence[Document | None]) -> Sequence[Operation]:
        before = found[0]
        if headline is None:
            gone = Upsert(removed_story(event_id, now))
            return [] if before is None else [gone, Delete(before["id"], before["_etag"])]
        after = story_of(event_id, documents, headline, before, now).to_document()
        if before is None:
            return [Create(after)]
        return [] if is_same(before, after) else [Replace(after, before["_etag"])]

    await change_together(store, STORIES.name, day_of(event_id), [event_id], decide)


async def _headline(store: Store, members: Sequence[StoryMember]) -> str | None:
    """The headline of the first article; null if it has expired, or if it was deleted a moment ago."""
    first = min(members, key=lambda each: (each.published_at, each.source_id))
    article = readable(await store.read(ARTICLES.name, first.source_id, Article.ID), Article.from_document)
    return None if article is None or article.deleted_at is not None else article.canonical.headline


def is_same(before: Document, after: Document) -> bool:
    """Whether both have the same content, whenever they were written."""
    return {k: v for k, v in before.items() if k not in _STORED_ONLY} == {
        k: v for k, v in after.items() if k not in _STORED_ONLY
    }
