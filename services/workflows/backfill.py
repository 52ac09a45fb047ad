"""The last 30 days' articles searched for what some tools are now called: mentions are added, and those that no longer
match are removed. Also what would be, without changing anything."""

from __future__ import annotations

import asyncio
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from typing import Any

from models.article import Article
from models.errors import UnreadableDocument
from models.run import JobRun
from models.tool import Tool
from models.values import format_time
from services.figures.entries import Generations
from services.mentions.mentions import source_tickers
from services.mentions.settling import Settled, Settling
from services.ports import Document, Query, Store, Where
from services.runs.workflows import Step
from services.store.containers import ARTICLES
from services.tools.catalog import Catalog
from services.tools.detector import Detected, Detector
from services.tools.form import changed_tool
from services.tools.names import owns
from services.tools.watchlist import Watchlist

LOOKED_BACK = timedelta(days=30)
PAGE = 200
MOST_PREVIEWED = 20_000
MOST_SAMPLES = 10


class Backfill:
    """A workflow: `parameters.tools` are ids or names of tools. Pages are of articles by when they were published."""

    def __init__(
        self, store: Store, catalog: Catalog, settling: Settling, watchlist: Watchlist, generations: Generations
    ) -> None:
        self._store = store
        self._catalog = catalog
        self._settling = settling
        self._watchlist = watchlist
        self._generations = generations

    async def step(self, run: JobRun) -> Step:
        found = [await self._catalog.find(str(each)) for each in _list(run.parameters.get("tools"))]
        tools = frozenset(tool.tool_id for tool in found if tool is not None)
        checkpoint = run.checkpoint or {"since": format_time(run.started_at - LOOKED_BACK)}
        query = _published_since(str(checkpoint["since"]), _after(checkpoint), newest_first=False)
        page = await self._store.query(ARTICLES.name, query)
        detector = await self._watchlist.detector()
        concerned = await asyncio.to_thread(_concerned, page.items, detector, tools)
        settled = await self._settling.settle(concerned, only=tools) if concerned else Settled()
        counts = {"articles": len(page.items), "mentions": settled.written, "removed": settled.removed}
        if page.next is not None:
            return Step({**checkpoint, "after": page.next}, len(page.items), counts, settled.failed)
        for tool_id in sorted(tools):
            await self._generations.raise_(tool_id)
        return Step(None, len(page.items), counts, settled.failed, tuple(sorted(tools)))


@dataclass(frozen=True, slots=True)
class Sample:
    source_id: str
    headline: str
    published: datetime
    matches: tuple[str, ...]


@dataclass(slots=True)
class Preview:
    """What aliases would add. Without `complete` there were more articles than a preview looks at: the newest count."""

    would_add: int = 0
    articles: int = 0
    complete: bool = True
    samples: list[Sample] = field(default_factory=list)
    taken_by: dict[str, str] = field(default_factory=dict)
    """The tools that hold an alias already, by alias."""

    def shown(self) -> dict[str, Any]:
        return {
            "would_add": self.would_add,
            "articles_looked_at": self.articles,
            "complete": self.complete,
            "taken_by": self.taken_by,
            "samples": [
                {
                    "source_id": each.source_id,
                    "headline": each.headline,
                    "timestamp": format_time(each.published),
                    "matches": list(each.matches),
                }
                for each in self.samples
            ],
        }


async def preview(
    store: Store, catalog: Catalog, watchlist: Watchlist, tool: Tool, change: Mapping[str, Any], now: datetime
) -> Preview:
    """Which of the last 30 days' articles `tool` would gain by the aliases and rules of `change`, beside those that it
    has; the newest first among the samples."""
    found = Preview()
    more = [name for name in change.get("aliases", ()) if not owns(tool, name)]
    rules = {**tool.name_rules, **change.get("name_rules", {})}
    after_change = changed_tool(tool, {"aliases": (*tool.aliases, *more), "name_rules": rules}, now)
    for name in after_change.names:
        holder = await catalog.find(name) if not owns(tool, name) else None
        if holder is not None:
            found.taken_by[name] = holder.tool_id
    known = (await watchlist.detector()).tools
    detector = await asyncio.to_thread(
        Detector, [*(each for each in known.values() if each.tool_id != tool.tool_id), after_change]
    )
    after: str | None = None
    while True:
        page = await store.query(
            ARTICLES.name, _published_since(format_time(now - LOOKED_BACK), after, newest_first=True)
        )
        await asyncio.to_thread(_look_at, page.items, detector, tool.tool_id, found)
        found.articles += len(page.items)
        after = page.next
        if after is None or found.articles >= MOST_PREVIEWED:
            found.complete = after is None
            return found


def _look_at(documents: Iterable[Document], detector: Detector, tool_id: str, found: Preview) -> None:
    for document in documents:
        if tool_id in document.get("detected_tool_ids", ()):
            continue
        article = _readable(document)
        detected = _find(article, detector).get(tool_id) if article is not None else None
        if article is None or detected is None:
            continue
        found.would_add += 1
        if len(found.samples) < MOST_SAMPLES:
            matches = tuple(dict.fromkeys(reason.name for reason in detected.reasons))
            found.samples.append(Sample(article.source_id, article.canonical.headline, article.timestamp, matches))


def _concerned(documents: Iterable[Document], detector: Detector, tools: frozenset[str]) -> list[str]:
    """Those that may have a mention, or are to get one, and those that cannot be read: settling says what is wrong."""
    found = []
    for document in documents:
        article = _readable(document)
        listed = not tools.isdisjoint(document.get("tool_ids_ever_detected", ()))
        if listed or article is None or not tools.isdisjoint(_find(article, detector)):
            found.append(document["source_id"])
    return found


def _readable(document: Document) -> Article | None:
    """One that cannot be read does not hold up the others."""
    try:
        return Article.from_document(document)
    except UnreadableDocument:
        return None


def _find(article: Article, detector: Detector) -> dict[str, Detected]:
    reading = article.canonical
    return detector.find(reading.headline, article.text_for_analysis or "", article.tags, source_tickers(article))


def _published_since(since: str, after: str | None, *, newest_first: bool) -> Query:
    where = (Where("timestamp", "ge", since), Where("deleted_at", "missing"))
    return Query(where, order="by_time", reverse=newest_first, limit=PAGE, after=after)


def _after(checkpoint: Mapping[str, Any]) -> str | None:
    after = checkpoint.get("after")
    return after if isinstance(after, str) else None


def _list(value: Any) -> list[Any]:
    return value if isinstance(value, list) else []
