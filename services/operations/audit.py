"""The audit counts anew what other documents say, and compares. It repairs nothing.

`toolpulse audit` does a whole round at once. `clean_up` does a round each week, in portions: the checkpoint says where
the next one goes on. A part that differs is read again after a moment, and only what differs both times, in the same
versions of the documents, is reported: what a worker is just writing is no difference.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import AsyncIterator, Awaitable, Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime, timedelta
from functools import partial
from itertools import groupby
from typing import Literal

import orjson

from models.article import Article
from models.cache import PERIODS, CacheGeneration, SentimentCacheEntry, entry_id, generation_id
from models.correction import AFTER_PREFIX, PREFIX, Correction
from models.errors import UnreadableDocument
from models.mention import SentimentScore
from models.operations import Audit as StoredAudit
from models.operations import AuditRound
from models.run import COMPARE, LONG_WORKFLOWS
from models.tally import TimelineHours
from models.timeline import DayCounts, HourRows, Timeline
from models.tool import Tool
from models.values import format_time, hour_key, hour_start, is_ahead, is_over, parse_time
from services import deadline
from services.figures.counting import MentionCount, days_of, recounts_of
from services.figures.windows import Windows, edges_of
from services.logs import log_event
from services.mentions.due import dirty_hours_of
from services.operations.audit_rules import (
    Difference,
    is_at_rest,
    judge_article,
    judge_correction,
    judge_detected,
    judge_entry,
    judge_hours,
    judge_mention,
)
from services.ports import Clock, Document, Query, Store, Where, pages, query_all, readable
from services.store.containers import ARTICLES, CATALOG, MENTIONS, RUNS, SENTIMENT_CACHE
from services.tools.catalog import ONLY_TOOLS

log = logging.getLogger("toolpulse.upkeep")

EVERY = timedelta(days=7)
FIRST = "articles:"
DOCUMENTS_IN_PART = 100
DOCUMENTS_IN_PORTION = 2_000
READ_AGAIN_AFTER_SECONDS = 2.0
JUDGED = timedelta(days=31)
"""Older hours are in no window."""
WINDOWS_JUDGED = timedelta(days=1)
"""Entries that are older may count hours that are no longer stored."""
_HOUR = timedelta(hours=1)
OF_MENTIONS = (*("mention_missing", "mention_unfounded", "correction_not_applied", "hour_differs", "entry_differs"),)
"""The kinds of differences that a workflow makes and mends while it changes mentions."""
_WORKFLOWS = tuple(each for each in LONG_WORKFLOWS if each != COMPARE)


@dataclass(frozen=True, slots=True)
class Part:
    """What one part of a section has. `next` is the place of the next part, None after the last; `checked` is how many
    documents were read."""

    section: str
    differences: list[Difference] = field(default_factory=list)
    next: str | None = None
    checked: int = 0


@dataclass(frozen=True, slots=True)
class _Figures:
    """What is stored of a tool's figures, read before its mentions."""

    timeline: Document | None
    by_minute: Mapping[str, HourRows]
    entries: Sequence[SentimentCacheEntry]
    dirty: Collection[str]


