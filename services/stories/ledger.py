"""The merge ledger: why sources are one article, why an article repeats another one, and why it is in its story."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC
from typing import Any

from models.article import Article, SourceAttribution
from models.grouping_correction import GroupingCorrection
from models.resources.corrections import GroupingCorrectionResource
from models.story import StoryMember
from models.values import format_time
from services.articles.merge import JOINED_BY_FIELDS
from services.articles.sources import sources_of
from services.mentions.understanding import published_at
from services.ports import Listed, Query, Store, Where, listed, readable
from services.store.containers import ARTICLES, STORIES
from services.stories.pins import GroupingCorrections


@dataclass(frozen=True, slots=True)
class Ledger:
    store: Store
    corrections: GroupingCorrections

    async def of_article(self, article: Article) -> dict[str, Any]:
        """The entries of one article, with at most as many sources as are served of an article."""
        day = published_at(article).astimezone(UTC).date().isoformat()
        stored = await self.store.read(STORIES.name, day, article.source_id)
        return await self._entries(article, readable(stored, StoryMember.from_document))

    async def of_story(self, event_id: str, limit: int, after: str | None) -> Listed[dict[str, Any]]:
        """The entries of a page of the articles in a story, in the order of their publication."""
        where = (Where("event_id", "eq", event_id), Where("entity_type", "eq", "StoryMember"))
        query = Query(where, order="by_story", limit=limit, after=after)
        page = listed(await self.store.query(STORIES.name, query), StoryMember.from_document, "source_id")
        keys = [(each.source_id, Article.ID) for each in page.items]
        found = await self.store.read_many(ARTICLES.name, keys) if keys else []
        entries = []
        for member, document in zip(page.items, found, strict=True):
            article = readable(document, Article.from_document)
            if article is not None and article.deleted_at is None:
                entries.append(await self._entries(article, member))
        return Listed(entries, page.next, page.unreadable)

    async def _entries(self, article: Article, member: StoryMember | None) -> dict[str, Any]:
        whole = await sources_of(self.store, article)
        near = story = None
        if member is not None and member.near_duplicate_reason is not None:
            near = {"near_duplicate_of": member.near_duplicate_of, **member.near_duplicate_reason.model_dump()}
        if member is not None and member.event_id is not None:
            reason = member.story_reason.model_dump() if member.story_reason is not None else None
            story = {"event_id": member.event_id, "reason": reason}
        return {
            "source_id": article.source_id,
            "headline": article.canonical.headline,
            "sources": reasons_of_sources(whole),
            "near_duplicate": near,
            "story": story,
            "corrections": [_named(each) for each in await self.corrections.of_article(article)],
        }


def _named(correction: GroupingCorrection) -> dict[str, Any]:
    """The correction without the person, whom only management may see."""
    shown = GroupingCorrectionResource.of(correction).shown()
    return {name: shown[name] for name in ("correction_id", "kind", "state", "made_at", "undone_at")}


def reasons_of_sources(article: Article) -> list[dict[str, Any]]:
    """Why each source is in the article, in the order in which they joined it. Pure."""
    return [_entry(key, article.source_attribution[key]) for key in _by_time(article)]


def _by_time(article: Article) -> Sequence[str]:
    attribution = article.source_attribution
    return sorted(article.sources, key=lambda key: (attribution[key].crawl_timestamp, article.sources.index(key)))


def _entry(source: str, own: SourceAttribution) -> dict[str, Any]:
    published = own.published_at
    values = {
        "article_id": own.article_id,
        "url": own.url,
        "headline": own.original_headline,
        "day": None if published is None else format_time(published)[:10],
    }
    rule = own.joined_by
    return {
        "source": source,
        "rule": rule,
        "fields": {} if rule is None else {name: values[name] for name in JOINED_BY_FIELDS[rule]},
        "joined_at": format_time(own.crawl_timestamp),
        "run_id": own.added_by_run,
    }
