"""Preview: which articles would get or lose a mention of a tool if its fields of detection were changed.

Changes nothing. What is stored is compared with what the changed tool would find. An article whose analysis is due
counts by what the tool finds in it now, so that only the change counts.
"""

from __future__ import annotations

import asyncio
from collections.abc import Iterable, Sequence
from dataclasses import asdict, dataclass, field
from datetime import datetime
from typing import Any

from models.article import Article
from models.tool import Tool
from models.values import format_time
from services.mentions.correction_documents import corrections_of_mentions
from services.mentions.corrections import removes
from services.mentions.understanding import detect
from services.ports import Clock, Document, Store
from services.store.containers import ARTICLES
from services.tools.catalog import Catalog
from services.tools.detector import Detected, Detector
from services.tools.form import ToolFields, changed_tool
from services.tools.names import owns
from services.tools.watchlist import Watchlist
from services.workflows.backfill import LOOKED_BACK, published_since, readable

MOST_PREVIEWED = 20_000
MOST_SAMPLES = 10


@dataclass(frozen=True, slots=True)
class MatchedName:
    """A name in an article as it is written, and for an ambiguous name the cues that speak for or against it."""

    name: str
    kind: str
    where: str
    cues: list[str]


@dataclass(frozen=True, slots=True)
class Sample:
    """An article that a tool would get or lose, with the names by which it is or was found."""

    source_id: str
    headline: str
    timestamp: str
    matches: list[MatchedName]


@dataclass(slots=True)
class Preview:
    """How many articles a tool would get and lose, and samples of them. The newest articles are searched; `complete` is
    false if there were more. `taken_by` has the tools that own a name already, by name. The fields are those of the
    API."""

    would_add: int = 0
    would_remove: int = 0
    articles_looked_at: int = 0
    complete: bool = True
    taken_by: dict[str, str] = field(default_factory=dict)
    added: list[Sample] = field(default_factory=list)
    removed: list[Sample] = field(default_factory=list)

    def shown(self) -> dict[str, Any]:
        return asdict(self)


@dataclass(frozen=True, slots=True)
class ToolPreviews:
    store: Store
    catalog: Catalog
    watchlist: Watchlist
    clock: Clock

    async def of(self, tool: Tool, change: ToolFields) -> Preview:
        return await preview(self.store, self.catalog, self.watchlist, tool, change, self.clock())


async def preview(
    store: Store, catalog: Catalog, watchlist: Watchlist, tool: Tool, change: ToolFields, now: datetime
) -> Preview:
    """What `change`, which `tool_change` checked, would do to the tool's mentions in the articles of the last 30 days,
    the newest first. Raises InvalidInput."""
    result = Preview()
    after = changed_tool(tool, change, now)
    for name in after.names:
        owner = await catalog.find(name) if not owns(tool, name) else None
        if owner is not None and owner.tool_id != tool.tool_id:
            result.taken_by[name] = owner.tool_id
    if after.status != "ACTIVE":
        return result  # it is not searched for, and keeps its mentions
    present = await watchlist.detector()
    others = [each for each in present.tools.values() if each.tool_id != tool.tool_id]
    detectors = _Detectors(tool.tool_id, present, await asyncio.to_thread(Detector, [*others, after]))
    since, cursor = format_time(now - LOOKED_BACK), None
    while True:
        articles = await store.query(ARTICLES.name, published_since(since, cursor, newest_first=True))
        changes = await asyncio.to_thread(_changes, articles.items, detectors)
        if tool.corrections:
            changes = await _without_corrected(store, tool.tool_id, changes)
        result.articles_looked_at += len(articles.items)
        _add(result, changes)
        cursor = articles.next
        if cursor is None or result.articles_looked_at >= MOST_PREVIEWED:
            result.complete = cursor is None
            return result


@dataclass(frozen=True, slots=True)
class _Detectors:
    """The detector of all tools, before and after the change of one tool."""

    tool_id: str
    before: Detector
    after: Detector


@dataclass(frozen=True, slots=True)
class _Change:
    """An article that the tool would get, or lose; `detected` is what the tool finds or found in it."""

    article: Article
    is_added: bool
    detected: Detected


def _changes(documents: Iterable[Document], detectors: _Detectors) -> list[_Change]:
    changes = (_change(article, detectors) for document in documents if (article := readable(document)) is not None)
    return [change for change in changes if change is not None]


def _change(article: Article, detectors: _Detectors) -> _Change | None:
    after = detect(article, detectors.after).get(detectors.tool_id)
    is_analyzed = article.status == "analyzed" and article.analysis_due_since is None
    if is_analyzed and (detectors.tool_id in article.detected_tool_ids) == (after is not None):
        return None
    before = detect(article, detectors.before).get(detectors.tool_id)
    if after is not None:
        return _Change(article, True, after) if is_analyzed or before is None else None
    return _Change(article, False, before or Detected(())) if is_analyzed or before is not None else None


async def _without_corrected(store: Store, tool_id: str, changes: Sequence[_Change]) -> list[_Change]:
    """Without articles of which a person said that they are not about the tool: they have no mention, and get none."""
    found = (await corrections_of_mentions(store, [(tool_id, each.article.source_id) for each in changes])).items
    return [each for each in changes if not removes(found.get(each.article.source_id, {}).get(tool_id))]


def _add(result: Preview, changes: Iterable[_Change]) -> None:
    for change in changes:
        if change.is_added:
            result.would_add += 1
        else:
            result.would_remove += 1
        samples = result.added if change.is_added else result.removed
        if len(samples) < MOST_SAMPLES:
            samples.append(_sample(change))


def _sample(change: _Change) -> Sample:
    article, detected = change.article, change.detected
    matches = [
        MatchedName(reason.name, reason.kind, reason.where, list(detected.cues.get(reason.name, ())))
        for reason in detected.reasons
    ]
    return Sample(article.source_id, article.canonical.headline, format_time(article.timestamp), matches)
