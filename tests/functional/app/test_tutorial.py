"""Every command of docs/tutorial.md is run as it stands, but for the ports, and prints what the page shows."""

import asyncio
import re
import shlex
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from functools import partial
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from urllib.parse import urlsplit

import aiohttp

from scripts import dev
from tests.hosting import ROOT, host_environment, running_host

PAGE = (ROOT / "docs" / "tutorial.md").read_text("utf-8")
BLOCKS = re.findall(r"^```(\w+)\n(.*?)^```$", PAGE, re.MULTILINE | re.DOTALL)
NEXT = "::: the next block :::"


class Quiet(SimpleHTTPRequestHandler):
    def log_message(self, format: str, *args: object) -> None:
        """Nothing."""


@contextmanager
def served(folder: Path) -> Iterator[int]:
    """What `python3 -m http.server` does, on a free port."""
    server = ThreadingHTTPServer(("127.0.0.1", 0), partial(Quiet, directory=folder))
    thread = threading.Thread(target=server.serve_forever)
    thread.start()
    try:
        yield server.server_port
    finally:
        server.shutdown()
        thread.join()
        server.server_close()


def test_the_page_has_the_steps_that_are_run() -> None:
    (serve, start, *_) = [text for kind, text in BLOCKS if kind == "sh"]
    given = shlex.split(serve)
    assert given[:3] == ["python3", "-m", "http.server"]
    assert (ROOT / given[-1]).is_dir()
    assert shlex.split(start)[:3] == ["python3", "scripts/dev.py", "run"]
    assert {kind for kind, _ in BLOCKS} == {"sh", "text"}


async def test_every_command_prints_what_the_page_shows(tmp_path: Path) -> None:
    (_, _), (_, start), *steps, (_, again) = BLOCKS
    options, _ = dev.parse(shlex.split(start)[2:])
    assert not options.demo
    assert dev.parse(shlex.split(again)[2:])
    (tmp_path / ".data").mkdir()
    with served(ROOT / "docs" / "tutorial") as feeds:
        settings = dict(each.replace("8000", str(feeds)).split("=") for each in options.set)
        async with running_host(data=tmp_path / "data", settings=settings) as host:
            script = f"\necho '{NEXT}'\n".join(text for kind, text in steps if kind == "sh")
            script = script.replace(":7071", f":{urlsplit(host.url).port}").replace(":8000", f":{feeds}")
            shell = await asyncio.create_subprocess_exec(
                "bash", "-euo", "pipefail", "-c", script,
                stdout=asyncio.subprocess.PIPE, stderr=asyncio.subprocess.PIPE, cwd=tmp_path, env=host_environment(),
            )  # fmt: skip
            try:
                printed, complaints = await asyncio.wait_for(shell.communicate(), 60)
            finally:
                if shell.returncode is None:
                    shell.kill()
                    await shell.wait()
            assert (shell.returncode, complaints.decode()) == (0, "")
            async with aiohttp.ClientSession(host.url) as session, session.get("/api/v1/health") as answer:
                assert answer.status == 200
    assert printed.decode().split(f"{NEXT}\n") == shown(steps)


def shown(steps: list[tuple[str, str]]) -> list[str]:
    """What the page shows after each command; nothing for one that no output follows."""
    found: list[str] = []
    for kind, text in steps:
        if kind == "sh":
            found.append("")
        else:
            found[-1] = text
    return found
