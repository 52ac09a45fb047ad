"""The form of messages: a JSON object that names what is due. A message wakes a worker up, and says nothing more."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Any

from models.errors import InvalidInput


def message_of(fields: Mapping[str, Any]) -> str:
    return json.dumps(fields, separators=(",", ":"))


def parts_of(keys: Sequence[str], most: int) -> list[list[str]]:
    """The keys in parts of at most `most`: one part for each message."""
    return [list(keys[start : start + most]) for start in range(0, len(keys), most)]


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
    """The ids that a message has under `name`: one, or a list, each once. Raises InvalidInput."""
    value = fields_of(text, name)[name]
    ids = value if isinstance(value, list) else [value]
    if not all(isinstance(each, str) and each for each in ids):
        raise InvalidInput("message", f"must have {name}, an id or a list of ids")
    return list(dict.fromkeys(ids))


def id_in(text: str, name: str) -> str:
    """The only id that a message has under `name`. Raises InvalidInput."""
    ids = ids_in(text, name)
    if len(ids) != 1:
        raise InvalidInput("message", f"must have {name}, an id")
    return ids[0]


def run_form(run_ids: Sequence[str]) -> dict[str, Any]:
    """The fields of a message that makes a worker go on with a run."""
    return {"run_id": run_ids[0]}


def run_id_of(text: str) -> str:
    """The run that a message names. Raises InvalidInput."""
    return id_in(text, "run_id")
