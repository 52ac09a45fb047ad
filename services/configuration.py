"""config/ingestion.yaml: the `ingestion:` block of the ingestion specification, with every key known and every value
checked.

A key that is unknown, and a value that breaks its rule, are problems that name the key; nothing is ignored. The
list `feeds:` may be in the same file: `toolpulse feeds apply` reads it, not the start of the app.
"""

from __future__ import annotations

import difflib
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from io import BytesIO
from pathlib import Path
from typing import Any, Final

from services.setting import Setting

FILE_SETTING: Final = "CONFIGURATION_FILE"
DEFAULT_FILE: Final = "config/ingestion.yaml"
_APP: Final = Path(__file__).resolve().parents[1]
_BLOCK, _FEEDS = "ingestion", "feeds"


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
    values: dict[str, Any] = {}
    problems = []
    if not isinstance(content or {}, dict):
        return Configuration(problems=(f"{name} must be a mapping with {_BLOCK} and {_FEEDS}",))
    for key, text in _pairs(content or {}):
        try:
            values |= _read(key, text, rows)
        except ValueError as error:
            problems.append(f"{name}: {key} {error}")
    return Configuration(values, tuple(problems))


def _pairs(content: Mapping[Any, Any], path: str = "") -> Iterator[tuple[str, object]]:
    """Each value with its whole key, such as `ingestion.fetcher.retry_attempts`; also blocks without a value."""
    for key, value in content.items():
        if isinstance(value, dict) and value:
            yield from _pairs(value, f"{path}{key}.")
        else:
            yield f"{path}{key}", value


def _read(key: str, text: object, rows: Sequence[Setting]) -> dict[str, Any]:
    """The setting that the key sets. Raises ValueError, with what is wrong with the key or the value."""
    if key == _FEEDS:
        if text and not isinstance(text, list):
            raise ValueError("must be a list of feeds")
        return {}
    settings = {f"{_BLOCK}.{row.key}": row for row in rows if row.key}
    sections = {_BLOCK, *(name.rpartition(".")[0] for name in settings)}
    row = settings.get(key)
    if row is None:
        if key in sections:
            if text:
                raise ValueError("must be a block of settings")
            return {}
        near = difflib.get_close_matches(key, sorted(sections if key.count(".") < 2 else settings), 1)
        raise ValueError("is unknown" + (f": did you mean {near[0]}?" if near else f"; allowed: {', '.join(settings)}"))
    if not text:
        raise ValueError(f"has no value: {row.allowed}; without the line, the default counts")
    if not isinstance(text, str):
        raise ValueError(row.allowed)
    value = row.read(text.strip())
    if not row.has_effect and value != row.default:
        raise ValueError(f"has no effect in this version: leave it out, or at {row.default}")
    return {row.attribute: value}
