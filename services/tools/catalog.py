"""The tools that are watched: adding, changing and finding them, each name held by one tool only.

Whose name is whose is names.py's; merging is merge.py's. Each change of what is recognised is announced in one document
(`CatalogVersion`), so that a detector elsewhere knows that it is old.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping
from typing import Any

from models.errors import ChangedMeanwhile, Conflict, NotFound
from models.tool import CatalogVersion, Tool, ToolName, is_tool_id, normalize_name
from services.ports import Clock, Document, Page, Query, Store, Where
from services.store.containers import CATALOG
from services.store.listed import Listed, listed
from services.tools.form import NewTool, changed_tool, detects_alike
from services.tools.names import TRIES, Names, owns, taken

ONLY_TOOLS = Where("entity_type", "eq", "Tool")
MOST_MERGES = 20
_PAGE = 1000


class Catalog:
    def __init__(self, store: Store, clock: Clock, new_id: Callable[[], str]) -> None:
        """`new_id` gives UUIDs as text with hyphens."""
        self._store = store
        self._clock = clock
        self._new_id = new_id
        self.names = Names(store, clock)

    async def find(self, text: str) -> Tool | None:
        """The tool with that id, name or alias; of a merged one, the tool that answers in its place."""
        tool = await self.names.tool(text) if is_tool_id(text) else None
        if tool is None and normalize_name(text):
            claim = await self.names.find(text)
            holder = await self.names.tool(claim.tool_id) if claim else None
            # While a merge moves names, the claim points to a tool that the other answers for.
            tool = holder if owns(holder, text) else None
        for _ in range(MOST_MERGES):
            if tool is None or tool.merged_into is None:
                return tool
            tool = await self.names.tool(tool.merged_into)
        return None

    async def get(self, text: str) -> Tool:
        """Raises NotFound."""
        tool = await self.find(text)
        if tool is None:
            raise NotFound(f"tool: there is none with the id, name or alias {text[:200]!r}")
        return tool

    async def page(
        self, limit: int, after: str | None = None, statuses: tuple[str, ...] = ("ACTIVE", "DEPRECATED")
    ) -> Listed[Tool]:
        """One page by name, and the cursor of the next."""
        where = (ONLY_TOOLS, Where("status", "in", statuses))
        page = await self._store.query(CATALOG.name, Query(where, order="by_name", limit=limit, after=after))
        return listed(page, Tool.from_document, CATALOG.partition_key)

    async def active(self) -> list[Tool]:
        """All that are watched, by name."""
        found: list[Tool] = []
        after: str | None = None
        while True:
            page = await self.page(_PAGE, after, ("ACTIVE",))
            found += page.items
            after = page.next
            if after is None:
                return found

    async def known(self, tool_ids: list[str]) -> Listed[Tool]:
        """Those of these tools that there are, as they are now."""
        found = await self._store.read_many(CATALOG.name, [(each, Tool.ID) for each in tool_ids]) if tool_ids else []
        there = Page([document for document in found if document is not None])
        return listed(there, Tool.from_document, CATALOG.partition_key)

    async def add(self, new: NewTool) -> Tool:
        """Raises Conflict if one of the names is another tool's.

        The claim of the first name decides the id: of two that add the same, or one that does it again after a crash,
        the store lets one create the tool.
        """
        own_id = self._new_id()
        for _ in range(TRIES):
            claim = await self.names.claimed(new.name, "PRIMARY", own_id)
            holder = await self.names.tool(claim.tool_id)
            if owns(holder, new.name):
                raise taken(new.name, claim.tool_id)
            if holder is not None:
                # Left over from a change of that tool.
                await self.names.claim(new.name, "PRIMARY", own_id)
                continue
            tool = await self._created(new, claim)
            if tool is not None:
                await self.announce()
                return tool
        raise ChangedMeanwhile(f"name: {new.name} keeps changing hands: try again")

    async def change(self, text: str, change: Mapping[str, Any]) -> tuple[Tool, bool]:
        """The tool with `change`, which `tool_change` let through, and whether other articles name it now.

        Raises Conflict if a name is another tool's, NotFound.
        """
        tool_id = (await self.get(text)).tool_id
        before, after = await self._replaced(tool_id, lambda tool: self._with_names(tool, change))
        if after is before:
            return before, False
        added = _not_in(after, before)
        await self._secure(after, added)
        for name in _not_in(before, after):
            await self.names.release(name, tool_id)
        alike = detects_alike(before, after)
        if not alike:
            await self.announce()
        return after, not alike

    async def note_discovery(self, tool_id: str, source_id: str, day: str, scored_by: str) -> Tool:
        """The tool, with this as its first reference if it had none."""

        async def noted(tool: Tool) -> Tool:
            if tool.discovery_reference is not None:
                return tool
            first = {"discovery_reference": source_id, "discovery_date": day, "scored_by": scored_by}
            return tool.changed(self._clock(), **first)

        return (await self._replaced(tool_id, noted))[1]

    async def note_scored(self, tool_id: str, scored_by: str) -> None:
        """All mentions of the tool were scored by this analyzer."""

        async def noted(tool: Tool) -> Tool:
            return tool if tool.scored_by == scored_by else tool.changed(self._clock(), scored_by=scored_by)

        await self._replaced(tool_id, noted)

    async def announce(self) -> None:
        """Whoever has a detector learns that it is old."""
        now = self._clock()
        version = CatalogVersion(created_at=now, updated_at=now, version=self._new_id())
        await self._store.upsert(CATALOG.name, version.to_document())

    async def version(self) -> str | None:
        """Another one after each change of what is recognised."""
        document = await self._store.read(CATALOG.name, CatalogVersion.PARTITION, CatalogVersion.ID)
        return document["version"] if document else None

    async def _replaced(self, tool_id: str, change: Callable[[Tool], Awaitable[Tool]]) -> tuple[Tool, Tool]:
        for _ in range(TRIES):
            before = await self.names.tool(tool_id)
            if before is None:
                raise NotFound(f"tool: there is none with the id {tool_id}")
            after = await change(before)
            if after is before:
                return before, before
            try:
                stored = await self._store.replace(CATALOG.name, after.to_document(), before.stored_etag or "")
            except ChangedMeanwhile:
                continue
            return before, Tool.from_document(stored)
        raise ChangedMeanwhile(f"tool {tool_id} keeps changing: try again")

    async def _with_names(self, tool: Tool, change: Mapping[str, Any]) -> Tool:
        if tool.merged_into is not None:
            raise Conflict(f"tool: {tool.tool_id} has just been merged into {tool.merged_into}")
        after = changed_tool(tool, change, self._clock())
        for name in _not_in(after, tool):
            await self.names.claim(name, "PRIMARY" if name == after.primary_name else "ALIAS", tool.tool_id)
        return after

    async def _created(self, new: NewTool, claim: ToolName) -> Tool | None:
        """None if somebody else created the tool of that claim first."""
        tool_id = claim.tool_id
        tool = new.tool(tool_id, self._clock())
        claimed = []
        try:
            for alias in new.aliases:
                await self.names.claim(alias, "ALIAS", tool_id)
                claimed.append(alias)
        except Conflict:
            for name in (new.name, *claimed):
                await self.names.release(name, tool_id)
            raise
        try:
            stored: Document = await self._store.create(CATALOG.name, tool.to_document())
        except Conflict:
            for alias in claimed:
                await self.names.release(alias, tool_id)
            return None
        try:
            for name in tool.names:
                await self.names.claim(name, "PRIMARY" if name == new.name else "ALIAS", tool_id)
        except Conflict:
            # It took so long that a claim passed for one that a crash left behind.
            await self._store.delete(CATALOG.name, tool_id, Tool.ID, stored["_etag"])
            for name in tool.names:
                await self.names.release(name, tool_id)
            raise
        return Tool.from_document(stored)

    async def _secure(self, tool: Tool, names: list[str]) -> None:
        """Renews the claims of names that are listed now: a release that saw them unlisted comes too late, or has
        come already, and then they are claimed again, or given up."""
        for name in names:
            try:
                await self.names.claim(name, "ALIAS", tool.tool_id)
            except Conflict:
                await self._replaced(tool.tool_id, lambda tool, lost=name: self._without(tool, lost))  # type: ignore[misc]
                raise

    async def _without(self, tool: Tool, name: str) -> Tool:
        lost = normalize_name(name)
        aliases = tuple(each for each in tool.aliases if normalize_name(each) != lost)
        primary = tool.primary_name if tool.primary_name_normalized != lost else tool.tool_id
        return changed_tool(tool, {"aliases": aliases, "primary_name": primary}, self._clock())


def _not_in(one: Tool, other: Tool) -> list[str]:
    """The names of the one that the other has in no spelling."""
    known = {normalize_name(name) for name in other.names}
    return [name for name in one.names if normalize_name(name) not in known]
