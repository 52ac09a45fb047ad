"""config/ingestion.yaml: the `ingestion:` block of the ingestion specification, with every key known and every value
checked.

A key that is unknown, and a value that breaks its rule, are problems that name the line and the key; nothing is
ignored. The list `feeds:` may be in the same file: `toolpulse feeds apply` reads it, not the start of the app.
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
_Node = Any
"""A node of PyYAML, whose subclasses its types do not tell apart."""
_NULL: Final = "tag:yaml.org,2002:null"
_OTHER_NAMES: Final = {"deduplication": "parser"}
"""What the specification's prose calls a section, for the hint at the section that is meant."""


@dataclass(frozen=True, slots=True)
class Configuration:
    """What the file sets, by attribute of `Settings`, and what is wrong in it: sentences with file, line and key."""

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

    try:
        root = yaml.SafeLoader(BytesIO(document)).get_single_node()  # a stream: errors then quote no line of the file
    except (yaml.YAMLError, ValueError, RecursionError) as error:
        reason = " ".join(str(error).split())
        return Configuration(problems=(f"{name} must be YAML, but cannot be parsed ({reason})",))
    reader = _Reader(rows, name)
    if root is not None:
        reader.document(root)
    return Configuration(reader.values, tuple(reader.problems))


class _Reader:
    def __init__(self, rows: Sequence[Setting], name: str) -> None:
        self.values: dict[str, Any] = {}
        self.problems: list[str] = []
        self._name = name
        self._rows = {row.key: row for row in rows if row.key}
        self._elsewhere = {row.attribute: row.name for row in rows if not row.key}
        self._sections: dict[str, list[str]] = {}
        for key in self._rows:
            section, _, own = key.partition(".")
            self._sections.setdefault(section, []).append(own)

    def document(self, root: _Node) -> None:
        for key, node in self._items(root, "", (_BLOCK, _FEEDS)):
            if key == _BLOCK:
                for section, content in self._items(node, _BLOCK, self._sections):
                    self._section(section, content)
            elif not _is_null(node) and node.id != "sequence":
                self._wrong(node, f"{_FEEDS} must be a list of feeds")

    def _section(self, section: str, node: _Node) -> None:
        for own, value in self._items(node, f"{_BLOCK}.{section}", self._sections[section]):
            row = self._rows[f"{section}.{own}"]
            key = f"{_BLOCK}.{row.key}"
            if _is_null(value) or not value.value:
                self._wrong(value, f"{key} has no value: {row.allowed}; without the line, the default counts")
                continue
            if value.id != "scalar":
                self._wrong(value, f"{key} {row.allowed}")
                continue
            try:
                read = row.read(value.value.strip())
            except ValueError as error:
                self._wrong(value, f"{key} {error}")
                continue
            if not row.has_effect and read != row.default:
                self._wrong(value, f"{key} has no effect in this version: leave it out, or at {row.default}")
                continue
            self.values[row.attribute] = read

    def _items(self, node: _Node, path: str, known: Iterable[str]) -> Iterator[tuple[str, _Node]]:
        """The known keys of a mapping with their values. Everything else is a problem."""
        if _is_null(node):
            return
        if node.id != "mapping":
            self._wrong(node, f"{path or 'the file'} must be a mapping with {_listed(known)}")
            return
        seen: set[str] = set()
        for key_node, value in node.value:
            key = key_node.value if key_node.id == "scalar" else "a key that is no text"
            full = f"{path}.{key}" if path else key
            if key in seen:
                self._wrong(key_node, f"{full} is there twice")
            elif key in known:
                yield key, value
            else:
                self._wrong(key_node, f"{full} is unknown{self._meant(key, known)}; allowed: {_listed(known)}")
            seen.add(key)

    def _meant(self, key: str, known: Iterable[str]) -> str:
        """A hint at the key that was probably meant."""
        for section, keys in self._sections.items():
            if key in keys:
                return f" here (it belongs to {_BLOCK}.{section})"
        if key.lower() in self._elsewhere:
            return f" here (set the environment variable {self._elsewhere[key.lower()]})"
        names = [*known]
        near = [other] if (other := _OTHER_NAMES.get(key)) in names else difflib.get_close_matches(key, names, 1)
        if near:
            return f" (did you mean {near[0]}?)"
        return ""

    def _wrong(self, node: _Node, problem: str) -> None:
        self.problems.append(f"{self._name}, line {node.start_mark.line + 1}: {problem}")


def _is_null(node: _Node) -> bool:
    return bool(node.tag == _NULL)


def _listed(keys: Iterable[str]) -> str:
    return ", ".join(keys)
