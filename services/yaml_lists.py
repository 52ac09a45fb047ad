"""Lists in YAML as people write them: the entries under one key, each with its line. yaml_tree.py reads documents."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeVar

from pydantic import BaseModel, ValidationError

from models.errors import InvalidInput, WrongSettings

T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class Entry:
    """An entry of a list."""

    line: int
    fields: Mapping[str, Any]

    def text(self, field: str) -> str:
        return str(self.fields.get(field, ""))


def read_entries(document: bytes, key: str, fields: str) -> list[Entry]:
    """The mappings in the list under `key`; none if the list is null. Raises InvalidInput, which describes the entries
    by `fields`, if the document is not such a list."""
    from services.yaml_tree import read_tree

    try:
        tree, root = read_tree(document)
    except ValueError as error:
        raise InvalidInput(key, f"must be YAML, but cannot be parsed ({error})") from None
    entries = tree.get(key, ()) if isinstance(tree, dict) else ()
    if entries is None:
        return []
    if not isinstance(entries, list) or not all(isinstance(each, dict) for each in entries):
        raise InvalidInput(key, f"must be a list under the key {key}, each entry with {fields}")
    assert root is not None
    nodes = next(value.value for name, value in root.value if name.value == key)
    return [Entry(node.start_mark.line + 1, each) for node, each in zip(nodes, entries, strict=True)]


def load_entries(file: Path, key: str, model: type[BaseModel], collect: Callable[[list[Mapping[str, Any]]], T]) -> T:
    """What `collect` makes of the entries of a file in config/, which are of this model; of none if there is no file.
    Raises WrongSettings, which names the field and the rule."""
    try:
        entries = read_entries(file.read_bytes(), key, ", ".join(model.model_fields))
        return collect([each.fields for each in entries])
    except FileNotFoundError:
        return collect([])
    except (InvalidInput, ValidationError) as error:
        raise WrongSettings(f"config/{file.name}: {error}") from None
