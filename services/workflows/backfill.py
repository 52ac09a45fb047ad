"""Backfill: searches the articles of the last 30 days for the present names of some tools, adds missing mentions, and
removes those that no longer match. Also previews which articles new aliases would add, without changing anything."""

from __future__ import annotations

import asyncio
from collections.abc import Iterable
from dataclasses import asdict, dataclass, field
from datetime import datetime, timedelta
from typing import Any

from models.article import Article
from models.errors import UnreadableDocument
from models.run import JobRun
from models.tool import Tool
from models.values import format_time
from services.figures.entries import Generations
from services.mentions.understanding import detect
from services.mentions.writing import MentionWriter
from services.ports import Document, Query, Store, Where
from services.runs.driver import PageResult, page_after
from services.store.containers import ARTICLES
from services.tools.catalog import Catalog, Watchlist
from services.tools.detector import Detector
from services.tools.form import ToolFields, changed_tool
from services.tools.names import owns

LOOKED_BACK = timedelta(days=30)
PAGE = 200
MOST_PREVIEWED = 20_000
MOST_SAMPLES = 10


@dataclass(frozen=True, slots=True)
class Backfill:
    """A workflow: `parameters.tools` are ids or names of tools. Its pages are articles by their published time."""

    store: Store
    catalog: Catalog
    writer: MentionWriter
    watchlist: Watchlist
    generations: Generations

    async def page(self, run: JobRun) -> PageResult:
        found = [await self.catalog.find(text) for text in _texts(run.parameters.get("tools"))]
        tools = frozenset(tool.tool_id for tool in found if tool is not None)
        checkpoint = run.checkpoint or {"since": format_time(run.started_at - LOOKED_BACK)}
        query = _published_since(str(checkpoint["since"]), page_after(run))
        articles = await self.store.query(ARTICLES.name, query)
        detector = await self.watchlist.detector()
        concerned = await asyncio.to_thread(_concerned, articles.items, detector, tools)
        report = await self.writer.write(concerned, only=tools, invalidate=self.generations.raise_all)
        progress = len(articles.items)
        counts = {"articles": progress, "mentions": report.written, "removed": report.removed}
        if articles.next is not None:
            return PageResult({**checkpoint, "after": articles.next}, progress, counts, report.failed)
        await self.generations.raise_all(tools)
        return PageResult(None, progress, counts, report.failed, tuple(sorted(tools)))


@dataclass(frozen=True, slots=True)
class Sample:
    """An article that a tool would gain, with the names in it."""

    source_id: str
    headline: str
    timestamp: str
    matches: list[str]


@dataclass(slots=True)
class Preview:
    """How many articles a tool would gain, and samples of them. The newest articles are searched; `complete` is false
    if there were more. `taken_by` has the tools that own an alias already, by alias. The fields are those of the
    API."""

    would_add: int = 0
    articles_looked_at: int = 0
    complete: bool = True
    taken_by: dict[str, str] = field(default_factory=dict)
    samples: list[Sample] = field(default_factory=list)

    def shown(self) -> dict[str, Any]:
        return asdict(self)


async def preview(
    store: Store, catalog: Catalog, watchlist: Watchlist, tool: Tool, change: ToolFields, now: datetime
) -> Preview:
    """Which articles of the last 30 days `tool` would gain by the aliases and rules of `change`, the newest first."""
    result = Preview()
    more = [name for name in change.get("aliases", ()) if not owns(tool, name)]
    rules = {**tool.name_rules, **change.get("name_rules", {})}
    after_change = changed_tool(tool, {"aliases": (*tool.aliases, *more), "name_rules": rules}, now)
    for name in after_change.names:
        owner = await catalog.find(name) if not owns(tool, name) else None
        if owner is not None:
            result.taken_by[name] = owner.tool_id
    others = [each for each in (await watchlist.detector()).tools.values() if each.tool_id != tool.tool_id]
    detector = await asyncio.to_thread(Detector, [*others, after_change])
    since = format_time(now - LOOKED_BACK)
    after: str | None = None
    while True:
        articles = await store.query(ARTICLES.name, _published_since(since, after, newest_first=True))
        await asyncio.to_thread(_add_to_preview, result, articles.items, detector, tool.tool_id)
        after = articles.next
        if after is None or result.articles_looked_at >= MOST_PREVIEWED:
            result.complete = after is None
            return result


def _add_to_preview(result: Preview, documents: Iterable[Document], detector: Detector, tool_id: str) -> None:
    for document in documents:
        result.articles_looked_at += 1
        if tool_id in document.get("detected_tool_ids", ()):
            continue
        article = _readable(document)
        detected = detect(article, detector).get(tool_id) if article is not None else None
        if article is None or detected is None:
            continue
        result.would_add += 1
        if len(result.samples) < MOST_SAMPLES:
            matches = list(dict.fromkeys(reason.name for reason in detected.reasons))
            published = format_time(article.timestamp)
            result.samples.append(Sample(article.source_id, article.canonical.headline, published, matches))


def _concerned(documents: Iterable[Document], detector: Detector, tools: frozenset[str]) -> list[str]:
    """The articles that name one of these tools or may have a mention of it, and those that cannot be read: the writer
    reports these as failed."""
    found = []
    for document in documents:
        article = _readable(document)
        may_have_one = not tools.isdisjoint(document.get("tool_ids_ever_detected", ()))
        if may_have_one or article is None or not tools.isdisjoint(detect(article, detector)):
            found.append(document["source_id"])
    return found


def _readable(document: Document) -> Article | None:
    """None for an article that cannot be read: it does not stop the others."""
    try:
        return Article.from_document(document)
    except UnreadableDocument:
        return None


def _published_since(since: str, after: str | None, *, newest_first: bool = False) -> Query:
    where = (Where("timestamp", "ge", since), Where("deleted_at", "missing"))
    return Query(where, order="by_time", reverse=newest_first, limit=PAGE, after=after)


def _texts(value: Any) -> list[str]:
    return [str(each) for each in value] if isinstance(value, list) else []
