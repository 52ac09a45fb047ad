"""What a person at a terminal sees of the app, and what LOG_LEVEL hides."""

import asyncio
import json
import os
import pty
import re
import signal
from pathlib import Path

import aiohttp

from tests.hosting import ROOT, host_command, host_environment, run_host_once


async def seen_at_a_terminal(data: Path, environment: dict[str, str]) -> str:
    """Of a start, one request, a failed one and the stop."""
    ours, of_process = pty.openpty()
    process = await asyncio.create_subprocess_exec(
        *host_command("--port", "0", app_dir=ROOT, data=data, settings={"DATA_DIR": str(data)}),
        stdout=of_process, stderr=of_process, cwd=ROOT, env=host_environment(environment),
    )  # fmt: skip
    os.close(of_process)
    seen = b""

    async def until(pattern: bytes) -> re.Match[bytes]:
        nonlocal seen
        async with asyncio.timeout(300):
            while (found := re.search(pattern, seen)) is None:
                seen += await asyncio.to_thread(os.read, ours, 100_000)
        return found

    try:
        url = (await until(rb"\nReady on (\S+) with"))[1].decode()
        async with aiohttp.ClientSession(url) as session:
            await session.get("/api/v1/feeds")
            await session.get("/api/v1/feeds/none")
            await session.post("/admin/functions/clean_up?wait=1", json={})
            await session.get("/api/v1/tools")
        await until(rb"'Functions.list_tools'")
        process.send_signal(signal.SIGTERM)
        assert await asyncio.wait_for(process.wait(), 12) == 0
    finally:
        if process.returncode is None:
            process.kill()
            await process.wait()
        os.close(ours)
    return seen.decode().replace("\r\n", "\n")


async def test_lines_are_short_and_polling_is_quiet(tmp_path: Path) -> None:
    seen = await seen_at_a_terminal(tmp_path, {"NO_COLOR": "1"})
    assert "\x1b" not in seen
    assert re.search(r"^\d\d:\d\d:\d\d info    Executed 'Functions.list_feeds' \(Succeeded, 200, \d+ ms\)$", seen, re.M)
    assert not re.search(r"[0-9a-f]{8}-[0-9a-f]{4}-", seen)
    assert "{" not in seen
    assert "Functions.clean_up" not in seen
    assert "queue_depth" not in seen
    assert re.search(r"^\d+ functions \(\d+ HTTP, \d+ timer, \d+ queue\), listed at ", seen)
    assert re.search(r"^Open http://\S+/api/dashboard$", seen, re.M)
    assert len(seen.splitlines()) < 25


async def test_log_level_is_obeyed_by_the_host(tmp_path: Path) -> None:
    code, printed = await run_host_once(data=tmp_path, settings={"DATA_DIR": str(tmp_path), "LOG_LEVEL": "WARNING"})
    assert code == 0
    assert "Executed" not in printed
    assert "Every timer ran once" in printed
    assert {json.loads(line)["level"] for line in printed.splitlines()} == {"information"}
