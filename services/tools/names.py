"""Whose name is whose. A name is claimed (create) before its tool lists it, and is a tool's when both say so.

A claim whose tool does not list the name was left behind by a crash, or is about to be used: after `SETTLES` it is
taken over by whoever wants the name next, so no name is ever stuck. Before that, the tool is touched: a change of it
that is still under way then fails at its ETag, and looks again.
"""

from __future__ import annotations

from datetime import timedelta
from typing import Literal

from models.errors import ChangedMeanwhile, Conflict
from models.tool import Tool, ToolName, name_key, normalize_name
from services.ports import Clock, Store
from services.store.containers import CATALOG

SETTLES = timedelta(minutes=1)
TRIES = 8

Kind = Literal["PRIMARY", "ALIAS"]


def owns(tool: Tool | None, name: str) -> bool:
    """Whether the tool lists this name, in any spelling."""
    return tool is not None and normalize_name(name) in {normalize_name(each) for each in tool.names}


class Names:
    def __init__(self, store: Store, clock: Clock) -> None:
        self._store = store
        self._clock = clock

    async def find(self, name: str) -> ToolName | None:
        document = await self._store.read(CATALOG.name, name_key(normalize_name(name)), ToolName.ID)
        return ToolName.from_document(document) if document else None

    async def tool(self, tool_id: str) -> Tool | None:
        document = await self._store.read(CATALOG.name, tool_id, Tool.ID)
        return Tool.from_document(document) if document else None

    async def claimed(self, name: str, kind: Kind, tool_id: str) -> ToolName:
        """Who holds the name, after an attempt to make it this tool's."""
        now = self._clock()
        wanted = ToolName(created_at=now, updated_at=now, name_raw=name, name_kind=kind, tool_id=tool_id)
        while True:
            found = await self.find(name)
            if found is not None:
                return found
            try:
                return ToolName.from_document(await self._store.create(CATALOG.name, wanted.to_document()))
            except Conflict:
                continue

    async def claim(self, name: str, kind: Kind, tool_id: str) -> None:
        """The name is this tool's to list, or Conflict. A claim that it has already is renewed: see `release`."""
        for _ in range(TRIES):
            held = await self.claimed(name, kind, tool_id)
            if held.tool_id != tool_id:
                holder = await self.tool(held.tool_id)
                if owns(holder, name):
                    raise taken(name, held.tool_id)
                self.require_settled(held)
                if holder is not None and not await self._touched(holder):
                    continue
            if await self._moved(held, kind, tool_id):
                return
        raise ChangedMeanwhile(f"name: {name} keeps changing hands: try again")

    def require_settled(self, held: ToolName) -> None:
        """Conflict if the claim may yet be used by who made it."""
        if self._clock() - held.updated_at < SETTLES:
            raise Conflict(f"name: {held.name_raw!r} is being given to tool {held.tool_id} just now: try again soon")

    async def move(self, name: str, kind: Kind, source: str, target: str) -> None:
        """From one tool to another, wherever it is the one's."""
        for _ in range(TRIES):
            held = await self.find(name)
            if held is None or held.tool_id != source or await self._moved(held, kind, target):
                return
        raise ChangedMeanwhile(f"name: {name} keeps changing hands")

    async def release(self, name: str, tool_id: str) -> None:
        """The name is free, unless it is another's, or the tool lists it again.

        Who lists a name renews its claim afterwards, so that its ETag is no longer the one read here before the tool.
        """
        held = await self.find(name)
        if held is None or held.tool_id != tool_id or owns(await self.tool(tool_id), name):
            return
        try:
            await self._store.delete(CATALOG.name, held.partition, ToolName.ID, held.stored_etag)
        except ChangedMeanwhile:
            return

    async def _moved(self, held: ToolName, kind: Kind, tool_id: str) -> bool:
        moved = held.changed(self._clock(), tool_id=tool_id, name_kind=kind).to_document()
        try:
            await self._store.replace(CATALOG.name, moved, held.stored_etag or "")
        except ChangedMeanwhile:
            return False
        return True

    async def _touched(self, tool: Tool) -> bool:
        try:
            await self._store.replace(CATALOG.name, tool.changed(self._clock()).to_document(), tool.stored_etag or "")
        except ChangedMeanwhile:
            return False
        return True


def taken(name: str, tool_id: str) -> Conflict:
    return Conflict(f"name: {name!r} is the tool {tool_id} already")
