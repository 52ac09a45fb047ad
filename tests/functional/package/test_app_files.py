"""What goes into a package is what .funcignore lets through."""

import re
from pathlib import Path

import pytest

from scripts.local_host.settings import read_host_json
from scripts.package import ROOT, app_files
from services.topology import QUEUES
from tests.infra.checks import app_settings

TREE = {
    "function_app.py": True,
    "host.json": True,
    "requirements.txt": True,
    "services/store/cosmos.py": True,
    "triggers/background.py": True,
    "README.md": False,
    "services/notes.md": False,
    "services/__pycache__/store.cpython-313.pyc": False,
    "local.settings.json": False,
    "requirements-dev.txt": False,
    "requirements-infra.in": False,
    "azure.yaml": False,
    ".git/config": False,
    ".github/workflows/test.yml": False,
    ".data/toolpulse.db": False,
    ".venv-3.13/bin/python": False,
    "tests/conftest.py": False,
    "scripts/dev.py": False,
    "infra/bicep/main.bicep": False,
    "docs/operations.md": False,
    "dist/toolpulse-0.1.0.zip": False,
}


def test_only_files_that_run_in_azure_are_packaged(tmp_path: Path) -> None:
    for name in TREE:
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).touch()
    (tmp_path / ".funcignore").write_text((ROOT / ".funcignore").read_text())
    assert {file.as_posix() for file in app_files(tmp_path)} == {name for name, wanted in TREE.items() if wanted}


@pytest.mark.parametrize(
    "needed", ["function_app.py", "host.json", "requirements.txt", "services", "triggers", "models"]
)
def test_the_package_has_the_files_that_azure_needs(needed: str) -> None:
    assert needed in {file.parts[0] for file in app_files(ROOT)}


def test_host_json_has_the_timing_and_limits_that_the_design_asks_for() -> None:
    options = read_host_json(ROOT / "host.json", {})
    queues = options.queues
    assert (queues.visibility_timeout, queues.max_polling_interval, queues.max_dequeue_count) == (30, 5, 5)
    assert (queues.batch_size, queues.new_batch_threshold, queues.base64) == (16, 8, True)
    assert (options.route_prefix, options.function_timeout, options.has_bundle) == ("api", 300, True)
    assert options.headers["X-Content-Type-Options"] == "nosniff"


def test_in_azure_what_timers_and_queue_functions_say_is_logged_and_what_the_host_says_of_them_is_not() -> None:
    prefix = "AzureFunctionsJobHost__"
    of_azure = {name: value for name, value in app_settings(ROOT).items() if name.startswith(prefix)}
    options = read_host_json(ROOT / "host.json", of_azure)
    functions = re.findall(r"^async def (\w+)", (ROOT / "triggers" / "background.py").read_text(), re.M)
    assert len(functions) > len(QUEUES)
    for each in functions:
        assert options.allows(f"Function.{each}.User", "debug")
        assert not options.allows(f"Function.{each}", "information")
    assert options.allows("Host.Results", "information")
    assert not options.allows("Host.Aggregator", "information")
