"""The stage of refreshes: tools with dirty hours, whose mentions have changed since they were counted.

The hours are marked dirty after the mentions were written (dirty_hours.py), and the tools announced after that. The
recount deletes the marks together with the counts that it writes.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import timedelta
from typing import Self

from models.errors import InvalidInput
from services.store.containers import CATALOG
from services.topology import REFRESH_TOOLS
from services.work.stage import Stage

MOST_TOOLS = 50
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
        return json.dumps({"tool_ids": self.tool_ids, **of_run}, separators=(",", ":"))

    @classmethod
    def from_message(cls, text: str) -> Self:
        """Raises InvalidInput for a text that `to_message` never writes."""
        try:
            message = json.loads(text)
            tool_ids, of_run = message["tool_ids"], [message.get("run_id"), message.get("batch")]
        except (ValueError, TypeError, KeyError) as error:
            raise InvalidInput("message", "must be a JSON object with tool_ids") from error
        if not isinstance(tool_ids, list) or not all(isinstance(each, str) and each for each in tool_ids):
            raise InvalidInput("message", "must have tool_ids, a list of ids")
        if of_run != [None, None] and not all(isinstance(each, str) for each in of_run):
            raise InvalidInput("message", "must name run_id and batch together, or neither")
        return cls(tuple(tool_ids), *of_run)


def batches_of(tool_ids: Sequence[str]) -> list[tuple[str, ...]]:
    return [tuple(tool_ids[start : start + MOST_TOOLS]) for start in range(0, len(tool_ids), MOST_TOOLS)]


def refresh_messages(tool_ids: Sequence[str]) -> list[str]:
    """The messages for tools that are announced."""
    return [RefreshMessage(batch).to_message() for batch in batches_of(tool_ids)]


REFRESH_STAGE = Stage(
    name="refresh",
    queue=REFRESH_TOOLS,
    container=CATALOG.name,
    order="by_dirty_hour",
    due="marked_at",
    key=CATALOG.partition_key,
    messages=refresh_messages,
    furthest=timedelta(0),
    overdue_after=OVERDUE,
    delay_seconds=DELAY_SECONDS,
)


def next_delay(refresh_seconds: float) -> float:
    """How long the next message waits after a refresh that took so many seconds."""
    return min(max(DELAY_SECONDS, WAITING_SHARE * refresh_seconds), LONGEST_DELAY_SECONDS)
