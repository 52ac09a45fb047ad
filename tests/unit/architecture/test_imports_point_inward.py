"""Imports point one way: function_app → triggers → container → packages of services, in their order → models."""

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

# The packages of services/, in the order of the flow. A package imports from those after it, and from the ground floor.
PACKAGES = (
    "operations",
    "workflows",
    "signals",
    "figures",
    "stories",
    "mentions",
    "documents",
    "articles",
    "tools",
    "feeds",
    "parse",
    "fetch",
    "work",
)
GROUND_FLOOR = (
    "store",
    "queues",
    "archive",
    "ports",
    "settings",
    "setting",
    "yaml_lists",
    "yaml_tree",
    "topology",
    "logs",
    "deadline",
    "memory",
    "telemetry",
    "azure_monitor",
)

# What a module of the ground floor may import from a package: a news API's settings are part of its entry in the table.
EXCEPTIONS = {"services/settings.py": "services.parse.news_apis."}

# The adapters, and what only they may import.
ADAPTERS: dict[str, set[str]] = {
    "services/container/adapters.py": {"azure.identity", "azure.core"},
    "services/operations/error_reports.py": {"sentry_sdk"},
    "services/azure_monitor.py": {"azure.core", "azure.monitor", "opentelemetry"},
    "services/store/cosmos.py": {"azure.cosmos", "azure.core", "aiohttp"},
    "services/store/cosmos_connection.py": {"azure.cosmos", "azure.core", "aiohttp"},
    "services/documents/extract_page.py": {"resiliparse"},
    "services/documents/profiles.py": {"resiliparse"},
    "services/documents/pages.py": {"protego", "yarl"},
    "services/fetch/fetcher.py": {"httpx", "yarl"},
    "services/fetch/addresses.py": {"yarl"},
    "services/fetch/transport.py": {"aiohttp", "httpx", "yarl"},
    "services/mentions/analyzers/azure_language.py": {"azure.ai", "azure.core"},
    "services/parse/publisher_id.py": {"publicsuffixlist"},
    "services/archive/blob.py": {"azure.storage", "azure.core"},
    "services/queues/storage.py": {"azure.storage", "azure.core", "aiohttp"},
    "triggers/http_page.py": {"mcp"},
    "triggers/mcp_tools.py": {"mcp", "mcp_types"},
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
        allowed = from_a_known_room or (not ours and allowed_outside)
        if not allowed or (top == "services" and not points_downward(path, name)):
            wrong.append(name)
    return wrong


def points_downward(path: str, name: str) -> bool:
    """Whether a module of services/ may import `name`, another one."""
    if not path.startswith("services/") or path.startswith("services/container/"):
        return True
    wanted = name.split(".")[1]
    own = path.split("/")[1].removesuffix(".py")
    if wanted in GROUND_FLOOR or (path in EXCEPTIONS and f"{name}.".startswith(EXCEPTIONS[path])):
        return True
    return own in PACKAGES and wanted in PACKAGES and PACKAGES.index(own) <= PACKAGES.index(wanted)


def test_every_package_and_module_of_services_has_its_place() -> None:
    found = {
        path.stem for path in (ROOT / "services").iterdir() if path.suffix == ".py" or (path / "__init__.py").exists()
    }
    assert found - {"__init__", "container"} == {*PACKAGES, *GROUND_FLOOR}


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
        ("services/operations/health.py", "from triggers.http_codec import with_problem_responses"),
        ("services/operations/health.py", "from services import container"),
        ("services/feeds/claims.py", "from services.articles.ingestion import Ingestion"),
        ("services/work/runs.py", "from services.feeds.registry.claims import Claims"),
        ("services/store/sqlite.py", "from services.work.runs import RunEngine"),
        ("services/settings.py", "from services.feeds.registry.claims import Claims"),
        ("services/operations/health.py", "import azure.functions as func"),
        ("services/operations/health.py", "def lazily():\n    from azure.cosmos.aio import CosmosClient"),
        ("services/store/sqlite.py", "import httpx"),
        ("services/figures/reader.py", "from scripts.local_host import queues"),
        ("triggers/background.py", "from azure.storage.queue import QueueClient"),
        ("triggers/background.py", "import function_app"),
        ("function_app.py", "from services import container"),
    ],
)
def test_an_arrow_that_points_the_other_way_is_found(path: str, source: str) -> None:
    assert wrong_arrows(path, source)
