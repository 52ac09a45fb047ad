"""The running app keeps its contract: schemathesis sends what it allows and what it forbids, one by one and in chains
that follow its links, and finds nothing. Its examples are among the requests."""

import asyncio
import sys
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import aiohttp
import pytest

from tests.functional.api.test_demo import listed, until
from tests.hosting import ROOT, RunningHost, host_environment, running_host

pytestmark = pytest.mark.once

CONFIGURATION = Path(__file__).with_name("schemathesis.toml")
HOOKS = "tests.functional.api.schemathesis_hooks"
KEYS = {"x-functions-key": "a-function-key-of-this-test", "X-Management-Key": "sesame-sesame-sesame-sesame"}
NAMED_IN_EXAMPLES: tuple[tuple[str, dict[str, Any]], ...] = (
    ("tools", {"name": "Python"}),
    ("feeds", {"url": "https://example.com/python", "source_name": "Python", "feed_id": "python-insider"}),
)


@pytest.fixture
async def demo(tmp_path: Path) -> AsyncIterator[RunningHost]:
    """A host that asks for keys, with the demo and with what the examples of the contract name."""
    settings = {
        "DATA_DIR": str(tmp_path),
        "FUNCTION_KEYS": KEYS["x-functions-key"],
        "MANAGEMENT_KEY": KEYS["X-Management-Key"],
    }
    async with running_host("--demo", data=tmp_path, settings=settings) as host:
        async with aiohttp.ClientSession(host.url, headers=KEYS) as session:
            for collection, body in NAMED_IN_EXAMPLES:
                async with session.post(f"/api/v1/{collection}", json=body) as response:
                    assert response.status == 201, await response.text()
            await until(host, lambda: listed(session, "signals"), bool)
        yield host


@pytest.mark.slow
async def test_the_running_app_keeps_its_contract(demo: RunningHost) -> None:
    async with aiohttp.ClientSession(demo.url) as session:
        for accept, target in (("text/html", "/api/dashboard"), ("*/*", "/api/openapi.json")):
            async with session.get("/", headers={"Accept": accept}) as response:
                assert response.url.path == target
    command = [sys.executable, "-m", "schemathesis.cli", "--config-file", str(CONFIGURATION)]
    # unsupported_method: the Functions host itself answers 404 for a method that no function has.
    command += ["run", f"{demo.url}/api/openapi.json", "--checks=all", "--exclude-checks=unsupported_method"]
    # schemathesis makes no OPML and no YAML, which are bodies that are files. Tests of these endpoints send such files.
    command += [f"--exclude-operation-id={name}" for name in ("import_feeds", "apply_feeds", "apply_tools")]
    # The phase coverage tries every bound of every field: minutes, for what the unit tests of forms try.
    command.append("--phases=examples,fuzzing,stateful")
    environment = {**host_environment(), "SCHEMATHESIS_HOOKS": HOOKS, "PYTHONPATH": str(ROOT)}
    process = await asyncio.create_subprocess_exec(
        *command, cwd=ROOT, env=environment, stdout=asyncio.subprocess.PIPE, stderr=asyncio.subprocess.STDOUT
    )
    printed, _ = await process.communicate()
    assert process.returncode == 0, printed.decode()
