"""The Cosmos DB server of the tests: an emulator that the environment names, or npm's, which is started here.

COSMOS_TEST_ENDPOINT and COSMOS_TEST_KEY (default: the key that Microsoft publishes) name an official emulator. They are
not the app's own settings, since the tests drop containers of the databases `contract` and `faults`. Without a server
the Cosmos half of the contract suite is not collected, as pytest's header says; TOOLPULSE_REQUIRE_COSMOS=1 makes that
an error.
"""

import os
import shutil
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

FOLDER = Path(__file__).resolve().parents[1] / "cosmos_server"
# Published by Microsoft for every emulator: https://learn.microsoft.com/azure/cosmos-db/emulator#authentication
EMULATOR_KEY = "C2y6yDjf5/R+ob0N8A7Cgv30VRDJIWEHLM+4QDU5DE2nQ9nDuVTqobD4b8mGGyPMbIZnqyMsEcaGQy67XIw/Jw=="


@dataclass(frozen=True)
class CosmosServer:
    endpoint: str
    key: str


def _named() -> CosmosServer | None:
    endpoint = os.environ.get("COSMOS_TEST_ENDPOINT")
    return CosmosServer(endpoint, os.environ.get("COSMOS_TEST_KEY") or EMULATOR_KEY) if endpoint else None


def available() -> bool:
    there = _named() is not None or (shutil.which("node") is not None and (FOLDER / "node_modules").is_dir())
    if not there and os.environ.get("TOOLPULSE_REQUIRE_COSMOS") == "1":
        raise RuntimeError(
            "TOOLPULSE_REQUIRE_COSMOS=1, but there is no Cosmos DB server: install Node.js and run "
            "`npm ci` in tests/cosmos_server, or set COSMOS_TEST_ENDPOINT"
        )
    return there


def notice() -> str:
    if not available():
        return "cosmos: no server, so its half of the contract is left out (`npm ci` in tests/cosmos_server brings one)"
    named = _named()
    return f"cosmos: {named.endpoint if named else 'npm @vercel/cosmosdb-server'}"


@contextmanager
def running(*, tls: bool = False) -> Iterator[CosmosServer]:
    """A running server. With `tls`, which an identity needs, always npm's."""
    named = _named()
    if named is not None and not tls:
        yield named
        return
    node = shutil.which("node")
    assert node is not None
    with subprocess.Popen(
        [node, str(FOLDER / "server.js"), *(["--tls"] if tls else [])],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
    ) as process:
        assert process.stdin is not None
        assert process.stdout is not None
        try:
            yield CosmosServer(
                f"{'https' if tls else 'http'}://127.0.0.1:{int(process.stdout.readline())}", EMULATOR_KEY
            )
        finally:
            process.stdin.close()  # ends the server
            process.wait(10)
