"""The wheel of the command line, in an environment of its own that has no more than the command needs for a URL."""

from __future__ import annotations

import os
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest

from models.version import VERSION
from tests.hosting import ROOT, host_environment

UV = [sys.executable, "-m", "uv"]


def done(*command: str, code: int = 0, cwd: Path = ROOT) -> str:
    """What it prints."""
    environment = host_environment({"TOOLPULSE_CONFIG": "/nonexistent"})
    ended = subprocess.run(command, cwd=cwd, capture_output=True, text=True, timeout=180, check=False, env=environment)
    assert ended.returncode == code, ended.stdout + ended.stderr
    return ended.stdout + ended.stderr


@pytest.fixture(scope="module")
def installed(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder of the commands of the environment."""
    folder = tmp_path_factory.mktemp("wheel")
    done(*UV, "build", "--quiet", "--wheel", "--no-build-isolation", "--out-dir", str(folder), str(ROOT))
    done(*UV, "venv", "--quiet", "--python", sys.executable, str(folder / "venv"))
    bin_ = folder / "venv" / ("Scripts" if os.name == "nt" else "bin")
    install = [*UV, "pip", "install", "--quiet", "--system-certs", "--python", str(bin_ / "python")]
    done(*install, "--require-hashes", "--requirement", str(ROOT / "requirements-cli.txt"))
    (wheel,) = folder.glob("*.whl")
    done(*install, "--no-deps", str(wheel))
    return bin_


def test_the_command_runs_from_the_wheel(installed: Path, tmp_path: Path) -> None:
    command = str(installed / "toolpulse")
    assert done(command, "--version", cwd=tmp_path) == f"toolpulse {VERSION}\n"
    assert "cannot be reached" in done(command, "--url", "http://127.0.0.1:9", "tools", "list", code=3, cwd=tmp_path)
    told = done(command, "--data", str(tmp_path), "tools", "list", code=1, cwd=tmp_path)
    assert "install toolpulse[local]" in told


def test_the_app_is_inside_of_the_package_and_can_be_used_with_its_packages(installed: Path, tmp_path: Path) -> None:
    (package,) = installed.parent.glob("**/site-packages/toolpulse")
    run = f"import sys; sys.path.insert(0, {str(package.parent)!r}); from toolpulse.main import main; "
    run += "sys.exit(main(sys.argv[1:]))"
    told = done(sys.executable, "-c", run, "--data", str(tmp_path / "data"), "tools", "add", "Hexwharf", cwd=tmp_path)
    assert "backfill_tools SUCCEEDED" in told


def test_the_packages_of_the_app_are_those_of_the_requirements() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["project"]

    def listed(file: str) -> list[str]:
        lines = (ROOT / file).read_text("utf-8").splitlines()
        return [line for line in lines if line and not line.startswith(("#", "-"))]

    assert project["optional-dependencies"]["local"] == listed("requirements.in")
    assert [each.partition(">")[0] for each in project["dependencies"]] == listed("requirements-cli.in")
