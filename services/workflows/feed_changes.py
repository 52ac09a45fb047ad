"""Changing a feed, and what follows from it: another priority of a source has a run, which reads its articles anew.

The run is stored before the change: whoever dies between them leaves a run that `clean_up` sends, and that does no
harm.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from models.errors import ToolpulseError, Unavailable
from models.feed import Feed
from models.run import JobRun
from services.feeds.registry import FeedRegistry
from services.runs.workflows import PRIORITIZE, Workflows


class FeedChanges:
    """Each run that is returned is stored; its message is for the caller to send."""

    def __init__(self, registry: FeedRegistry, workflows: Workflows) -> None:
        self._registry = registry
        self._workflows = workflows

    async def change(self, feed_id: str, change: Mapping[str, Any]) -> tuple[Feed, JobRun | None]:
        """The feed with `change`, and a run if its articles may read otherwise. Raises NotFound, Conflict."""
        before = await self._registry.get(feed_id)
        if change.get("source_priority", before.source_priority) == before.source_priority:
            return await self._registry.change(feed_id, change), None
        run = await self._workflows.accept(PRIORITIZE, feed_id)
        try:
            return await self._registry.change(feed_id, change), run
        except Unavailable:
            raise  # it may have been done
        except ToolpulseError:
            await self._workflows.withdraw(run)
            raise
