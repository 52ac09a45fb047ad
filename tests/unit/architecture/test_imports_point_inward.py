"""Imports point inward: function_app → triggers → container → services → models."""

import ast
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[3]

# Which of our own packages each room may import, and which third-party ones.
ROOMS: dict[str, tuple[set[str], set[str]]] = {
    "function_app": ({"triggers"}, {"azure.functions"}),
    "triggers": ({"triggers", "services", "models"}, {"azure.functions"}),
    "services": ({"services", "models"}, {"pydantic", "orjson", "feedparser", "yaml"}),
    "models": ({"models"}, {"pydantic", "pydantic_core", "orjson"}),
}

# The adapters, and what only they may import.
ADAPTERS: dict[str, set[str]] = {
    "services/container.py": {"azure.identity", "azure.core"},
    "services/operations/error_reports.py": {"sentry_sdk"},
    "services/store/cosmos.py": {"azure.cosmos", "azure.core", "aiohttp"},
    "services/store/cosmos_connection.py": {"azure.cosmos", "azure.core", "aiohttp"},
    "services/store/cosmos_requests.py": {"azure.cosmos", "azure.core"},
    "services/fetch/fetcher.py": {"httpx", "yarl"},
    "services/fetch/addresses.py": {"yarl"},
    "services/fetch/transport.py": {"aiohttp", "httpx", "yarl"},
    "services/fetch/wire.py": {"httpx", "yarl"},
    "services/mentions/analyzers/azure_language.py": {"azure.ai", "azure.core"},
    "services/queues/storage.py": {"azure.storage", "azure.core", "aiohttp"},
}


def imports(source: str) -> Iterator[str]:
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0, "imports are absolute"
            yield from (f"{node.module}.{alias.name}" for alias in node.names)


def wrong_arrows(path: str, source: str) -> list[str]:
    """The imports of the file at `path` that point where they must not."""
    own, outside = ROOMS[path.partition("/")[0].removesuffix(".py")]
    outside = outside | ADAPTERS.get(path, set())
    wrong = []
    for name in imports(source):
        top = name.split(".")[0]
        ours = top in ROOMS or top in ("scripts", "tests", "benchmarks")
        from_a_known_room = top in own if ours else False
        allowed_outside = top in sys.stdlib_module_names or any(f"{name}.".startswith(f"{each}.") for each in outside)
        if not (from_a_known_room or (not ours and allowed_outside)):
            wrong.append(name)
        elif top == "services" and path.startswith("services/") and path != "services/container.py":
            wrong += [name] if name.startswith("services.container") else []
    return wrong


def modules() -> list[str]:
    found = [ROOT / "function_app.py"]
    for room in ("triggers", "services", "models"):
        found += sorted((ROOT / room).rglob("*.py"))
    return [str(path.relative_to(ROOT)) for path in found]


@pytest.mark.parametrize("path", modules())
def test_a_module_imports_from_its_own_room_and_further_in_only(path: str) -> None:
    assert wrong_arrows(path, (ROOT / path).read_text()) == []


@pytest.mark.parametrize(
    ("path", "source"),
    [
        ("models/article.py", "from services.ports import Store"),
        ("models/article.py", "import azure.cosmos"),
        ("services/operations/health.py", "from triggers.http_codec import answering"),
        ("services/operations/health.py", "from services import container"),
        ("services/operations/health.py", "import azure.functions as func"),
        ("services/operations/health.py", "def lazily():\n    from azure.cosmos.aio import CosmosClient"),
        ("services/store/sqlite.py", "import httpx"),
        ("services/figures/reader.py", "from scripts.host import queues"),
        ("triggers/timers.py", "from azure.storage.queue import QueueClient"),
        ("triggers/timers.py", "import function_app"),
        ("function_app.py", "from services import container"),
    ],
)
def test_an_arrow_that_points_the_other_way_is_found(path: str, source: str) -> None:
    assert wrong_arrows(path, source)
