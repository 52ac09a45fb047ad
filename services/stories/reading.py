"""Reads stories: lists by filter, and one story with its articles, its publishers, and what it says of each tool.

One story is derived from its members, whichever documents a worker has written so far. So a story of one article is
served too, though it has no document.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from models.article import Article
from models.errors import NotFound
from models.mention import SentimentScore
from models.story import Story, StoryMember, day_of, first_article
from models.tally import Tally
from models.values import format_time, parse_time
from services.parse.publisher_id import shown_name
from services.ports import Clock, Document, Listed, Query, Store, Where, listed, listed_documents, readable
from services.store.containers import ARTICLES, MENTIONS, STORIES
from services.stories.documents import publisher_of_member, story_of
from services.stories.index import StoredArticles
from services.stories.listing import closes_at, state_of
from services.tools.catalog import Catalog

MOST_SHOWN = 500
"""The articles that a story is shown with, and by which its tools' sentiment is counted."""
_READ_AT_ONCE = 500


@dataclass(frozen=True, slots=True)
class Stories:
    store: Store
    catalog: Catalog
    clock: Clock

    async def page(self, where: Sequence[Where], limit: int, after: str | None) -> Listed[dict[str, Any]]:
        """The stories of two articles or more that meet all conditions, those with the latest articles first."""
        query = Query(tuple(where), order="by_time", reverse=True, limit=limit, after=after, may_be_stale=True)
        page = listed(await self.store.query(STORIES.name, query), Story.from_document, "event_id")
        now = self.clock()
        return Listed([shown_story(each, now) for each in page.items], page.next, page.unreadable)

    async def get(self, event_id: str) -> dict[str, Any]:
        """Raises NotFound."""
        members = await self._members(event_id)
        if not members.items:
            raise await self._gone(event_id)
        found = members.items[:MOST_SHOWN]
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
        story = _derived(event_id, members.items, first.canonical.headline, stored)
        shown = [shown_member(each, articles[each.source_id]) for each in found if each.source_id in articles]
        return {
            **shown_story(story, self.clock()),
            "publishers": publishers_of(members.items),
            "tools": await self._tools(found),
            "members": shown,
            **({"unreadable": list(members.unreadable)} if members.unreadable else {}),
        }

    async def _members(self, event_id: str) -> Listed[StoryMember]:
        """The members by the time of their publication."""
        try:
            day_of(event_id)
        except ValueError:
            return Listed([])
        documents = await StoredArticles(self.store).members_of(event_id)
        found = listed_documents(documents, StoryMember.from_document, "source_id")
        return Listed(sorted(found.items, key=lambda each: (each.published_at, each.source_id)), None, found.unreadable)

    async def _tools(self, members: Sequence[StoryMember]) -> list[dict[str, Any]]:
        """What the articles say of each tool, those with most articles first."""
        keys = [(tool_id, each.source_id) for each in members for tool_id in each.detected_tool_ids]
        mentions: list[SentimentScore] = []
        for start in range(0, len(keys), _READ_AT_ONCE):
            documents = await self.store.read_many(MENTIONS.name, keys[start : start + _READ_AT_ONCE])
            mentions += listed_documents(documents, SentimentScore.from_document, "source_id").items
        tallies = tallies_of(mentions)
        known = await self.catalog.known(sorted(tallies)) if tallies else None
        names = {tool.tool_id: tool.primary_name for tool in known.items} if known is not None else {}
        shown = [shown_tool(tool_id, names.get(tool_id), tally) for tool_id, tally in tallies.items()]
        return sorted(shown, key=lambda each: (-each["articles"], (each["tool"] or "").casefold(), each["tool_id"]))

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


def _derived(event_id: str, members: Sequence[StoryMember], headline: str, stored: Document | None) -> Story:
    documents = [each.to_document() for each in members]
    updated = max(each.updated_at for each in members) if stored is None else parse_time(stored["updated_at"])
    return story_of(event_id, documents, headline, stored or documents[0], updated)


def shown_story(story: Story, now: datetime) -> dict[str, Any]:
    return {**story.shown(), "state": state_of(story, now), "closes_at": format_time(closes_at(story))}


def shown_member(member: StoryMember, article: Article) -> dict[str, Any]:
    """The article of a member, and why it is in the story."""
    reading = article.canonical
    return {
        "source_id": article.source_id,
        "headline": reading.headline,
        "url": reading.url,
        "published_at": format_time(member.published_at),
        "language": member.language,
        "publisher_id": member.publisher_id,
        "publisher_name": shown_name(member.publisher_id),
        "sources": list(article.sources),
        "tool_ids": list(member.detected_tool_ids),
        "sentiment": article.sentiment,
        "reason": _shown_reason(member.story_reason),
        "near_duplicate_of": member.near_duplicate_of,
        "near_duplicate_reason": _shown_reason(member.near_duplicate_reason),
    }


def _shown_reason(reason: Any) -> dict[str, Any] | None:
    return None if reason is None else reason.model_dump(mode="json")


def publishers_of(members: Sequence[StoryMember]) -> list[dict[str, Any]]:
    """The publishers with the number of their articles, those with most first."""
    counts = Counter(publisher_of_member(each.to_document()) for each in members)
    ordered = sorted(counts.items(), key=lambda each: (-each[1], each[0]))
    return [{"publisher_id": name, "publisher_name": shown_name(name), "articles": count} for name, count in ordered]


def tallies_of(mentions: Sequence[SentimentScore]) -> Mapping[str, Tally]:
    """The mentions that count, by tool."""
    found: dict[str, Tally] = {}
    for each in mentions:
        if each.counts:
            found[each.tool_id] = found.get(each.tool_id, Tally()).plus(Tally.of(each.sentiment, each.polarity))
    return found


def shown_tool(tool_id: str, name: str | None, tally: Tally) -> dict[str, Any]:
    """`average_sentiment` is null if no mention could be scored."""
    figures = tally.figures()
    average = figures["average_sentiment"] if tally.total else None
    articles = tally.total + tally.unscored
    return {"tool_id": tool_id, "tool": name, "articles": articles, **figures, "average_sentiment": average}
