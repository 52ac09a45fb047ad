"""The tools that are watched: adding, changing and finding them.

Each change of a name or rule of detection is announced in one document (`CatalogVersion`), so that the other processes
build a new detector. names.py decides which tool owns a name; merging two tools is a workflow.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import replace
from datetime import datetime

from models.errors import Conflict, NotFound
from models.tool import AFTER_PREFIX, PREFIX, CatalogVersion, Tool, ToolMerge, is_tool_id, merge_id, normalize_name
from services.ports import Clock, Listed, Query, Store, Where, listed, listed_documents, query_all
from services.store.change import until_unchanged
from services.store.containers import CATALOG
from services.tools.form import ToolFields, changed_tool, detects_alike
from services.tools.names import NameClaims, owns

ONLY_TOOLS = Where("entity_type", "eq", "Tool")
MAX_MERGES = 20
_IS_MERGE = (Where("id", "ge", PREFIX), Where("id", "lt", AFTER_PREFIX))
_PAGE = 1000


class Catalog:
    """Adds, changes and finds tools."""

    def __init__(self, store: Store, clock: Clock, new_id: Callable[[], str]) -> None:
        """`new_id` returns UUIDs as text with hyphens."""
        self._store = store
        self._clock = clock
        self._new_id = new_id
        self.names = NameClaims(store, clock)

    async def find(self, text: str) -> Tool | None:
        """The tool with that id, name or alias; for a merged tool, the tool that it was merged into."""
        tool = await self.names.tool(text) if is_tool_id(text) else None
        if tool is None and normalize_name(text):
            claim = await self.names.find(text)
            holder = await self.names.tool(claim.tool_id) if claim else None
            # While a merge moves names, the claim may still be for the merged tool, which lists the name too.
            tool = holder if owns(holder, text) else None
        for _ in range(MAX_MERGES):
            if tool is None or tool.merged_into is None:
                return tool
            tool = await self.names.tool(tool.merged_into)
        return None

    async def get(self, text: str) -> Tool:
        """As `find`; raises NotFound."""
        tool = await self.find(text)
        if tool is None:
            raise NotFound(f"tool: there is none with the id, name or alias {text[:200]!r}")
        return tool

    async def unmerged(self, text: str) -> Tool:
        """As `get`, but an id names its own tool even if that was merged into another."""
        tool = await self.names.tool(text) if is_tool_id(text) else None
        return tool or await self.get(text)

    async def own(self, text: str) -> Tool:
        """As `get`; raises Conflict for the id of a merged tool: a change would be one of the tool that replaces it."""
        tool = await self.unmerged(text)
        if tool.status == "MERGED":
            target = await self.get(tool.tool_id)
            raise Conflict(
                f"tool: {tool.primary_name!r} has been merged into {target.primary_name!r} ({target.tool_id}): "
                f"change that tool"
            )
        return tool

    async def page(
        self, limit: int, after: str | None = None, statuses: tuple[str, ...] = ("ACTIVE", "DEPRECATED")
    ) -> Listed[Tool]:
        """One page of tools by name, and the cursor of the next."""
        page = await self._store.query(CATALOG.name, replace(_by_name(statuses), limit=limit, after=after))
        return listed(page, Tool.from_document, CATALOG.partition_key)

    async def active(self, statuses: tuple[str, ...] = ("ACTIVE",)) -> list[Tool]:
        """All active tools, or those with other statuses, by name."""
        found = await query_all(self._store, CATALOG.name, _by_name(statuses))
        return listed_documents(found, Tool.from_document, CATALOG.partition_key).items

    async def known(self, tool_ids: list[str]) -> Listed[Tool]:
        """The stored tools with these ids."""
        found = await self._store.read_many(CATALOG.name, [(each, Tool.ID) for each in tool_ids])
        return listed_documents(found, Tool.from_document, CATALOG.partition_key)

    async def merges_into(self, tool_id: str) -> list[ToolMerge]:
        """All merges into this tool that can be read."""
        found = await query_all(self._store, CATALOG.name, Query(_IS_MERGE, partition=tool_id, limit=_PAGE))
        return listed_documents(found, ToolMerge.from_document, "id").items

    async def merges(self, text: str, limit: int, after: str | None) -> Listed[ToolMerge]:
        """One page of the merges into a tool; first, that of the tool itself. An id names its own tool. Raises
        NotFound."""
        tool = await self.unmerged(text)
        query = Query(_IS_MERGE, partition=tool.tool_id, limit=limit, after=after)
        page = listed(await self._store.query(CATALOG.name, query), ToolMerge.from_document, "id")
        if after is not None or tool.merged_into is None:
            return page
        own = await self._store.read(CATALOG.name, tool.merged_into, merge_id(tool.tool_id))
        return page if own is None else replace(page, items=[ToolMerge.from_document(own), *page.items])

    async def add(self, new: ToolFields) -> Tool:
        """The new tool; `new_tool` checked its fields. Raises Conflict if another tool owns one of the names."""
        now = self._clock()
        tool = Tool(created_at=now, updated_at=now, tool_id=self._new_id(), **new)
        try:
            await self._claim(tool.names, tool)
        except Conflict:
            await self._release(tool.names, tool.tool_id)
            raise
        stored = await self._store.create(CATALOG.name, tool.to_document())
        await self.announce()
        return Tool.from_document(stored)

    async def change(self, text: str, change: ToolFields) -> tuple[Tool, bool]:
        """The tool after `change`, which `tool_change` checked, and whether other articles name it now.

        Raises NotFound, and Conflict if another tool owns one of the names.
        """
        tool_id = (await self.get(text)).tool_id

        def changed(tool: Tool) -> Tool:
            if tool.merged_into is not None:
                raise Conflict(f"tool: {tool_id} has just been merged into {tool.merged_into}")
            return changed_tool(tool, change, self._clock())

        before, after = await self._replace(tool_id, changed)
        if after is before:
            return before, False
        await self._release(_names_only_in(before, after), tool_id)
        alike = detects_alike(before, after)
        if not alike:
            await self.announce()
        return after, not alike

    async def note_scored(self, tool_id: str, scored_by: str) -> None:
        """Records that this analyzer has scored all mentions of the tool."""

        def changed(tool: Tool) -> Tool:
            return tool if tool.scored_by == scored_by else tool.changed(self._clock(), scored_by=scored_by)

        await self._replace(tool_id, changed)

    async def note_searched(self, tool_id: str, since: datetime) -> datetime:
        """Records that all articles since then were searched for the tool, unless earlier ones were. Returns the
        present time."""
        now = self._clock()

        def changed(tool: Tool) -> Tool:
            known = tool.searched_since or tool.created_at
            return tool if known <= since else tool.changed(now, searched_since=since)

        await self._replace(tool_id, changed)
        return now

    async def announce(self) -> None:
        """Makes every detector outdated."""
        now = self._clock()
        version = CatalogVersion(created_at=now, updated_at=now, version=self._new_id())
        await self._store.upsert(CATALOG.name, version.to_document())

    async def version(self) -> str | None:
        """A text that changes with each announced change; None before the first."""
        document = await self._store.read(CATALOG.name, CatalogVersion.PARTITION, CatalogVersion.ID)
        return document["version"] if document else None

    async def _replace(self, tool_id: str, change: Callable[[Tool], Tool]) -> tuple[Tool, Tool]:
        """The tool before and after, its new names claimed; the same object twice if `change` changes nothing."""

        async def once() -> tuple[Tool, Tool]:
            before = await self.names.tool(tool_id)
            if before is None:
                raise NotFound(f"tool: there is none with the id {tool_id}")
            after = change(before)
            if after is before:
                return before, before
            await self._claim(_names_only_in(after, before), after)
            stored = await self._store.replace(CATALOG.name, after.to_document(), before.stored_etag or "")
            return before, Tool.from_document(stored)

        return await until_unchanged(once, f"tool {tool_id}")

    async def _claim(self, names: Iterable[str], tool: Tool) -> None:
        for name in names:
            await self.names.claim(name, "PRIMARY" if name == tool.primary_name else "ALIAS", tool.tool_id)

    async def _release(self, names: Iterable[str], tool_id: str) -> None:
        for name in names:
            await self.names.release(name, tool_id)


def _by_name(statuses: tuple[str, ...]) -> Query:
    return Query((ONLY_TOOLS, Where("status", "in", statuses)), order="by_name", limit=_PAGE)


def _names_only_in(one: Tool, other: Tool) -> list[str]:
    """The names of `one` that `other` lists in no spelling."""
    return [name for name in one.names if not owns(other, name)]
