"""Every benchmark runs from a clean checkout, by its path and as a module."""

import asyncio
import importlib
import os
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[3]
BENCHMARKS = sorted(path.stem for path in (ROOT / "benchmarks").glob("*.py") if "ArgumentParser(" in path.read_text())
"""Those that people start; the others are processes of theirs."""
AT_ONCE = asyncio.Semaphore(2)


async def helped(name: str) -> str:
    """What is wrong with how it prints its help, called by its path; nothing if all is well."""
    environment = {key: value for key, value in os.environ.items() if key != "PYTHONPATH"}
    async with AT_ONCE:
        process = await asyncio.create_subprocess_exec(
            sys.executable,
            f"benchmarks/{name}.py",
            "--help",
            cwd=ROOT,
            env=environment,
            stdout=asyncio.subprocess.PIPE,
            stderr=asyncio.subprocess.STDOUT,
        )
        printed, _ = await process.communicate()
    well = process.returncode == 0 and printed.startswith(b"usage: ")
    return "" if well else f"{name}: {printed.decode()}"


async def test_each_prints_its_help_when_it_is_called_by_its_path() -> None:
    assert [wrong for wrong in await asyncio.gather(*(helped(name) for name in BENCHMARKS)) if wrong] == []


@pytest.mark.parametrize("name", BENCHMARKS)
def test_each_is_a_module_that_does_nothing_until_its_main_is_called(name: str) -> None:
    assert callable(importlib.import_module(f"benchmarks.{name}").main)
