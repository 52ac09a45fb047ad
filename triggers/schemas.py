"""How JSON Schemas of answers are written."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from triggers.declared import Schema


def an_object(title: str, properties: Mapping[str, Schema], **more: Any) -> dict[str, Any]:
    """An object with all of these properties, and no others."""
    return {"title": title, **a_part(properties, **more)}


def a_part(properties: Mapping[str, Schema], **more: Any) -> dict[str, Any]:
    """The same without a name of its own in the contract."""
    closed = {"required": list(properties), "additionalProperties": False}
    return {"type": "object", "properties": dict(properties), **closed, **more}


def some_of(properties: Mapping[str, Schema], about: str) -> Schema:
    """An object with some of these properties, and no others."""
    return {"type": "object", "properties": dict(properties), "additionalProperties": False, "description": about}


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
