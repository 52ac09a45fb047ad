"""Reads the mentions of a tool in two times, and what moved its sentiment from one to the other (movement.py)."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any

from models.article import Article
from models.errors import InvalidInput
from models.feed import Feed
from models.story import day_of
from models.values import format_time
from services.figures.movement import Mention, Movement, Part, Times, movement_of, names_in, rescored_in
from services.figures.points import MENTIONS_KEPT
from services.ports import Document, Query, Store, Where, pages
from services.store.containers import ARTICLES, FEEDS, MENTIONS, STORIES

MOST_MENTIONS = 20_000
MOST_ARTICLES = 200
"""How many of the latest articles are looked at for their languages."""
_PAGE = 1000
_MINUTE = timedelta(minutes=1)


@dataclass(frozen=True, slots=True)
class Asked:
    """The present time, and by how much earlier the previous one is."""

    start: datetime
    end: datetime
    shift: timedelta

    @classmethod
    def of(cls, start: datetime, end: datetime, shift_hours: int | None, now: datetime) -> Asked:
        """Without `shift_hours`, the previous time ends where the present one begins. Raises InvalidInput."""
        if start >= end:
            raise InvalidInput("from", f"before `to`, which is {format_time(end)}")
        shift = end - start if shift_hours is None else timedelta(hours=shift_hours)
        oldest = now - MENTIONS_KEPT
        if start < oldest:
            raise InvalidInput("from", f"at least {format_time(oldest)}: mentions are kept no longer")
        return cls(start, end, shift)

    @property
    def times(self) -> Times:
        previous = format_time(self.start - self.shift), format_time(self.end - self.shift)
        return Times((format_time(self.start), format_time(self.end)), previous)


@dataclass(frozen=True, slots=True)
class MovementReader:
    store: Store

    async def of(self, tool_id: str, asked: Asked) -> dict[str, Any]:
        """Raises InvalidInput if the two times have too many mentions."""
        times = asked.times
        mentions = await self._mentions(tool_id, times)
        found = movement_of(mentions, times)
        present = [each for each in mentions if times.places(each)[0]]
        stories, names = found.moving(found.stories), await self._source_names(found)
        headlines = await self._headlines(stories)
        languages, looked_at = await self._languages(present)
        return {
            "from": times.present[0],
            "to": times.present[1],
            "previous_from": times.previous[0],
            "previous_to": times.previous[1],
            "present": found.present.figures(),
            "previous": found.previous.figures(),
            "difference": found.difference,
            "entered": found.entered,
            "left": found.left,
            "stories": [
                {"event_id": _event_id(part), "headline": headlines.get(part.key) or _headline(part)}
                | _shown(found, part)
                for part in stories
            ],
            "publishers": [{"publisher": part.key} | _shown(found, part) for part in found.largest(found.publishers)],
            "sources": [
                {"source": part.key, "source_name": names.get(part.key)} | _shown(found, part)
                for part in found.largest(found.sources)
            ],
            "names": names_in(present),
            "rescored": rescored_in(present, found.present.total),
            "languages": languages,
            "languages_of": looked_at,
        }

    async def _mentions(self, tool_id: str, times: Times) -> list[Mention]:
        spans = sorted((times.previous, times.present))
        if spans[0][1] >= spans[1][0]:  # they meet or overlap: one query, so that no mention is read twice
            spans = [(spans[0][0], max(spans[0][1], spans[1][1]))]
        found: list[Mention] = []
        for start, end in spans:
            where = (
                Where("removed_at", "missing"),
                Where("published_at", "ge", start),
                Where("published_at", "lt", end),
            )
            query = Query(where, partition=tool_id, order="by_published", limit=_PAGE)
            async for page in pages(self.store, MENTIONS.name, query):
                found += page.items
                if len(found) > MOST_MENTIONS:
                    raise InvalidInput("from", f"a shorter time: this one has over {MOST_MENTIONS:,} mentions")
        return found

    async def _headlines(self, stories: Sequence[Part]) -> dict[str, str]:
        """Of the stories of several articles that are there."""
        events = [part.key for part in stories if _event_id(part) is not None]
        found = await self.store.read_many(STORIES.name, [(day_of(each), each) for each in events]) if events else []
        stored = zip(events, found, strict=True)
        return {each: str(story["headline"]) for each, story in stored if story is not None and story.get("headline")}

    async def _source_names(self, found: Movement) -> dict[str, str]:
        """What people call the sources that are there."""
        keys = [(part.key, Feed.ID) for part in found.largest(found.sources)]
        feeds = await self.store.read_many(FEEDS.name, keys) if keys else []
        return {feed["feed_id"]: feed["source_name"] for feed in feeds if feed is not None and feed.get("source_name")}

    async def _languages(self, present: Sequence[Mention]) -> tuple[list[dict[str, Any]], int]:
        """The languages of the latest articles, and how many articles these are."""
        articles = await self._articles(present[-MOST_ARTICLES:])
        counts = Counter(each.get("language") or "und" for each in articles if each is not None)
        ordered = sorted(counts.items(), key=lambda each: (-each[1], each[0]))
        return [{"language": name, "articles": count} for name, count in ordered], sum(counts.values())

    async def _articles(self, mentions: Sequence[Mention]) -> Sequence[Document | None]:
        keys = [(each["source_id"], Article.ID) for each in mentions]
        return await self.store.read_many(ARTICLES.name, keys) if keys else []


def _event_id(part: Part) -> str | None:
    return part.key if part.latest is not None and part.latest.get("event_id") == part.key else None


def _headline(part: Part) -> str | None:
    return None if part.latest is None else part.latest.get("headline")


def _shown(found: Movement, part: Part) -> dict[str, Any]:
    return {
        "mentions": part.mentions,
        "unscored_mentions": part.unscored,
        "share": found.share_of(part),
        "positive_count": part.tally.positive,
        "negative_count": part.tally.negative,
        "neutral_count": part.tally.neutral,
        "average_sentiment": part.tally.average_sentiment if part.tally.total else None,
        "entered": part.entered,
        "left": part.left,
        "effect": found.effect_of(part),
    }
