"""The references of old days are kept in one document for each tool and day.

Before, only the first article of a tool was kept (`NOVAREF:…`), also at a tool that had lost it again.
"""

from __future__ import annotations

from datetime import date, datetime
from typing import Any

from models.reference import Reference
from models.tool import Tool
from models.values import format_time
from services.mentions.kept_references import KeptReferences
from services.mentions.references import KEPT_AFTER
from services.ports import Document, Query, Store, Where, pages, query_all
from services.store.containers import CATALOG, MENTIONS

_PAGE = 500


async def run(store: Store, now: datetime) -> None:
    kept = KeptReferences(store)
    await _keep_old_mentions(store, kept, now)
    where = (Where("entity_type", "eq", "ToolReference"),)
    for document in await query_all(store, CATALOG.name, Query(where, limit=_PAGE)):
        await _keep_first_article(store, kept, document, now)


async def _keep_old_mentions(store: Store, kept: KeptReferences, now: datetime) -> None:
    """Days that were frozen before, whose mentions have not expired."""
    days: dict[str, set[date]] = {}
    where = (Where("published_at", "lt", format_time(now - KEPT_AFTER)),)
    async for page in pages(store, MENTIONS.name, Query(where, order="by_published", limit=_PAGE)):
        for mention in page.items:
            days.setdefault(mention["tool_id"], set()).add(date.fromisoformat(mention["published_at"][:10]))
    for tool_id, of_tool in sorted(days.items()):
        await kept.keep(tool_id, of_tool, now)


async def _keep_first_article(store: Store, kept: KeptReferences, document: Document, now: datetime) -> None:
    """The day of the reference is written before the document is deleted. A day that is not old has its mention."""
    tool_id, source_id = document["tool_id"], document["reference_id"]
    tool: dict[str, Any] = await store.read(CATALOG.name, tool_id, Tool.ID) or {}
    fields = document.get("reference")
    if fields is not None and tool.get("discovery_reference") == source_id:
        reference = Reference(
            source_id=source_id,
            source=fields["source"],
            source_identifier=fields["source_identifier"],
            title=fields.get("title"),
            published_at=fields["published_at"],
            role="DISCOVERY",
            created_at=document["created_at"],
        )
        await kept.keep(tool_id, [reference.published_at.date()], now, [reference])
    await store.delete(CATALOG.name, tool_id, document["id"])
