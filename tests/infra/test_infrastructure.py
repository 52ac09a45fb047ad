"""The infrastructure is what the code says; each check fails on a fault that is put in."""

import json
import shutil
import subprocess
import sys
from collections.abc import Callable, Iterator
from functools import cache
from pathlib import Path
from typing import Any

import pytest

from services.topology import QUEUES, TIMERS
from tests.infra import checks

ROOT = Path(__file__).resolve().parents[2]
Check = Callable[[Path], Iterator[str]]


@cache
def triggers() -> dict[str, dict[str, Any]]:
    """Every function's trigger, as the worker indexes it. In a process of its own, since an app can be asked once."""
    program = (
        "import function_app, json\n"
        "print(json.dumps({f.get_function_name(): f.get_trigger().get_dict_repr() for f in "
        "function_app.app.get_functions()}, default=str))"
    )
    asked = subprocess.run([sys.executable, "-c", program], cwd=ROOT, capture_output=True, text=True, check=True)
    found: dict[str, dict[str, Any]] = json.loads(asked.stdout)
    return found


def health_url(root: Path) -> Iterator[str]:
    return checks.health_url(root, triggers()["health"]["route"])


ALL: tuple[Check, ...] = (*checks.CHECKS, health_url)


@pytest.mark.parametrize("check", ALL, ids=lambda check: check.__name__)
def test_the_infrastructure_holds(check: Check) -> None:
    assert list(check(ROOT)) == []


def test_every_timer_and_queue_function_is_one_that_bicep_knows() -> None:
    schedules = {name: each["schedule"] for name, each in triggers().items() if each["type"] == "timerTrigger"}
    queues = {each["queueName"] for each in triggers().values() if each["type"] == "queueTrigger"}
    connections = {each["connection"] for each in triggers().values() if each["type"] == "queueTrigger"}
    assert schedules == {timer.name: timer.schedule for timer in TIMERS}
    assert queues <= set(QUEUES)
    assert connections <= {"AzureWebJobsStorage"}


FAULTS: list[tuple[Check, str, str, str]] = [
    (checks.syntax, "modules/plan.bicep", "    reserved: true\n", "    reserved: = true\n"),
    (checks.names, "main.bicep", "    workspaceId: workspace.outputs.id\n    publisher", "    publisher"),
    (checks.names, "main.bicep", "plan.outputs.id", "plan.outputs.identifier"),
    (checks.names, "modules/storage.bicep", "parent: queueService\n  name: queue\n", "parent: queues\n  name: q\n"),
    (checks.names, "modules/plan.bicep", "    zoneRedundant: zoneRedundant\n", "    zoneRedundant: false\n"),
    (checks.parameter_files, "main.prod.parameters.json", '"location"', '"region"'),
    (checks.parameter_files, "main.prod.parameters.json", '"value": 100', '"value": "100"'),
    (checks.parameter_files, "main.parameters.json", "${TIINGO_TOKEN=}", "abcdef"),
    (checks.parameter_files, "main.prod.parameters.json", '"westeurope"', '"westafrica"'),
    (checks.generated, "containers.json", '"defaultTtl": -1', '"defaultTtl": 3600'),
    (checks.generated, "topology.json", "10 */5 * * * *", "10 */6 * * * *"),
    (checks.generated, "modules/storage.bicep", "'${queue}-poison'", "'${queue}-poisoned'"),
    (checks.generated, "modules/storage.bicep", "json').archive", "json').queues[0]"),
    (checks.settings, "modules/function_app.bicep", "  ARCHIVE: 'blob'\n", "  ARCHIVE: 'folder'\n"),
    (checks.generated, "modules/cosmos.bicep", "loadJsonContent('../containers.json')", "[]"),
    (checks.settings, "modules/function_app.bicep", "  COSMOS_ENDPOINT: cosmosEndpoint\n", ""),
    (checks.settings, "modules/function_app.bicep", "COSMOS_DATABASE:", "COSMOS_DB:"),
    (checks.settings, "modules/function_app.bicep", "secrets/MANAGEMENT-KEY", "secrets/MANAGEMENT"),
    (checks.settings, "modules/function_app.bicep", "  AZURE_CLIENT_ID: identityClientId\n", ""),
    (checks.settings, "modules/function_app.bicep", "  STORE: 'cosmos'\n", "  COSMOS_KEY: 'C2y6yDjf5/R+ob0N8A=='\n"),
    (checks.settings, "modules/function_app.bicep", "  STORE: 'cosmos'\n", "  FUNCTIONS_WORKER_RUNTIME: 'python'\n"),
    (
        checks.access,
        "modules/storage.bicep",
        "b7e6dc6d-f1e8-4753-8033-0f276bb0955b",
        "8e3af657-a8ff-443c-a75c-2fe8c4bcb635",
    ),
    (checks.access, "modules/cosmos.bicep", "/dbs/${database.name}", ""),
    (checks.access, "modules/storage.bicep", "    allowSharedKeyAccess: false\n", ""),
    (checks.access, "modules/cosmos.bicep", "indexingPolicy: container.indexingPolicy", "indexingPolicy: {}"),
    (checks.production, "main.prod.parameters.json", '"instanceMemoryMB"', '"maximumMemoryMB"'),
    (checks.production, "main.prod.parameters.json", '"zoneRedundant"', '"appZoneRedundant"'),
    (checks.workbook, "workbook.json", "toolpulse.cache.reads", "toolpulse.cache.read"),
    (checks.workbook, "workbook.json", "== 'refresh_age'", "== 'refresh_ages'"),
    (checks.outputs, "modules/vault.bicep", "= vault.properties.vaultUri", "= managementKey"),
    (checks.runtime, "modules/function_app.bicep", "'3.13'", "'3.12'"),
    (checks.runtime, "../../host.json", ";Trace", ""),
    (health_url, "modules/alerts.bicep", "/api/v1/health", "/v1/health"),
]


@pytest.mark.parametrize(("check", "file", "right", "wrong"), FAULTS)
def test_a_fault_is_found(check: Check, file: str, right: str, wrong: str, tmp_path: Path) -> None:
    shutil.copytree(ROOT / "infra", tmp_path / "infra")
    shutil.copy(ROOT / "host.json", tmp_path)
    (tmp_path / "services").symlink_to(ROOT / "services")
    faulty = tmp_path / "infra" / "bicep" / file
    text = faulty.read_text()
    assert right in text
    faulty.write_text(text.replace(right, wrong, 1))
    assert list(check(tmp_path)) != []
