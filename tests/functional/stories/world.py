"""Articles about a few events, grouped by workers on one store, and what must hold of the documents afterwards."""

from __future__ import annotations

import json
from datetime import datetime
from typing import Any

from models.article import Article
from models.story import Story, StoryMember, key_id
from services.ports import Query, Where, query_all
from services.signals.writing import SignalWriter
from services.store.containers import ARTICLES, LOCATORS, MENTIONS, STORIES
from services.stories.members import known, signed, story_of
from services.stories.writing import Lease
from services.topology import GENERATE_IDEAS, GROUP_HEADLINES
from tests.functional.mentions.world import Worker
from tests.functional.mentions.world import World as MentionsWorld

ANY: tuple[str, ...] = ()
"""A message that names no article."""

OUTAGE = "Hexwharf outage stops deployments of thousands of companies worldwide"
OUTAGE_TOO = "Hexwharf outage stopped deployments of thousands of companies worldwide on Tuesday"
OUTAGE_LATER = "Thousands of companies worldwide wait for deployments after Hexwharf outage"
RELEASE = "Pebblegrid ships a rewritten compiler with faster incremental builds"
OTHER = "Regulators fine a grocery chain over misleading loyalty prices"
LEAD = (
    "An outage at Hexwharf stopped deployments of thousands of companies on Monday, after a certificate of its"
    " registry expired during the night. Engineers restored the service within three hours, the company said, and"
    " promised a report about the causes until the end of the week."
)
"""The lead of an article that several outlets publish word by word."""


class World(MentionsWorld):
    async def analysed(self, number: int, headline: str, text: str = "", **fields: Any) -> str:
        """An article that was ingested and analysed."""
        source_id = await self.article(number, headline, text, **fields)
        await self.delivered([source_id])
        return source_id

    def lease(self) -> Lease:
        """The lease of another worker."""
        return Lease(self.store, self.watch, f"another-{next(self._ids)}")

    async def group(self, worker: Worker | None = None) -> None:
        """Groups what is due, as the messages do until nothing is left, and counts the stories that changed."""
        while (await (worker or self.worker).grouper.handle(ANY)).done:
            pass
        await self.count()

    async def count(self) -> None:
        """Counts the stories that are marked, and decides their signals."""
        writer = SignalWriter(self.store, self.worker.catalog, self.watch)
        for each in await query_all(self.store, STORIES.name, Query(order="by_signals_due", limit=500)):
            await writer.write(each["event_id"])

    async def due(self) -> list[str]:
        page = await self.store.query(ARTICLES.name, Query(order="by_grouping_due", limit=1000))
        return [each["source_id"] for each in page.items]

    async def articles(self) -> list[Article]:
        found = await query_all(self.store, ARTICLES.name, Query(order="by_time", limit=500))
        return [Article.from_document(each) for each in found]

    async def living(self) -> list[Article]:
        return [each for each in await self.articles() if each.deleted_at is None]

    async def members(self) -> dict[str, StoryMember]:
        where = (Where("entity_type", "eq", "StoryMember"),)
        found = await query_all(self.store, STORIES.name, Query(where, limit=500))
        return {each["id"]: StoryMember.from_document(each) for each in found}

    async def stories(self) -> dict[str, Story]:
        found = await query_all(self.store, STORIES.name, Query(order="by_time", limit=500))
        return {each["id"]: Story.from_document(each) for each in found}

    async def together(self) -> set[frozenset[str]]:
        """The articles of each story, as the articles have it."""
        of_story: dict[str | None, set[str]] = {}
        for each in await self.living():
            of_story.setdefault(each.event_id, set()).add(each.source_id)
        return {frozenset(each) for each in of_story.values()}

    def sent(self) -> tuple[list[dict[str, Any]], list[dict[str, Any]]]:
        """The messages of `group-headlines` and `generate-ideas` since the last call."""
        group, ideas = self.queues.sent.pop(GROUP_HEADLINES, []), self.queues.sent.pop(GENERATE_IDEAS, [])
        return [json.loads(each) for each in group], [json.loads(each) for each in ideas]

    async def is_right(self) -> None:
        """Members, keys, stories, mentions and articles agree, also after all articles were grouped again."""
        await self.agrees()
        await self.make_due([each.source_id for each in await self.living()])
        await self.group()
        await self.agrees()

    async def agrees(self) -> None:
        assert await self.due() == []
        living, members = await self.living(), await self.members()
        assert members.keys() == {each.source_id for each in living}
        for article in living:
            member = members[article.source_id]
            assert known(member.to_document()).signature == signed(article)
            assert (article.event_id, article.near_duplicate_of) == (member.event_id, member.near_duplicate_of)
            assert member.publisher_id == article.publisher_id
            assert member.detected_tool_ids == article.detected_tool_ids
            assert member.opening is not None
            assert members[member.opening].event_id == member.event_id
            if member.near_duplicate_of is not None:
                original = members[member.near_duplicate_of]
                assert (original.event_id, original.published_at <= member.published_at) == (member.event_id, True)
            for key in known(member.to_document()).signature.keys:
                assert article.dedup_key in await self.entries(key)
            keys = [(tool_id, article.source_id) for tool_id in article.detected_tool_ids]
            for mention in await self.store.read_many(MENTIONS.name, keys):
                assert mention is not None
                assert mention["event_id"] == member.event_id
        await self._stories_are_counted(members)

    async def make_due(self, source_ids: list[str]) -> None:
        for each in source_ids:
            before = await self.read(each)
            due = before.changed(self.watch(), grouping_due_since=self.watch())
            await self.store.replace(ARTICLES.name, due.to_document(), before.stored_etag or "")

    async def entries(self, key: str) -> dict[str, int]:
        """What the document of a key names."""
        document = await self.store.read(LOCATORS.name, key_id(key), key_id(key))
        return {} if document is None else document["articles"]

    async def _stories_are_counted(self, members: dict[str, StoryMember]) -> None:
        of_story: dict[str, list[StoryMember]] = {}
        for each in members.values():
            assert each.event_id is not None
            of_story.setdefault(each.event_id, []).append(each)
        stories = await self.stories()
        assert stories.keys() == {event for event, found in of_story.items() if len(found) > 1}
        for event, story in stories.items():
            headline = (await self.read(min(of_story[event], key=_order).source_id)).canonical.headline
            counted = story_of(event, of_story[event], headline, story.to_document(), story.updated_at)
            assert story == counted

    async def has_no_words_of(self, headline: str) -> None:
        """No document of the grouping has the headline, or a word of it that no other headline has."""
        living = [each.canonical.headline for each in await self.living()]
        others = {word for each in living for word in each.lower().split()}
        words = [word for word in headline.lower().split() if word not in others and len(word) > 3]
        for document in await query_all(self.store, STORIES.name, Query(limit=500)):
            text = json.dumps(document).lower()
            assert headline in living or headline.lower() not in text
            assert not [word for word in words if word in text]


def _order(member: StoryMember) -> tuple[datetime, str]:
    return member.published_at, member.source_id
