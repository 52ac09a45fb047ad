"""The local host knows no app: the package can be copied into another project."""

from __future__ import annotations

import ast
import sys
from pathlib import Path

import pytest

PACKAGE = Path(__file__).resolve().parents[3] / "scripts" / "local_host"
LIBRARIES = {"aiohttp", "azure.functions", "multidict"}


def foreign_imports(source: str) -> list[str]:
    """What a module imports besides its own package, the standard library and the host's libraries."""
    names = []
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.Import):
            names += [alias.name for alias in node.names]
        elif isinstance(node, ast.ImportFrom) and node.level != 1:
            names.append("." * node.level + (node.module or ""))
    return [
        name
        for name in names
        if name.split(".")[0] not in sys.stdlib_module_names
        and not any(f"{name}.".startswith(f"{library}.") for library in LIBRARIES)
    ]


@pytest.mark.parametrize("path", sorted(PACKAGE.rglob("*.py")), ids=lambda path: path.name)
def test_it_imports_its_own_modules_and_its_libraries_only(path: Path) -> None:
    assert foreign_imports(path.read_text()) == []


def test_it_names_no_app() -> None:
    texts = [path.read_text().lower() for path in sorted(PACKAGE.rglob("*")) if path.suffix in (".py", ".md")]
    assert [word for word in ("toolpulse", "sentiment", "article", "/v1/") if any(word in text for text in texts)] == []
