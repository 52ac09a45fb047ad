"""Azurite, Microsoft's emulator of Azure Storage: its queue service and its blob service, started here.

Without it, its half of the contracts of the queues and of the archive is not collected, as pytest's header says;
TOOLPULSE_REQUIRE_AZURITE=1 makes that an error.
"""

import os
import shutil
import subprocess
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from scripts.local_host.storage_rest import connection_string

FOLDER = Path(__file__).resolve().parents[1] / "azurite"
_SERVICES = FOLDER / "node_modules" / "azurite" / "dist" / "src"
_READY = "successfully listens on "


def available() -> bool:
    there = shutil.which("node") is not None and _SERVICES.is_dir()
    if not there and os.environ.get("TOOLPULSE_REQUIRE_AZURITE") == "1":
        raise RuntimeError("TOOLPULSE_REQUIRE_AZURITE=1, but there is no Azurite: run `npm ci` in tests/azurite")
    return there


def notice() -> str:
    found = "npm azurite" if available() else "no Azurite (`npm ci` in tests/azurite brings it)"
    return f"queues and archive: {found}"


@contextmanager
def running() -> Iterator[str]:
    """The connection string of running queues."""
    with _running("queue") as origin:
        yield connection_string(origin)


@contextmanager
def running_blobs() -> Iterator[str]:
    """The connection string of a running blob service."""
    with _running("blob") as origin:
        yield of_blobs(origin)


def of_blobs(origin: str) -> str:
    """The connection string of a blob service."""
    return connection_string(origin).replace("QueueEndpoint=", "BlobEndpoint=")


@contextmanager
def _running(service: str) -> Iterator[str]:
    """The origin of a service that is started for this context."""
    node = shutil.which("node")
    assert node is not None
    arguments = [f"--{service}Port", "0", "--inMemoryPersistence", "--silent", "--disableTelemetry"]
    with (
        tempfile.TemporaryDirectory() as folder,
        subprocess.Popen(
            [node, str(_SERVICES / service / "main.js"), *arguments],
            cwd=folder,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            text=True,
        ) as process,
    ):
        assert process.stdout is not None
        try:
            for line in process.stdout:
                if _READY in line:
                    yield line.partition(_READY)[2].strip()
                    return
            raise RuntimeError(f"Azurite ended with {process.wait()}")
        finally:
            process.terminate()
            process.wait(10)
