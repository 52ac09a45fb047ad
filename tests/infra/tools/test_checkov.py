"""checkov finds nothing that is not explained in place, and reads every file: what it cannot parse, it passes over."""

import json
import re
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[3]

FAULTS = {
    "CKV_AZURE_14": ("function_app.bicep", "httpsOnly: true", "httpsOnly: false"),
    "CKV_AZURE_3": ("storage.bicep", "supportsHttpsTrafficOnly: true", "supportsHttpsTrafficOnly: false"),
    "CKV_AZURE_44": ("storage.bicep", "minimumTlsVersion: 'TLS1_2'", "minimumTlsVersion: 'TLS1_0'"),
    "CKV_AZURE_140": ("cosmos.bicep", "disableLocalAuth: true", "disableLocalAuth: false"),
    "CKV_AZURE_101": ("cosmos.bicep", "// checkov:skip=CKV_AZURE_101:", "// "),
}


def scan(root: Path) -> dict[str, Any]:
    command = [sys.executable, "-m", "checkov.main", "--config-file", ".checkov.yaml", "--output", "json"]
    done = subprocess.run(command, cwd=root, capture_output=True, text=True, check=False)
    report: dict[str, Any] = json.loads(done.stdout)
    assert done.returncode == bool(report["summary"]["failed"]), done.stderr
    return report


def failed(report: dict[str, Any]) -> set[str]:
    return {each["check_id"] for each in report["results"]["failed_checks"]}


def test_checkov_finds_nothing_and_reads_every_file() -> None:
    report = scan(ROOT)
    assert failed(report) == set()
    assert report["summary"]["parsing_errors"] == 0
    assert report["summary"]["passed"] >= 30


def test_every_suppression_has_a_reason() -> None:
    for file in (ROOT / "infra").rglob("*.bicep"):
        for reason in re.findall(r"checkov:skip=\w+:?(.*)", file.read_text()):
            assert len(reason.strip()) >= len("as above"), file.name


def test_checkov_finds_inserted_faults(tmp_path: Path) -> None:
    shutil.copytree(ROOT / "infra", tmp_path / "infra")
    shutil.copy(ROOT / ".checkov.yaml", tmp_path)
    for name, right, wrong in FAULTS.values():
        file = tmp_path / "infra" / "bicep" / "modules" / name
        assert right in file.read_text()
        file.write_text(file.read_text().replace(right, wrong))
    assert failed(scan(tmp_path)) >= set(FAULTS)
