"""Reads a Bicep file with a real parser, as far as tests ask: what it declares, what it names, and its literals.

It resolves nothing and knows no Azure types.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

import tree_sitter_bicep
from tree_sitter import Language, Node, Parser

_PARSER = Parser(Language(tree_sitter_bicep.language()))
_DECLARATIONS = ("parameter", "variable", "resource", "module", "output")


class Expression(str):
    """The text of what is not a literal."""

    __slots__ = ()


@dataclass(frozen=True)
class Declaration:
    """One param, var, resource, module or output. `about` is its type, resource type or path; `body` its literal."""

    kind: str
    name: str
    about: str
    body: Any
    secure: bool
    node: Node

    @property
    def text(self) -> str:
        return _text(self.node)


class Bicep:
    def __init__(self, path: Path) -> None:
        self.path = path
        self._root = _PARSER.parse(path.read_bytes()).root_node

    def syntax_errors(self) -> list[str]:
        broken = [node for node in _all(self._root) if node.type == "ERROR" or node.is_missing]
        return [f"{self.path.name}:{node.start_point.row + 1}: {_text(node)[:60]!r} is no Bicep" for node in broken]

    @cached_property
    def declarations(self) -> list[Declaration]:
        found = []
        decorators = ""
        for node in self._root.named_children:
            kind = node.type.removesuffix("_declaration")
            if kind in _DECLARATIONS:
                found.append(_declared(kind, node, "@secure()" in decorators))
            decorators = _text(node) if node.type == "decorators" else ""
        return found

    def all(self, kind: str) -> dict[str, Declaration]:
        return {each.name: each for each in self.declarations if each.kind == kind}

    def resources(self, resource_type: str) -> list[Declaration]:
        return [each for each in self.all("resource").values() if each.about.split("@")[0] == resource_type]

    def used_names(self) -> set[str]:
        """What expressions name: parameters, variables, resources, modules, loop variables."""
        return {_text(node) for node in _all(self._root) if node.type == "identifier" and _is_use(node)}

    def loop_names(self) -> set[str]:
        loops = [node for node in _all(self._root) if node.type == "for_statement"]
        return {_text(name) for loop in loops for name in _all(loop.named_children[0]) if name.type == "identifier"}

    def loaded_files(self) -> list[Path]:
        loads = [node for node in _all(self._root) if node.type == "call_expression"]
        texts = [_text(node) for node in loads if _text(node).startswith("loadJsonContent(")]
        return [self.path.parent / text.split("'")[1] for text in texts]

    def outputs_read(self) -> set[tuple[str, str]]:
        """(module, output) of each `module.outputs.output`."""
        members = [_text(node).split(".") for node in _all(self._root) if node.type == "member_expression"]
        return {(parts[0], parts[2]) for parts in members if len(parts) == 3 and parts[1] == "outputs"}


def _declared(kind: str, node: Node, secure: bool) -> Declaration:
    name, *rest = node.named_children
    if kind in ("parameter", "output"):
        about, value = _text(rest[0]), rest[1] if len(rest) > 1 else None
    elif kind == "variable":
        about, value = "", rest[0]
    else:
        about, value = _text(rest[0]).strip("'"), rest[-1]
    body = None if value is None else _value(value)
    return Declaration(kind, _text(name), about, body, secure, node)


def _value(node: Node) -> Any:
    """A literal as Python has it; in strings `${...}` stays as it is. The body of a loop or condition stands for it."""
    if node.type in ("for_statement", "if_statement"):
        return _value(node.named_children[-1])
    if node.type == "object":
        pairs = [each.named_children for each in node.named_children if each.type == "object_property"]
        return {_text(pair[0]).strip("'"): _value(pair[-1]) for pair in pairs}
    if node.type == "array":
        return [_value(each) for each in node.named_children if each.type != "comment"]
    if node.type == "string":
        return _text(node).strip("'").replace("\\'", "'")
    if node.type in ("number", "boolean"):
        return json.loads(_text(node))
    return Expression(_text(node))


def _is_use(node: Node) -> bool:
    parent = node.parent
    if parent is None:
        return False
    is_first = parent.named_children[0] == node
    if parent.type == "call_expression":
        return not is_first
    if parent.type == "object_property" or parent.type.endswith("_declaration"):
        return not is_first
    if parent.type == "for_statement":
        return not is_first
    return parent.type not in ("type", "loop_variable", "loop_enumerator", "for_loop_parameters")


def _all(node: Node) -> Iterator[Node]:
    yield node
    for child in node.children:
        yield from _all(child)


def _text(node: Node) -> str:
    return (node.text or b"").decode()
