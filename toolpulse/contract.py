"""What the commands need of the contract of the API. `python -m scripts.openapi --commands` writes contract.json."""

from __future__ import annotations

import json
from functools import cache
from pathlib import Path
from typing import Any

FILE = Path(__file__).with_name("contract.json")


@cache
def contract() -> dict[str, Any]:
    found: dict[str, Any] = json.loads(FILE.read_bytes())
    return found


def endpoint(operation: str) -> dict[str, Any]:
    """`path`, `about`, the `parts` of the path and the `query` parameters of an endpoint."""
    found: dict[str, Any] = contract()["endpoints"][operation]
    return found


def described(where: str) -> dict[str, Any]:
    """A query parameter of an endpoint or a field of a body: `list_tools.status`, `Review.decision`."""
    name, _, field = where.partition(".")
    fields = contract()["bodies"].get(name) or endpoint(name)["query"]
    found: dict[str, Any] = fields[field]
    return found
