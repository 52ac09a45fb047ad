"""Presets: the feeds that well-known services have for a tool, as templates in config/presets.yaml.

A person names a preset and gives its values instead of a URL. The feed is then a feed like any other.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from pathlib import Path
from string import Formatter
from typing import Annotated, Any, Self
from urllib.parse import quote

from pydantic import Field, model_validator

from models.errors import InvalidInput, WrongSettings
from models.request import Request
from models.resources.feeds import Preset, PresetValue
from services.feeds.form import LONGEST_NAME, PRESET_FIELDS, feed_address
from services.parse.yaml_lists import read_entries

FILE = Path(__file__).resolve().parents[2] / "config" / "presets.yaml"
_FIXED_HOST = re.compile(r"https://[a-z0-9.-]+/.*")

_Words = Annotated[str, Field(min_length=1)]


class _ValueEntry(Request):
    """A value of a preset, as the file has it."""

    about: _Words
    pattern: _Words
    example: _Words


class _PresetEntry(Request):
    """A preset, as the file has it."""

    id: Annotated[str, Field(pattern=r"^[a-z0-9][a-z0-9-]{0,39}$")]
    about: _Words
    url: _Words
    source_name: _Words
    values: Annotated[dict[Annotated[str, Field(pattern=r"^[a-z][a-z_]{0,39}$")], _ValueEntry], Field(min_length=1)]

    def preset(self) -> Preset:
        values = tuple(PresetValue(name=name, **each.given()) for name, each in self.values.items())
        return Preset(preset=self.id, about=self.about, url=self.url, source_name=self.source_name, values=values)

    @model_validator(mode="after")
    def _makes_a_feed(self) -> Self:
        named = {name for _, name, form, conversion in Formatter().parse(self.url) if name and not (form or conversion)}
        if not _FIXED_HOST.fullmatch(self.url) or named != self.values.keys():
            raise ValueError("url: must be https:// with a fixed host, and each value once in braces")
        try:
            made = fields_of(self.preset(), {name: each.example for name, each in self.values.items()})
            feed_address(made["url"])
        except (KeyError, re.error, ValueError) as error:
            raise ValueError(f"values: their examples make no feed ({error})") from None
        return self


def fields_of(preset: Preset, values: Any) -> dict[str, Any]:
    """The URL and the name of the feed with these values. Raises InvalidInput that names the value."""
    names = [each.name for each in preset.values]
    if not isinstance(values, Mapping):
        raise InvalidInput("values", f"must be an object with {', '.join(names)}")
    for name in values:
        if name not in names:
            raise InvalidInput(f"values.{name}", f"no such value; {preset.preset} has {', '.join(names)}")
    given = {each.name: _checked_value(each, values.get(each.name)) for each in preset.values}
    encoded = {name: quote(value, safe="") for name, value in given.items()}
    return {
        "url": preset.url.format_map(encoded),
        "source_name": preset.source_name.format_map(given)[:LONGEST_NAME],
    }


def _checked_value(value: PresetValue, given: Any) -> str:
    text = given.strip() if isinstance(given, str) else ""
    if not re.fullmatch(value.pattern, text):
        raise InvalidInput(
            f"values.{value.name}", f"must be {value.about}, such as {value.example}; its form is {value.pattern}"
        )
    return text


class Presets:
    """The presets."""

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
        return {**fields_of(preset, {} if values is None else values), **posted}


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
    found: dict[str, Preset] = {}
    for entry in read_entries(document, "presets", ", ".join(_PresetEntry.model_fields)):
        where = f"presets, line {entry.line}"
        try:
            preset = _PresetEntry.checked(entry.fields).preset()
        except InvalidInput as error:
            raise InvalidInput(f"{where}: {error.field}", error.allowed) from None
        if found.setdefault(preset.preset, preset) is not preset:
            raise InvalidInput(f"{where}: id", f"{preset.preset} is there already")
    return list(found.values())
