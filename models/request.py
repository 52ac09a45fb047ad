"""The base of the bodies of requests: a class checks what people enter, and is what the contract says of it.

The types of texts that several bodies have are here too.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterable, Mapping
from types import MappingProxyType
from typing import Annotated, Any, ClassVar, Self

from pydantic import AfterValidator, BaseModel, BeforeValidator, ConfigDict, Field, StringConstraints, ValidationError

from models.errors import InvalidInput
from models.resources.base import Resource
from models.tool import MAX_NAMES, normalize_name
from models.values import SourceKey, optional

FEED_ID_FORM = "^[A-Za-z0-9][A-Za-z0-9._\\-]{0,63}$"
LONGEST_ARTICLE_ID = 2000
"""Of an older id, which may have a URL."""
LONGEST_AUTHOR = 100
LONGEST_REASON = 1000
LONGEST_NAME = 120
MAX_REDRIVEN = 1000

_UNPRINTABLE = r"\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x9f\ud800-\udfff\ufffe\uffff"
_LINES = re.compile(rf"[^{_UNPRINTABLE}]*")
_BLANK = re.compile(
    "[\u034f\u115f\u1160\u17b4\u17b5\u180b-\u180f\u2028\u2029\u2800\u3164\ufe00-\ufe0f\uffa0\U000e0100-\U000e01ef]"
)
"""Characters that show nothing, besides those of Unicode's category Cf."""
_JOINED = re.compile("(?<=[\u0600-\u0dff])[\u200c\u200d](?=[\u0600-\u0dff])")
"""A joiner between two letters of the Arabic or an Indian script, where it shows."""


def lines(text: str) -> str:
    """The text. Raises ValueError for control characters but tabs and ends of lines."""
    if not _LINES.fullmatch(text):
        raise ValueError("must not contain control characters")
    return text


def one_line(text: str) -> str:
    """Raises ValueError for text with several lines or control characters."""
    if any(each in text for each in "\t\n\r"):
        raise ValueError("must be text in one line")
    return lines(text)


def visible(text: str) -> str:
    """Raises ValueError for a character that shows nothing or changes the direction of the text: with it, one name
    could look like another."""
    for each in _JOINED.sub("", one_line(text)):
        if unicodedata.category(each) == "Cf" or _BLANK.match(each):
            raise ValueError(f"must not contain invisible characters such as U+{ord(each):04X}")
    if unicodedata.category(text[0]).startswith("M"):
        raise ValueError("must not begin with a combining mark, which belongs to a letter before it")
    return text


def each_once(values: Iterable[str]) -> tuple[str, ...]:
    return tuple(dict.fromkeys(values))


def _searchable(name: str) -> str:
    if not normalize_name(name):
        raise ValueError("must have a character that shows")
    return visible(name)


Name = Annotated[
    str,
    BeforeValidator(lambda value: " ".join(value.split()) if isinstance(value, str) else value),
    StringConstraints(min_length=1, max_length=LONGEST_NAME),
    AfterValidator(_searchable),
    Field(json_schema_extra={"format": "visible-text"}),
]
"""A name or a phrase, with single blanks between its words."""
Names = Annotated[tuple[Name, ...], Field(max_length=MAX_NAMES), AfterValidator(each_once)]
FeedId = Annotated[SourceKey, Field(json_schema_extra={"pattern": FEED_ID_FORM})]
ArticleId = Annotated[
    str,
    StringConstraints(strip_whitespace=True, min_length=1, max_length=LONGEST_ARTICLE_ID),
    Field(json_schema_extra={"pattern": "\\S"}),
]
Author = Annotated[
    str,
    StringConstraints(strip_whitespace=True, min_length=1, max_length=LONGEST_AUTHOR),
    AfterValidator(visible),
    Field(json_schema_extra={"format": "visible-text"}),
]
Reason = Annotated[
    str,
    StringConstraints(strip_whitespace=True, min_length=1, max_length=LONGEST_REASON),
    AfterValidator(lines),
    Field(json_schema_extra={"format": "single-line"}),
]


def without_nulls(fields: Any) -> Any:
    """The fields that are not null."""
    return {name: value for name, value in fields.items() if value is not None} if isinstance(fields, dict) else fields


