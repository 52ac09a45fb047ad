"""Which tool owns a name. A tool owns a name when the name's claim is for the tool and the tool lists the name.

A name is claimed (its document is created or renewed) before a tool lists it. Another tool may take over a claim for a
tool that does not list the name, but not within IN_USE_FOR, since its tool may be about to be written. So no name is
blocked for ever.
"""

from __future__ import annotations

from datetime import datetime, timedelta
from typing import Literal

from models.errors import ChangedMeanwhile, Conflict
from models.tool import Tool, ToolName, name_key, normalize_name
from models.values import is_over
from services.ports import Clock, Store
from services.store.change import until_unchanged
from services.store.containers import CATALOG

IN_USE_FOR = timedelta(minutes=1)
"""How long a claim is protected though no tool lists the name."""

NameKind = Literal["PRIMARY", "ALIAS"]


def owns(tool: Tool | None, name: str) -> bool:
    """Whether the tool lists the name, in any spelling."""
    return tool is not None and normalize_name(name) in {normalize_name(each) for each in tool.names}


class NameClaims:
    """The claims of names, one document for each."""

    def __init__(self, store: Store, clock: Clock) -> None:
        self._store = store
        self._clock = clock

    async def find(self, name: str) -> ToolName | None:
        document = await self._store.read(CATALOG.name, name_key(normalize_name(name)), ToolName.ID)
        return ToolName.from_document(document) if document else None

    async def tool(self, tool_id: str) -> Tool | None:
        document = await self._store.read(CATALOG.name, tool_id, Tool.ID)
        return Tool.from_document(document) if document else None

    async def claim(self, name: str, kind: NameKind, tool_id: str, *, instead_of: str | None = None) -> None:
        """Claims the name for the tool, also if the tool `instead_of` owns it. Raises Conflict if another tool does, or
        is about to."""

        async def once() -> None:
            found, now = await self.find(name), self._clock()
            if found is None:
                new = ToolName(created_at=now, updated_at=now, name_raw=name, name_kind=kind, tool_id=tool_id)
                try:
                    await self._store.create(CATALOG.name, new.to_document())
                except Conflict as error:
                    raise ChangedMeanwhile(str(error)) from error
                return
            if found.tool_id not in (tool_id, instead_of):
                await self._require_free(name, found, now)
            await self._replace(found, found.changed(now, tool_id=tool_id, name_kind=kind))

        await until_unchanged(once, f"name {name}")

    async def release(self, name: str, tool_id: str) -> None:
        """Lets other tools take the name over at once, if its claim is for this tool."""
        claim = await self.find(name)
        if claim is not None and claim.tool_id == tool_id:
            try:
                await self._replace(claim, claim.changed(self._clock() - IN_USE_FOR))
            except ChangedMeanwhile:
                return

    async def _require_free(self, name: str, claim: ToolName, now: datetime) -> None:
        if owns(await self.tool(claim.tool_id), name):
            raise Conflict(f"name: {name!r} belongs to the tool {claim.tool_id} already")
        if not is_over(claim.updated_at + IN_USE_FOR, now, IN_USE_FOR):
            raise Conflict(f"name: {name!r} is being given to tool {claim.tool_id} just now: try again soon")

    async def _replace(self, before: ToolName, after: ToolName) -> None:
        """Raises ChangedMeanwhile if another writer was first."""
        await self._store.replace(CATALOG.name, after.to_document(), before.stored_etag or "")
