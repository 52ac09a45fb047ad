"""Checks the fields that people enter for a new or changed tool. An error names the field and what is allowed. Pure.

Whether a name is free is decided when it is claimed (catalog.py).
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import Annotated, Any, Literal, Self

from pydantic import AfterValidator, BeforeValidator, Field, StringConstraints, model_validator

from models.errors import InvalidInput
from models.request import Author, FeedId, Reason, Request, each_once, visible
from models.resources.tools import ToolResource
from models.tool import NameRule, Tool, normalize_name
from models.values import Flag

LONGEST_NAME = 120
MAX_NAMES = 100
TICKER = r"^[A-Z0-9][A-Z0-9.\-]{0,14}$"

DETECTED_BY = ("primary_name", "aliases", "tickers", "keywords", "excluded", "muted_sources", "name_rules", "status")
"""The fields that detection depends on."""


ToolFields = Mapping[str, Any]
"""Fields of a tool that were entered and checked, by their stored names."""


def _searchable(name: str) -> str:
    if not normalize_name(name):
        raise ValueError("must have a character that shows")
    return visible(name)


def _ticker(text: str) -> str:
    ticker = text.strip().lstrip("$").upper()
    if not re.search(TICKER, ticker):
        raise ValueError("must be tickers such as AAPL or BRK.B, of up to 15 letters, digits, dots or hyphens")
    return ticker


Name = Annotated[
    str,
    BeforeValidator(lambda value: " ".join(value.split()) if isinstance(value, str) else value),
    StringConstraints(min_length=1, max_length=LONGEST_NAME),
    AfterValidator(_searchable),
    Field(json_schema_extra={"format": "visible-text"}),
]
"""A name or a phrase, with single blanks between its words."""
Names = Annotated[tuple[Name, ...], Field(max_length=MAX_NAMES), AfterValidator(each_once)]
Ticker = Annotated[str, AfterValidator(_ticker), Field(json_schema_extra={"pattern": TICKER})]
Tickers = Annotated[tuple[Ticker, ...], Field(max_length=MAX_NAMES), AfterValidator(each_once)]
ToolText = Annotated[
    str, StringConstraints(strip_whitespace=True, min_length=1), Field(json_schema_extra={"pattern": "\\S"})
]
Sources = Annotated[tuple[FeedId, ...], Field(max_length=MAX_NAMES), AfterValidator(each_once)]


class NewNameRule(Request):
    """When a name counts."""

    case_sensitive: Flag = Field(default=False, description="Whether the name counts only in this case.")
    context: Names = Field(default=(), description="The name counts only near one of these words.")


_ABOUT_NAME = "A name belongs to one tool; case and spacing are ignored, punctuation is not (C, C#, C++)."
Rules = Annotated[dict[Name, NewNameRule], Field(max_length=MAX_NAMES)]


class NewTool(
    Request,
    examples={"a tool": {"name": "Visual Studio Code", "aliases": ["VS Code"], "tickers": ["MSFT"]}},
    null_is_absent=True,
):
    """A tool to add."""

    name: Name = Field(description=_ABOUT_NAME)
    aliases: Names = Field(default=(), description="Other names. A change replaces the list as a whole.")
    tickers: Tickers = Field(
        default=(),
        description="Found as $MSFT, as NASDAQ: MSFT, or among the tags and tickers of the source. They are requested "
        "from news APIs.",
    )
    keywords: Names = Field(default=(), description="Words that mean the tool too; several tools may share a keyword.")
    excluded: Names = Field(
        default=(),
        description="Phrases that rule the tool out. In a phrase with a name of the tool, the name does not count; any "
        "other phrase rules the tool out of every article that contains it.",
    )
    muted_sources: Sources = Field(
        default=(),
        description="Ids of feeds. An article that only these sources published does not mention the tool.",
    )
    name_rules: Rules = Field(
        default={},
        description="Rules by name: the name counts only in this case, and only near one of these words. A rule is for "
        "the name or an alias as it is written.",
    )

    def stored(self) -> ToolFields:
        """The fields that are given, by their stored names."""
        given: dict[str, Any] = {ToolResource.stored_name(name): value for name, value in self.given().items()}
        if "name_rules" in given:
            given["name_rules"] = {name: NameRule(**dict(rule)) for name, rule in self.name_rules.items()}
        return given


class ToolChange(NewTool, examples={"an alias": {"aliases": ["CPython"]}}, changes=ToolResource):
    """The fields to change; or what `GET` returned, with changes."""

    name: Name = Field(default="", description=_ABOUT_NAME)
    status: Literal["ACTIVE", "DEPRECATED"] = Field(
        default="ACTIVE",
        description="`DEPRECATED`: the tool is not searched for any more, and keeps its mentions.",
    )


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


class ToolMergeRequest(
    Request,
    examples={"merge": {"into": "Python", "author": "Ada", "reason": "one product"}},
    rules={
        "anyOf": [
            {"required": ["author"], "properties": {"author": {"type": "string"}}},
            {"properties": {"author": {"type": "null"}, "reason": {"type": "null"}}},
        ]
    },
):
    """The merge of a tool into another one. `reason` needs `author`."""

    into: ToolText = Field(description="The id, name or alias of the tool into which this one is merged.")
    author: Author | None = Field(default=None, description="The name of the person who says so.")
    reason: Reason | None = Field(default=None, description="Why.")

    @model_validator(mode="after")
    def _joined(self) -> Self:
        if self.reason is not None and self.author is None:
            raise ValueError("author: is needed: the name of the person")
        return self
