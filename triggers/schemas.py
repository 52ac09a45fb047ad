"""How JSON Schemas of answers are written."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from triggers.declared import Schema


def an_object(title: str, properties: Mapping[str, Schema] | None = None, **more: Any) -> dict[str, Any]:
    """An object with all of these properties; without any, one that has more than is said."""
    if properties is None:
        return {"title": title, "type": "object", **more}
    return {"title": title, "type": "object", "properties": dict(properties), "required": list(properties), **more}


def a_text(about: str, **more: Any) -> Schema:
    return {"type": "string", "description": about, **more}


def maybe(about: str, kind: str = "string") -> Schema:
    return {"type": [kind, "null"], "description": about}


def a_count(about: str) -> Schema:
    return {"type": "integer", "minimum": 0, "description": about}


def many(of: Any, about: str) -> Schema:
    return {"type": "array", "items": of, "description": about}


def a_number(about: str, **more: Any) -> Schema:
    return {"type": "number", "description": about, **more}


def a_flag(about: str) -> Schema:
    return {"type": "boolean", "description": about}


def a_time(about: str) -> Schema:
    return {"type": "string", "format": "date-time", "description": about}


def or_null(schema: Any, about: str) -> Schema:
    return {"anyOf": [schema, {"type": "null"}], "description": about}


def by_name(of: Any, about: str) -> Schema:
    return {"type": "object", "additionalProperties": of, "description": about}
