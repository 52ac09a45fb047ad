"""The parameters of endpoints: each is declared once, which checks it in a request and describes it in the contract.

Rules that join several parameters, or that need what is stored, are the services'.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Generic, Literal, TypeVar, cast
from urllib.parse import parse_qsl, urlsplit

import azure.functions as func

from models.errors import InvalidInput
from models.request import Request
from models.resources.base import VIEWS
from models.story import STORY_ID
from services.work.listing import asked_time

T = TypeVar("T")
Choice = TypeVar("Choice", bound=str)

MAX_LIMIT = 500
DEFAULT_LIMIT = 50


@dataclass(frozen=True)
class Parameter(Generic[T]):
    """A parameter of an endpoint. `schema` is the JSON Schema of its values, which checks them; `absent` stands for its
    absence."""

    name: str
    about: str
    schema: Mapping[str, Any]
    absent: T
    is_required: bool = False
    example: Any = None
    place: Literal["query", "path", "header"] = "query"

    @cached_property
    def _words(self) -> Sequence[str]:
        """The texts that are allowed, if there is a choice of them."""
        choice = ("true", "false") if self.schema["type"] == "boolean" else self.schema.get("enum", ())
        return [str(each) for each in choice]

    def of(self, req: func.HttpRequest) -> T:
        """The value in the request, or the one that stands for its absence. Raises InvalidInput."""
        given = req.headers if self.place == "header" else req.params
        if self.name not in given:
            if self.is_required:
                raise InvalidInput(self.name, f"is needed: {self.about[0].lower()}{self.about[1:]}")
            return self.absent
        return cast("T", self._read(given[self.name]))

    def _read(self, text: str) -> Any:
        """A time and a number of a choice stay text, which services read."""
        kind, words = self.schema["type"], self._words
        if self.place != "query":
            return text
        if words and text not in words:
            raise InvalidInput(self.name, f"one of {', '.join(words)}, not {shortly(text)}")
        if kind == "boolean":
            return text == "true"
        if kind == "integer" and not words:
            return whole_number(text, self.name, self.schema["minimum"], self.schema["maximum"])
        if self.schema.get("format") == "date-time":
            asked_time(self.name, text)
        elif not 1 <= len(text) <= self.schema.get("maxLength", len(text) or 1):
            raise InvalidInput(self.name, f"1 to {self.schema['maxLength']:,} characters")
        return text

    def described(self) -> dict[str, Any]:
        """The parameter in the contract."""
        schema = dict(self.schema)
        if self.absent is not None and "default" not in schema:
            schema["default"] = self.absent
        shown: dict[str, Any] = {"name": self.name, "in": self.place, "description": self.about, "schema": schema}
        if self.is_required or self.place == "path":
            shown["required"] = True
        if self.example is not None:
            shown["example"] = self.example
        return shown


def one_of(name: str, allowed: Sequence[Choice], about: str, default: Choice) -> Parameter[Choice]:
    """One of several words; `default` if it is absent."""
    return Parameter(name, about, {"type": "string", "enum": list(allowed)}, default)


def maybe_one_of(
    name: str, allowed: Sequence[Choice], about: str, example: Choice | None = None
) -> Parameter[Choice | None]:
    """One of several words, or none."""
    return Parameter[Choice | None](name, about, {"type": "string", "enum": list(allowed)}, None, example=example)


def whole(name: str, low: int, high: int, about: str, default: int) -> Parameter[int]:
    """A whole number in its bounds; `default` if it is absent."""
    return Parameter(name, about, {"type": "integer", "minimum": low, "maximum": high}, default)


def maybe_whole(name: str, low: int, high: int, about: str, example: int | None = None) -> Parameter[int | None]:
    """A whole number in its bounds, or none."""
    schema = {"type": "integer", "minimum": low, "maximum": high}
    return Parameter[int | None](name, about, schema, None, example=example)


def flag(name: str, about: str) -> Parameter[bool]:
    """`true` or `false`; false if it is absent."""
    return Parameter(name, about, {"type": "boolean"}, absent=False)


def maybe_flag(name: str, about: str) -> Parameter[bool | None]:
    """`true`, `false`, or none."""
    return Parameter[bool | None](name, about, {"type": "boolean"}, None)


def text(
    name: str,
    about: str,
    *,
    longest: int | None = None,
    pattern: str | None = None,
    form: str | None = None,
    example: str | None = None,
    is_required: bool = False,
) -> Parameter[str | None]:
    """A text that the services check further: `pattern` and `form`, a format, only describe it."""
    further = {"maxLength": longest, "pattern": pattern, "format": form}
    schema = {"type": "string", "minLength": 1, **{key: value for key, value in further.items() if value is not None}}
    return Parameter[str | None](name, about, schema, None, is_required, example)


def time(name: str, about: str, example: str | None = None, *, is_required: bool = False) -> Parameter[str | None]:
    """A time with its offset, as text."""
    return Parameter[str | None](name, about, {"type": "string", "format": "date-time"}, None, is_required, example)


def fields_of(request: type[Request], *names: str) -> tuple[Parameter[Any], ...]:
    """Parameters that are fields of a request, which checks them further."""
    found, fields = [], request.schema_of_body()["properties"]
    for name in names:
        schema = fields[name]
        about, (example, *_) = schema.pop("description"), schema.pop("examples", (None,))
        del schema["title"]
        found.append(Parameter[Any](name, about, schema, None, example=example))
    return tuple(found)


def in_path(name: str, about: str, example: str, **schema: Any) -> Parameter[str | None]:
    """A part of the path. A value that nothing has is a 404, so its form is not checked."""
    described = {"type": "string", "minLength": 1, **schema}
    return Parameter[str | None](name, about, described, None, example=example, place="path")


def whole_number(given: Any, field: str, low: int, high: int) -> int:
    """A whole number from a query parameter or a JSON value. Raises InvalidInput."""
    allowed = f"a whole number from {low} to {high}"
    if isinstance(given, bool) or not (isinstance(given, int) or re.fullmatch(r"[+-]?[0-9]{1,18}", str(given))):
        raise InvalidInput(field, f"{allowed}, not {shortly(given)}")
    if not low <= int(given) <= high:
        raise InvalidInput(field, f"{allowed}, not {shortly(given)}")
    return int(given)


def shortly(value: Any) -> str:
    """A value that was refused, as an error shows it."""
    shown = repr(value)
    return shown if len(shown) <= 60 else shown[:57] + "..."


LIMIT = whole("limit", 1, MAX_LIMIT, "How many items a page has at most.", DEFAULT_LIMIT)
CURSOR = text(
    "cursor", "`next` of the page before, with the same other parameters. Absent: the first page.", form="cursor"
)
"""Only a page makes one. The links of the contract lead from a page to the next one."""
PAGE = (LIMIT, CURSOR)


def page_of(req: func.HttpRequest) -> tuple[int, str | None]:
    """`limit` and `cursor` of a list request."""
    return LIMIT.of(req), CURSOR.of(req)


def given_of(req: func.HttpRequest, parameters: Sequence[Parameter[Any]]) -> dict[str, str]:
    """The texts of those of these parameters that the request has."""
    return {each.name: req.params[each.name] for each in parameters if each.name in req.params}


# A function key may be given as `code`; the portal adds `clientId`.
_KEY_PARAMETERS = ("code", "clientId")


def check_query(req: func.HttpRequest, declared: Sequence[Parameter[Any]]) -> None:
    """Raises InvalidInput for a query parameter that breaks its rule or is not declared, so that a misspelt filter is
    not ignored; for one that is empty; and for one that is given twice, as the host joins both values with a comma."""
    known = [each.name for each in declared if each.place == "query"]
    # The host leaves out empty values, so that they are in the URL only.
    named = parse_qsl(urlsplit(req.url).query, keep_blank_values=True)
    given = dict.fromkeys(name for name in (*req.params, *(name for name, _ in named)) if name not in _KEY_PARAMETERS)
    for name in given:
        if name not in known:
            raise InvalidInput(name, f"no such query parameter; there are {', '.join(known)}" if known else "none here")
        texts = [text for named_so, text in named if named_so == name]
        if len(texts) > 1:
            raise InvalidInput(name, "at most once")
        if texts == [""]:
            raise InvalidInput(name, "not empty; without a value it must be left out")
    for parameter in declared:
        if parameter.place != "path":
            parameter.of(req)


PARTS: dict[str, Parameter[str | None]] = {
    each.name: each
    for each in (
        in_path("tool", "The id, the name or an alias of a tool. A name with a slash needs the id.", "Python"),
        in_path("feed_id", "The id of a feed.", "python-insider"),
        in_path("article_id", "The id of an article, its `source_id`.", "dedup:0f8fad5bd9cb469fa16570867728950e"),
        in_path(
            "event_id",
            "The id of a story, as articles have it.",
            "story:20260221:1d56e8afa3f147b09d0c5f2b8f1a6e11",
            pattern=STORY_ID,
        ),
        in_path("correction_id", "The id of a correction.", "20260221-1"),
        in_path("quarantine_id", "The id of an item in quarantine.", "batch-1"),
        in_path(
            "file_id",
            "The id of a file, or a role for the latest one: NORMALIZED, RAW or QUARANTINE_CONTEXT.",
            "NORMALIZED",
        ),
        in_path("run_id", "The id of a run.", "run-1"),
        in_path("host", "The name of a host, with its port if that is not the usual one.", "example.com"),
        in_path("name", "The name of a queue.", "analyze-articles"),
        in_path("day", "A UTC day.", "2026-02-21", format="date"),
    )
}


def parameters_of(route: str) -> tuple[Parameter[str | None], ...]:
    """The parameters in a path, in their order."""
    return tuple(PARTS[name] for name in re.findall(r"\{(\w+)\}", route))


VIEW = one_of("view", VIEWS, "`full`: with the fields that the app needs for its own work.", VIEWS[0])
"""Every endpoint whose answer has resources takes it: see contract.py."""
