"""The form of messages: a JSON object that names what is due. A message wakes a worker up, and says nothing more."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any

from models.errors import InvalidInput


def message_of(fields: dict[str, Any]) -> str:
    return json.dumps(fields, separators=(",", ":"))


def parts_of(keys: Sequence[str], most: int) -> list[Sequence[str]]:
    """The keys in parts of at most `most`: one part for each message."""
    return [keys[start : start + most] for start in range(0, len(keys), most)]


def fields_of(text: str, *names: str) -> dict[str, Any]:
    """The object in a message. Raises InvalidInput if it is none, or lacks one of these fields."""
    try:
        fields = json.loads(text)
    except ValueError:
        fields = None
    if not isinstance(fields, dict) or any(name not in fields for name in names):
        raise InvalidInput("message", f"must be a JSON object with {', '.join(names)}")
    return fields


def ids_in(text: str, name: str) -> list[str]:
    """The ids that a message lists under `name`, each once. Raises InvalidInput."""
    ids = fields_of(text, name)[name]
    if not isinstance(ids, list) or not all(isinstance(each, str) and each for each in ids):
        raise InvalidInput("message", f"must have {name}, a list of ids")
    return list(dict.fromkeys(ids))


def id_in(text: str, name: str) -> str:
    """The id that a message has as `name`. Raises InvalidInput."""
    value = fields_of(text, name)[name]
    if not isinstance(value, str) or not value:
        raise InvalidInput("message", f"must have {name}, an id")
    return value


def run_messages(run_ids: Sequence[str]) -> list[str]:
    """The messages that make workers go on with these runs."""
    return [message_of({"run_id": each}) for each in run_ids]


def run_id_of(text: str) -> str:
    """The run that a message names. Raises InvalidInput."""
    return id_in(text, "run_id")