class Audit:
    """Compares what is stored with what it is counted from, and keeps the result for health."""

    def __init__(self, store: Store, clock: Clock, sleep: Callable[[float], Awaitable[None]] = asyncio.sleep) -> None:
        self._store = store
        self._clock = clock
        self._sleep = sleep

    async def round(self, tool_id: str | None = None) -> AsyncIterator[Part]:
        """Audits everything, or one tool with its mentions. A whole round replaces the one of the checkpoint."""
        if tool_id is not None:
            yield await self._confirmed(partial(self._tools, "eq", tool_id))
            return
        present = AuditRound(started_at=self._clock(), place=FIRST)
        while present.place is not None:
            part = await self._confirmed(partial(self._part, present.place))
            present = present.plus(part.checked, (each.kind for each in part.differences), part.next)
            yield part
        await self._end(present)

    async def weekly(self) -> AuditRound | None:
        """The next portion of the round of this week, if it is due. Returns the round if this portion ended it."""
        document, now = await self._store.read(CATALOG.name, StoredAudit.PARTITION, StoredAudit.ID), self._clock()
        known = readable(document, StoredAudit.from_document) or StoredAudit(created_at=now)
        if known.present is None and known.last is not None and not is_over(known.updated_at + EVERY, now, EVERY):
            return None
        present = known.present or AuditRound(started_at=now, place=FIRST)
        most = present.checked + DOCUMENTS_IN_PORTION
        while present.place is not None:
            part = await self._confirmed(partial(self._part, present.place))
            present = present.plus(part.checked, (each.kind for each in part.differences), part.next)
            if present.place is not None and (present.checked >= most or deadline.is_near()):
                # Of two workers that audit at once, the last one counts.
                after = known.changed(self._clock(), present=present)
                await self._store.upsert(CATALOG.name, after.to_document())
                return None
        return await self._end(present)

    async def _part(self, place: str) -> Part:
        """A place is a section, and where it goes on."""
        section, _, after = place.partition(":")
        return await (self._articles(after) if section == "articles" else self._tools("gt", after))

    async def _confirmed(self, read: Callable[[], Awaitable[Part]]) -> Part:
        """The part, with the differences that are there twice."""
        part = await read()
        if not part.differences:
            return part
        await self._sleep(READ_AGAIN_AFTER_SECONDS)
        # Before the second reading: what both of them meet of a workflow, it is at now.
        in_flight = OF_MENTIONS if await self._is_workflow_open() else ()
        again = set((await read()).differences)
        found = [each for each in part.differences if each in again and each.kind not in in_flight]
        return replace(part, differences=found)

    async def _articles(self, after: str) -> Part:
        """Articles with their observations and the mentions that they name."""
        query = Query((Where("source_id", "gt", after),), limit=DOCUMENTS_IN_PART)
        page = await self._store.query(ARTICLES.name, query)
        groups = [(key, list(group)) for key, group in groupby(page.items, key=lambda each: str(each["source_id"]))]
        if page.next is not None and len(groups) > 1:
            groups.pop()  # the page may have only a part of it
        elif page.next is not None:
            key = groups[0][0]
            groups = [(key, await query_all(self._store, ARTICLES.name, Query(partition=key)))]
        now, found, at_rest = self._clock(), list[Difference](), list[Document]()
        for key, group in groups:
            article = next((each for each in group if each["id"] == Article.ID), None)
            observations = [each for each in group if each.get("entity_type") == "Observation"]
            found += judge_article(key, article, observations, now)
            if article is not None and is_at_rest(article):
                at_rest.append(article)
        found += await self._missing_mentions(at_rest)
        checked = sum(len(group) for _, group in groups)
        return Part("articles", found, f"articles:{groups[-1][0]}" if page.next is not None else "tools:", checked)

    async def _missing_mentions(self, articles: Sequence[Document]) -> list[Difference]:
        keys = [(tool_id, each["source_id"]) for each in articles for tool_id in each.get("detected_tool_ids", ())]
        found = dict(zip(keys, await self._store.read_many(MENTIONS.name, keys), strict=True))
        missing = {key[0] for key, each in found.items() if each is None or each.get("removed_at") is not None}
        if not missing:
            return []
        tools = await self._store.read_many(CATALOG.name, [(each, Tool.ID) for each in sorted(missing)])
        active = {each["pk"] for each in tools if each is not None and each.get("status") == "ACTIVE"}
        return [difference for each in articles for difference in judge_detected(each, found, active)]

    async def _tools(self, op: Literal["eq", "gt"], than: str) -> Part:
        """The mentions, corrections and figures of one tool: the first one whose id compares so."""
        where = (ONLY_TOOLS, Where(CATALOG.partition_key, op, than))
        page = await self._store.query(CATALOG.name, Query(where, limit=1))
        if not page.items:
            return Part("tools")
        (tool,) = page.items
        tool_id = str(tool["pk"])
        try:
            found, checked = await self._tool(tool_id, is_merged=tool.get("status") == "MERGED")
        except ValueError as error:  # also UnreadableDocument: one of its counts or entries
            found, checked = [Difference("unreadable", tool_id, str(error))], 0
        return Part("tools", found, f"tools:{tool_id}", 1 + checked)

    async def _tool(self, tool_id: str, *, is_merged: bool) -> tuple[list[Difference], int]:
        """What is wrong with a tool, and how many mentions it has."""
        now = self._clock()
        since = hour_start(hour_key(now - JUDGED))
        figures = None if is_merged else await self._stored_figures(tool_id, since)
        corrections = await self._corrections_of(tool_id)
        found, count, due, checked = list[Difference](), MentionCount(), set[str](), 0
        where = (Where("published_at", "ge", format_time(since)),)
        query = Query(where, partition=tool_id, order="by_published")
        async for page in pages(self._store, MENTIONS.name, query):
            checked += len(page.items)
            articles = await self._articles_of([each["id"] for each in page.items])
            for mention in page.items:
                article, correction = articles.get(mention["id"]), corrections.get(mention["id"])
                try:
                    SentimentScore.from_document(mention)
                except UnreadableDocument as error:
                    found.append(Difference("unreadable", mention["id"], str(error)))
                    figures = None
                    continue
                count.add(mention)
                if article is not None and article.get("analysis_due_since") is not None:
                    due.add(hour_key(parse_time(mention["published_at"])))
                found += judge_mention(mention, article, now)
                found += [] if correction is None else judge_correction(correction, mention, article)
        if figures is not None:
            found += self._judged(tool_id, figures, count, due, since)
        return found, checked

    async def _corrections_of(self, tool_id: str) -> dict[str, Correction]:
        """What people said of mentions of a tool, by article."""
        where = (Where("id", "ge", PREFIX), Where("id", "lt", AFTER_PREFIX))
        stored = await query_all(self._store, CATALOG.name, Query(where, partition=tool_id))
        read = (readable(each, Correction.from_document) for each in stored)
        return {each.source_id: each for each in read if each is not None and each.source_id is not None}

    async def _stored_figures(self, tool_id: str, since: datetime) -> _Figures | None:
        """None if a clock that was ahead stored them: the next refresh counts the tool anew."""
        now = self._clock()
        timeline = await self._store.read(CATALOG.name, tool_id, Timeline.ID)
        if timeline is not None and is_ahead(parse_time(timeline["updated_at"]), now):
            return None
        by_minute = await self._stored_rows(tool_id, hour_key(since))
        entries = await self._entries(tool_id, recounts_of(timeline), now)
        dirty = {each["hour"] for each in await dirty_hours_of(self._store, tool_id)}
        return _Figures(timeline, by_minute, entries, dirty)

    def _judged(
        self, tool_id: str, figures: _Figures, count: MentionCount, due: Collection[str], since: datetime
    ) -> list[Difference]:
        """The hours and entries of a tool against a count of its mentions. `due` are the hours of mentions whose
        analysis has not ended: a mention is written before its hours are marked dirty."""
        in_timeline, days = TimelineHours(days_of(figures.timeline)), count.days()
        whole = [hour_key(since + number * _HOUR) for number in range((self._clock() - since) // _HOUR + 1)]
        counted = {hour: rows for day in days.values() for hour, rows in day.hours.items()}
        of_hours = {hour: in_timeline.numbers(hour) for hour in {*whole, *counted}}
        version = None if figures.timeline is None else str(figures.timeline["_etag"])
        wrong = judge_hours(tool_id, counted, of_hours, figures.by_minute, version)
        wrong = [each for each in wrong if each.about not in figures.dirty]
        if wrong or figures.dirty:
            return [] if any(each.about in due for each in wrong) else wrong
        found = []
        for entry in figures.entries:
            windows = Windows.summed(edges_of(entry.window.end), days, None, entry.recounts)
            found += judge_entry(entry, windows.at(entry.window.end)[entry.period])
        return found

    async def _stored_rows(self, tool_id: str, first: str) -> dict[str, HourRows]:
        """The rows of the hours from `first` on."""
        where = (Where("id", "ge", DayCounts.id_of(first[:8])), Where("id", "lt", DayCounts.id_of(";")))
        found = await query_all(self._store, CATALOG.name, Query(where, partition=tool_id))
        rows = {hour: rows for each in found for hour, rows in orjson.loads(each["hours"]).items()}
        return {hour: each for hour, each in rows.items() if hour >= first}

    async def _entries(self, tool_id: str, recounts: int, now: datetime) -> list[SentimentCacheEntry]:
        """The entries that are served: of the tool's generation and last recount."""
        names = [generation_id(tool_id), *(entry_id(tool_id, period) for period in PERIODS)]
        read = await self._store.read_many(SENTIMENT_CACHE.name, [(tool_id, name) for name in names])
        generation = 0 if read[0] is None else CacheGeneration.from_document(read[0]).generation
        entries = [SentimentCacheEntry.from_document(each) for each in read[1:] if each is not None]
        return [
            each
            for each in entries
            if (each.generation, each.recounts) == (generation, recounts) and each.window.end > now - WINDOWS_JUDGED
        ]

    async def _is_workflow_open(self) -> bool:
        """Whether a workflow that changes mentions has not ended: what it changes is in flight."""
        where = (Where("workflow_name", "in", _WORKFLOWS), Where("status", "in", ("QUEUED", "RUNNING")))
        return bool((await self._store.query(RUNS.name, Query(where, limit=1))).items)

    async def _articles_of(self, source_ids: Collection[str]) -> dict[str, Document]:
        keys = [(each, Article.ID) for each in sorted(set(source_ids))]
        found = await self._store.read_many(ARTICLES.name, keys)
        return {each["source_id"]: each for each in found if each is not None}

    async def _end(self, result: AuditRound) -> AuditRound:
        now = self._clock()
        ended = result.model_copy(update={"ended_at": now})
        await self._store.upsert(CATALOG.name, StoredAudit(created_at=now, last=ended).to_document())
        level = logging.WARNING if ended.found else logging.INFO
        began = format_time(ended.started_at)
        log_event(log, level, "audit_ended", checked=ended.checked, began=began, **ended.found)
        return ended
