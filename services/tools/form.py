"""Checks the form of what people enter for a tool, new or changed. An error names the field and what is allowed. Pure.

Whether a name is free is decided when it is claimed (names.py).
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any

from models.errors import InvalidInput
from models.tool import NameRule, Tool, normalize_name

FIELDS = ("name", "aliases", "tickers", "keywords", "excluded", "name_rules")
CHANGEABLE = (*FIELDS, "status")
RULE_FIELDS = ("case_sensitive", "context")
STATUSES = ("ACTIVE", "DEPRECATED")

LONGEST_NAME = 120
MOST_NAMES = 100

_TEXT = re.compile(r"[^\x00-\x1f\x7f-\x9f\ud800-\udfff\ufffe\uffff]+")
_TICKER = re.compile(r"[A-Z0-9][A-Z0-9.\-]{0,14}")
_STORED = {"name": "primary_name"}
DETECTED_BY = ("primary_name", "aliases", "tickers", "keywords", "excluded", "name_rules")
"""The fields that detection depends on."""


@dataclass(frozen=True, slots=True)
class NewTool:
    """A tool to be added, its form checked."""

    name: str
    aliases: tuple[str, ...] = ()
    tickers: tuple[str, ...] = ()
    keywords: tuple[str, ...] = ()
    excluded: tuple[str, ...] = ()
    name_rules: Mapping[str, NameRule] = field(default_factory=dict)

    def tool(self, tool_id: str, now: datetime) -> Tool:
        return Tool(
            created_at=now,
            updated_at=now,
            tool_id=tool_id,
            primary_name=self.name,
            aliases=self.aliases,
            tickers=self.tickers,
            keywords=self.keywords,
            excluded=self.excluded,
            name_rules=dict(self.name_rules),
        )


def new_tool(fields: Mapping[str, Any]) -> NewTool:
    """The tool to add, from the fields of a request. Raises InvalidInput."""
    _refuse_unknown(fields, FIELDS)
    if fields.get("name") is None:
        raise InvalidInput("name", "is needed")
    wanted = NewTool(**{name: _CHECKS[name](value) for name, value in fields.items() if value is not None})
    _check_together((wanted.name, *wanted.aliases), wanted.name_rules)
    return wanted


def tool_change(fields: Mapping[str, Any]) -> dict[str, Any]:
    """The fields to change, by their stored names. Raises InvalidInput."""
    _refuse_unknown(fields, CHANGEABLE)
    return {_STORED.get(name, name): _CHECKS[name](value) for name, value in fields.items()}


def changed_tool(tool: Tool, change: Mapping[str, Any], now: datetime) -> Tool:
    """`tool` after `change`, which `tool_change` checked; the same object if `change` changes nothing.

    The rule of a removed name is removed, unless `change` has rules of its own. Raises InvalidInput.
    """
    wanted = {name: value for name, value in change.items() if getattr(tool, name) != value}
    if not wanted:
        return tool
    names = (wanted.get("primary_name", tool.primary_name), *wanted.get("aliases", tool.aliases))
    if "name_rules" not in change:
        wanted["name_rules"] = {name: rule for name, rule in tool.name_rules.items() if name in names}
    _check_together(names, wanted.get("name_rules", tool.name_rules))
    return tool.changed(now, **wanted)


def without_name(tool: Tool, name: str, now: datetime) -> Tool:
    """The tool without a name that it lost to another tool. A lost primary name is replaced by the id."""
    lost = normalize_name(name)
    aliases = tuple(each for each in tool.aliases if normalize_name(each) != lost)
    primary = tool.primary_name if tool.primary_name_normalized != lost else tool.tool_id
    return changed_tool(tool, {"aliases": aliases, "primary_name": primary}, now)


def detects_alike(before: Tool, after: Tool) -> bool:
    """Whether both versions of the tool are found in the same articles."""
    return before.status == after.status and all(getattr(before, one) == getattr(after, one) for one in DETECTED_BY)


def checked_name(value: Any, field: str = "name") -> str:
    name = " ".join(value.split()) if isinstance(value, str) else ""
    if not _TEXT.fullmatch(name) or len(name) > LONGEST_NAME or not normalize_name(name):
        raise InvalidInput(field, f"must be text of 1 to {LONGEST_NAME} characters")
    if unicodedata.category(name[0]).startswith("M"):
        raise InvalidInput(field, "must not begin with a mark that belongs to a letter before it")
    return name


def _check_together(names: Iterable[str], rules: Mapping[str, NameRule]) -> None:
    seen: set[str] = set()
    for name in names:
        if normalize_name(name) in seen:
            raise InvalidInput("aliases", f"must all differ, also from the name: {name!r} is there twice")
        seen.add(normalize_name(name))
    for name in rules:
        if name not in names:
            raise InvalidInput("name_rules", f"must be for the name or an alias as written; {name!r} is neither")


def _names(field: str) -> Callable[[Any], tuple[str, ...]]:
    def check(value: Any) -> tuple[str, ...]:
        if not isinstance(value, list | tuple) or len(value) > MOST_NAMES:
            raise InvalidInput(field, f"must be a list of at most {MOST_NAMES}")
        return tuple(dict.fromkeys(checked_name(each, field) for each in value))

    return check


def _tickers(value: Any) -> tuple[str, ...]:
    if not isinstance(value, list | tuple) or len(value) > MOST_NAMES:
        raise InvalidInput("tickers", f"must be a list of at most {MOST_NAMES}")
    tickers = [each.strip().lstrip("$").upper() if isinstance(each, str) else "" for each in value]
    if not all(_TICKER.fullmatch(each) for each in tickers):
        raise InvalidInput(
            "tickers", "must be tickers such as AAPL or BRK.B, of up to 15 letters, digits, dots or hyphens"
        )
    return tuple(dict.fromkeys(tickers))


def _rules(value: Any) -> dict[str, NameRule]:
    if not isinstance(value, Mapping) or len(value) > MOST_NAMES:
        raise InvalidInput("name_rules", "must be an object: a rule for each name")
    return {checked_name(name, "name_rules"): _rule(rule) for name, rule in value.items()}


def _rule(value: Any) -> NameRule:
    if isinstance(value, NameRule):
        return value
    allowed = 'must be such as {"case_sensitive": true, "context": ["language", "compiler"]}'
    if not isinstance(value, Mapping) or not value.keys() <= set(RULE_FIELDS):
        raise InvalidInput("name_rules", allowed)
    case_sensitive = value.get("case_sensitive", False)
    if not isinstance(case_sensitive, bool):
        raise InvalidInput("name_rules", allowed)
    context = _names("name_rules")(value.get("context", ()))
    return NameRule(case_sensitive=case_sensitive, context=context)


def _status(value: Any) -> str:
    if value not in STATUSES:
        raise InvalidInput("status", f"must be one of {', '.join(STATUSES)}; to merge a tool, POST to its merge")
    return str(value)


_CHECKS: Mapping[str, Callable[[Any], Any]] = {
    "name": checked_name,
    "aliases": _names("aliases"),
    "tickers": _tickers,
    "keywords": _names("keywords"),
    "excluded": _names("excluded"),
    "name_rules": _rules,
    "status": _status,
}


def _refuse_unknown(fields: Mapping[str, Any], known: tuple[str, ...]) -> None:
    for name in fields:
        if name not in known:
            raise InvalidInput(str(name), f"no such field; there are {', '.join(known)}")
