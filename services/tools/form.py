"""Checks the fields that people enter for a new or changed tool. An error names the field and what is allowed. Pure.

Whether a name is free is decided when it is claimed (catalog.py).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import Any

from models.errors import InvalidInput
from models.resources.tools import NewTool, ToolChange, ToolFields
from models.tool import NameRule, Tool, normalize_name

DETECTED_BY = ("primary_name", "aliases", "tickers", "keywords", "excluded", "muted_sources", "name_rules", "status")
"""The fields that detection depends on."""


def new_tool(fields: Mapping[str, Any]) -> ToolFields:
    """The fields of a tool to add: at least its `primary_name`. Raises InvalidInput."""
    wanted = NewTool.checked(fields).stored()
    _check_together((wanted["primary_name"], *wanted.get("aliases", ())), wanted.get("name_rules", {}))
    return wanted


def tool_change(fields: Mapping[str, Any]) -> ToolFields:
    """The fields to change. Raises InvalidInput."""
    return ToolChange.checked(fields).stored()


def changed_tool(tool: Tool, change: ToolFields, now: datetime) -> Tool:
    """`tool` after `change`, which `tool_change` checked; the same object if `change` changes nothing.

    The rule of a removed name is removed, unless `change` has rules of its own. Raises InvalidInput.
    """
    if all(getattr(tool, name) == value for name, value in change.items()):
        return tool
    names = (change.get("primary_name", tool.primary_name), *change.get("aliases", tool.aliases))
    rules = change.get("name_rules", {name: rule for name, rule in tool.name_rules.items() if name in names})
    _check_together(names, rules)
    return tool.changed(now, **{**change, "name_rules": rules})


def detects_alike(before: Tool, after: Tool) -> bool:
    """Whether both versions of the tool are found in the same articles."""
    return all(getattr(before, name) == getattr(after, name) for name in DETECTED_BY)


def _check_together(names: Sequence[str], rules: Mapping[str, NameRule]) -> None:
    seen: set[str] = set()
    for name in names:
        if normalize_name(name) in seen:
            raise InvalidInput("aliases", f"must all differ, also from the name: {name!r} is there twice")
        seen.add(normalize_name(name))
    for name in rules:
        if name not in names:
            raise InvalidInput("name_rules", f"must be for the name or an alias as written; {name!r} is neither")
