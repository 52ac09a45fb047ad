"""Checks the fields that people enter for a new or changed tool. An error names the field and what is allowed. Pure.

Whether a name is free is decided when it is claimed (names.py).
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Callable, Mapping, Sequence
from datetime import datetime
from typing import Any, TypedDict, cast

from models.errors import InvalidInput
from models.states import ToolStatus
from models.tool import NameRule, Tool, normalize_name
from services.feeds.form import is_feed_id

FIELDS = ("name", "aliases", "tickers", "keywords", "excluded", "muted_sources", "name_rules")
CHANGEABLE = (*FIELDS, "status")
RULE_FIELDS = ("case_sensitive", "context")
STATUSES = ("ACTIVE", "DEPRECATED")

LONGEST_NAME = 120
MOST_NAMES = 100

_TEXT = re.compile(r"[^\x00-\x1f\x7f-\x9f\ud800-\udfff\ufffe\uffff]+")
_BLANK = re.compile(
    "[\u034f\u115f\u1160\u17b4\u17b5\u180b-\u180f\u2028\u2029\u2800\u3164\ufe00-\ufe0f\uffa0\U000e0100-\U000e01ef]"
)
"""Characters that show nothing, besides those of Unicode's category Cf."""
_JOINED = re.compile("(?<=[\u0600-\u0dff])[\u200c\u200d](?=[\u0600-\u0dff])")
"""A joiner between two letters of the Arabic or an Indian script, where it shows."""
_TICKER = re.compile(r"[A-Z0-9][A-Z0-9.\-]{0,14}")
DETECTED_BY = ("primary_name", "aliases", "tickers", "keywords", "excluded", "muted_sources", "name_rules", "status")
"""The fields that detection depends on."""


class ToolFields(TypedDict, total=False):
    """Fields of a tool that were entered and checked, by their stored names."""

    primary_name: str
    aliases: tuple[str, ...]
    tickers: tuple[str, ...]
    keywords: tuple[str, ...]
    excluded: tuple[str, ...]
    muted_sources: tuple[str, ...]
    name_rules: dict[str, NameRule]
    status: ToolStatus


def new_tool(fields: Mapping[str, Any]) -> ToolFields:
    """The fields of a tool to add: at least its `primary_name`. Raises InvalidInput."""
    given = {name: value for name, value in fields.items() if value is not None}
    if "name" not in given:
        raise InvalidInput("name", "is needed")
    wanted = _checked(given, FIELDS)
    _check_together((wanted["primary_name"], *wanted.get("aliases", ())), wanted.get("name_rules", {}))
    return wanted


def tool_change(fields: Mapping[str, Any]) -> ToolFields:
    """The fields to change. Raises InvalidInput."""
    return _checked(fields, CHANGEABLE)


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


def without_name(tool: Tool, name: str, now: datetime) -> Tool:
    """The tool without a name that it lost to another tool. A lost primary name is replaced by the id."""
    lost = normalize_name(name)
    aliases = tuple(each for each in tool.aliases if normalize_name(each) != lost)
    primary = tool.primary_name if tool.primary_name_normalized != lost else tool.tool_id
    return changed_tool(tool, {"aliases": aliases, "primary_name": primary}, now)


def detects_alike(before: Tool, after: Tool) -> bool:
    """Whether both versions of the tool are found in the same articles."""
    return all(getattr(before, name) == getattr(after, name) for name in DETECTED_BY)


def checked_name(value: Any, field: str = "name") -> str:
    name = " ".join(value.split()) if isinstance(value, str) else ""
    if not _TEXT.fullmatch(name) or len(name) > LONGEST_NAME or not normalize_name(name):
        raise InvalidInput(field, f"must be text of 1 to {LONGEST_NAME} characters")
    require_visible(name, field)
    if unicodedata.category(name[0]).startswith("M"):
        raise InvalidInput(field, "must not begin with a combining mark, which belongs to a letter before it")
    return name


def require_visible(name: str, field: str) -> None:
    """Raises InvalidInput for a character that shows nothing or changes the direction of the text: with it, one name
    could look like another."""
    for each in _JOINED.sub("", name):
        if unicodedata.category(each) == "Cf" or _BLANK.match(each):
            raise InvalidInput(field, f"must not contain invisible characters such as U+{ord(each):04X}")


def _check_together(names: Sequence[str], rules: Mapping[str, NameRule]) -> None:
    seen: set[str] = set()
    for name in names:
        if normalize_name(name) in seen:
            raise InvalidInput("aliases", f"must all differ, also from the name: {name!r} is there twice")
        seen.add(normalize_name(name))
    for name in rules:
        if name not in names:
            raise InvalidInput("name_rules", f"must be for the name or an alias as written; {name!r} is neither")


def _names(field: str) -> Callable[[Any], tuple[str, ...]]:
    return lambda value: tuple(dict.fromkeys(checked_name(each, field) for each in _list(field, value)))


def _tickers(value: Any) -> tuple[str, ...]:
    tickers = [each.strip().lstrip("$").upper() if isinstance(each, str) else "" for each in _list("tickers", value)]
    if not all(_TICKER.fullmatch(each) for each in tickers):
        raise InvalidInput(
            "tickers", "must be tickers such as AAPL or BRK.B, of up to 15 letters, digits, dots or hyphens"
        )
    return tuple(dict.fromkeys(tickers))


def _sources(value: Any) -> tuple[str, ...]:
    sources = [each if isinstance(each, str) else "" for each in _list("muted_sources", value)]
    if not all(map(is_feed_id, sources)):
        raise InvalidInput("muted_sources", "must be ids of feeds")
    return tuple(dict.fromkeys(sources))


def _list(field: str, value: Any) -> Sequence[Any]:
    if not isinstance(value, list | tuple) or len(value) > MOST_NAMES:
        raise InvalidInput(field, f"must be a list of at most {MOST_NAMES}")
    return value


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
    case_sensitive, context = value.get("case_sensitive", False), value.get("context", ())
    if not isinstance(case_sensitive, bool):
        raise InvalidInput("name_rules", allowed)
    return NameRule(case_sensitive=case_sensitive, context=_names("name_rules")(context))


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
    "muted_sources": _sources,
    "name_rules": _rules,
    "status": _status,
}


def _checked(fields: Mapping[str, Any], known: tuple[str, ...]) -> ToolFields:
    checked: dict[str, Any] = {}
    for name, value in fields.items():
        if name not in known:
            raise InvalidInput(str(name), f"no such field; there are {', '.join(known)}")
        checked["primary_name" if name == "name" else name] = _CHECKS[name](value)
    return cast("ToolFields", checked)
