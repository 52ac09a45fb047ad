"""Sets aside the corrections of a tool that is merged, and puts corrections back when the merge is undone.

A correction is set aside before it is carried over, so that it can return as it was. Each step can be repeated: what
has returned is deleted last.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Collection, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime

from models.correction import AFTER_PREFIX, PREFIX, Correction
from models.errors import ChangedMeanwhile, NotFound
from models.tool import Tool
from models.tool_merge import CarriedCorrection, ToolMerge, carried_correction_id
from services.mentions.correction_documents import CARRIED_AT_ONCE, TRIES, Corrections
from services.mentions.corrections import latest, with_reviews
from services.mentions.returning import Returned, returned
from services.ports import (
    Clock,
    Delete,
    Listed,
    Operation,
    Query,
    Replace,
    Store,
    Where,
    listed,
    listed_documents,
    query_all,
)
from services.store.containers import CATALOG
from services.tools.catalog import Catalog

_IS_CARRIED = (Where("id", "ge", "CARRIED:"), Where("id", "lt", "CARRIED;"))
_IS_CORRECTION = (Where("id", "ge", PREFIX), Where("id", "lt", AFTER_PREFIX))
_PAGE = 1000

Named = Callable[[Collection[str]], Awaitable[Mapping[str, tuple[bool, bool]]]]
"""By article: whether it names the unmerged tool, and whether it names the target."""


@dataclass(frozen=True, slots=True)
class CarriedCorrections:
    store: Store
    catalog: Catalog
    corrections: Corrections
    clock: Clock

    async def set_aside(self, corrections: Sequence[Correction]) -> None:
        now = self.clock()
        aside = [
            CarriedCorrection(
                created_at=now,
                updated_at=now,
                tool_id=each.tool_id,
                correction_id=each.correction_id,
                correction=each.to_document(),
            )
            for each in corrections
        ]
        await self.store.write_many(CATALOG.name, [each.to_document() for each in aside])

    async def reviewed_alone(self, tool: Tool, now: datetime) -> Tool:
        """The tool with the reviews of the corrections that it has itself: the others return with their reviews."""
        found = await query_all(self.store, CATALOG.name, Query(_IS_CORRECTION, partition=tool.tool_id, limit=_PAGE))
        own = listed_documents(found, Correction.from_document, "id").items
        return with_reviews(tool.changed(now, reviews={}), [(None, each) for each in own], now)

    async def some_aside(self, tool_id: str) -> list[CarriedCorrection]:
        """Some corrections that were set aside. Those that cannot be read stay where they are."""
        query = Query(_IS_CARRIED, partition=tool_id, limit=_PAGE)
        page = await self.store.query(CATALOG.name, query)
        return listed(page, CarriedCorrection.from_document, "id").items[:CARRIED_AT_ONCE]

    async def made_since(self, merge: ToolMerge, after: str | None) -> Listed[Correction]:
        """One page of verdicts on mentions of the target that were made or undone since the merge."""
        query = Query(_IS_CORRECTION, partition=merge.tool_id, limit=CARRIED_AT_ONCE, after=after)
        found = listed(await self.store.query(CATALOG.name, query), Correction.from_document, "id")
        since = [each for each in found.items if each.subject == "MENTION" and latest(each) > merge.made_at]
        return Listed(since, found.next, found.unreadable)

    async def put_back(self, merge: ToolMerge, correction_ids: Sequence[str], named: Named) -> list[str]:
        """Divides these corrections of the target between both tools. Returns the articles that they are about."""
        for _ in range(TRIES):
            aside = await self._aside(merge, correction_ids)
            target = await self.catalog.names.tool(merge.tool_id)
            if target is None:
                raise NotFound(f"tool: there is none with the id {merge.tool_id}")
            of_target = await self._of_target(merge, correction_ids)
            articles = {each.source_id for each in (*of_target.values(), *aside.values()) if each.source_id is not None}
            by_article = await named(articles)
            divided = {
                each: self._divided(merge, of_target.get(each), aside.get(each), by_article) for each in correction_ids
            }
            returning = [each.of_tool for each in divided.values() if each.of_tool is not None]
            await self.corrections.carry(returning, merge.merged_tool_id)
            if await self._stays(target, [(before, divided[key].of_target) for key, before in of_target.items()]):
                gone = [(merge.merged_tool_id, [Delete(carried_correction_id(each))]) for each in aside]
                await self.store.batch_many(CATALOG.name, gone)
                return sorted(articles)
        raise ChangedMeanwhile(f"tool {merge.tool_id} keeps changing")

    def _divided(
        self,
        merge: ToolMerge,
        of_target: Correction | None,
        of_tool: Correction | None,
        by_article: Mapping[str, tuple[bool, bool]],
    ) -> Returned:
        """A verdict on a source or a phrase that the tool had is one of the tool alone."""
        either = of_target or of_tool
        source_id = either.source_id if either is not None else None
        names_tool, names_target = by_article.get(source_id, (False, True)) if source_id is not None else (True, False)
        return returned(
            of_target, of_tool, merge.made_at, self.clock(), names_tool=names_tool, names_target=names_target
        )

    async def _aside(self, merge: ToolMerge, correction_ids: Sequence[str]) -> dict[str, Correction]:
        keys = [(merge.merged_tool_id, carried_correction_id(each)) for each in correction_ids]
        found = await self.store.read_many(CATALOG.name, keys)
        aside = listed_documents(found, CarriedCorrection.from_document, "id").items
        return {each.correction_id: Correction.from_document(each.correction) for each in aside}

    async def _of_target(self, merge: ToolMerge, correction_ids: Sequence[str]) -> dict[str, Correction]:
        found = await self.store.read_many(CATALOG.name, [(merge.tool_id, PREFIX + each) for each in correction_ids])
        return {each.correction_id: each for each in listed_documents(found, Correction.from_document, "id").items}

    async def _stays(self, target: Tool, changes: Sequence[tuple[Correction, Correction | None]]) -> bool:
        """Writes what stays with the target, in one batch with it. False if the tool or a correction has changed."""
        changes = [(before, after) for before, after in changes if after is not before]
        if not changes:
            return True
        after_tool = with_reviews(target, changes, self.clock())
        writes: list[Operation] = [Replace(after_tool.to_document(), target.stored_etag or "")]
        for before, after in changes:
            etag = before.stored_etag or ""
            writes.append(Delete(before.id, etag) if after is None else Replace(after.to_document(), etag))
        try:
            await self.store.batch(CATALOG.name, target.tool_id, writes)
        except ChangedMeanwhile:
            return False
        return True
