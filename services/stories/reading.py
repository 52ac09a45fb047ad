"""Reads stories: lists by filter, one story with its articles, its publishers, and what it says of each tool; and the
merge ledger: why sources are one article, why an article repeats another one, and why it is in its story.

One story is derived from its members, whichever documents a worker has written so far. So a story of one article is
served too, though it has no document. A story is open while an article may still join it: until SILENCE after its last
article. Nothing is written when a story closes.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC
from typing import Any

from models.article import Article, SourceAttribution
from models.correction import GroupingCorrection
from models.errors import NotFound
from models.mention import SentimentScore
from models.resources.base import View
from models.resources.corrections import GroupingCorrectionResource
from models.resources.stories import StoryMemberResource, StoryPublisher, StoryResource, StoryTool
from models.story import Story, StoryMember, day_of, first_article
from models.tally import Tally
from models.values import format_time, parse_time
from services.articles.merge import JOINED_BY_FIELDS
from services.articles.sources import MAX_SHOWN as SOURCES_SHOWN
from services.articles.sources import with_sources
from services.mentions.understanding import published_at
from services.parse.publisher_id import shown_name
from services.ports import Clock, Listed, Query, Store, Where, listed, listed_documents, readable
from services.store.containers import ARTICLES, MENTIONS, STORIES
from services.stories.members import publisher_of_member, story_of
from services.stories.pins import GroupingCorrections, members_of
from services.tools.catalog import Catalog

MAX_SHOWN = 500
"""The articles that a story is shown with, and by which its tools' sentiment is counted."""


@dataclass(frozen=True, slots=True)
class Stories:
    """Reads stories."""

    store: Store
    catalog: Catalog
    clock: Clock

    async def page(
        self, where: Sequence[Where], limit: int, after: str | None, view: View = "default"
    ) -> Listed[dict[str, Any]]:
        """The stories of two articles or more that meet all conditions, those with the latest articles first."""
        query = Query(tuple(where), order="by_time", reverse=True, limit=limit, after=after, may_be_stale=True)
        page = listed(await self.store.query(STORIES.name, query), Story.from_document, "event_id")
        now = self.clock()
        return Listed([StoryResource.of(each, now, view).shown() for each in page.items], page.next, page.unreadable)

    async def get(self, event_id: str, view: View = "default") -> dict[str, Any]:
        """Raises NotFound."""
        members = await self._members(event_id)
        if not members.items:
            raise await self._gone(event_id)
        found = members.items[:MAX_SHOWN]
        documents = await self.store.read_many(ARTICLES.name, [(each.source_id, Article.ID) for each in found])
        articles = {
            each.source_id: article
            for each, document in zip(found, documents, strict=True)
            if (article := readable(document, Article.from_document)) is not None and article.deleted_at is None
        }
        first = next((articles[each.source_id] for each in found if each.source_id in articles), None)
        if first is None:
            raise await self._gone(event_id)
        stored = await self.store.read(STORIES.name, day_of(event_id), event_id)
        before = stored or members.items[0].to_document()
        made = max(each.updated_at for each in members.items) if stored is None else parse_time(stored["updated_at"])
        story = story_of(event_id, members.items, first.canonical.headline, before, made)
        publishers = Counter(map(publisher_of_member, members.items))
        served = [
            StoryMemberResource.of(each, articles[each.source_id], shown_name(each.publisher_id))
            for each in found
            if each.source_id in articles
        ]
        by_count = [
            StoryPublisher.shaped({"publisher_id": each, "publisher_name": shown_name(each), "articles": count})
            for each, count in sorted(publishers.items(), key=lambda each: (-each[1], each[0]))
        ]
        parts = {"publishers": by_count, "tools": await self._tools(found), "members": served}
        if members.unreadable:
            parts["unreadable"] = list(members.unreadable)
        return StoryResource.of(story, self.clock(), view).with_added(**parts).shown()

    async def _members(self, event_id: str) -> Listed[StoryMember]:
        """The members by the time of their publication."""
        documents = await members_of(self.store, event_id)
        found = listed_documents(documents, StoryMember.from_document, "source_id")
        return Listed(sorted(found.items, key=lambda each: (each.published_at, each.source_id)), None, found.unreadable)

    async def _tools(self, members: Sequence[StoryMember]) -> list[StoryTool]:
        """What the articles say of each tool, those with most articles first."""
        keys = [(tool_id, each.source_id) for each in members for tool_id in each.detected_tool_ids]
        documents = await self.store.read_many(MENTIONS.name, keys)
        mentions = listed_documents(documents, SentimentScore.from_document, "source_id").items
        tallies: dict[str, Tally] = {}
        for each in mentions:
            if each.counts:
                tally = tallies.get(each.tool_id, Tally())
                tallies[each.tool_id] = tally.plus(Tally.of(each.sentiment, each.polarity))
        known = (await self.catalog.known(sorted(tallies))).items if tallies else []
        names = {tool.tool_id: tool.primary_name for tool in known}
        found = [_said_of_tool(tool_id, names.get(tool_id), tally) for tool_id, tally in tallies.items()]
        return sorted(found, key=lambda each: (-each.articles, (each.tool or "").casefold(), each.tool_id))

    async def _gone(self, event_id: str) -> NotFound:
        """Says where the articles of the story are, if the first of them is in another one now."""
        message = f"story: there is none with the id {event_id[:200]!r}"
        try:
            day_of(event_id)
        except ValueError:
            return NotFound(message)
        document = await self.store.read(ARTICLES.name, first_article(event_id), Article.ID)
        elsewhere = None if document is None or document.get("deleted_at") else document.get("event_id")
        if elsewhere is None or elsewhere == event_id:
            return NotFound(message)
        return NotFound(f"{message} any more; the article that began it is in {elsewhere}")


def _said_of_tool(tool_id: str, name: str | None, tally: Tally) -> StoryTool:
    """`average_sentiment` is null if no mention could be scored."""
    fields = {**tally.figures(), "tool_id": tool_id, "tool": name, "articles": tally.total + tally.unscored}
    return StoryTool.shaped(fields if tally.total else {**fields, "average_sentiment": None})


@dataclass(frozen=True, slots=True)
class Ledger:
    """Reads the merge ledger."""

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
        whole = with_sources(article, SOURCES_SHOWN)
        near = story = None
        if member is not None and member.near_duplicate_reason is not None:
            near = {"near_duplicate_of": member.near_duplicate_of, **member.near_duplicate_reason.model_dump()}
        if member is not None and member.event_id is not None:
            reason = member.story_reason.model_dump() if member.story_reason is not None else None
            story = {"event_id": member.event_id, "reason": reason}
        return {
            "source_id": article.source_id,
            "headline": article.canonical.headline,
            "sources": [_entry(each, whole.source_attribution[each]) for each in whole.sources],
            "near_duplicate": near,
            "story": story,
            "corrections": [_named(each) for each in await self.corrections.of_article(article)],
        }


def _named(correction: GroupingCorrection) -> dict[str, Any]:
    """The correction without the person, whom only management may see."""
    shown = GroupingCorrectionResource.of(correction).shown()
    return {name: shown[name] for name in ("correction_id", "kind", "state", "made_at", "undone_at")}


def _entry(source: str, own: SourceAttribution) -> dict[str, Any]:
    """Why the source is in the article."""
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
