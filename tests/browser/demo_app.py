"""The app with demo data, as a process of its own that can be killed and started again on the same port."""

from __future__ import annotations

import json
import re
import subprocess
import time
import urllib.request
from pathlib import Path
from typing import Any

from tests.hosting import ROOT, host_command, host_environment

MANAGEMENT_KEY = "management-key-of-the-tests"
_READY = re.compile(r"Ready on (http://127\.0\.0\.1:(\d+)) ")
_PATIENCE_SECONDS = 120


class DemoApp:
    """`url` has no slash at its end. `management_key` is what management needs; a test without one asks for it."""

    def __init__(self, data: Path) -> None:
        self._data = data
        self._port = 0
        self._process: subprocess.Popen[bytes] | None = None
        self.url = ""
        self.management_key = MANAGEMENT_KEY

    def start(self) -> None:
        settings = {"DATA_DIR": str(self._data), "MANAGEMENT_KEY": MANAGEMENT_KEY}
        command = host_command("--demo", "--port", str(self._port), app_dir=ROOT, data=self._data, settings=settings)
        log = self._data / f"host-{time.monotonic_ns()}.log"
        with log.open("wb") as out:
            self._process = subprocess.Popen(
                command, stdin=subprocess.DEVNULL, stdout=out, stderr=out, env=host_environment(), cwd=ROOT
            )
        self.url, port = self.until(lambda: _READY.search(log.read_text("utf-8")), log).groups()
        self._port = int(port)

    def kill(self) -> None:
        """As `kill -9`."""
        if self._process is not None:
            self._process.kill()
            self._process.wait()
            self._process = None

    def settle(self) -> None:
        """Returns once the demo has told its month: all feeds are read, the flood is held, the figures are complete."""

        def settled() -> bool:
            feeds = self.get("feeds?limit=100")["items"]
            unread = [feed["feed_id"] for feed in feeds if not feed["last_successful_fetch"]]
            rows = self.get("sentiment/latest?period=DAY_30")["items"]
            held = self.get("quarantine")["items"]
            is_complete = bool(rows) and all(row["complete"] and row["total_mentions"] for row in rows)
            return unread == ["demo-brochure"] and bool(held) and is_complete

        self.until(settled)

    def get(self, path: str) -> Any:
        return self.send("GET", path)

    def send(self, method: str, path: str, body: Any = None) -> Any:
        headers = {"X-Management-Key": MANAGEMENT_KEY, "Content-Type": "application/json"}
        content = None if body is None else json.dumps(body).encode()
        request = urllib.request.Request(f"{self.url}/api/v1/{path}", content, headers, method=method)
        with urllib.request.urlopen(request, timeout=300) as response:
            text = response.read()
        return json.loads(text) if text else None

    def until(self, ask: Any, log: Path | None = None) -> Any:
        """What `ask` answers once that is true."""
        deadline = time.monotonic() + _PATIENCE_SECONDS
        while not (answer := ask()):
            if time.monotonic() > deadline or (self._process and self._process.poll() is not None):
                raise AssertionError(log.read_text("utf-8") if log else "the demo did not settle")
            time.sleep(0.1)
        return answer
