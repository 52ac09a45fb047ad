"""The messages of runs: a run to go on with, a tool whose figures have changed."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

from models.errors import InvalidInput


def run_message(run_id: str) -> str:
    """For `reanalyze-tools`."""
    return json.dumps({"run_id": run_id}, separators=(",", ":"))


def run_of(text: str) -> str:
    return _text(_object(text), "run_id")


def completed_message(tool_id: str, run_id: str) -> str:
    """For `reanalysis-completed`: the tool's generation was raised, its entries may go."""
    return json.dumps({"tool_id": tool_id, "run_id": run_id}, separators=(",", ":"))


def _object(text: str) -> Mapping[str, Any]:
    try:
        message = json.loads(text)
    except ValueError as error:
        raise InvalidInput("message", "must be JSON") from error
    if not isinstance(message, dict):
        raise InvalidInput("message", "must be a JSON object")
    return message


def _text(message: Mapping[str, Any], field: str) -> str:
    value = message.get(field)
    if not isinstance(value, str) or not value:
        raise InvalidInput("message", f"must have {field}")
    return value
