"""azure-functions-doctor finds nothing wrong with what is deployed; it reads files and imports nothing."""

import json
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

ROOT = Path(__file__).resolve().parents[3]
DEPLOYED = (
    "function_app.py",
    "host.json",
    "requirements.txt",
    ".funcignore",
    "triggers",
    "services",
    "models",
    "infra",
)

EXPLAINED = {
    "check_programming_model_v2": "it looks for decorators on `app` or `bp`; our blueprints have names of their own",
    "check_native_dependency_risk": "packages are built for Azure's platform; a test starts the app from one",
    "check_app_insights": "it reads settings from JSON only; ours are in Bicep, and a test reads them there",
    "check_binding_connection_resolution": "the same",
    "check_host_json_log_level_conflict": "LOG_LEVEL decides: the host must let DEBUG lines through",
}


@pytest.fixture
def deployed(tmp_path: Path) -> Path:
    for name in DEPLOYED:
        copy = shutil.copytree if (ROOT / name).is_dir() else shutil.copy
        copy(ROOT / name, tmp_path / name)
    return tmp_path


def examine(app: Path) -> dict[str, set[str]]:
    """Rules by outcome."""
    command = [sys.executable, "-m", "azure_functions_doctor.cli", "doctor", "--path", str(app)]
    command += ["--format", "json", "--profile", "deploy", "--target-python", "3.13"]
    command += ["--hosting-plan", "flex-consumption", "--deployment-mode", "local-prebuilt"]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    report: dict[str, Any] = json.loads(done.stdout)
    outcomes: dict[str, set[str]] = {"pass": set(), "warn": set(), "fail": set(), "skip": set()}
    for section in report["results"]:
        for item in section["items"]:
            outcomes[item["status"]].add(item["rule_id"])
    assert done.returncode == bool(outcomes["fail"]), done.stderr
    return outcomes


def test_the_doctor_finds_nothing_that_is_not_explained(deployed: Path) -> None:
    outcomes = examine(deployed)
    assert outcomes["fail"] == set()
    assert outcomes["warn"] <= EXPLAINED.keys()
    assert len(outcomes["pass"]) >= 10


def test_the_doctor_finds_an_inserted_fault(deployed: Path) -> None:
    host = json.loads((deployed / "host.json").read_text())
    del host["version"]
    (deployed / "host.json").write_text(json.dumps(host))
    assert examine(deployed)["fail"]
