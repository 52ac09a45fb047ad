"""Scoring a tool's mentions anew, page by page; then its timeline is rebuilt and its generation raised.

A mention whose article is no more keeps its score.
"""

from __future__ import annotations

from models.run import JobRun
from services.figures.entries import Generations
from services.figures.recount import Recount
from services.mentions.settling import Settling
from services.ports import Clock, Query, Store
from services.runs.workflows import RunImpossible, Step
from services.store.containers import MENTIONS
from services.tools.catalog import Catalog

PAGE = 200


class Reanalysis:
    """A workflow: `subject` is the tool. Pages are of its mentions by id."""

    def __init__(
        self,
        store: Store,
        catalog: Catalog,
        settling: Settling,
        recount: Recount,
        generations: Generations,
        clock: Clock,
    ) -> None:
        self._store = store
        self._catalog = catalog
        self._settling = settling
        self._recount = recount
        self._generations = generations
        self._clock = clock

    async def step(self, run: JobRun) -> Step:
        tool_id = run.subject or ""
        tool = await self._catalog.names.tool(tool_id)
        if tool is None or tool.status == "MERGED":
            raise RunImpossible(f"tool: {tool_id} is no more, or has been merged")
        after = (run.checkpoint or {}).get("after")
        query = Query(partition=tool_id, limit=PAGE, after=after if isinstance(after, str) else None)
        page = await self._store.query(MENTIONS.name, query)
        settled = await self._settling.settle([each["source_id"] for each in page.items], only=frozenset({tool_id}))
        counts = {"rescored": settled.written, "removed": settled.removed}
        if page.next is not None:
            return Step({"after": page.next}, len(page.items), counts, settled.failed)
        await self._catalog.note_scored(tool_id, self._settling.scored_by)
        await self._recount.rebuild_tool(tool_id, self._clock())
        await self._generations.raise_(tool_id)
        return Step(None, len(page.items), counts, settled.failed, (tool_id,))
