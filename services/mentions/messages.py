"""The messages of analysis: articles to analyse."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

from models.errors import InvalidInput


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
