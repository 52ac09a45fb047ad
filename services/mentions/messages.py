"""The messages of analysis: articles to analyse, a run to go on with, a tool whose figures have changed."""

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


def source_ids_of(text: str) -> list[str]:
    """Of `analyze-articles`, as services/articles/messages.py writes it; each id once."""
    ids = _object(text).get("source_ids")
    if not isinstance(ids, list) or not all(isinstance(each, str) and each for each in ids):
        raise InvalidInput("message", "must have source_ids, a list of ids")
    return list(dict.fromkeys(ids))


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
