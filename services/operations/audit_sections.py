"""The sections of the audit that compare articles, locator aliases, mentions, feeds and runs: each reads one part.

A part is small, begins behind a position, and can be read again. Reading changes nothing. services/operations/
audit_rules.py decides what differs, audit_figures.py reads the figures of tools.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from itertools import groupby
from typing import Protocol

from models.article import Article
from models.errors import UnreadableDocument
from models.feed import Feed
from models.mention import SentimentScore
from models.operations import MigrationRecord
from models.run import INGEST_FEEDS, IngestionBatch
from models.tool import Tool
from models.values import format_time, parse_time
from services.operations.audit_rules import (
    Difference,
    is_at_rest,
    is_in_flight,
    judge_article,
    judge_detected,
    judge_feed_total,
    judge_mention,
    judge_run,
)
from services.ports import Clock, Document, Query, Store, Where, query_all
from services.runs.driver import BACKFILL, CORRECT, CORRECT_GROUPING, DELETE, MERGE, PRIORITIZE, REANALYZE, UNMERGE
from services.store.containers import ARTICLES, CATALOG, FEEDS, LOCATORS, MENTIONS, RUNS

DOCUMENTS_IN_PART = 100
FEEDS_IN_PART = 20
RUNS_IN_PART = 20
ATTEMPTS_NAMED_SINCE = 2
"""The number of a migration."""
ARTICLE_WRITTEN_WITHIN = timedelta(hours=1)
"""After its alias. The alias of an interrupted attempt waits for the next one."""
_PAGE = 500
_MOST_LISTED = 20
_WORKFLOWS = (BACKFILL, REANALYZE, MERGE, UNMERGE, DELETE, PRIORITIZE, CORRECT, CORRECT_GROUPING)


@dataclass(frozen=True, slots=True)
class Part:
    """What one part has. `next` is the position of the next part, None after the last; `checked` is how many documents
    were read."""

    differences: list[Difference] = field(default_factory=list)
    next: str | None = None
    checked: int = 0


class Section(Protocol):
    async def part(self, after: str | None) -> Part: ...


async def is_workflow_open(store: Store) -> bool:
    """Whether a workflow that changes mentions has not ended: what it changes is in flight."""
    where = (Where("workflow_name", "in", _WORKFLOWS), Where("status", "in", ("QUEUED", "RUNNING")))
    return bool((await store.query(RUNS.name, Query(where, limit=1))).items)


async def counted_since(store: Store) -> datetime | None:
    """Since when observations name their attempts, in a store that an earlier version has written; None in others."""
    record = await store.read(CATALOG.name, MigrationRecord.PARTITION, f"{ATTEMPTS_NAMED_SINCE:04d}")
    completed = None if record is None else record.get("completed_at")
    return None if completed is None else parse_time(completed)


async def articles_of(store: Store, source_ids: Collection[str]) -> dict[str, Document]:
    ids = sorted(set(source_ids))
    found = await store.read_many(ARTICLES.name, [(each, Article.ID) for each in ids])
    return {each["source_id"]: each for each in found if each is not None}


@dataclass(frozen=True, slots=True)
class ArticlesSection:
    """Articles with their observations and the mentions that they name. The position is an article."""

    store: Store
    clock: Clock

    async def part(self, after: str | None) -> Part:
        where = () if after is None else (Where("source_id", "gt", after),)
        page = await self.store.query(ARTICLES.name, Query(where, limit=DOCUMENTS_IN_PART))
        groups = [(key, list(group)) for key, group in groupby(page.items, key=lambda each: str(each["source_id"]))]
        if page.next is not None and len(groups) > 1:
            groups.pop()  # the page may have only a part of it
        elif page.next is not None:
            key = groups[0][0]
            groups = [(key, await query_all(self.store, ARTICLES.name, Query(partition=key, limit=_PAGE)))]
        now, found = self.clock(), list[Difference]()
        at_rest = []
        for key, group in groups:
            article = next((each for each in group if each["id"] == Article.ID), None)
            observations = [each for each in group if each.get("entity_type") == "Observation"]
            found += judge_article(key, article, observations, now)
            if article is not None and is_at_rest(article):
                at_rest.append(article)
        found += await self._mentions(at_rest)
        checked = sum(len(group) for _, group in groups)
        return Part(found, groups[-1][0] if page.next is not None else None, checked)

    async def _mentions(self, articles: Sequence[Document]) -> list[Difference]:
        keys = [(tool_id, each["source_id"]) for each in articles for tool_id in each.get("detected_tool_ids", ())]
        found = dict(zip(keys, await self.store.read_many(MENTIONS.name, keys), strict=True))
        missing = [key for key, each in found.items() if each is None or each.get("removed_at") is not None]
        if not missing or await is_workflow_open(self.store):
            return []
        tools = await self.store.read_many(
            CATALOG.name, [(each, Tool.ID) for each in sorted({key[0] for key in missing})]
        )
        active = {each["pk"] for each in tools if each is not None and each.get("status") == "ACTIVE"}
        differences = []
        for article in articles:
            own = {tool_id: each for (tool_id, source_id), each in found.items() if source_id == article["source_id"]}
            differences += judge_detected(article, own, active)
        return differences


@dataclass(frozen=True, slots=True)
class LocatorsSection:
    """Locator aliases. One without an article is no damage, and listed for the eyes of a person only."""

    store: Store
    clock: Clock

    async def part(self, after: str | None) -> Part:
        query = Query(
            (Where("locator", "ge", "loc:"), Where("locator", "lt", "loc;")), limit=DOCUMENTS_IN_PART, after=after
        )
        page = await self.store.query(LOCATORS.name, query)
        written = format_time(self.clock() - ARTICLE_WRITTEN_WITHIN)
        old = [each for each in page.items if each["created_at"] <= written]
        articles = await articles_of(self.store, [each["source_id"] for each in old])
        found = [
            Difference("dangling_alias", each["id"], f"of the article {each['source_id']}", "", (each["_etag"],))
            for each in old
            if each["source_id"] not in articles
        ]
        return Part(found, page.next, len(page.items))


@dataclass(frozen=True, slots=True)
class MentionsSection:
    """Mentions with their articles; with `tool_id`, those of one tool."""

    store: Store
    clock: Clock
    tool_id: str | None = None

    async def part(self, after: str | None) -> Part:
        query = Query(partition=self.tool_id, limit=DOCUMENTS_IN_PART, after=after)
        page = await self.store.query(MENTIONS.name, query)
        articles = await articles_of(self.store, [each["id"] for each in page.items])
        now, found, broken = self.clock(), list[Difference](), list[Difference]()
        for mention in page.items:
            try:
                SentimentScore.from_document(mention)
            except UnreadableDocument as error:
                broken.append(Difference("unreadable", mention["id"], str(error), "", (mention["_etag"],)))
                continue
            found += judge_mention(mention, articles.get(mention["id"]), now)
        if found and await is_workflow_open(self.store):
            found = []
        return Part(broken + found, page.next, len(page.items))


@dataclass(frozen=True, slots=True)
class FeedsSection:
    """The totals of feeds, against the first observations of each article and source."""

    store: Store
    clock: Clock

    async def part(self, after: str | None) -> Part:
        query = Query((Where("entity_type", "eq", "Feed"),), limit=FEEDS_IN_PART, after=after)
        page = await self.store.query(FEEDS.name, query)
        found: list[Difference] = []
        for document in page.items:
            try:
                feed = Feed.from_document(document)
            except UnreadableDocument as error:
                found.append(Difference("unreadable", document["feed_id"], str(error), "", (document["_etag"],)))
                continue
            if not is_in_flight(document):
                found += await self._judged(feed)
        return Part(found, page.next, len(page.items))

    async def _judged(self, feed: Feed) -> list[Difference]:
        where = (Where("source", "eq", feed.feed_id), Where("added_by_attempt", "gt", ""))
        counted, now = await self.store.count(ARTICLES.name, where), self.clock()
        found = judge_feed_total(feed, counted, now)
        if not found:
            return []
        since = await counted_since(self.store)
        if since is not None and feed.created_at < since and counted < feed.total_articles_fetched:
            return []
        # The observations of a feed that was removed, and added again, do not count for the new one.
        query = Query(where, order="by_attempt", limit=_PAGE)
        documents = await query_all(self.store, ARTICLES.name, query, _MOST_LISTED)
        if len(documents) == _MOST_LISTED * _PAGE:
            return found
        added = format_time(feed.created_at)
        least = sum(each["created_at"] > added for each in documents)
        most = sum(each["created_at"] >= added for each in documents)  # times are to the second
        return judge_feed_total(feed, min(max(feed.total_articles_fetched, least), most), now)


@dataclass(frozen=True, slots=True)
class RunsSection:
    """The figures of ingestion runs that have ended, against the observations that their attempts added."""

    store: Store

    async def part(self, after: str | None) -> Part:
        where = (Where("workflow_name", "eq", INGEST_FEEDS), Where("status", "in", IngestionBatch.FINISHED))
        page = await self.store.query(RUNS.name, Query(where, order="by_start", limit=RUNS_IN_PART, after=after))
        found: list[Difference] = []
        for document in page.items:
            try:
                run = IngestionBatch.from_document(document)
            except UnreadableDocument as error:
                found.append(Difference("unreadable", document["run_id"], str(error), "", (document["_etag"],)))
                continue
            found += await self._judged(run)
        return Part(found, page.next, len(page.items))

    async def _judged(self, run: IngestionBatch) -> list[Difference]:
        first = Where("added_by_attempt", "ge", f"{run.run_id}:"), Where("added_by_attempt", "lt", f"{run.run_id};")
        added = await self.store.count(ARTICLES.name, first)
        created = added and await self.store.count(ARTICLES.name, (*first, Where("created_article", "eq", True)))
        found = judge_run(run, created, added - created)
        if not found or await self._is_in_flight(run):
            return []
        since = await counted_since(self.store)
        return [] if since is not None and run.started_at <= since else found

    async def _is_in_flight(self, run: IngestionBatch) -> bool:
        """Whether an attempt of the run was interrupted and is not counted yet."""
        ids = sorted({*run.claimed, *run.feeds, *(str(each.get("subject")) for each in run.attempts)})
        feeds = await self.store.read_many(FEEDS.name, [(each, Feed.ID) for each in ids])
        return any(
            each["run_id"] == run.run_id
            for feed in feeds
            if feed is not None
            for each in (feed.get("current_attempt"), *feed.get("interrupted_attempts", ()))
            if each is not None
        )
