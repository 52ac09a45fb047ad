"""Preview: which articles would get or lose a mention of a tool if its fields of detection were changed.

Changes nothing. What is stored is compared with what the changed tool would find. An article whose analysis is due
counts by what the tool finds in it now, so that only the change counts.
"""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from models.article import Article
from models.resources.tools import NameInArticle, PreviewedArticle, ToolPreview
from models.tool import Tool
from models.values import format_time
from services.mentions.correction_documents import corrections_of_mentions
from services.mentions.corrections import removes
from services.mentions.understanding import detect
from services.ports import Clock, Document, Store
from services.store.containers import ARTICLES
from services.tools.catalog import Catalog, owns
from services.tools.detector import Detected, Detector, Watchlist
from services.tools.form import ToolFields, changed_tool
from services.workflows.backfill import LOOKED_BACK, published_since, readable

MAX_PREVIEWED = 20_000
MAX_SAMPLES = 10


@dataclass(frozen=True, slots=True)
class _Change:
    """An article that the tool would get, or lose; `detected` is what the tool finds or found in it."""

    article: Article
    is_added: bool
    detected: Detected

    @property
    def shown(self) -> PreviewedArticle:
        article, cues = self.article, self.detected.cues
        matches = [
            NameInArticle(name=each.name, kind=each.kind, where=each.where, cues=tuple(cues.get(each.name, ())))
            for each in self.detected.reasons
        ]
        headline, timestamp = article.canonical.headline, article.timestamp
        return PreviewedArticle(
            source_id=article.source_id, headline=headline, timestamp=timestamp, matches=tuple(matches)
        )


@dataclass(frozen=True, slots=True)
class _Detectors:
    """The detector of all tools, before and after the change of one tool."""

    tool_id: str
    before: Detector
    after: Detector

    def changes(self, documents: Iterable[Document]) -> list[_Change]:
        found = (self._change(article) for each in documents if (article := readable(each)) is not None)
        return [change for change in found if change is not None]

    def _change(self, article: Article) -> _Change | None:
        after = detect(article, self.after).get(self.tool_id)
        is_analyzed = article.status == "analyzed" and article.analysis_due_since is None
        if is_analyzed and (self.tool_id in article.detected_tool_ids) == (after is not None):
            return None
        before = detect(article, self.before).get(self.tool_id)
        if after is not None:
            return _Change(article, True, after) if is_analyzed or before is None else None
        return _Change(article, False, before or Detected(())) if is_analyzed or before is not None else None


@dataclass(frozen=True, slots=True)
class ToolPreviews:
    """Tries changes of tools without making them."""

    store: Store
    catalog: Catalog
    watchlist: Watchlist
    clock: Clock

    async def of(self, tool: Tool, change: ToolFields) -> ToolPreview:
        """What `change`, which `tool_change` checked, would do to the tool's mentions in the articles of the last 30
        days, the newest first. Raises InvalidInput."""
        now = self.clock()
        after = changed_tool(tool, change, now)
        counts, looked_at, cursor = Counter[bool](), 0, None
        samples: dict[bool, list[PreviewedArticle]] = {True: [], False: []}
        if after.status == "ACTIVE":  # another is not searched for, and keeps its mentions
            present = await self.watchlist.detector()
            others = [each for each in present.tools.values() if each.tool_id != tool.tool_id]
            detectors = _Detectors(tool.tool_id, present, await asyncio.to_thread(Detector, [*others, after]))
            since = format_time(now - LOOKED_BACK)
            while looked_at < MAX_PREVIEWED:
                page = await self.store.query(ARTICLES.name, published_since(since, cursor, newest_first=True))
                changes = await asyncio.to_thread(detectors.changes, page.items)
                if tool.corrections:
                    changes = await self._without_corrected(tool.tool_id, changes)
                counts.update(each.is_added for each in changes)
                for each in changes:
                    if len(samples[each.is_added]) < MAX_SAMPLES:
                        samples[each.is_added].append(each.shown)
                looked_at, cursor = looked_at + len(page.items), page.next
                if cursor is None:
                    break
        return ToolPreview(
            would_add=counts[True],
            would_remove=counts[False],
            articles_looked_at=looked_at,
            complete=cursor is None,
            taken_by=await self._taken_by(tool, after),
            added=tuple(samples[True]),
            removed=tuple(samples[False]),
        )

    async def _taken_by(self, tool: Tool, after: Tool) -> dict[str, str]:
        """The tools that own a name of the change already, by name."""
        found = {name: await self.catalog.find(name) for name in after.names if not owns(tool, name)}
        return {name: each.tool_id for name, each in found.items() if each is not None and each.tool_id != tool.tool_id}

    async def _without_corrected(self, tool_id: str, changes: Sequence[_Change]) -> list[_Change]:
        """Without articles of which a person said that they are not about the tool: they have no mention, and get
        none."""
        keys = [(tool_id, each.article.source_id) for each in changes]
        found = (await corrections_of_mentions(self.store, keys)).items
        return [each for each in changes if not removes(found.get(each.article.source_id, {}).get(tool_id))]
