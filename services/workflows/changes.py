"""Changes that people make to feeds, tools and articles, and the workflows that bring stored figures up to date.

The run is stored before the change is made. If the process dies between the two, `clean_up` sends the message of the
run, and the run changes nothing without the change. The caller sends the message of every run that is returned.

A backfill searches the articles of the last 30 days for the present names of some tools, adds missing mentions, and
removes those that no longer match. It reads only the articles whose words may name one of the tools. A reanalysis
scores a tool's mentions again, and then rebuilds its timeline; a mention whose article has expired keeps its score.
"""

from __future__ import annotations

import asyncio
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import timedelta
from typing import Any

from models.article import Article
from models.errors import NotFound
from models.feed import Feed
from models.request import SignedBody
from models.resources.tools import ToolFields
from models.run import BACKFILL, COMPARE, DELETE, MERGE, PRIORITIZE, REANALYZE, JobRun
from models.tool import Tool, normalize_name
from models.values import format_time, parse_time
from services.mentions.due import REFRESH_STAGE, mark_dirty
from services.mentions.understanding import KEY, detect, keys_of
from services.ports import Document, Query, Store, Where, readable
from services.store.containers import ARTICLES, MENTIONS
from services.tools.catalog import ListReport, apply_entries, entries_of
from services.tools.detector import Detector
from services.tools.lexicon import is_common_word
from services.work.driver import Counted, PageResult, RunImpossible, Workflows, page_after
from services.workflows import Services
from services.workflows.merging import mergeable

LOOKED_BACK = timedelta(days=30)
PAGE = 200
_NOT_IN_WORDS = [["analysis_due_since", "ge", ""], ["status", "eq", "error"], ["words", "contains", KEY]]
"""Articles that wait for their analysis, which come first: once they are analysed, their words tell; articles without
an analysis; and those with a full text."""


async def backfill(of: Services, run: JobRun) -> PageResult:
    """`parameters.tools` are ids or names of tools. The pages are articles by their published time."""
    if run.checkpoint is None:
        await of.catalog.announce()  # the worker that changed the tools may have died before it did
    texts: Any = run.parameters["tools"]
    found = [await of.catalog.find(text) for text in texts]
    tools = frozenset(tool.tool_id for tool in found if tool is not None)
    checkpoint = {"since": format_time(run.started_at - LOOKED_BACK), **(run.checkpoint or {})}
    since = str(checkpoint["since"])
    places = checkpoint.get("places") or places_of([tool for tool in found if tool is not None])
    articles, left, after = await _next(of.store, since, places, page_after(run))
    detector = await of.watchlist.detector()
    concerned = await asyncio.to_thread(_concerned, articles, detector, tools)
    report = await of.writer.write(concerned, only=tools, invalidate=of.generations.raise_all)
    progress = len(articles)
    counts: Counted = {"articles": progress, "mentions": report.written, "removed": report.removed}
    if left:
        return PageResult({**checkpoint, "places": left, "after": after}, progress, counts, report.failed)
    for tool_id in sorted(tools):
        # The windows of the tool are written again with the time of the search: the present hour is dirty.
        now = await of.catalog.note_searched(tool_id, parse_time(since))
        await mark_dirty(of.store, {tool_id: [now]}, now)
    await of.generations.raise_all(tools)
    await of.announcer.announce(REFRESH_STAGE, tools)
    return PageResult(None, progress, counts, report.failed, tuple(sorted(tools)))


def places_of(tools: Sequence[Tool]) -> list[Any]:
    """Conditions: every article that names one of these tools, or may have a mention of it, meets one of them. An empty
    one is met by all."""
    keys = [keys_of(name) for tool in tools for name in (*tool.names, *tool.keywords, *tool.tickers)]
    if not all(keys):
        return [[]]
    rarest = {min(each, key=lambda key: (is_common_word(key), -len(key), key)) for each in keys}
    marked = (KEY + each for each in (*rarest, *(tool.tool_id for tool in tools)))
    return [*_NOT_IN_WORDS, *(["words", "contains", word] for word in sorted({*rarest, *marked}))]


async def _next(store: Store, since: str, places: Any, after: str | None) -> tuple[list[Document], Any, str | None]:
    """The next articles, each once, with the places that have more, and where to go on in the first of these."""
    found: dict[str, Document] = {}
    while places and len(found) < PAGE:
        page = await store.query(ARTICLES.name, published_since(since, after, places[0]))
        found |= {document["source_id"]: document for document in page.items}
        after = page.next
        places = places if after else places[1:]
    return list(found.values()), places, after


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


def published_since(since: str, after: str | None, place: Sequence[Any] = (), *, newest_first: bool = False) -> Query:
    order = "by_analysis_due" if "analysis_due_since" in place else "by_time"
    where = (Where("timestamp", "ge", since), Where("deleted_at", "missing"), *([Where(*place)] if place else ()))
    return Query(where, order=order, reverse=newest_first, limit=PAGE, after=after)


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


