"""One running app for each module, with keys as in Azure, and feeds for it to fetch. Its timers are off: only the
messages of commands start its work."""

from __future__ import annotations

from collections.abc import AsyncIterator

import pytest
import pytest_asyncio

from services.topology import TIMERS
from tests.functional.cli.commands import Cli
from tests.functional.cli.outlets import served
from tests.hosting import RunningHost, running_host

KEY, MANAGEMENT_KEY = "a-function-key-of-this-test", "a-management-key-of-this-test-0123456789"
OFF = {f"AzureWebJobs.{timer.name}.Disabled": "1" for timer in TIMERS}


@pytest_asyncio.fixture(loop_scope="module", scope="module")
async def base() -> AsyncIterator[str]:
    """The outlets, where they are served."""
    async with served() as base:
        yield base


@pytest_asyncio.fixture(loop_scope="module", scope="module")
async def host(tmp_path_factory: pytest.TempPathFactory) -> AsyncIterator[RunningHost]:
    data = tmp_path_factory.mktemp("data")
    settings = {
        **OFF,
        "DATA_DIR": str(data),
        "ALLOW_PRIVATE_ADDRESSES": "true",
        "FUNCTION_KEYS": KEY,
        "MANAGEMENT_KEY": MANAGEMENT_KEY,
        "CACHE_MEMORY_SECONDS": "0",
    }
    async with running_host(data=data, settings=settings) as host:
        yield host


@pytest_asyncio.fixture(loop_scope="module", scope="module")
async def cli(host: RunningHost) -> Cli:
    keys = {"TOOLPULSE_KEY": KEY, "TOOLPULSE_MANAGEMENT_KEY": MANAGEMENT_KEY}
    return Cli(("--url", host.url), {**keys, "TOOLPULSE_CONFIG": "/nonexistent/config.toml"})
