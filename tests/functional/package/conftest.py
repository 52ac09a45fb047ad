"""A package is built with the Python that Azure runs; `.ci/run` insists on that run."""

import shutil
import sys
import zipfile
from pathlib import Path

import pytest

from scripts.package import AZURE_PYTHON, ROOT, build, copy_app

_version = f"{sys.version_info.major}.{sys.version_info.minor}"
collect_ignore_glob = [] if _version == AZURE_PYTHON else ["test_package.py"]


def pytest_report_header() -> str:
    return f"package: {'not on this Python; run `python3.13 scripts/dev.py test`' if collect_ignore_glob else 'built'}"


@pytest.fixture(scope="session")
def sources(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A copy of the sources: an edit during the tests makes no difference between two packages."""
    folder = tmp_path_factory.mktemp("sources")
    copy_app(ROOT, folder)
    shutil.copy(ROOT / ".funcignore", folder)
    return folder


@pytest.fixture(scope="session")
def package(sources: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    target = tmp_path_factory.mktemp("dist") / "toolpulse.zip"
    build(sources, target)
    return target


@pytest.fixture(scope="session")
def unpacked(package: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("wwwroot")
    with zipfile.ZipFile(package) as archive:
        archive.extractall(folder)
    return folder