async def delete(of: Services, run: JobRun) -> PageResult:
    """Deletes an article, in one page: `subject` is the article."""
    source_id = run.subject or ""
    try:
        await of.articles.delete(source_id)
    except NotFound:
        await of.documents.remove(source_id)
        return PageResult(None, 1)  # the article has expired since
    await of.documents.remove(source_id)
    written = await of.writer.write([source_id], invalidate=of.generations.raise_all)
    written.require_all()
    await of.grouping.announce_corrected()
    return PageResult(None, 1, {"removed": written.removed})


@dataclass(frozen=True, slots=True)
class Changes:
    """Changes feeds, tools and articles."""

    of: Services
    workflows: Workflows

    async def change_feed(self, feed_id: str, change: Mapping[str, Any]) -> tuple[Feed, JobRun | None]:
        """The changed feed, and a run if its priority as a source has changed. Raises NotFound, Conflict."""
        before = await self.of.feeds.get(feed_id)
        if change.get("source_priority", before.source_priority) == before.source_priority:
            return await self.of.feeds.change(feed_id, change), None
        async with self.of.runs.accepted_for(PRIORITIZE, feed_id) as run:
            return await self.of.feeds.change(feed_id, change), run

    async def add_tool(self, new: ToolFields) -> tuple[Tool, JobRun]:
        """The new tool, and the run that searches the last 30 days for it. Raises Conflict."""
        async with self.of.runs.accepted_for(BACKFILL, None, tools=[new["primary_name"]]) as run:
            return await self.of.catalog.add(new), run

    async def change_tool(self, text: str, change: ToolFields) -> tuple[Tool, JobRun | None]:
        """The changed tool, and a run if other articles name the tool now. Raises NotFound; Conflict also for a tool
        that was merged."""
        tool_id = (await self.of.catalog.own(text)).tool_id
        async with self.of.runs.accepted_for(BACKFILL, tool_id, tools=[tool_id]) as run:
            tool, names_changed = await self.of.catalog.change(tool_id, change)
        if names_changed and tool.status == "ACTIVE":
            return tool, run
        await self.of.runs.withdraw(run.run_id)
        return tool, None

    async def apply_tools(self, document: bytes) -> tuple[ListReport, list[JobRun]]:
        """Adds and changes tools to match a YAML list, with the run that searches the last 30 days for those that have
        changed. Until that run is stored, there is one for all tools of the list: a worker that dies leaves no tool
        unsearched. Raises InvalidInput."""
        entries = await asyncio.to_thread(entries_of, document)  # 5 s for a megabyte
        names = [name for entry in entries if normalize_name(name := entry.text("name"))]
        precaution = await self.of.runs.accept(BACKFILL, None, tools=names)
        report = await apply_entries(self.of.catalog, entries)
        runs = [await self.backfill(report.searched_for)] if report.searched_for else []
        await self.of.runs.withdraw(precaution.run_id)
        return report, runs

    async def backfill(self, tools: Sequence[str]) -> JobRun:
        """A run that searches the last 30 days for these tools, by id or name."""
        return await self.of.runs.accept(BACKFILL, tools[0] if len(tools) == 1 else None, tools=list(tools))

    async def merge(self, source: str, into: str, by: SignedBody | None = None) -> JobRun:
        """Raises NotFound, and Conflict if the tools cannot be merged."""
        tool, target = await mergeable(self.of.catalog, source, into)
        signed = {} if by is None else {"author": by.author, "reason": by.reason}
        return await self.of.runs.accept(MERGE, tool.tool_id, into=target.tool_id, **signed)

    async def reanalyze(self, text: str) -> JobRun:
        """Raises NotFound."""
        return await self.of.runs.accept(REANALYZE, (await self.of.catalog.get(text)).tool_id)

    async def compare(self, text: str, analyzer: str) -> JobRun:
        """A run that judges the tool's mentions with this analyzer and changes nothing. Raises NotFound, and
        InvalidInput for an analyzer that the app does not have."""
        tool, version = await self.of.catalog.get(text), self.of.analyzers.get(analyzer).version
        return await self.of.runs.accept(COMPARE, tool.tool_id, analyzer=analyzer, analyzer_version=version)

    async def delete_article(self, article_id: str) -> None:
        """Deletes the article while the caller waits. Afterwards its mentions and its text are gone, and no process
        serves a figure that counts it. It leaves its story with the next grouping, which is announced. Deleting again
        changes nothing. Raises NotFound if the article never existed."""
        run = await self.of.runs.accept(DELETE, await self.of.articles.source_id_of(article_id))
        await self.workflows.advance(run.run_id)
        await self.of.generations.known_everywhere()
