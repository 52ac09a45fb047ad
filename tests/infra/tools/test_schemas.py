"""Every resource fits Microsoft's schema of its type, and a fault is found."""

import shutil
import sysconfig
from pathlib import Path

import pytest

from tests.infra.bicep import Bicep
from tests.infra.schemas import PREVIEWS, WITHOUT_SCHEMA, from_azmcp, problems

ROOT = Path(__file__).resolve().parents[3]
MODULES = sorted((ROOT / "infra" / "bicep").rglob("*.bicep"))
AZMCP = str(Path(sysconfig.get_path("scripts")) / "azmcp")
SCHEMAS = from_azmcp(AZMCP)


@pytest.mark.parametrize("file", MODULES, ids=lambda file: file.stem)
def test_every_resource_fits_its_schema(file: Path) -> None:
    assert list(problems(Bicep(file), SCHEMAS)) == []


def test_no_exception_is_left_over() -> None:
    used = {each.about for file in MODULES for each in Bicep(file).all("resource").values()}
    assert used >= WITHOUT_SCHEMA | PREVIEWS.keys()


FAULTS = [
    (
        "modules/storage.bicep",
        "allowSharedKeyAccess",
        "allowSharedKeysAccess",
        "properties.allowSharedKeysAccess is not",
    ),
    ("modules/storage.bicep", "'TLS1_2'", "'TLS12'", "properties.minimumTlsVersion is 'TLS12', not one of"),
    ("modules/storage.bicep", "  kind: 'StorageV2'\n", "", "account: kind is missing"),
    ("modules/storage.bicep", "supportsHttpsTrafficOnly: true", "supportsHttpsTrafficOnly: 'yes'", "must be a bool"),
    (
        "modules/storage.bicep",
        "storageAccounts@",
        "storageAccount@",
        "there is no type Microsoft.Storage/storageAccount",
    ),
    ("modules/storage.bicep", "storageAccounts@2025", "storageAccounts@2035", "version 2035"),
    ("modules/cosmos.bicep", "type: 'Continuous'", "type: 'Continual'", "properties.backupPolicy.type is 'Continual'"),
    (
        "modules/function_app.bicep",
        "maximumInstanceCount:",
        "maxInstanceCount:",
        "scaleAndConcurrency.maxInstanceCount",
    ),
    ("modules/function_app.bicep", "'UserAssignedIdentity'", "'UserIdentity'", "authentication.type is 'UserIdentity'"),
    ("modules/plan.bicep", "reserved: true", "status: 'Ready'", "properties.status is read-only"),
]


@pytest.mark.parametrize(("file", "right", "wrong", "expected"), FAULTS)
def test_a_fault_is_found(file: str, right: str, wrong: str, expected: str, tmp_path: Path) -> None:
    shutil.copytree(ROOT / "infra", tmp_path / "infra")
    faulty = tmp_path / "infra" / "bicep" / file
    assert right in faulty.read_text()
    faulty.write_text(faulty.read_text().replace(right, wrong, 1))
    assert any(expected in each for each in problems(Bicep(faulty), SCHEMAS))
