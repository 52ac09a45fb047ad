"""Presets: the feeds that well-known services have for a tool, as templates in config/presets.yaml.

A person names a preset and gives its values instead of a URL. The feed is then a feed like any other.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from string import Formatter
from typing import Any
from urllib.parse import quote

from models.errors import InvalidInput, WrongSettings
from services.feeds.form import LONGEST_NAME, PRESET_FIELDS, feed_address
from services.parse.yaml_lists import read_entries

FILE = Path(__file__).resolve().parents[2] / "config" / "presets.yaml"
_FIELDS = ("id", "about", "url", "source_name", "values")
_VALUE_FIELDS = ("about", "pattern", "example")
_ID = re.compile(r"[a-z0-9][a-z0-9-]{0,39}")
_VALUE_NAME = re.compile(r"[a-z][a-z_]{0,39}")
_FIXED_HOST = re.compile(r"https://[a-z0-9.-]+/.*")


@dataclass(frozen=True, slots=True)
class PresetValue:
    """`pattern` matches the values that are allowed, `example` is one of them."""

    name: str
    about: str
    pattern: str
    example: str


@dataclass(frozen=True, slots=True)
class Preset:
    """`url` and `source_name` have the name of each value in braces."""

    preset: str
    about: str
    url: str
    source_name: str
    values: tuple[PresetValue, ...]

    def fields(self, values: Any) -> dict[str, Any]:
        """The URL and the name of the feed with these values. Raises InvalidInput that names the value."""
        names = [each.name for each in self.values]
        if not isinstance(values, Mapping):
            raise InvalidInput("values", f"must be an object with {', '.join(names)}")
        for name in values:
            if name not in names:
                raise InvalidInput(f"values.{name}", f"no such value; {self.preset} has {', '.join(names)}")
        given = {each.name: _checked_value(each, values.get(each.name)) for each in self.values}
        encoded = {name: quote(value, safe="") for name, value in given.items()}
        return {
            "url": self.url.format_map(encoded),
            "source_name": self.source_name.format_map(given)[:LONGEST_NAME],
        }


class Presets:
    def __init__(self, presets: Sequence[Preset] = ()) -> None:
        self.every = tuple(presets)
        self._by_name = {each.preset: each for each in presets}

    def resolved(self, fields: Mapping[str, Any]) -> Mapping[str, Any]:
        """The posted fields of a feed, with the URL of the preset if they name one, and its name unless they have one.
        Raises InvalidInput that names the field and what is allowed."""
        name = fields.get("preset")
        if name is None:
            if fields.get("values") is not None:
                raise InvalidInput("preset", "is needed for values")
            return {field: value for field, value in fields.items() if field not in PRESET_FIELDS}
        if fields.get("url") is not None:
            raise InvalidInput("url", "must not be given with a preset, which has the URL")
        preset = self._by_name.get(name) if isinstance(name, str) else None
        if preset is None:
            raise InvalidInput("preset", f"must be one of {', '.join(self._by_name)}")
        posted = {field: value for field, value in fields.items() if field not in PRESET_FIELDS and value is not None}
        values = fields.get("values")
        return {**preset.fields({} if values is None else values), **posted}


def _checked_value(value: PresetValue, given: Any) -> str:
    text = given.strip() if isinstance(given, str) else ""
    if not re.fullmatch(value.pattern, text):
        raise InvalidInput(
            f"values.{value.name}", f"must be {value.about}, such as {value.example}; its form is {value.pattern}"
        )
    return text


def load(file: Path = FILE) -> Presets:
    """The presets of the file; none if there is no file. Raises WrongSettings, which names the entry and the rule."""
    try:
        document = file.read_bytes()
    except FileNotFoundError:
        return Presets()
    try:
        return Presets(parse(document))
    except InvalidInput as error:
        raise WrongSettings(f"config/{file.name}: {error}") from None


def parse(document: bytes) -> list[Preset]:
    """Raises InvalidInput that names the line, the field and what is allowed."""
    found: list[Preset] = []
    for entry in read_entries(document, "presets", ", ".join(_FIELDS)):
        where = f"presets, line {entry.line}"
        preset = _preset(entry.fields, where)
        if any(each.preset == preset.preset for each in found):
            raise InvalidInput(f"{where}: id", f"{preset.preset} is there already")
        found.append(preset)
    return found


def _preset(fields: Mapping[str, Any], where: str) -> Preset:
    _refuse_others(fields, _FIELDS, where)
    values = fields.get("values")
    if not isinstance(values, dict) or not values:
        raise InvalidInput(f"{where}: values", "must have at least one value by its name")
    preset = Preset(
        _text(fields, "id", where, _ID),
        _text(fields, "about", where),
        _text(fields, "url", where, _FIXED_HOST),
        _text(fields, "source_name", where),
        tuple(_value(str(name), each, f"{where}: values.{name}") for name, each in values.items()),
    )
    names = {each.name for each in preset.values}
    if _names_in(preset.url, f"{where}: url") != names:
        raise InvalidInput(f"{where}: url", f"must have each value once in braces: {', '.join(sorted(names))}")
    if not _names_in(preset.source_name, f"{where}: source_name") <= names:
        raise InvalidInput(f"{where}: source_name", f"may have only these in braces: {', '.join(sorted(names))}")
    try:
        feed_address(preset.fields({each.name: each.example for each in preset.values})["url"])
    except InvalidInput as error:
        raise InvalidInput(f"{where}: {error.field}", error.allowed) from None
    except ValueError as error:
        raise InvalidInput(f"{where}: url", str(error)) from None
    return preset


def _value(name: str, fields: Any, where: str) -> PresetValue:
    if not _VALUE_NAME.fullmatch(name) or not isinstance(fields, dict):
        raise InvalidInput(where, f"must be a name of small letters and _, with {', '.join(_VALUE_FIELDS)}")
    _refuse_others(fields, _VALUE_FIELDS, where)
    value = PresetValue(name, *(_text(fields, each, where) for each in _VALUE_FIELDS))
    try:
        re.compile(value.pattern)
    except re.error as error:
        raise InvalidInput(f"{where}: pattern", f"must be a regular expression ({error})") from None
    return value


def _refuse_others(fields: Mapping[str, Any], known: Sequence[str], where: str) -> None:
    for field in fields:
        if field not in known:
            raise InvalidInput(f"{where}: {field}", f"no such field; there are {', '.join(known)}")


def _text(fields: Mapping[str, Any], field: str, where: str, form: re.Pattern[str] | None = None) -> str:
    text = fields.get(field)
    if not isinstance(text, str) or not text.strip() or not (form is None or form.fullmatch(text)):
        raise InvalidInput(f"{where}: {field}", "must be text" if form is None else f"must be text like {form.pattern}")
    return text


def _names_in(template: str, where: str) -> set[str]:
    try:
        parts = list(Formatter().parse(template))
    except ValueError as error:
        raise InvalidInput(where, f"must be text with names in braces ({error})") from None
    if any(form or conversion for _, name, form, conversion in parts):
        raise InvalidInput(where, "must have names alone in braces")
    return {name for _, name, _, _ in parts if name is not None}
