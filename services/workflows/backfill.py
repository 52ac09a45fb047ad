"""Backfill: searches the articles of the last 30 days for the present names of some tools, adds missing mentions, and
removes those that no longer match. Reanalysis: scores a tool's mentions again, and then rebuilds its timeline; a
mention whose article has expired keeps its score.
"""

from __future__ import annotations

import asyncio
from collections.abc import Iterable
from datetime import timedelta
from typing import Any

from models.article import Article
from models.run import JobRun
from models.values import format_time, parse_time
from services.mentions.due import REFRESH_STAGE, mark_dirty
from services.mentions.understanding import detect
from services.ports import Document, Query, Where, readable
from services.store.containers import ARTICLES, MENTIONS
from services.tools.detector import Detector
from services.work.driver import Counted, PageResult, RunImpossible, page_after
from services.workflows import Services

LOOKED_BACK = timedelta(days=30)
PAGE = 200


async def backfill(of: Services, run: JobRun) -> PageResult:
    """`parameters.tools` are ids or names of tools. The pages are articles by their published time."""
    texts: Any = run.parameters["tools"]
    found = [await of.catalog.find(text) for text in texts]
    tools = frozenset(tool.tool_id for tool in found if tool is not None)
    checkpoint = {"since": format_time(run.started_at - LOOKED_BACK), **(run.checkpoint or {})}
    since = str(checkpoint["since"])
    articles = await of.store.query(ARTICLES.name, published_since(since, page_after(run)))
    detector = await of.watchlist.detector()
    concerned = await asyncio.to_thread(_concerned, articles.items, detector, tools)
    report = await of.writer.write(concerned, only=tools, invalidate=of.generations.raise_all)
    progress = len(articles.items)
    counts: Counted = {"articles": progress, "mentions": report.written, "removed": report.removed}
    if articles.next is not None:
        return PageResult({**checkpoint, "after": articles.next}, progress, counts, report.failed)
    for tool_id in sorted(tools):
        # The windows of the tool are written again with the time of the search: the present hour is dirty.
        now = await of.catalog.note_searched(tool_id, parse_time(since))
        await mark_dirty(of.store, {tool_id: [now]}, now)
    await of.generations.raise_all(tools)
    await of.announcer.announce(REFRESH_STAGE, tools)
    return PageResult(None, progress, counts, report.failed, tuple(sorted(tools)))


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


async def reanalyze(of: Services, run: JobRun) -> PageResult:
    """`subject` is the tool. The pages are the tool's mentions by id."""
    tool_id = await present_tool(of, run)
    mentions = await of.store.query(MENTIONS.name, Query(partition=tool_id, limit=PAGE, after=page_after(run)))
    source_ids = [each["source_id"] for each in mentions.items]
    report = await of.writer.write(source_ids, only=frozenset({tool_id}), invalidate=of.generations.raise_all)
    counts: Counted = {"rescored": report.written, "removed": report.removed}
    if mentions.next is not None:
        return PageResult({"after": mentions.next}, len(source_ids), counts, report.failed)
    await of.catalog.note_scored(tool_id, of.writer.scored_by)
    await of.recount.rebuild_tool(tool_id, of.clock())
    await of.generations.raise_(tool_id)
    return PageResult(None, len(source_ids), counts, report.failed, (tool_id,))


async def present_tool(of: Services, run: JobRun) -> str:
    """The tool of the run. Raises RunImpossible."""
    tool_id = run.subject or ""
    tool = await of.catalog.by_id(tool_id)
    if tool is None or tool.status == "MERGED":
        raise RunImpossible(f"tool: {tool_id} is gone, or has been merged")
    return tool_id
