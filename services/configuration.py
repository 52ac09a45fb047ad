"""config/ingestion.yaml: the `ingestion:` block of the ingestion specification, with every key known and every value
checked.

A key that is unknown, and a value that breaks its rule, are problems that name the key; nothing is ignored. The
list `feeds:` may be in the same file: `toolpulse feeds apply` reads it, not the start of the app.
"""

from __future__ import annotations

import difflib
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from io import BytesIO
from pathlib import Path
from typing import Any, Final

from services.setting import Setting

FILE_SETTING: Final = "CONFIGURATION_FILE"
DEFAULT_FILE: Final = "config/ingestion.yaml"
_APP: Final = Path(__file__).resolve().parents[1]
_BLOCK, _FEEDS = "ingestion", "feeds"
_OTHER_NAMES: Final = {"deduplication": "parser"}
"""What the specification's prose calls a section, for the hint at the section that is meant."""


@dataclass(frozen=True, slots=True)
class Configuration:
    """What the file sets, by attribute of `Settings`, and what is wrong in it: sentences with file and key."""

    values: Mapping[str, Any] = field(default_factory=dict)
    problems: tuple[str, ...] = ()


EMPTY: Final = Configuration()


def read(named: str, rows: Sequence[Setting], app: Path = _APP) -> Configuration:
    """The file `named`, or config/ingestion.yaml if there is one. A named file that cannot be read is a problem."""
    name = named or DEFAULT_FILE
    try:
        document = (app / name).read_bytes()
    except FileNotFoundError:
        return Configuration(problems=(f"{FILE_SETTING} names {name}, which does not exist",)) if named else EMPTY
    except OSError as error:
        return Configuration(problems=(f"{name} cannot be read: {error.strerror}",))
    return parse(document, rows, name)


def parse(document: bytes, rows: Sequence[Setting], name: str = DEFAULT_FILE) -> Configuration:
    import yaml

    class Loader(yaml.BaseLoader):
        """Refuses a key that is there twice, of which YAML would take the last."""

        def construct_mapping(self, node: yaml.MappingNode, deep: bool = False) -> dict[Any, Any]:
            names = [key.value for key, _ in node.value]
            for number, each in enumerate(names):
                if each in names[:number]:
                    mark = node.value[number][0].start_mark
                    raise yaml.MarkedYAMLError(problem=f"{each} is there twice", problem_mark=mark)
            return super().construct_mapping(node, deep)

    try:
        # Every scalar is a text, as in the environment. Of a stream, errors quote no line of the file.
        content = yaml.load(BytesIO(document), Loader=Loader)  # noqa: S506 - makes texts, lists and mappings only
    except (yaml.YAMLError, ValueError, RecursionError) as error:
        reason = " ".join(str(error).split())
        return Configuration(problems=(f"{name} must be YAML, but cannot be parsed ({reason})",))
    reader = _Reader(rows)
    reader.document(content or {})
    return Configuration(reader.values, tuple(f"{name}: {problem}" for problem in reader.problems))


class _Reader:
    """Collects the values of the `ingestion:` block, and what is wrong in it."""

    def __init__(self, rows: Sequence[Setting]) -> None:
        self.values: dict[str, Any] = {}
        self.problems: list[str] = []
        self._rows = {row.key: row for row in rows if row.key}
        self._elsewhere = {row.attribute: row.name for row in rows if not row.key}
        self._sections: dict[str, list[str]] = {}
        for key in self._rows:
            section, _, own = key.partition(".")
            self._sections.setdefault(section, []).append(own)

    def document(self, content: object) -> None:
        for key, value in self._items(content, "", (_BLOCK, _FEEDS)):
            if key == _BLOCK:
                for section, own in self._items(value, _BLOCK, self._sections):
                    for name, text in self._items(own, f"{_BLOCK}.{section}", self._sections[section]):
                        self._value(f"{section}.{name}", text)
            elif value and not isinstance(value, list):
                self.problems.append(f"{_FEEDS} must be a list of feeds")

    def _value(self, key: str, text: object) -> None:
        row, named = self._rows[key], f"{_BLOCK}.{key}"
        if not text:
            self.problems.append(f"{named} has no value: {row.allowed}; without the line, the default counts")
        elif not isinstance(text, str):
            self.problems.append(f"{named} {row.allowed}")
        else:
            try:
                value = row.read(text.strip())
            except ValueError as error:
                self.problems.append(f"{named} {error}")
                return
            if row.has_effect or value == row.default:
                self.values[row.attribute] = value
            else:
                self.problems.append(f"{named} has no effect in this version: leave it out, or at {row.default}")

    def _items(self, content: object, path: str, known: Iterable[str]) -> Iterator[tuple[str, object]]:
        """The known keys of a mapping with their values. Everything else is a problem."""
        names = [*known]
        if not content:
            return
        if not isinstance(content, dict):
            self.problems.append(f"{path or 'the file'} must be a mapping with {', '.join(names)}")
            return
        for key, value in content.items():
            if key in names:
                yield key, value
            else:
                full = f"{path}.{key}" if path else key
                self.problems.append(f"{full} is unknown{self._meant(key, names)}; allowed: {', '.join(names)}")

    def _meant(self, key: str, known: list[str]) -> str:
        """A hint at the key that was probably meant."""
        for section, keys in self._sections.items():
            if key in keys:
                return f" here (it belongs to {_BLOCK}.{section})"
        if key.lower() in self._elsewhere:
            return f" here (set the environment variable {self._elsewhere[key.lower()]})"
        other = _OTHER_NAMES.get(key)
        near = [other] if other in known else difflib.get_close_matches(key, known, 1)
        return f" (did you mean {near[0]}?)" if near else ""
