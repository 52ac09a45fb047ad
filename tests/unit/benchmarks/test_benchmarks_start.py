"""Every benchmark starts from a clean checkout, by its path and as a module."""

import asyncio
import importlib
import os
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[3]
BENCHMARKS = sorted(path.stem for path in (ROOT / "benchmarks").glob("*.py") if "ArgumentParser(" in path.read_text())
"""The benchmarks that people start; the other files are their processes."""
AT_ONCE = asyncio.Semaphore(2)


async def helped(name: str) -> str:
    """The output of a benchmark that does not print its help; empty if it does."""
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


@pytest.mark.slow
async def test_every_benchmark_prints_its_help_when_started_by_its_path() -> None:
    assert [wrong for wrong in await asyncio.gather(*(helped(name) for name in BENCHMARKS)) if wrong] == []


@pytest.mark.parametrize("name", BENCHMARKS)
def test_importing_a_benchmark_does_not_run_it(name: str) -> None:
    assert callable(importlib.import_module(f"benchmarks.{name}").main)
