"""Workflows and azure.yaml cannot run here; they are YAML, and what they call is there and is the project's own."""

import re
import shlex
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
import yaml

from scripts.package import AZURE_PYTHON
from tests.infra.bicep import Bicep
from tests.infra.checks import bicep_files

ROOT = Path(__file__).resolve().parents[2]
WORKFLOWS = sorted((ROOT / ".github" / "workflows").glob("*.yml"))


def load(name: str) -> dict[str, Any]:
    read: dict[str, Any] = yaml.safe_load((ROOT / ".github" / "workflows" / f"{name}.yml").read_text())
    return read


def steps(workflow: dict[str, Any]) -> list[dict[str, Any]]:
    return [step for job in workflow["jobs"].values() for step in job["steps"]]


def scripts_in(text: str) -> list[list[str]]:
    """The project's scripts that a shell text calls, with their arguments."""
    lines = [line for line in text.replace("\\\n", " ").splitlines() if re.match(r"\s*python3? scripts/", line)]
    return [shlex.split(line)[1:] for line in lines]


CALLS = [call for file in WORKFLOWS for step in steps(load(file.stem)) for call in scripts_in(step.get("run", ""))]


@pytest.mark.parametrize("call", CALLS, ids=" ".join)
def test_workflows_call_commands_that_exist(call: list[str]) -> None:
    assert (ROOT / call[0]).is_file()
    if call[0] == "scripts/dev.py":
        asked = subprocess.run(
            [sys.executable, "scripts/dev.py", "-h"], cwd=ROOT, capture_output=True, text=True, check=True
        )
        assert re.search(rf"^    {call[1]}\s", asked.stdout, re.MULTILINE)
    assert all((ROOT / argument).exists() for argument in call[2:] if argument.startswith("tests"))


def test_ci_checks_both_pythons_and_the_official_emulator() -> None:
    jobs = load("test")["jobs"]
    floor = re.search(r'requires-python = ">=([\d.]+)"', (ROOT / "pyproject.toml").read_text())
    assert floor
    assert jobs["check"]["strategy"]["matrix"]["python"] == [floor[1], AZURE_PYTHON]
    assert "cosmosdb/linux/azure-cosmos-emulator" in jobs["cosmos"]["services"]["cosmos"]["image"]
    assert jobs["cosmos"]["env"].keys() >= {"COSMOS_TEST_ENDPOINT", "TOOLPULSE_REQUIRE_COSMOS"}
    assert {"check", "test", "infra"} <= {call[1] for call in CALLS if call[0] == "scripts/dev.py"}


def test_the_deployed_package_is_built_with_azures_python_and_the_sign_in_needs_no_secret() -> None:
    deploy = load("deploy")
    assert {each["with"]["python-version"] for each in steps(deploy) if "setup-python" in each.get("uses", "")} == {
        AZURE_PYTHON
    }
    assert deploy["jobs"]["deploy"]["permissions"]["id-token"] == "write"
    login = next(each["with"] for each in steps(deploy) if each.get("uses", "").startswith("azure/login@"))
    assert not any("secrets." in value for value in login.values())
    assert deploy["jobs"]["deploy"]["environment"]


def test_the_deploy_workflow_passes_the_parameters_of_bicep_and_reads_its_outputs() -> None:
    text = (ROOT / ".github" / "workflows" / "deploy.yml").read_text()
    main = bicep_files(ROOT)["main.bicep"]
    given = set(re.findall(r"(\w+)=\"\$[A-Z_]+\"", text))
    secure = {name for name, each in main.all("parameter").items() if each.secure}
    assert secure <= given <= main.all("parameter").keys()
    assert set(re.findall(r"steps\.infra\.outputs\.(\w+)", text)) <= main.all("output").keys()


@pytest.mark.parametrize("file", WORKFLOWS, ids=lambda file: file.name)
def test_actions_are_pinned_and_permissions_are_minimal(file: Path) -> None:
    workflow = load(file.stem)
    assert workflow["permissions"] == {"contents": "read"}
    for step in steps(workflow):
        assert "uses" not in step or re.fullmatch(r"[\w.-]+/[\w./-]+@(v\d+(\.\d+)*|[0-9a-f]{40})", step["uses"])
        assert "${{ secrets." not in step.get("run", "")


def test_azd_finds_its_bicep_its_service_and_its_hooks() -> None:
    azure = yaml.safe_load((ROOT / "azure.yaml").read_text())
    main = ROOT / azure["infra"]["path"] / f"{azure['infra']['module']}.bicep"
    (service,) = azure["services"]
    assert f"'azd-service-name': '{service}'" in main.read_text()
    outputs = Bicep(main).all("output")
    wanted = {
        "predeploy": ["scripts/wait_for_roles.py", "STORAGE_ROLES_CREATED_ON"],
        "postdeploy": ["scripts/postdeploy.py", "FUNCTION_APP_URL", "COSMOS_ENDPOINT", "COSMOS_DATABASE"],
    }
    for name, call in wanted.items():
        for hook in azure["hooks"][name].values():
            (given,) = scripts_in(hook["run"])
            assert [argument.removeprefix("$env:").strip("$") for argument in given] == call
        assert set(call[1:]) <= outputs.keys()


def test_ci_runs_the_infrastructure_checks_too() -> None:
    assert "python3 scripts/dev.py infra" in (ROOT / ".ci" / "run").read_text()


def test_the_emulators_are_pinned_and_ci_has_the_same_cosmos_emulator() -> None:
    services = yaml.safe_load((ROOT / "docker-compose.yml").read_text())["services"]
    for service in services.values():
        assert re.search(r":(\d+\.\d+\.\d+|vnext-EN\d{8})$", service["image"])
    assert services["cosmos"]["image"] == load("test")["jobs"]["cosmos"]["services"]["cosmos"]["image"]
    assert "--skipApiVersionCheck" in services["azurite"]["command"]
