"""The messages of runs: go on with a run, and that a run has changed a tool's figures. Written and read here."""

from __future__ import annotations

import json

from models.errors import InvalidInput


def run_message(run_id: str) -> str:
    """For `reanalyze-tools`: the run is to be gone on with, whatever its workflow."""
    return json.dumps({"run_id": run_id}, separators=(",", ":"))


def run_id_of(text: str) -> str:
    """Of a message of `reanalyze-tools`. Raises InvalidInput."""
    return _field(text, "run_id")


def completed_message(tool_id: str, run_id: str) -> str:
    """For `reanalysis-completed`: the tool's generation was raised, and its cache entries may go."""
    return json.dumps({"tool_id": tool_id, "run_id": run_id}, separators=(",", ":"))


def completed_tool_of(text: str) -> str:
    """The tool that a message of `reanalysis-completed` is about. Raises InvalidInput."""
    return _field(text, "tool_id")


def _field(text: str, name: str) -> str:
    try:
        message = json.loads(text)
    except ValueError:
        message = None
    value = message.get(name) if isinstance(message, dict) else None
    if not isinstance(value, str) or not value:
        raise InvalidInput("message", f"must be a JSON object with {name}")
    return value
