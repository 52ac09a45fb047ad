"""Changes that people make to feeds, tools and articles, each with the run that brings stored figures up to date.

The run is stored before the change is made. If the process dies between the two, `clean_up` sends the message of the
run, and the run changes nothing without the change. The caller sends the message of every run that is returned.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from models.errors import NotFound
from models.feed import Feed
from models.request import SignedBody
from models.resources.tools import ToolFields
from models.run import BACKFILL, COMPARE, DELETE, MERGE, PRIORITIZE, REANALYZE, JobRun
from models.tool import Tool
from services.work.driver import PageResult, Workflows
from services.workflows import Services
from services.workflows.merging import mergeable


async def delete(of: Services, run: JobRun) -> PageResult:
    """Deletes an article, in one page: `subject` is the article."""
    source_id = run.subject or ""
    try:
        await of.articles.delete(source_id)
    except NotFound:
        await of.documents.remove(source_id)
        return PageResult(None, 1)  # the article has expired since
    await of.documents.remove(source_id)
    written = await of.writer.write([source_id], invalidate=of.generations.raise_all)
    written.require_all()
    await of.grouping.announce_corrected()
    return PageResult(None, 1, {"removed": written.removed})


@dataclass(frozen=True, slots=True)
class Changes:
    """Changes feeds, tools and articles."""

    of: Services
    workflows: Workflows

    async def change_feed(self, feed_id: str, change: Mapping[str, Any]) -> tuple[Feed, JobRun | None]:
        """The changed feed, and a run if its priority as a source has changed. Raises NotFound, Conflict."""
        before = await self.of.feeds.get(feed_id)
        if change.get("source_priority", before.source_priority) == before.source_priority:
            return await self.of.feeds.change(feed_id, change), None
        async with self.of.runs.accepted_for(PRIORITIZE, feed_id) as run:
            return await self.of.feeds.change(feed_id, change), run

    async def add_tool(self, new: ToolFields) -> tuple[Tool, JobRun]:
        """The new tool, and the run that searches the last 30 days for it. Raises Conflict."""
        async with self.of.runs.accepted_for(BACKFILL, None, tools=[new["primary_name"]]) as run:
            return await self.of.catalog.add(new), run

    async def change_tool(self, text: str, change: ToolFields) -> tuple[Tool, JobRun | None]:
        """The changed tool, and a run if other articles name the tool now. Raises NotFound; Conflict also for a tool
        that was merged."""
        tool_id = (await self.of.catalog.own(text)).tool_id
        async with self.of.runs.accepted_for(BACKFILL, tool_id, tools=[tool_id]) as run:
            tool, names_changed = await self.of.catalog.change(tool_id, change)
        if names_changed and tool.status == "ACTIVE":
            return tool, run
        await self.of.runs.withdraw(run.run_id)
        return tool, None

    async def backfill(self, tools: Sequence[str]) -> JobRun:
        """A run that searches the last 30 days for these tools, by id or name."""
        return await self.of.runs.accept(BACKFILL, tools[0] if len(tools) == 1 else None, tools=list(tools))

    async def merge(self, source: str, into: str, by: SignedBody | None = None) -> JobRun:
        """Raises NotFound, and Conflict if the tools cannot be merged."""
        tool, target = await mergeable(self.of.catalog, source, into)
        signed = {} if by is None else {"author": by.author, "reason": by.reason}
        return await self.of.runs.accept(MERGE, tool.tool_id, into=target.tool_id, **signed)

    async def reanalyze(self, text: str) -> JobRun:
        """Raises NotFound."""
        return await self.of.runs.accept(REANALYZE, (await self.of.catalog.get(text)).tool_id)

    async def compare(self, text: str, analyzer: str) -> JobRun:
        """A run that judges the tool's mentions with this analyzer and changes nothing. Raises NotFound, and
        InvalidInput for an analyzer that the app does not have."""
        tool, version = await self.of.catalog.get(text), self.of.analyzers.get(analyzer).version
        return await self.of.runs.accept(COMPARE, tool.tool_id, analyzer=analyzer, analyzer_version=version)

    async def delete_article(self, article_id: str) -> None:
        """Deletes the article while the caller waits. Afterwards its mentions and its text are gone, and no process
        serves a figure that counts it. It leaves its story with the next grouping, which is announced. Deleting again
        changes nothing. Raises NotFound if the article never existed."""
        run = await self.of.runs.accept(DELETE, await self.of.articles.source_id_of(article_id))
        await self.workflows.advance(run.run_id)
        await self.of.generations.known_everywhere()
