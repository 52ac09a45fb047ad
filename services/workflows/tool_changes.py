"""Changing the catalog, and what follows from it: a change that makes other articles name a tool has a run.

The run is stored before the change: whoever dies between them leaves a run that `clean_up` sends, and that does no
harm.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from models.errors import ToolpulseError, Unavailable
from models.run import JobRun
from models.tool import Tool
from services.mentions.settling import Settling
from services.runs.workflows import BACKFILL, MERGE, REANALYZE, Workflows
from services.tools.catalog import Catalog
from services.tools.form import NewTool
from services.workflows.merging import to_be_merged


class ToolChanges:
    """Each run that is returned is stored; its message is for the caller to send."""

    def __init__(self, catalog: Catalog, workflows: Workflows, settling: Settling) -> None:
        self._catalog = catalog
        self._workflows = workflows
        self._settling = settling

    async def add(self, new: NewTool) -> tuple[Tool, JobRun]:
        """The new tool, and the run that searches the last 30 days for it. Raises Conflict."""
        run = await self._workflows.accept(BACKFILL, None, tools=[new.name])
        try:
            return await self._catalog.add(new), run
        except Unavailable:
            raise  # it may have been done
        except ToolpulseError:
            await self._workflows.withdraw(run)
            raise

    async def change(self, text: str, change: Mapping[str, Any]) -> tuple[Tool, JobRun | None]:
        """The tool with `change`, and a run if other articles name it now. Raises NotFound, Conflict."""
        tool_id = (await self._catalog.get(text)).tool_id
        run = await self.backfill([tool_id])
        try:
            tool, is_other = await self._catalog.change(tool_id, change)
        except Unavailable:
            raise  # it may have been done
        except ToolpulseError:
            await self._workflows.withdraw(run)
            raise
        if is_other and tool.status == "ACTIVE":
            return tool, run
        await self._workflows.withdraw(run)
        return tool, None

    async def backfill(self, tools: Sequence[str]) -> JobRun:
        """Searches the last 30 days for these tools, by id or name."""
        return await self._workflows.accept(BACKFILL, tools[0] if len(tools) == 1 else None, tools=list(tools))

    async def merge(self, source: str, into: str) -> JobRun:
        """Raises NotFound, and Conflict if they are one tool already."""
        one, other = await to_be_merged(self._catalog, source, into)
        return await self._workflows.accept(MERGE, one.tool_id, into=other.tool_id)

    async def reanalyze(self, text: str) -> JobRun:
        """Raises NotFound."""
        return await self._workflows.accept(REANALYZE, (await self._catalog.get(text)).tool_id)

    def is_reanalysis_offered(self, tool: Tool) -> bool:
        """Whether some of its mentions were scored by another analyzer, or another version of it, than the present."""
        return tool.scored_by is not None and tool.scored_by != self._settling.scored_by
