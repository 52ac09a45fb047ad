#!/usr/bin/env python3
"""Builds the zip that Azure runs as it is: the app with its bytecode, and its packages as bytecode only.

    python3.13 scripts/dev.py package [--output FOLDER]     build dist/toolpulse-<version>.zip

The zip has the files that `func azure functionapp publish` would send (see .funcignore), and in
`.python_packages/lib/site-packages` the wheels that requirements.txt pins, for Azure's Python on Linux. The folder in
Azure is read-only: bytecode that is not in the package would be compiled again at every cold start. The same commit
gives the same bytes. Bytecode is for one Python version, as compiled libraries are, so the build needs the version that
Azure runs; and `strip` (binutils), since some wheels come with symbols for debuggers.
"""

from __future__ import annotations

import argparse
import os
import shutil
import subprocess
import sys
import tempfile
import zipfile
from collections.abc import Iterator
from pathlib import Path

from pathspec import GitIgnoreSpec

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT))

from models.version import VERSION  # noqa: E402

AZURE_PYTHON = "3.13"
AZURE_PLATFORM = "x86_64-manylinux_2_28"
AZURE_FOLDER = "/home/site/wwwroot"
SITE_PACKAGES = Path(".python_packages/lib/site-packages")
# Console scripts and their records name the interpreter that installed them. resiliparse imports fastwarc and tqdm only
# for archives of the web. Sources of packages are compiled.
_RECORDS = ("/bin/", "__pycache__/", "*.dist-info/RECORD", "*.dist-info/REQUESTED", "/.lock")
_UNUSED = ("tests/", "*.pyi", "/fastwarc/", "/[Ff]ast[Ww][Aa][Rr][Cc]-*/", "/tqdm/", "/tqdm-*/")
NOT_RUN = GitIgnoreSpec.from_lines([*_RECORDS, *_UNUSED, "*.py"])

FIXED_TIME = (2020, 1, 1, 0, 0, 0)
PLAIN_FILE = 0o100644 << 16


def app_files(root: Path) -> list[Path]:
    """The files of the app that .funcignore lets through, relative to `root`."""
    ignored = GitIgnoreSpec.from_lines((root / ".funcignore").read_text().splitlines())
    return sorted(_kept(root, ignored))


def _kept(root: Path, ignored: GitIgnoreSpec) -> Iterator[Path]:
    for folder, folders, files in os.walk(root):
        here = Path(folder).relative_to(root)
        folders[:] = [name for name in folders if not ignored.match_file(f"{(here / name).as_posix()}/")]
        yield from (here / name for name in files if not ignored.match_file((here / name).as_posix()))


def copy_app(root: Path, folder: Path) -> None:
    for file in app_files(root):
        (folder / file).parent.mkdir(parents=True, exist_ok=True)
        shutil.copyfile(root / file, folder / file)


def install(requirements: Path, folder: Path) -> None:
    """Installs wheels for Azure's platform. uv, since pip evaluates markers for the interpreter that it runs on."""
    command = [sys.executable, "-m", "uv", "pip", "install", "--quiet", "--system-certs", "--python", sys.executable]
    command += ["--python-version", AZURE_PYTHON, "--python-platform", AZURE_PLATFORM, "--target", str(folder)]
    command += ["--only-binary", ":all:", "--require-hashes", "--no-deps", "-r", str(requirements)]
    _run(command)
    _run(["strip", "--strip-unneeded", *map(str, sorted(folder.rglob("*.so")))])
    compile_bytecode(folder, f"{AZURE_FOLDER}/{SITE_PACKAGES.as_posix()}", "-b")
    for file in NOT_RUN.match_tree_files(folder):
        (folder / file).unlink()


def compile_bytecode(folder: Path, home: str, *options: str) -> None:
    """Bytecode without a check of its source: deployed files do not change, but unpacking sets new times."""
    command = [sys.executable, "-m", "compileall", "-q", "-j", "0", "--invalidation-mode", "unchecked-hash"]
    command += ["-s", str(folder), "-p", home, *options, str(folder)]
    _run(command, PYTHONHASHSEED="0")


def write_zip(folder: Path, target: Path) -> None:
    with zipfile.ZipFile(target, "w", zipfile.ZIP_DEFLATED) as archive:
        for file in sorted(each.relative_to(folder).as_posix() for each in folder.rglob("*") if each.is_file()):
            entry = zipfile.ZipInfo(file, FIXED_TIME)
            entry.compress_type = zipfile.ZIP_DEFLATED
            entry.external_attr = PLAIN_FILE
            archive.writestr(entry, (folder / file).read_bytes())


def build(root: Path, target: Path) -> None:
    with tempfile.TemporaryDirectory() as temporary:
        folder = Path(temporary)
        copy_app(root, folder)
        install(root / "requirements.txt", folder / SITE_PACKAGES)
        compile_bytecode(folder, AZURE_FOLDER)
        target.parent.mkdir(parents=True, exist_ok=True)
        write_zip(folder, target)


def _run(command: list[str], **environment: str) -> None:
    if subprocess.run(command, env={**os.environ, **environment}, check=False).returncode:
        raise SystemExit(f"{' '.join(command[1:4])} failed: see its output above.")


def main(argv: list[str]) -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n", 1)[0])
    parser.add_argument("--output", type=Path, default=ROOT / "dist", metavar="FOLDER", help="default dist")
    arguments = parser.parse_args(argv)
    if f"{sys.version_info.major}.{sys.version_info.minor}" != AZURE_PYTHON:
        raise SystemExit(f"Packages need the Python that Azure runs: python{AZURE_PYTHON} scripts/dev.py package")
    target = arguments.output / f"toolpulse-{VERSION}.zip"
    build(ROOT, target)
    print(f"{target} ({target.stat().st_size / 1e6:.1f} MB)")


if __name__ == "__main__":
    main(sys.argv[1:])
