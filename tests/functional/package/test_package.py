"""The zip is all that Azure needs: the app starts from it in an empty folder, with nothing else on the path."""

import json
import subprocess
import sys
import zipfile
from pathlib import Path

import aiohttp

from models.version import VERSION
from scripts.package import SITE_PACKAGES, build
from tests.hosting import running_host

WANTED = {"LICENSE", "config", "function_app.py", "host.json", "models", "requirements.txt", "services", "triggers"}

EVERY_MODULE = """
import importlib, pkgutil, sys
sys.path[:0] = sys.argv[1:]
import function_app
names = [each.name for folder in ("models", "services", "triggers")
         for each in pkgutil.walk_packages(importlib.import_module(folder).__path__, folder + ".")]
for name in names:
    importlib.import_module(name)
homes = {getattr(sys.modules[name], "__file__", "") for name in [*names, "azure.functions", "pydantic"]}
outside = [home for home in homes if not home.startswith(sys.argv[1])]
print(len(names), [str(f.get_function_name()) for f in function_app.app.get_functions()], outside)
"""


def interpreter() -> str:
    """Outside any virtual environment."""
    return str(getattr(sys, "_base_executable", sys.executable))


def test_the_zip_has_the_app_its_packages_and_nothing_else(package: Path) -> None:
    names = [Path(name) for name in zipfile.ZipFile(package).namelist()]
    assert {name.parts[0] for name in names} - {".python_packages", "__pycache__"} <= WANTED
    assert {"function_app.py", "host.json"} <= {str(name) for name in names}
    assert [name for name in names if name.is_relative_to(SITE_PACKAGES / "bin")] == []
    assert [
        name for name in names if name.suffix == ".so" and "cpython-3" in name.name and "-313-" not in name.name
    ] == []
    installed = {name.parts[3].split("-")[0] for name in names if ".dist-info" in str(name)}
    assert installed & {"pytest", "mypy", "ruff", "hypothesis", "uv"} == set()


def test_the_package_is_small(package: Path) -> None:
    assert package.stat().st_size < 30e6
    names = zipfile.ZipFile(package).namelist()
    assert [name for name in names if name.startswith(SITE_PACKAGES.as_posix()) and name.endswith(".py")] == []


def test_the_same_sources_give_the_same_bytes(package: Path, sources: Path, tmp_path: Path) -> None:
    build(sources, tmp_path / "again.zip")
    assert (tmp_path / "again.zip").read_bytes() == package.read_bytes()


def test_every_module_imports_with_nothing_but_the_zip(unpacked: Path, tmp_path: Path) -> None:
    command = [interpreter(), "-I", "-S", "-c", EVERY_MODULE, str(unpacked), str(unpacked / SITE_PACKAGES)]
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    assert "'health'" in done.stdout
    assert done.stdout.rstrip().endswith("[]"), done.stdout


async def test_the_app_answers_from_the_zip_in_an_empty_folder(unpacked: Path, tmp_path: Path) -> None:
    alone = {"PYTHONPATH": str(unpacked / SITE_PACKAGES), "PYTHONNOUSERSITE": "1"}
    starting = running_host(
        app_dir=unpacked, data=tmp_path, settings={"DATA_DIR": str(tmp_path)}, python=interpreter(), environment=alone
    )
    async with starting as host, aiohttp.ClientSession(host.url) as session:
        async with session.get("/api/v1/health") as answer:
            assert answer.status == 200
            assert (await answer.json())["version"] == VERSION
        async with session.post("/admin/functions/clean_up?wait=1", json={}) as answer:
            assert answer.status == 200
        assert await host.stop() == 0


MAX_MODULES = 690
"""Of ours, of packages and of Python itself: 668 with Python 3.13. Each takes half a millisecond of a cold start."""


def test_a_cold_import_loads_few_modules(unpacked: Path, tmp_path: Path) -> None:
    program = "import sys; sys.path[:0] = sys.argv[1:]; import function_app; print(len(sys.modules))"
    command = [interpreter(), "-I", "-S", "-B", "-c", program, str(unpacked), str(unpacked / SITE_PACKAGES)]
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=True)
    assert int(done.stdout) <= MAX_MODULES


def test_the_heavy_packages_wait_until_they_are_needed(unpacked: Path, tmp_path: Path) -> None:
    program = (
        "import json, sys; sys.path[:0] = sys.argv[1:]; import function_app\n"
        "print(json.dumps([name for name in ('aiohttp', 'azure.cosmos', 'azure.identity', 'azure.storage.blob',"
        " 'azure.storage.queue', 'cryptography', 'feedparser', 'httpx', 'mcp', 'msal', 'opentelemetry', 'resiliparse',"
        " 'sentry_sdk', 'yaml')"
        " if name in sys.modules]))"
    )
    command = [interpreter(), "-I", "-S", "-c", program, str(unpacked), str(unpacked / SITE_PACKAGES)]
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=True)
    assert json.loads(done.stdout) == []
