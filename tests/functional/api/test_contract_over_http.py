"""The running app keeps its contract: schemathesis sends what it allows and what it forbids, at
every bound of every field, and finds nothing."""

import asyncio
import contextlib
import sys
from collections.abc import AsyncIterator, Mapping
from pathlib import Path
from typing import Any

import aiohttp
import pytest

from tests.functional.api.test_demo import listed, until
from tests.hosting import ROOT, RunningHost, host_environment, running_host

pytestmark = pytest.mark.soak

CONFIGURATION = Path(__file__).with_name("schemathesis.toml")
HOOKS = "tests.functional.api.schemathesis_hooks"
KEYS = {"x-functions-key": "a-function-key-of-this-test", "X-Management-Key": "sesame-sesame-sesame-sesame"}
NAMED_IN_EXAMPLES: tuple[tuple[str, dict[str, Any]], ...] = (
    ("tools", {"name": "Python"}),
    ("feeds", {"url": "https://example.com/python", "source_name": "Python", "feed_id": "python-insider"}),
)


NOTHING_IS_FETCHED = {f"AzureWebJobs.{name}.Disabled": "1" for name in ("ingest_due_feeds", "ingest_feeds")}


@contextlib.asynccontextmanager
async def app_with(*options: str, data: Path, settings: Mapping[str, str]) -> AsyncIterator[RunningHost]:
    """A host that asks for keys, with what the examples of the contract name."""
    keys = {"FUNCTION_KEYS": KEYS["x-functions-key"], "MANAGEMENT_KEY": KEYS["X-Management-Key"]}
    async with running_host(*options, data=data, settings={"DATA_DIR": str(data), **keys, **settings}) as host:
        async with aiohttp.ClientSession(host.url, headers=KEYS) as session:
            for collection, body in NAMED_IN_EXAMPLES:
                async with session.post(f"/api/v1/{collection}", json=body) as response:
                    assert response.status == 201, await response.text()
        yield host


async def nothing_is_found(host: RunningHost, phases: str) -> None:
    """Runs these phases of schemathesis."""
    command = [sys.executable, "-m", "schemathesis.cli", "--config-file", str(CONFIGURATION)]
    # unsupported_method: the Functions host itself answers 404 for a method that no function has.
    command += ["run", f"{host.url}/api/openapi.json", "--checks=all", "--exclude-checks=unsupported_method"]
    command.append(f"--phases={phases}")
    environment = {**host_environment(), "SCHEMATHESIS_HOOKS": HOOKS, "PYTHONPATH": str(ROOT)}
    process = await asyncio.create_subprocess_exec(
        *command, cwd=ROOT, env=environment, stdout=asyncio.subprocess.PIPE, stderr=asyncio.subprocess.STDOUT
    )
    printed, _ = await process.communicate()
    assert process.returncode == 0, printed.decode()


@pytest.mark.slow
async def test_an_app_with_a_month_of_news_keeps_its_contract(tmp_path: Path) -> None:
    async with app_with("--demo", data=tmp_path, settings={}) as host:
        async with aiohttp.ClientSession(host.url, headers=KEYS) as session:
            await until(host, lambda: listed(session, "signals"), bool)
            await until(
                host, lambda: listed(session, "quarantine"), bool
            )  # the flood comes although keys are asked for
            for accept, target in (("text/html", "/api/dashboard"), ("*/*", "/api/openapi.json")):
                async with session.get("/", headers={"Accept": accept}) as response:
                    assert response.url.path == target
        await nothing_is_found(host, "examples,fuzzing")


@pytest.mark.slow
async def test_every_bound_of_every_field_is_kept(tmp_path: Path) -> None:
    """The phase coverage has thousands of requests, so the app has hardly anything to read."""
    async with app_with(data=tmp_path, settings=NOTHING_IS_FETCHED) as host:
        await nothing_is_found(host, "coverage")
