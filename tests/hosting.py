"""The local host as a subprocess, for any test that wants a running Functions app.

async with running_host(app_dir=..., data=..., settings={"NAME": "value"}) as host:
    async with aiohttp.ClientSession(host.url) as session: ...
"""

from __future__ import annotations

import asyncio
import os
import re
import signal
import sys
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import IO

ROOT = Path(__file__).resolve().parent.parent
_READY = re.compile(r'"message": "Ready on (\S+) .*\n')
# What the host's process may see of ours; app settings of the shell must not reach a test's app.
_KEPT = ("PATH", "HOME", "LANG", "TMPDIR", "SYSTEMROOT", "COVERAGE_PROCESS_START")


class HostFailed(AssertionError):
    """The host did not get ready; the text is what it printed."""


@dataclass
class RunningHost:
    """`url` has no slash at its end. What the host prints goes to `output`."""

    url: str
    process: asyncio.subprocess.Process
    output: Path

    def kill(self) -> None:
        """As `kill -9`."""
        self.process.kill()

    async def stop(self, signum: int = signal.SIGTERM, seconds: float = 12) -> int:
        """Asks it to stop and gives its exit code."""
        self.process.send_signal(signum)
        return await asyncio.wait_for(self.process.wait(), seconds)

    def printed(self) -> str:
        return self.output.read_text("utf-8")


def host_command(
    *arguments: str, app_dir: Path, data: Path, settings: Mapping[str, str], python: str = sys.executable
) -> list[str]:
    given = [part for name, value in settings.items() for part in ("--set", f"{name}={value}")]
    launcher = ["scripts/serve.py"] if app_dir == ROOT else ["-m", "scripts.local_host", "--app", str(app_dir)]
    return [python, *launcher, "--data", str(data), *given, *arguments]


def host_environment(extra: Mapping[str, str] | None = None) -> dict[str, str]:
    kept = {name: os.environ[name] for name in _KEPT if name in os.environ}
    return {"PYTHONFAULTHANDLER": "1", **kept, **(extra or {})}


@asynccontextmanager
async def running_host(
    *arguments: str,
    app_dir: Path = ROOT,
    data: Path,
    settings: Mapping[str, str] | None = None,
    python: str = sys.executable,
    environment: Mapping[str, str] | None = None,
    seconds: float = 60,
) -> AsyncIterator[RunningHost]:
    """Starts a host on a free port, waits until it answers, and kills it at the end if it still runs."""
    command = host_command(
        "--port", "0", *arguments, app_dir=app_dir, data=data, settings=settings or {}, python=python
    )
    with _new_log(data) as file:
        process = await _started(command, file, host_environment(environment))
    output = Path(file.name)
    try:
        host = RunningHost("", process, output)
        host.url = await asyncio.wait_for(_url(host), seconds)
        yield host
    finally:
        if process.returncode is None:
            process.kill()
            await process.wait()


async def run_host_once(
    *, app_dir: Path = ROOT, data: Path, settings: Mapping[str, str] | None = None, seconds: float = 90
) -> tuple[int, str]:
    """`--once`: the exit code and what it printed."""
    command = host_command("--port", "0", "--once", app_dir=app_dir, data=data, settings=settings or {})
    process = await _started(command, asyncio.subprocess.PIPE, host_environment())
    try:
        printed, _ = await asyncio.wait_for(process.communicate(), seconds)
    finally:
        if process.returncode is None:
            process.kill()
            await process.wait()
    assert process.returncode is not None
    return process.returncode, printed.decode()


def _new_log(data: Path) -> IO[bytes]:
    data.mkdir(parents=True, exist_ok=True)
    return (data / f"host-{len(list(data.glob('host-*.log')))}.log").open("xb")


async def _started(
    command: list[str], out: IO[bytes] | int, environment: Mapping[str, str]
) -> asyncio.subprocess.Process:
    return await asyncio.create_subprocess_exec(
        *command,
        stdin=asyncio.subprocess.DEVNULL,
        stdout=out,
        stderr=asyncio.subprocess.STDOUT,
        env=environment,
        cwd=ROOT,
    )


async def _url(host: RunningHost) -> str:
    while (found := _READY.search(host.printed())) is None:
        if host.process.returncode is not None:
            raise HostFailed(f"the host ended with {host.process.returncode}:\n{host.printed()}")
        await asyncio.sleep(0.02)
    return found[1]