class Request(BaseModel):
    """The JSON object in a request.

    `examples` are in the contract by their names. `changes` is the resource that the request changes: the request may
    have its other fields too, and they are ignored. With `null_is_absent`, a field that is null counts as absent.
    `rules` are keywords of JSON Schema for rules that join fields; validators of the class hold them.
    """

    EXAMPLES: ClassVar[Mapping[str, Mapping[str, Any]]]
    CHANGES: ClassVar[type[Resource] | None]
    NULL_IS_ABSENT: ClassVar[bool]
    RULES: ClassVar[Mapping[str, Any]]

    model_config = ConfigDict(frozen=True, extra="forbid", defer_build=True)

    def __init_subclass__(
        cls,
        examples: Mapping[str, Mapping[str, Any]] = MappingProxyType({}),
        changes: type[Resource] | None = None,
        rules: Mapping[str, Any] = MappingProxyType({}),
        *,
        null_is_absent: bool = False,
        **config: Any,
    ) -> None:
        super().__init_subclass__(**config)
        cls.EXAMPLES, cls.CHANGES, cls.RULES, cls.NULL_IS_ABSENT = examples, changes, rules, null_is_absent

    @classmethod
    def checked(cls, fields: Mapping[str, Any]) -> Self:
        """The request with these fields. Raises InvalidInput that names a field and what is allowed there."""
        try:
            return cls.model_validate(without_nulls(dict(fields)) if cls.NULL_IS_ABSENT else dict(fields))
        except ValidationError as error:
            raise _refusal(cls, error) from None

    def given(self) -> dict[str, Any]:
        """The fields that the request has."""
        return {name: getattr(self, name) for name in type(self).model_fields if name in self.model_fields_set}

    @classmethod
    def schema_of_body(cls) -> dict[str, Any]:
        """The JSON Schema of requests, with `$defs`."""
        schema = cls.model_json_schema(mode="validation")
        for each in (schema, *schema.get("$defs", {}).values()):
            for field in each.get("properties", {}).values():
                field.pop("default", None)  # what is absent has no value: a change leaves such fields as they are
        if cls.NULL_IS_ABSENT:
            needed = schema.get("required", ())
            fields = schema["properties"].items()
            schema["properties"] = {name: field if name in needed else _or_null(field) for name, field in fields}
        if cls.CHANGES is not None:
            ignored = {"readOnly": True, "description": "Ignored beside a field that can be changed."}
            others = {name: ignored for name in cls.CHANGES.model_fields if name not in schema["properties"]}
            schema["properties"] |= others
        return {"properties": {}, **schema, **cls.RULES}


class Nothing(Request, examples={"nothing": {}}):
    """An empty object."""


class SignedBody(Request, examples={"signed": {"author": "Ada", "reason": "two products"}}):
    """Who asks for it, and why."""

    author: Author = Field(description="The name of the person who says so.")
    reason: Reason | None = optional("Why.")


class Redrive(Request, examples={"ten": {"limit": 10}}):
    """How many messages to redrive."""

    limit: Annotated[int, Field(strict=True, ge=1, le=MAX_REDRIVEN)] | None = optional(
        f"How many messages at most; {MAX_REDRIVEN:,} if absent."
    )


def allowed_by(schema: Mapping[str, Any]) -> str:
    """What a JSON Schema allows, in words."""
    schema = next((each for each in schema.get("anyOf", ()) if each.get("type") != "null"), schema)
    if "enum" in schema or "const" in schema:
        return f"one of {', '.join(map(str, schema.get('enum', [schema.get('const')])))}"
    kind = schema.get("type")
    if kind == "string":
        longest = schema.get("maxLength")
        return f"text of {schema.get('minLength', 0)} to {longest:,} characters" if longest else "text"
    if kind == "array":
        least, most = schema.get("minItems", 0), schema.get("maxItems")
        return f"a list of {f'{least} to' if least else 'at most'} {most}" if most else "a list"
    if kind in ("integer", "number"):
        return _numbers(schema)
    return {"boolean": "true or false", "object": "an object"}.get(str(kind), "another value")


def _numbers(schema: Mapping[str, Any]) -> str:
    what = "a whole number" if schema["type"] == "integer" else "a number"
    if "exclusiveMinimum" in schema:
        return f"{what} over {schema['exclusiveMinimum']:,g}, at most {schema['maximum']:,g}"
    return f"{what} from {schema['minimum']:,} to {schema['maximum']:,}" if "maximum" in schema else what


def _refusal(cls: type[Request], error: ValidationError) -> InvalidInput:
    """The first fault; before it, a field that there is not."""
    found = error.errors(include_url=False)
    fault = next((each for each in found if each["type"] == "extra_forbidden"), found[0])
    whole = cls.model_json_schema(mode="validation")
    schema: Mapping[str, Any] = whole
    path = [str(each) for each in fault["loc"]]
    if not path:  # of a validator that joins fields: its text begins with the name of one
        name, _, rule = str(fault["ctx"]["error"]).partition(": ")
        return InvalidInput(name, rule)
    name = path[0]
    while path and path[0] in (known := schema.get("properties", {})):
        name, *path = path
        schema = _resolved(known[name], whole)
    if fault["type"] == "extra_forbidden" and len(path) == 1:
        names = ", ".join(known)
        return InvalidInput(path[0], f"no such field; there are {names}" if names else "no fields here")
    if fault["type"] == "value_error":
        return InvalidInput(name, str(fault["ctx"]["error"]))
    is_missing = fault["type"] == "missing" and not path
    return InvalidInput(name, f"{'is needed:' if is_missing else 'must be'} {allowed_by(schema)}")


def _or_null(field: dict[str, Any]) -> dict[str, Any]:
    if {"type": "null"} in field.get("anyOf", ()):
        return field
    about = {"description": field["description"]}
    return {
        "anyOf": [{name: value for name, value in field.items() if name != "description"}, {"type": "null"}],
        **about,
    }


def _resolved(schema: Mapping[str, Any] | None, whole: Mapping[str, Any]) -> Mapping[str, Any]:
    name = str((schema or {}).get("$ref", "")).rpartition("/")[2]
    found: Mapping[str, Any] = whole["$defs"][name] if name else schema or {}
    return found
