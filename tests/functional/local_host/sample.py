"""The sample app in a running host, and what it recorded."""

from __future__ import annotations

import asyncio
import base64
import json
import re
from collections.abc import AsyncIterator, Callable, Mapping
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import aiohttp

from tests.hosting import ROOT, RunningHost, running_host

APP = ROOT / "tests" / "data" / "apps" / "sample"


@dataclass
class Sample:
    """`client` has the host's address as its base."""

    host: RunningHost
    client: aiohttp.ClientSession
    folder: Path

    def recorded(self, **wanted: Any) -> list[dict[str, Any]]:
        return recorded(self.folder, **wanted)

    async def until(self, condition: Callable[[], Any], seconds: float = 30) -> None:
        """Waits for it; what the host printed is in the failure."""
        try:
            async with asyncio.timeout(seconds):
                while not condition():  # noqa: ASYNC110 (another process makes it true)
                    await asyncio.sleep(0.02)
        except TimeoutError:
            raise AssertionError(f"it did not happen; the host printed:\n{self.host.printed()}") from None

    async def send(self, **what: Any) -> int:
        async with self.client.post("/api/v1/send", json=what) as response:
            return response.status

    async def count(self, queue: str) -> int:
        async with self.client.get(f"/devstoreaccount1/{queue}?comp=metadata") as response:
            return int(response.headers.get("x-ms-approximate-messages-count", 0))

    async def taken(self, queue: str) -> list[str]:
        """Takes every message of the queue, and returns their texts."""
        texts: list[str] = []
        while True:
            async with self.client.get(f"/devstoreaccount1/{queue}/messages?numofmessages=32") as response:
                some = re.findall("<MessageText>(.*?)</MessageText>", await response.text())
            if not some:
                return texts
            texts += [base64.b64decode(each).decode() for each in some]

    async def until_count(self, queue: str, count: int, seconds: float = 30) -> None:
        async with asyncio.timeout(seconds):
            while await self.count(queue) != count:  # noqa: ASYNC110 (another process makes it so)
                await asyncio.sleep(0.02)


def recorded(folder: Path, **wanted: Any) -> list[dict[str, Any]]:
    path = folder / "record"
    lines = path.read_text().splitlines(keepends=True) if path.exists() else []
    # The host may be in the middle of a line.
    entries: list[dict[str, Any]] = [json.loads(line) for line in lines if line.endswith("\n")]
    return [each for each in entries if all(each.get(key) == value for key, value in wanted.items())]


def sample_settings(folder: Path, settings: Mapping[str, str] | None = None) -> dict[str, str]:
    return {"RECORD": str(folder / "record"), **(settings or {})}


@asynccontextmanager
async def _sample(folder: Path, *arguments: str, **options: Any) -> AsyncIterator[Sample]:
    settings = sample_settings(folder, options.pop("settings", None))
    async with (
        running_host(*arguments, app_dir=APP, data=folder / "data", settings=settings, **options) as host,
        aiohttp.ClientSession(host.url) as client,
    ):
        yield Sample(host, client, folder)


def running_sample(folder: Path, *arguments: str, **options: Any) -> AbstractAsyncContextManager[Sample]:
    """As running_host, with the sample app."""
    return _sample(folder, *arguments, **options)
