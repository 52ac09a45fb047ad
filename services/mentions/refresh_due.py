"""The stage of refreshes: tools with dirty hours, whose mentions have changed since they were counted.

The hours are marked dirty after the mentions were written (dirty_hours.py), and the tools announced after that. The
recount deletes the marks together with the counts that it writes.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import timedelta
from typing import Self

from services.store.containers import CATALOG
from services.topology import REFRESH_TOOLS
from services.work.messages import fields_of, id_in, ids_in, message_of, parts_of
from services.work.stage import Stage

MAX_TOOLS = 50
"""The most tools in one message."""
DELAY_SECONDS = 1.0
"""How long a message waits for more mentions of its tools: one process has a tool recounted no more often than this."""
LONGEST_DELAY_SECONDS = 15.0
WAITING_SHARE = 2.0
"""The next refresh waits at least for so many times the time that the last one took: in a burst of articles, or with a
throttled store, refreshes leave most of the throughput to the analysis."""
OVERDUE = timedelta(seconds=30)
"""For how long an hour is dirty before its message counts as lost."""


@dataclass(frozen=True, slots=True)
class RefreshMessage:
    """A message of `refresh-tools`: the tools to refresh, announced or as a batch of a refresh of all tools."""

    tool_ids: tuple[str, ...]
    run_id: str | None = None
    batch: str | None = None

    def to_message(self) -> str:
        of_run = {} if self.run_id is None else {"run_id": self.run_id, "batch": self.batch}
        return message_of({"tool_ids": self.tool_ids, **of_run})

    @classmethod
    def from_message(cls, text: str) -> Self:
        """Raises InvalidInput for a text that `to_message` never writes."""
        tool_ids, fields = ids_in(text, "tool_ids"), fields_of(text)
        if fields.get("run_id") is None:
            return cls(tuple(tool_ids))
        return cls(tuple(tool_ids), id_in(text, "run_id"), id_in(text, "batch"))


def batches_of(tool_ids: Sequence[str]) -> list[list[str]]:
    return parts_of(tool_ids, MAX_TOOLS)


REFRESH_STAGE = Stage(
    name="refresh",
    queue=REFRESH_TOOLS,
    container=CATALOG.name,
    order="by_dirty_hour",
    due="marked_at",
    key=CATALOG.partition_key,
    form=lambda tool_ids: {"tool_ids": tool_ids},
    named="tool_ids",
    most=MAX_TOOLS,
    furthest=timedelta(0),
    overdue_after=OVERDUE,
    delay_seconds=DELAY_SECONDS,
)


def next_delay(refresh_seconds: float) -> float:
    """How long the next message waits after a refresh that took so many seconds."""
    return min(max(DELAY_SECONDS, WAITING_SHARE * refresh_seconds), LONGEST_DELAY_SECONDS)
