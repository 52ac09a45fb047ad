"""The tools that are watched: adding, changing and finding them.

Each change of a name or rule of detection is announced in one document (`CatalogVersion`), so that the other processes
build a new detector. Merging two tools is a workflow.

A tool owns a name when the name's claim is for the tool and the tool lists the name. A name is claimed (its document is
created or renewed) before a tool lists it. Another tool may take over a claim for a tool that does not list the name,
but not within IN_USE_FOR, since its tool may be about to be written. So no name is blocked for ever.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from datetime import datetime, timedelta
from typing import Any, Literal

from models.errors import ChangedMeanwhile, Conflict, InvalidInput, NotFound
from models.resources.tools import NewTool, RefusedTool, ToolChange, ToolFields
from models.tool import (
    AFTER_PREFIX,
    PREFIX,
    CatalogVersion,
    NameRule,
    NameSource,
    Tool,
    ToolMerge,
    ToolName,
    is_tool_id,
    merge_id,
    name_key,
    normalize_name,
)
from models.values import is_over
from services.ports import Clock, Listed, Query, Store, Where, listed, listed_documents, query_all
from services.store.change import until_unchanged
from services.store.containers import CATALOG
from services.yaml_lists import Entry, read_entries

IN_USE_FOR = timedelta(minutes=1)
"""How long a claim is protected though no tool lists the name."""
ONLY_TOOLS = Where("entity_type", "eq", "Tool")
MAX_MERGES = 20
_IS_MERGE = (Where("id", "ge", PREFIX), Where("id", "lt", AFTER_PREFIX))


@dataclass(frozen=True, slots=True)
class Catalog:
    """Adds, changes and finds tools. `new_id` returns UUIDs as text with hyphens."""

    store: Store
    clock: Clock
    new_id: Callable[[], str]

    async def find(self, text: str) -> Tool | None:
        """The tool with that id, name or alias; for a merged tool, the tool that it was merged into."""
        tool = await self.by_id(text) if is_tool_id(text) else None
        if tool is None and normalize_name(text):
            claim = await self.claim_of(text)
            holder = await self.by_id(claim.tool_id) if claim else None
            # While a merge moves names, the claim may still be for the merged tool, which lists the name too.
            tool = holder if owns(holder, text) else None
        for _ in range(MAX_MERGES):
            if tool is None or tool.merged_into is None:
                return tool
            tool = await self.by_id(tool.merged_into)
        return None

    async def by_id(self, tool_id: str) -> Tool | None:
        document = await self.store.read(CATALOG.name, tool_id, Tool.ID)
        return Tool.from_document(document) if document else None

    async def claim_of(self, name: str) -> ToolName | None:
        document = await self.store.read(CATALOG.name, name_key(normalize_name(name)), ToolName.ID)
        return ToolName.from_document(document) if document else None

    async def get(self, text: str) -> Tool:
        """As `find`; raises NotFound."""
        tool = await self.find(text)
        if tool is None:
            raise NotFound(f"tool: there is none with the id, name or alias {text[:200]!r}")
        return tool

    async def unmerged(self, text: str) -> Tool:
        """As `get`, but an id names its own tool even if that was merged into another."""
        tool = await self.by_id(text) if is_tool_id(text) else None
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
        """One page of tools by name, and the cursor of the next. The last changes may be missing."""
        query = replace(_by_name(statuses), limit=limit, after=after, may_be_stale=True)
        return listed(await self.store.query(CATALOG.name, query), Tool.from_document, CATALOG.partition_key)

    async def active(self, statuses: tuple[str, ...] = ("ACTIVE",), *, may_be_stale: bool = False) -> list[Tool]:
        """All active tools, or those with other statuses, by name."""
        found = await query_all(self.store, CATALOG.name, replace(_by_name(statuses), may_be_stale=may_be_stale))
        return listed_documents(found, Tool.from_document, CATALOG.partition_key).items

    async def known(self, tool_ids: list[str]) -> Listed[Tool]:
        """The stored tools with these ids."""
        found = await self.store.read_many(CATALOG.name, [(each, Tool.ID) for each in tool_ids])
        return listed_documents(found, Tool.from_document, CATALOG.partition_key)

    async def merges_into(self, tool_id: str) -> list[ToolMerge]:
        """All merges into this tool that can be read."""
        found = await query_all(self.store, CATALOG.name, Query(_IS_MERGE, partition=tool_id))
        return listed_documents(found, ToolMerge.from_document, "id").items

    async def merges(self, text: str, limit: int, after: str | None) -> Listed[ToolMerge]:
        """One page of the merges into a tool; first, that of the tool itself. An id names its own tool. Raises
        NotFound."""
        tool = await self.unmerged(text)
        query = Query(_IS_MERGE, partition=tool.tool_id, limit=limit, after=after)
        page = listed(await self.store.query(CATALOG.name, query), ToolMerge.from_document, "id")
        if after is not None or tool.merged_into is None:
            return page
        own = await self.store.read(CATALOG.name, tool.merged_into, merge_id(tool.tool_id))
        return page if own is None else replace(page, items=[ToolMerge.from_document(own), *page.items])

    async def names(self, text: str) -> Listed[ToolName]:
        """The names of a tool as it lists them, the primary name first. Raises NotFound."""
        tool = await self.get(text)
        raw = {normalize_name(each): each for each in tool.names}
        found = await self.store.read_many(CATALOG.name, [(name_key(each), ToolName.ID) for each in raw])
        claims = listed_documents(found, ToolName.from_document, CATALOG.partition_key)
        for number, each in enumerate(claims.items):
            # A claim keeps the spelling, and whether the name was the primary one, from when it was made.
            name = raw[each.name_normalized]
            its = {"name_raw": name, "name_kind": _kind_of(name, tool), "tool_id": tool.tool_id}
            claims.items[number] = each.model_copy(update=its)
        return claims

    async def add(self, new: ToolFields, source: NameSource = "USER_INPUT") -> Tool:
        """The new tool; `new_tool` checked its fields. Raises Conflict if another tool owns one of the names."""
        now = self.clock()
        tool = Tool(created_at=now, tool_id=self.new_id(), **new)
        try:
            for name in tool.names:
                await self.claim(name, tool, source)
        except Conflict:
            await self.release(tool.names, tool.tool_id)
            raise
        stored = await self.store.create(CATALOG.name, tool.to_document())
        await self.announce()
        return Tool.from_document(stored)

    async def change(self, text: str, change: ToolFields, source: NameSource = "USER_INPUT") -> tuple[Tool, bool]:
        """The tool after `change`, which `tool_change` checked, and whether other articles name it now.

        Raises NotFound, and Conflict if another tool owns one of the names.
        """
        tool_id = (await self.get(text)).tool_id

        def changed(tool: Tool) -> Tool:
            if tool.merged_into is not None:
                raise Conflict(f"tool: {tool_id} has just been merged into {tool.merged_into}")
            return changed_tool(tool, change, self.clock())

        before, after = await self._replace(tool_id, changed, source)
        if after is before:
            return before, False
        await self.release(_names_only_in(before, after), tool_id)
        alike = before.is_detected_as(after)
        if not alike:
            await self.announce()
        return after, not alike

    async def note_scored(self, tool_id: str, scored_by: str) -> None:
        """Records that this analyzer has scored all mentions of the tool."""

        def changed(tool: Tool) -> Tool:
            return tool if tool.scored_by == scored_by else tool.changed(self.clock(), scored_by=scored_by)

        await self._replace(tool_id, changed)

    async def note_searched(self, tool_id: str, since: datetime) -> datetime:
        """Records that all articles since then were searched for the tool, unless earlier ones were. Returns the
        present time."""
        now = self.clock()

        def changed(tool: Tool) -> Tool:
            known = tool.searched_since or tool.created_at
            return tool if known <= since else tool.changed(now, searched_since=since)

        await self._replace(tool_id, changed)
        return now

    async def announce(self) -> None:
        """Makes every detector outdated."""
        now = self.clock()
        version = CatalogVersion(created_at=now, version=self.new_id())
        await self.store.upsert(CATALOG.name, version.to_document())

    async def version(self) -> str | None:
        """A text that changes with each announced change; None before the first."""
        document = await self.store.read(CATALOG.name, CatalogVersion.PARTITION, CatalogVersion.ID)
        return document["version"] if document else None

    async def _replace(
        self, tool_id: str, change: Callable[[Tool], Tool], source: NameSource = "USER_INPUT"
    ) -> tuple[Tool, Tool]:
        """The tool before and after, its new names claimed; the same object twice if `change` changes nothing."""

        async def once() -> tuple[Tool, Tool]:
            before = await self.by_id(tool_id)
            if before is None:
                raise NotFound(f"tool: there is none with the id {tool_id}")
            after = change(before)
            if after is before:
                return before, before
            for name in _names_only_in(after, before):
                await self.claim(name, after, source)
            stored = await self.store.replace(CATALOG.name, after.to_document(), before.stored_etag or "")
            return before, Tool.from_document(stored)

        return await until_unchanged(once, f"tool {tool_id}")

    async def claim(
        self, name: str, tool: Tool, source: NameSource = "USER_INPUT", *, instead_of: str | None = None
    ) -> None:
        """Claims the name for the tool, also if the tool `instead_of` owns it. Raises Conflict if another tool does, or
        is about to."""
        tool_id, kind = tool.tool_id, _kind_of(name, tool)

        async def once() -> None:
            found, now = await self.claim_of(name), self.clock()
            new = ToolName(created_at=now, name_raw=name, name_kind=kind, tool_id=tool_id, source=source)
            if found is None:
                try:
                    await self.store.create(CATALOG.name, new.to_document())
                except Conflict as error:
                    raise ChangedMeanwhile(str(error)) from error
                return
            if found.tool_id not in (tool_id, instead_of):
                await self._require_free(name, found, now)
            moved = found.changed(now, tool_id=tool_id, name_kind=kind) if instead_of is not None else new
            await self._replace_claim(found, moved)

        await until_unchanged(once, f"name {name}")

    async def release(self, names: Iterable[str], tool_id: str) -> None:
        """Lets other tools take the names over at once, if their claims are for this tool."""
        for name in names:
            claim = await self.claim_of(name)
            if claim is not None and claim.tool_id == tool_id:
                with suppress(ChangedMeanwhile):
                    await self._replace_claim(claim, claim.changed(self.clock() - IN_USE_FOR))

    async def _require_free(self, name: str, claim: ToolName, now: datetime) -> None:
        if owns(await self.by_id(claim.tool_id), name):
            raise Conflict(f"name: {name!r} belongs to the tool {claim.tool_id} already")
        if not is_over(claim.updated_at + IN_USE_FOR, now, IN_USE_FOR):
            raise Conflict(f"name: {name!r} is being given to tool {claim.tool_id} just now: try again soon")

    async def _replace_claim(self, before: ToolName, after: ToolName) -> None:
        """Raises ChangedMeanwhile if another writer was first."""
        await self.store.replace(CATALOG.name, after.to_document(), before.stored_etag or "")


def _kind_of(name: str, tool: Tool) -> Literal["PRIMARY", "ALIAS"]:
    return "PRIMARY" if name == tool.primary_name else "ALIAS"


def owns(tool: Tool | None, name: str) -> bool:
    """Whether the tool lists the name, in any spelling."""
    return tool is not None and normalize_name(name) in {normalize_name(each) for each in tool.names}


def _by_name(statuses: tuple[str, ...]) -> Query:
    return Query((ONLY_TOOLS, Where("status", "in", statuses)), order="by_name")


def _names_only_in(one: Tool, other: Tool) -> list[str]:
    """The names of `one` that `other` lists in no spelling."""
    return [name for name in one.names if not owns(other, name)]


# The fields that people enter.


def new_tool(fields: Mapping[str, Any]) -> ToolFields:
    """The fields of a tool to add: at least its `primary_name`. Raises InvalidInput."""
    wanted = NewTool.checked(fields).stored()
    _check_together((wanted["primary_name"], *wanted.get("aliases", ())), wanted.get("name_rules", {}))
    return wanted


def tool_change(fields: Mapping[str, Any]) -> ToolFields:
    """The fields to change. Raises InvalidInput."""
    return ToolChange.checked(fields).stored()


def changed_tool(tool: Tool, change: ToolFields, now: datetime) -> Tool:
    """`tool` after `change`, which `tool_change` checked; the same object if `change` changes nothing.

    The rule of a removed name is removed, unless `change` has rules of its own. Raises InvalidInput.
    """
    if all(getattr(tool, name) == value for name, value in change.items()):
        return tool
    names = (change.get("primary_name", tool.primary_name), *change.get("aliases", tool.aliases))
    rules = change.get("name_rules", {name: rule for name, rule in tool.name_rules.items() if name in names})
    _check_together(names, rules)
    return tool.changed(now, **{**change, "name_rules": rules})


def _check_together(names: Sequence[str], rules: Mapping[str, NameRule]) -> None:
    seen: set[str] = set()
    for name in names:
        if normalize_name(name) in seen:
            raise InvalidInput("aliases", f"must all differ, also from the name: {name!r} is there twice")
        seen.add(normalize_name(name))
    for name in rules:
        if name not in names:
            raise InvalidInput("name_rules", f"must be for the name or an alias as written; {name!r} is neither")


# Lists of tools in YAML.


@dataclass(slots=True)
class ListReport:
    """The tools that were added, changed, or equal to their entry already. `searched_for` are the ids of those whose
    names have changed, so that they need a backfill."""

    added: list[Tool] = field(default_factory=list)
    changed: list[Tool] = field(default_factory=list)
    known: list[Tool] = field(default_factory=list)
    refused: list[RefusedTool] = field(default_factory=list)
    searched_for: list[str] = field(default_factory=list)


def entries_of(document: bytes) -> list[Entry]:
    """The entries of a list of tools. Raises InvalidInput if the document is not such a list."""
    return read_entries(document, "tools", f"name, and maybe {', '.join([*NewTool.model_fields][1:])}, status")


async def apply_entries(catalog: Catalog, entries: Sequence[Entry]) -> ListReport:
    """Adds and changes tools until they are as the list has them. A known tool is found by its primary name.

    Fields that an entry does not have, and tools that the list does not name, stay as they are. A wrong entry is
    reported with its line; the others are applied.
    """
    report = ListReport()
    for entry in entries:
        try:
            await _apply(catalog, entry, report)
        except (InvalidInput, Conflict) as error:
            report.refused.append(RefusedTool(line=entry.line, name=entry.text("name"), reason=str(error)))
    return report


async def _apply(catalog: Catalog, entry: Entry, report: ListReport) -> None:
    name = entry.text("name")
    before = await catalog.find(name) if normalize_name(name) else None
    if before is None:
        given = {field: value for field, value in entry.fields.items() if field != "status"}
        before = await catalog.add(new_tool(given), "CONFIG")
        report.added.append(before)
        report.searched_for.append(before.tool_id)
        if "status" not in entry.fields:
            return
    if before.primary_name_normalized != normalize_name(name):
        raise Conflict(f"name: is an alias of the tool {before.primary_name!r}; list it there")
    tool, is_other = await catalog.change(before.tool_id, tool_change(entry.fields), "CONFIG")
    if tool.tool_id in {each.tool_id for each in report.added}:
        return
    (report.known if tool.stored_etag == before.stored_etag else report.changed).append(tool)
    if is_other and tool.status == "ACTIVE":
        report.searched_for.append(tool.tool_id)
