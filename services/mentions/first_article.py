"""The first article of a tool, after a person has said that an article is not about the tool or has taken that back."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime

from models.mention import SentimentScore
from models.tool import Tool
from services.ports import Query, Store, Where, listed_documents
from services.store.containers import MENTIONS
from services.tools.catalog import Catalog


@dataclass(frozen=True, slots=True)
class FirstArticles:
    store: Store
    catalog: Catalog

    async def renew(self, tool_id: str, source_id: str) -> list[str]:
        """Gives the tool another first article if its mention by this article was removed, or has come back and is
        earlier. Returns the articles that are to be analysed for the tool again, since their roles have changed: also
        if a worker died before that."""
        tool = await self.catalog.names.tool(tool_id)
        if tool is None:
            return []
        known = tool.discovery_reference
        mentions = await self._mentions(tool_id, {source_id, known or source_id})
        judged, first = mentions.get(source_id), await self._earliest(tool_id)
        changed: set[str] = set()
        if known == source_id and judged is None:
            changed = await self._changed(tool, first)
        elif judged is not None and known != source_id and judged == first:
            of_known = mentions.get(known or "")
            if of_known is None or judged.published_at < of_known.published_at:
                changed = await self._changed(tool, first)
        if first is not None and not changed and first.source_id == known and first.role != "DISCOVERY":
            changed = {first.source_id}
        return sorted(changed - {source_id} if judged is None else changed)

    async def _changed(self, tool: Tool, first: SentimentScore | None) -> set[str]:
        before, after = tool.discovery_reference, None if first is None else first.source_id
        await self.catalog.discovered(tool.tool_id, before, after, None if first is None else _day(first.published_at))
        return {each for each in (before, after) if each is not None}

    async def _mentions(self, tool_id: str, source_ids: set[str]) -> dict[str, SentimentScore]:
        found = await self.store.read_many(MENTIONS.name, [(tool_id, each) for each in sorted(source_ids)])
        mentions = listed_documents(found, SentimentScore.from_document, "id").items
        return {each.source_id: each for each in mentions if each.counts}

    async def _earliest(self, tool_id: str) -> SentimentScore | None:
        query = Query((Where("removed_at", "missing"),), partition=tool_id, order="by_published", limit=1)
        page = await self.store.query(MENTIONS.name, query)
        return next(iter(listed_documents(page.items, SentimentScore.from_document, "id").items), None)


def _day(time: datetime) -> str:
    return time.date().isoformat()
