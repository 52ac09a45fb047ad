"""CONTRIBUTING.md names files, commands and names of code that exist; the dev container has the Python of Azure."""

import json
import re
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[3]
PAGE = (ROOT / "CONTRIBUTING.md").read_text(encoding="utf-8")
CODE = re.findall(r"`([^`\n]+)`", re.sub(r"```.*?```", "", PAGE, flags=re.DOTALL))
PATHS = sorted({each for each in CODE if re.fullmatch(r"[\w.-]+(/[\w.-]+)+/?", each)})
SOURCES = [path for folder in ("models", "services", "triggers") for path in (ROOT / folder).rglob("*.py")]
CODE_TEXT = "\n".join(path.read_text(encoding="utf-8") for path in SOURCES)
NAMES = ("NEWS_APIS", "PERIODS", "Period", "Settings", "analyzers_of", "tiingo_collect", "tiingo_query", "Routes")


@pytest.mark.parametrize("path", PATHS)
def test_every_file_of_the_page_exists(path: str) -> None:
    folders = (ROOT, ROOT / "infra" / "bicep")
    assert any((folder / path).exists() for folder in folders)


@pytest.mark.parametrize("command", sorted(set(re.findall(r"scripts/dev\.py (\w+)", PAGE))))
def test_every_command_of_the_page_exists(command: str) -> None:
    assert f'add_parser("{command}"' in (ROOT / "scripts" / "dev.py").read_text(encoding="utf-8")


@pytest.mark.parametrize("name", NAMES)
def test_the_names_of_the_page_are_in_the_code(name: str) -> None:
    assert f"`{name}" in PAGE or f"@{name}(" in PAGE
    assert re.search(rf"^(class |def |async def |){name}\b", CODE_TEXT, re.MULTILINE)


def test_the_dev_container_has_the_python_that_azure_runs() -> None:
    container = json.loads((ROOT / ".devcontainer" / "devcontainer.json").read_text(encoding="utf-8"))
    bicep = (ROOT / "infra" / "bicep" / "modules" / "function_app.bicep").read_text(encoding="utf-8")
    (version,) = re.findall(r"^var pythonVersion = '([\d.]+)'", bicep, re.MULTILINE)
    assert f":{version}-" in container["image"]
