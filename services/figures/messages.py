"""The messages of `refresh-tools`: which tools to refresh, and as which batch of which run. Written and read here."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Self

from models.errors import InvalidInput

MOST_TOOLS = 50
"""In one message."""


@dataclass(frozen=True, slots=True)
class RefreshMessage:
    """The tools to refresh: a batch of a run, or, without a run, tools that were served stale."""

    tool_ids: tuple[str, ...]
    run_id: str | None = None
    batch: str | None = None

    def to_message(self) -> str:
        message: dict[str, Any] = {"tool_ids": self.tool_ids}
        if self.run_id is not None:
            message |= {"run_id": self.run_id, "batch": self.batch}
        return json.dumps(message, separators=(",", ":"))

    @classmethod
    def from_message(cls, text: str) -> Self:
        """Raises InvalidInput for a text that `to_message` never writes."""
        try:
            message = json.loads(text)
        except ValueError:
            message = None
        tool_ids = message.get("tool_ids") if isinstance(message, dict) else None
        if not isinstance(tool_ids, list) or not all(isinstance(each, str) and each for each in tool_ids):
            raise InvalidInput("message", "must be a JSON object with tool_ids")
        run_id, batch = message.get("run_id"), message.get("batch")
        if (
            (run_id is None) != (batch is None)
            or not isinstance(run_id, str | None)
            or not isinstance(batch, str | None)
        ):
            raise InvalidInput("message", "must name run_id and batch together, or neither")
        return cls(tuple(tool_ids), run_id, batch)


def refresh_messages(tool_ids: Sequence[str]) -> list[str]:
    """The messages for tools that were served stale."""
    return [
        RefreshMessage(tuple(tool_ids[start : start + MOST_TOOLS])).to_message()
        for start in range(0, len(tool_ids), MOST_TOOLS)
    ]
