"""Reads the records of merges: of the tool that was merged, and of the tool that it was merged into.

services/workflows makes and undoes merges.
"""

from __future__ import annotations

from dataclasses import dataclass

from models.errors import Conflict
from models.tool import Tool, normalize_name
from models.tool_merge import AFTER_PREFIX, PREFIX, ToolMerge, merge_document_id
from services.ports import Listed, Query, Store, Where, listed, listed_documents, query_all
from services.store.containers import CATALOG
from services.tools.catalog import Catalog

OF_EARLIER_VERSION = "earlier-version"
"""Stands for the run of a merge that an earlier version made, which kept no record."""

_IS_MERGE = (Where("id", "ge", PREFIX), Where("id", "lt", AFTER_PREFIX))
_PAGE = 500


@dataclass(frozen=True, slots=True)
class Merges:
    store: Store
    catalog: Catalog

    async def read(self, target_id: str, merged_tool_id: str, run_id: str) -> ToolMerge | None:
        document = await self.store.read(CATALOG.name, target_id, merge_document_id(merged_tool_id, run_id))
        return None if document is None else ToolMerge.from_document(document)

    async def latest_of(self, tool: Tool) -> ToolMerge | None:
        """The latest merge of this tool into another one, also if it was undone. None if there was none."""
        target_id = tool.merged_into or tool.unmerged_from
        if target_id is None:
            return None
        found = await self.read(target_id, tool.tool_id, tool.merged_by_run or OF_EARLIER_VERSION)
        if found is not None or tool.merged_into is None:
            return found
        target = await self.catalog.names.tool(target_id)
        return None if target is None else _of_earlier_version(tool, target)

    async def into(self, target_id: str) -> list[ToolMerge]:
        """All merges into this tool that can be read."""
        found = await query_all(self.store, CATALOG.name, Query(_IS_MERGE, partition=target_id, limit=_PAGE))
        return listed_documents(found, ToolMerge.from_document, "id").items

    async def page(self, text: str, limit: int, after: str | None) -> Listed[ToolMerge]:
        """One page of the merges into a tool; first, that of the tool itself. An id names its own tool. Raises
        NotFound."""
        tool = await self.catalog.unmerged(text)
        query = Query(_IS_MERGE, partition=tool.tool_id, limit=limit, after=after)
        page = listed(await self.store.query(CATALOG.name, query), ToolMerge.from_document, "id")
        own = await self.latest_of(tool) if after is None else None
        return page if own is None else Listed([own, *page.items], page.next, page.unreadable)

    async def merged_tool(self, text: str) -> Tool:
        """The tool with this id, or the merged tool that gave the name to the tool that has it. Raises NotFound."""
        tool = await self.catalog.unmerged(text)
        if tool.status == "MERGED" or tool.tool_id == text:
            return tool
        given = await self._given(tool, text)
        merged = await self.catalog.names.tool(given.merged_tool_id) if given is not None else None
        return merged or tool

    async def require_own(self, text: str) -> Tool:
        """The tool with this id or name. Raises NotFound; Conflict for the id or a name of a tool that was merged: a
        change would be one of the tool that it was merged into."""
        tool = await self.merged_tool(text)
        if tool.status != "MERGED":
            return tool
        target = await self.catalog.get(tool.tool_id)
        raise Conflict(
            f"tool: {tool.primary_name!r} has been merged into {target.primary_name!r} ({target.tool_id}): "
            f"change that tool by its id, or undo the merge"
        )

    async def _given(self, target: Tool, text: str) -> ToolMerge | None:
        name = normalize_name(text)
        if name == target.primary_name_normalized:
            return None
        given = [
            each
            for each in await self.into(target.tool_id)
            if each.is_active and name in {normalize_name(given) for given in (*each.names, each.merged_name)}
        ]
        return max(given, key=lambda each: each.made_at, default=None)


def _of_earlier_version(tool: Tool, target: Tool) -> ToolMerge:
    """What the target has of the tool. An earlier version did not record what of this the target had had before."""
    names = {normalize_name(name) for name in tool.names}
    took = tool.discovery_reference is not None and target.discovery_reference == tool.discovery_reference
    return ToolMerge(
        created_at=tool.updated_at,
        updated_at=tool.updated_at,
        tool_id=target.tool_id,
        merged_tool_id=tool.tool_id,
        merged_name=tool.primary_name,
        names=tuple(name for name in target.aliases if normalize_name(name) in names),
        tickers=tuple(each for each in target.tickers if each in tool.tickers),
        keywords=tuple(each for each in target.keywords if each in tool.keywords),
        excluded=tuple(each for each in target.excluded if each in tool.excluded),
        muted_sources=tuple(each for each in target.muted_sources if each in tool.muted_sources),
        took_discovery=took or None,
        made_at=tool.updated_at,
        made_by_run=OF_EARLIER_VERSION,
    )
