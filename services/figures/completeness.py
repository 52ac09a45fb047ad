"""Whether the figures of a tool count every article that is ingested.

They do if no article waits for its analysis (its mentions are written and their hours dirty before it ends), no hour of
the tool is dirty, and the entry is of the tool's last recount. These three are read in this order: whatever happens
between two of the reads, a figure that lacks an article shows in one of them. The entry may be read before or after.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass, replace
from typing import Any

from models.errors import Unavailable
from services.figures.recount import recounted_since
from services.mentions.due import tools_with_dirty_hours_among
from services.ports import Store
from services.work.backlog import UNKNOWN, Backlog, BacklogReader


@dataclass(frozen=True, slots=True)
class Completeness:
    """Whether figures count every ingested article.

    The fields of every aggregate; models/resources/figures.py describes them. `pending_articles` and
    `failed_articles` are null if they could not be counted.
    """

    pending_articles: int | None
    failed_articles: int | None
    complete: bool

    @classmethod
    def of(cls, backlog: Backlog, *, is_recounted: bool = True) -> Completeness:
        """`is_recounted`: the figures count all mentions that are stored."""
        return cls(backlog.pending, backlog.failed, backlog.is_empty and is_recounted)

    def and_now(self, now: Completeness) -> Completeness:
        """That of figures that were read before `now` was counted."""
        return replace(now, complete=self.complete and now.complete)

    def shown(self) -> dict[str, Any]:
        return asdict(self)


NOT_KNOWN = Completeness.of(UNKNOWN)


@dataclass(slots=True)
class CompletenessReader:
    """Reads what figures lack."""

    store: Store
    backlog: BacklogReader

    async def of_all(self) -> Completeness:
        """Of figures that were recounted when they were read, as those of a history are."""
        return Completeness.of(await self.backlog.counted())

    async def of_tools(self, recounts: Mapping[str, int]) -> dict[str, Completeness]:
        """Of these tools (any number), by tool. `recounts` has that number of the tool's entry."""
        backlog = await self.backlog.counted()
        if not backlog.is_empty or not recounts:
            return dict.fromkeys(recounts, Completeness.of(backlog))
        try:
            outdated = await changed_since(self.store, recounts)
        except Unavailable:  # an aggregate that is in the cache can be served without
            outdated = set(recounts)
        return {tool_id: Completeness.of(backlog, is_recounted=tool_id not in outdated) for tool_id in recounts}


async def changed_since(store: Store, recounts: Mapping[str, int]) -> set[str]:
    """The tools of which a mention was added, changed or removed since the recount with this number."""
    # Dirty hours are read first: a recount deletes them in the batch that raises its number.
    dirty = await tools_with_dirty_hours_among(store, list(recounts))
    return dirty | await recounted_since(store, recounts)
