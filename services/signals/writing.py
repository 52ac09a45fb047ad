"""Counts one story, decides its signals from what is stored, and writes them.

The mark of the story (models/story.py) is read first, and deleted last if it is the version that was read. A change of
the story is marked after it was written: so whoever deletes the mark has read the change. A worker that wrote while
another one deleted the mark may have read less: it decides again, until it has nothing to write.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from datetime import UTC, date, datetime, timedelta

from models.article import Article
from models.errors import ChangedMeanwhile, Unavailable, UnreadableDocument
from models.mention import SentimentScore
from models.story import MAX_NAMED, Signal, Story, StoryMember, Topic, day_of, due_id, first_article
from models.tally import Tally, TimelineHours
from models.timeline import Timeline
from models.values import Day, format_time, hour_key, hour_start, is_over
from services.figures.breadth import publisher_of
from services.mentions.due import SIGNALS_STAGE, mark_signals_due
from services.ports import Clock, Document, Query, Store, Where, listed_documents, query_all, readable
from services.signals.rules import FIRST_IN_DAYS, Report, ToolStory, decide, is_about
from services.store.change import until_unchanged, write_of
from services.store.containers import ARTICLES, CATALOG, MENTIONS, SIGNALS, STORIES
from services.stories.members import count_story, day_of_time, topics_of_story
from services.stories.pins import members_of
from services.tools.catalog import Catalog
from services.work.handling import Worked
from services.work.rules import reason_of

log = logging.getLogger("toolpulse.signals")

SETTLED = timedelta(days=24)
"""The signals of a story that began so long ago stay as they are: its articles expire soon, after 30 days, which
withdraws nothing, and so do the counts of the week before it, after 32 days."""
COUNTED_AT_ONCE = 500
WAIT_PER_ARTICLE = timedelta(seconds=0.2)
"""A story of more articles is counted again after this time for each of them: so a story that grows costs the same,
however large it is."""
FIRST_IN = timedelta(days=FIRST_IN_DAYS)
WEEK = timedelta(days=7)


class SignalWriter:
    """Decides and writes signals."""

    def __init__(self, store: Store, catalog: Catalog, clock: Clock) -> None:
        self._store = store
        self._catalog = catalog
        self._clock = clock

    async def work(self, event_ids: Sequence[str], *, alone: bool) -> Worked:
        """Decides the signals of the stories that are due."""
        keys = [(day_of(each), due_id(each)) for each in event_ids]
        marks, now = await self._store.read_many(STORIES.name, keys), self._clock()
        due, kill = SIGNALS_STAGE.turns(marks, now, alone=alone)
        stories = [self.write(each["event_id"], may_wait=not alone) for each in due]
        outcomes = await asyncio.gather(*stories, return_exceptions=True)
        pairs = zip(due, outcomes, strict=True)
        errors = {mark["event_id"]: each for mark, each in pairs if isinstance(each, Exception)}
        for event_id, error in errors.items():
            if isinstance(error, Unavailable):
                raise error
            # A fault in one story must not stop the others; id and traceback are logged.
            log.error("signals_not_decided event_id=%s", event_id, exc_info=error)
        failed = {event_id: reason_of(error) for event_id, error in errors.items()}
        written = [each for each in outcomes if isinstance(each, int)]
        return Worked(len(written), failed, kill=kill, counts={"stories": len(written), "signals": sum(written)})

    async def write(self, event_id: str, *, may_wait: bool = False) -> int | None:
        """Returns how many signals were written; None if the story waits, which with `may_wait` a large one does.
        Raises UnreadableDocument if a document of the story cannot be read, and Unavailable if others keep changing
        it."""
        return await until_unchanged(lambda: self._write(event_id, may_wait=may_wait), f"story {event_id}")

    async def _write(self, event_id: str, *, may_wait: bool) -> int | None:
        keys = [(day_of(event_id), each) for each in (due_id(event_id), event_id)]
        (mark, story), now = await self._store.read_many(STORIES.name, keys), self._clock()
        if may_wait and await self._waits(mark, story, now):
            return None
        documents = await members_of(self._store, event_id)
        members = listed_documents(documents, StoryMember.from_document, "source_id")
        await count_story(self._store, event_id, members.items, story, now)
        is_settled = day_of(event_id) < day_of_time(now - SETTLED)
        if members.unreadable and not is_settled:
            raise UnreadableDocument("StoryMember", event_id, ", ".join(members.unreadable[:MAX_NAMED]))
        changes = [] if is_settled else await self._changes(event_id, members.items, now)
        outcomes = await self._store.batch_many(SIGNALS.name, [(each.tool_id, [write_of(each)]) for each in changes])
        if not all(isinstance(each, list) for each in outcomes):
            raise ChangedMeanwhile(f"another worker has written signals of {event_id}")
        is_last = mark is not None and await self._store.delete(STORIES.name, mark["day"], mark["id"], mark["_etag"])
        if changes and not is_last:
            raise ChangedMeanwhile(f"another worker has decided the signals of {event_id}")
        return len(changes)

    async def _waits(self, mark: Document | None, story: Document | None, now: datetime) -> bool:
        """Whether a large story was counted a moment ago: then it is due later."""
        known = readable(story, Story.from_document)
        if mark is None or known is None or known.article_count <= COUNTED_AT_ONCE:
            return False
        until = known.updated_at + (wait := known.article_count * WAIT_PER_ARTICLE)
        first = await self._store.read(ARTICLES.name, first_article(known.event_id), Article.ID)
        if is_over(until, now, wait) or (first or {}).get("deleted_at"):  # its headline is not shown for longer
            return False
        await self._store.replace(STORIES.name, {**mark, "signals_due_at": format_time(until)}, mark["_etag"])
        return True

    async def _changes(self, event_id: str, members: Sequence[StoryMember], now: datetime) -> list[Signal]:
        """The signals of the story to write. Marks later stories that this one makes the second of their kind."""
        of_story = Query((Where("event_id", "eq", event_id),), order="by_story")
        known = [Signal.from_document(each) for each in await query_all(self._store, SIGNALS.name, of_story)]
        keys = [(tool_id, each.source_id) for each in members for tool_id in each.detected_tool_ids]
        found = [each for each in await self._store.read_many(MENTIONS.name, keys) if each is not None]
        reports = reports_by_tool(members, [(SentimentScore.from_document(each), each) for each in found])
        stories = await self._stories(event_id, members, reports) if reports else []
        others = await self._others_of_topics(stories)
        await mark_signals_due(self._store, sorted(others - {event_id}), now)
        return decide(stories, known, now)

    async def _stories(
        self, event_id: str, members: Sequence[StoryMember], reports: Mapping[str, tuple[Report, ...]]
    ) -> list[ToolStory]:
        """The story as far as it mentions each tool."""
        began_at = min(each.published_at for each in members)
        topics = topics_of_story([each.topics for each in members])
        documents = await self._store.read_many(CATALOG.name, [(tool_id, Timeline.ID) for tool_id in reports])
        tools = (await self._catalog.known(sorted(reports))).items if topics else []
        discovered = {tool.tool_id: tool.discovery_date for tool in tools}
        found = []
        for (tool_id, of_tool), document in zip(reports.items(), documents, strict=True):
            timeline = readable(document, Timeline.from_document)
            story = ToolStory(
                tool_id=tool_id,
                event_id=event_id,
                reports=of_tool,
                articles=len(members),
                began_at=began_at,
                topics=topics,
                week=week_before(TimelineHours({} if timeline is None else timeline.hours), of_tool[0].published_at),
                days_known=days_known(discovered.get(tool_id), began_at),
            )
            found.append(await self._with_earlier_topics(story))
        return found

    async def _with_earlier_topics(self, story: ToolStory) -> ToolStory:
        if not story.days_known or not is_about(story):
            return story
        pages = [await self._store.query(STORIES.name, _earlier(story, each)) for each in story.topics]
        earlier = frozenset(topic for topic, page in zip(story.topics, pages, strict=True) if page.items)
        return replace(story, earlier_topics=earlier)

    async def _others_of_topics(self, stories: Sequence[ToolStory]) -> set[str]:
        """Later stories that this one makes the second of their kind."""
        found: set[str] = set()
        for story in stories:
            since, until = story.began_at, story.began_at + FIRST_IN
            for topic in story.topics:
                where = (
                    Where("kind", "eq", "FIRST_OF_ITS_KIND"),
                    Where("topic", "eq", topic),
                    Where("withdrawn_at", "missing"),
                    Where("story_published_at", "gt", format_time(since)),
                    Where("story_published_at", "le", format_time(until)),
                )
                query = Query(where, partition=story.tool_id)
                found |= {each["event_id"] for each in await query_all(self._store, SIGNALS.name, query)}
        return found


def _earlier(story: ToolStory, topic: Topic) -> Query:
    """A story about the tool and the topic, of FIRST_IN before this one."""
    where = (
        Where("tool_ids", "contains", story.tool_id),
        Where("topics", "contains", topic),
        Where("published_at", "lt", format_time(story.began_at)),
        Where("published_at", "ge", format_time(story.began_at - FIRST_IN)),
    )
    return Query(where, order="by_time", limit=1)


def reports_by_tool(
    members: Sequence[StoryMember], mentions: Iterable[tuple[SentimentScore, Document]]
) -> dict[str, tuple[Report, ...]]:
    """The reports of each tool, from the members of a story and their mentions. Removed mentions do not count."""
    published = {each.source_id: each.published_at for each in members}
    found: dict[str, list[Report]] = {}
    for mention, document in mentions:
        if mention.counts and mention.source_id in published:
            report = Report(mention.source_id, published[mention.source_id], publisher_of(document), mention.polarity)
            found.setdefault(mention.tool_id, []).append(report)
    return {
        tool_id: tuple(sorted(reports, key=lambda each: (each.published_at, each.source_id)))
        for tool_id, reports in found.items()
    }


def week_before(hours: TimelineHours, moment: datetime) -> Tally:
    """The tool's mentions of the seven days before the hour of the moment."""
    return hours.steps(hour_start(hour_key(moment)) - WEEK, WEEK // timedelta(hours=1), 1)[0]


def days_known(discovered: Day | None, moment: datetime) -> int:
    """For how many days before the moment articles have mentioned the tool."""
    return 0 if discovered is None else max(0, (moment.astimezone(UTC).date() - date.fromisoformat(discovered)).days)
