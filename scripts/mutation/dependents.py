"""Which of the project's modules import another one, directly or through others. Read from the source."""

from __future__ import annotations

import ast
from collections import defaultdict
from collections.abc import Iterator
from pathlib import Path

FOLDERS = ("models", "services", "triggers", "scripts", "benchmarks", "tests")


class Imports:
    def __init__(self, root: Path) -> None:
        self._importers: dict[str, set[str]] = defaultdict(set)
        for folder in FOLDERS:
            for path in (root / folder).rglob("*.py"):
                if "node_modules" not in path.parts and "data" not in path.parts:
                    for imported in _imported(path.read_text()):
                        self._importers[imported].add(module_name(path.relative_to(root)))

    def importers(self, name: str) -> set[str]:
        return self._importers[name]

    def dependents(self, name: str) -> set[str]:
        """`name` itself, and all modules that import it, directly or through others."""
        found, waiting = {name}, [name]
        while waiting:
            for importer in self._importers[waiting.pop()] - found:
                found.add(importer)
                waiting.append(importer)
        return found


def module_name(path: Path) -> str:
    return ".".join(path.with_suffix("").parts).removesuffix(".__init__")


def _imported(source: str) -> Iterator[str]:
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom) and node.module:
            yield node.module
            yield from (f"{node.module}.{alias.name}" for alias in node.names)
