"""Backfill: searches the articles of the last 30 days for the present names of some tools, adds missing mentions, and
removes those that no longer match. Reanalysis: scores a tool's mentions again, and then rebuilds its timeline; a
mention whose article has expired keeps its score.
"""

from __future__ import annotations

import asyncio
from collections.abc import Iterable
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any

from models.article import Article
from models.run import JobRun
from models.values import format_time, parse_time
from services.figures.entries import Generations
from services.figures.recount import Recount
from services.mentions.due import REFRESH_STAGE, mark_dirty
from services.mentions.understanding import detect
from services.mentions.writing import MentionWriter
from services.ports import Clock, Document, Query, Store, Where, readable
from services.store.containers import ARTICLES, MENTIONS
from services.tools.catalog import Catalog
from services.tools.detector import Detector, Watchlist
from services.work.announcing import Announcer
from services.work.driver import Counted, PageResult, RunImpossible, page_after

LOOKED_BACK = timedelta(days=30)
PAGE = 200


@dataclass(frozen=True, slots=True)
class Backfill:
    """A workflow: `parameters.tools` are ids or names of tools. Its pages are articles by their published time."""

    store: Store
    catalog: Catalog
    writer: MentionWriter
    watchlist: Watchlist
    generations: Generations
    announcer: Announcer

    async def page(self, run: JobRun) -> PageResult:
        texts: Any = run.parameters["tools"]
        found = [await self.catalog.find(text) for text in texts]
        tools = frozenset(tool.tool_id for tool in found if tool is not None)
        return await self.search(tools, run)

    async def search(self, tools: frozenset[str], run: JobRun) -> PageResult:
        """One page of the articles that were published in the 30 days before the run; also part of other workflows,
        whose checkpoint keeps its other fields."""
        checkpoint = {"since": format_time(run.started_at - LOOKED_BACK), **(run.checkpoint or {})}
        query = published_since(str(checkpoint["since"]), page_after(run))
        articles = await self.store.query(ARTICLES.name, query)
        detector = await self.watchlist.detector()
        concerned = await asyncio.to_thread(_concerned, articles.items, detector, tools)
        report = await self.writer.write(concerned, only=tools, invalidate=self.generations.raise_all)
        progress = len(articles.items)
        counts: Counted = {"articles": progress, "mentions": report.written, "removed": report.removed}
        if articles.next is not None:
            return PageResult({**checkpoint, "after": articles.next}, progress, counts, report.failed)
        await self._searched(tools, parse_time(str(checkpoint["since"])))
        await self.generations.raise_all(tools)
        await self.announcer.announce(REFRESH_STAGE, tools)
        return PageResult(None, progress, counts, report.failed, tuple(sorted(tools)))

    async def _searched(self, tools: Iterable[str], since: datetime) -> None:
        """Records since when articles were searched for these tools. Their windows are written again with it: the
        present hour is dirty."""
        for tool_id in sorted(tools):
            now = await self.catalog.note_searched(tool_id, since)
            await mark_dirty(self.store, tool_id, [now], now)


def _concerned(documents: Iterable[Document], detector: Detector, tools: frozenset[str]) -> list[str]:
    """The articles that name one of these tools or may have a mention of it, and those that cannot be read: the writer
    reports these as failed."""
    found = []
    for document in documents:
        article = readable(document, Article.from_document)
        # A full text is not here: the writer reads it, and finds what it names.
        may_have_one = not tools.isdisjoint(document.get("tool_ids_ever_detected", ())) or "full_text" in document
        if may_have_one or article is None or not tools.isdisjoint(detect(article, detector)):
            found.append(document["source_id"])
    return found


def published_since(since: str, after: str | None, *, newest_first: bool = False) -> Query:
    where = (Where("timestamp", "ge", since), Where("deleted_at", "missing"))
    return Query(where, order="by_time", reverse=newest_first, limit=PAGE, after=after)


@dataclass(frozen=True, slots=True)
class Reanalysis:
    """A workflow: `subject` is the tool. Its pages are the tool's mentions by id."""

    store: Store
    catalog: Catalog
    writer: MentionWriter
    recount: Recount
    generations: Generations
    clock: Clock

    async def page(self, run: JobRun) -> PageResult:
        tool_id = run.subject or ""
        tool = await self.catalog.by_id(tool_id)
        if tool is None or tool.status == "MERGED":
            raise RunImpossible(f"tool: {tool_id} is gone, or has been merged")
        query = Query(partition=tool_id, limit=PAGE, after=page_after(run))
        mentions = await self.store.query(MENTIONS.name, query)
        source_ids = [each["source_id"] for each in mentions.items]
        report = await self.writer.write(source_ids, only=frozenset({tool_id}), invalidate=self.generations.raise_all)
        counts: Counted = {"rescored": report.written, "removed": report.removed}
        if mentions.next is not None:
            return PageResult({"after": mentions.next}, len(source_ids), counts, report.failed)
        await self.catalog.note_scored(tool_id, self.writer.scored_by)
        await self.recount.rebuild_tool(tool_id, self.clock())
        await self.generations.raise_(tool_id)
        return PageResult(None, len(source_ids), counts, report.failed, (tool_id,))
