"""Reanalysis: scores a tool's mentions again, page by page; then rebuilds its timeline and raises its generation.

A mention whose article has expired keeps its score.
"""

from __future__ import annotations

from dataclasses import dataclass

from models.run import JobRun
from services.figures.entries import Generations
from services.figures.recount import Recount
from services.mentions.writing import MentionWriter
from services.ports import Clock, Query, Store
from services.runs.driver import Counted, PageResult, RunImpossible, page_after
from services.store.containers import MENTIONS
from services.tools.catalog import Catalog

PAGE = 200


@dataclass(frozen=True, slots=True)
class Reanalysis:
    """A workflow: `subject` is the tool. Its pages are the tool's mentions by id."""

    store: Store
    catalog: Catalog
    writer: MentionWriter
    recount: Recount
    generations: Generations
    clock: Clock

    async def page(self, run: JobRun) -> PageResult:
        tool_id = run.subject or ""
        tool = await self.catalog.names.tool(tool_id)
        if tool is None or tool.status == "MERGED":
            raise RunImpossible(f"tool: {tool_id} is gone, or has been merged")
        query = Query(partition=tool_id, limit=PAGE, after=page_after(run))
        mentions = await self.store.query(MENTIONS.name, query)
        source_ids = [each["source_id"] for each in mentions.items]
        report = await self.writer.write(source_ids, only=frozenset({tool_id}), invalidate=self.generations.raise_all)
        counts: Counted = {"rescored": report.written, "removed": report.removed}
        if mentions.next is not None:
            return PageResult({"after": mentions.next}, len(source_ids), counts, report.failed)
        await self.catalog.note_scored(tool_id, self.writer.scored_by)
        await self.recount.rebuild_tool(tool_id, self.clock())
        await self.generations.raise_(tool_id)
        return PageResult(None, len(source_ids), counts, report.failed, (tool_id,))
