"""Every module of the app can be imported without what only Unix has."""

import subprocess
import sys

import pytest

from tests.hosting import ROOT

IMPORTS = """
import asyncio, builtins, importlib, os, pathlib, pkgutil, sys, sysconfig

import aiohttp, azure.core, azure.cosmos.aio, azure.functions, httpx, pydantic  # may use Unix
import azure.storage.blob.aio, azure.storage.queue.aio

root = pathlib.Path.cwd()
installed = pathlib.Path(sysconfig.get_path("purelib"))
missing = {"resource", "fcntl", "pwd", "grp", "termios", "tty", "pty", "posix", "syslog", "uvloop"}
original = builtins.__import__

def without_unix(name, globals=None, locals=None, fromlist=(), level=0):
    importer = pathlib.Path((globals or {}).get("__file__") or "/")
    ours = importer.is_relative_to(root) and not importer.is_relative_to(installed)
    if name.partition(".")[0] in missing and ours:
        raise ModuleNotFoundError(f"No module named {name!r}", name=name)
    return original(name, globals, locals, fromlist, level)

builtins.__import__ = without_unix
for name in ("fork", "killpg", "getuid", "geteuid", "sched_getaffinity", "statvfs"):
    delattr(os, name)

import function_app, models, services, triggers

names = []
for package in (models, services, triggers):
    names += [each.name for each in pkgutil.walk_packages(package.__path__, package.__name__ + ".")]
for name in names:
    importlib.import_module(name)

from services.operations.metrics import resident_bytes

assert resident_bytes(pathlib.Path("/nowhere")) is None
print(len(names))
"""


@pytest.mark.parametrize("flags", [[], ["-O"]])
def test_every_module_can_be_imported_without_the_modules_that_only_unix_has(flags: list[str]) -> None:
    command = [sys.executable, *flags, "-c", IMPORTS]
    found = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, timeout=120, check=False)
    assert found.returncode == 0, found.stderr
    assert int(found.stdout) > 100
