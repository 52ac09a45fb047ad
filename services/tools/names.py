"""Which tool owns a name. A tool owns a name when the name's claim is for the tool and the tool lists the name.

A name is claimed (its document is created) before a tool lists it. A claim for a tool that does not list the name is
about to be used, or was left by a crash: after ABANDONED_AFTER another tool may take it over, so that no name is
blocked for ever. Taking it over rewrites the first tool before: a change of that tool that is still under way then
fails at its ETag, and is decided again.
"""

from __future__ import annotations

from datetime import timedelta
from typing import Literal

from models.errors import ChangedMeanwhile, Conflict
from models.tool import Tool, ToolName, name_key, normalize_name
from models.values import is_over
from services.ports import Clock, Store
from services.store.change import until_unchanged
from services.store.containers import CATALOG

ABANDONED_AFTER = timedelta(minutes=1)

Kind = Literal["PRIMARY", "ALIAS"]


def owns(tool: Tool | None, name: str) -> bool:
    """Whether the tool lists the name, in any spelling."""
    return tool is not None and normalize_name(name) in {normalize_name(each) for each in tool.names}


class NameClaims:
    def __init__(self, store: Store, clock: Clock) -> None:
        self._store = store
        self._clock = clock

    async def find(self, name: str) -> ToolName | None:
        document = await self._store.read(CATALOG.name, name_key(normalize_name(name)), ToolName.ID)
        return ToolName.from_document(document) if document else None

    async def tool(self, tool_id: str) -> Tool | None:
        document = await self._store.read(CATALOG.name, tool_id, Tool.ID)
        return Tool.from_document(document) if document else None

    async def find_or_create(self, name: str, kind: Kind, tool_id: str) -> ToolName:
        """The stored claim, or else a new one for this tool."""
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
        """Claims the name for the tool, or raises Conflict. A claim that the tool has already is renewed: see
        `release`."""

        async def once() -> None:
            claim = await self.find_or_create(name, kind, tool_id)
            if claim.tool_id != tool_id:
                holder = await self.tool(claim.tool_id)
                if owns(holder, name):
                    raise name_taken(name, claim.tool_id)
                self._require_abandoned(claim)
                if holder is not None:
                    await self._replace(holder, holder.changed(self._clock()))
            await self._move(claim, kind, tool_id)

        await until_unchanged(once, f"name {name}")

    def _require_abandoned(self, claim: ToolName) -> None:
        """Raises Conflict while the writer of an unused claim may still use it."""
        if not is_over(claim.updated_at + ABANDONED_AFTER, self._clock(), ABANDONED_AFTER):
            raise Conflict(f"name: {claim.name_raw!r} is being given to tool {claim.tool_id} just now: try again soon")

    async def move(self, name: str, kind: Kind, source: str, target: str) -> None:
        """Gives the claim to the tool `target` if it is for the tool `source`."""

        async def once() -> None:
            claim = await self.find(name)
            if claim is not None and claim.tool_id == source:
                await self._move(claim, kind, target)

        await until_unchanged(once, f"name {name}")

    async def release(self, name: str, tool_id: str) -> None:
        """Frees the name, unless its claim is for another tool or the tool lists it again.

        A tool that lists a name renews the claim afterwards. So if the tool lists the name after it was read here, the
        claim's ETag has changed, and the deletion fails.
        """
        claim = await self.find(name)
        if claim is None or claim.tool_id != tool_id or owns(await self.tool(tool_id), name):
            return
        try:
            await self._store.delete(CATALOG.name, claim.partition, ToolName.ID, claim.stored_etag)
        except ChangedMeanwhile:
            return

    async def _move(self, claim: ToolName, kind: Kind, tool_id: str) -> None:
        await self._replace(claim, claim.changed(self._clock(), tool_id=tool_id, name_kind=kind))

    async def _replace(self, before: Tool | ToolName, after: Tool | ToolName) -> None:
        """Raises ChangedMeanwhile if another writer was first."""
        await self._store.replace(CATALOG.name, after.to_document(), before.stored_etag or "")


def name_taken(name: str, tool_id: str) -> Conflict:
    return Conflict(f"name: {name!r} belongs to the tool {tool_id} already")
