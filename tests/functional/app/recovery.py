"""Kills whole hosts (kill -9) while they import feeds, and measures how soon after a restart all figures are complete.

A host is a process with the app, its timers and its queues. Several hosts may work on one store, each with queues of
its own. Each feed has an address of its own on this machine, as feeds of different hosts on the web.
"""

from __future__ import annotations

import asyncio
import os
import random
import time
from collections import Counter
from collections.abc import Mapping
from contextlib import AsyncExitStack
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import aiohttp
from aiohttp import web

from tests.functional.articles.world import Item, rss
from tests.hosting import RunningHost, running_host

TOOLS = ("Quorvia", "Tarnwick", "Moorlight", "Brendlow", "Ferncastle")
SETTINGS = {
    "ALLOW_PRIVATE_ADDRESSES": "true",
    "READ_AUTH_LEVEL": "anonymous",
    "LOG_LEVEL": "WARNING",
    "MAX_CONCURRENT_REQUESTS": "50",
}


@dataclass(frozen=True)
class Plan:
    """`kills` of hosts that have worked for `longest_life` seconds at most, chosen at random among `hosts`."""

    feeds: int
    entries: int
    kills: int
    seed: int
    hosts: int = 1
    longest_life: float = 3.0

    def items(self, feed: int) -> list[Item]:
        now = datetime.now(UTC).replace(microsecond=0)
        return [
            Item(
                f"Event {number} of place {feed}: {self.tool(feed, number)} works for many",
                f"https://news.example/{feed}/{number}",
                f"{feed}:{number}",
                now - timedelta(minutes=5 + number),
                "Those who use it are happy.",
            )
            for number in range(self.entries)
        ]

    @staticmethod
    def tool(feed: int, number: int) -> str:
        return TOOLS[(feed + number) % len(TOOLS)]

    def mentions(self) -> dict[str, int]:
        """How many articles name each tool."""
        return Counter(self.tool(feed, number) for feed in range(self.feeds) for number in range(self.entries))


@dataclass
class Recovery:
    """`seconds` from the last restart until all figures were complete."""

    mentions: dict[str, int]
    statuses: dict[str, int]
    seconds: float

    def is_right_for(self, plan: Plan) -> bool:
        return self.mentions == plan.mentions() and self.statuses == {"analyzed": plan.feeds * plan.entries}


class Feeds:
    """Serves the feeds of a plan, the n-th at 127.0.1.n."""

    def __init__(self, plan: Plan) -> None:
        self._bodies = [rss(plan.items(feed)) for feed in range(plan.feeds)]

    async def serve(self, stack: AsyncExitStack) -> list[str]:
        """The URLs."""
        runner = web.ServerRunner(web.Server(self._respond))
        await runner.setup()
        stack.push_async_callback(runner.cleanup)
        site = web.TCPSite(runner, "0.0.0.0", 0)
        await site.start()
        port = runner.addresses[0][1]
        return [f"http://127.0.1.{number + 1}:{port}/{number}" for number in range(len(self._bodies))]

    async def _respond(self, request: web.BaseRequest) -> web.Response:
        return web.Response(body=self._bodies[int(request.path[1:])], content_type="application/rss+xml")


class Hosts:
    """The running hosts of a plan, all on one store. `settings` are further ones."""

    def __init__(self, folder: Path, count: int, settings: Mapping[str, str] | None = None) -> None:
        self._folder = folder
        self._settings = {**SETTINGS, "DATA_DIR": str(folder / "store"), **(settings or {})}
        self._stacks = [AsyncExitStack() for _ in range(count)]
        self._hosts: list[RunningHost | None] = [None] * count
        self.web = aiohttp.ClientSession()

    async def start(self, number: int) -> None:
        host = running_host(data=self._folder / f"host-{number}", settings=self._settings, seconds=60)
        self._hosts[number] = await self._stacks[number].enter_async_context(host)

    async def kill(self, number: int) -> None:
        self._host(number).kill()
        await self._stacks[number].aclose()

    async def tick(self, number: int) -> None:
        """Claims the feeds that are due, as the timer does every 30 s."""
        await self.post(number, "admin/functions/ingest_due_feeds", {})

    async def post(self, number: int, path: str, body: Any) -> Any:
        async with self.web.post(f"{self._host(number).url}/{path}", json=body) as response:
            assert response.status < 300, await response.text()
            return await response.json() if response.content_type == "application/json" else None

    async def get(self, number: int, path: str) -> Any:
        async with self.web.get(f"{self._host(number).url}/api/v1/{path}") as response:
            assert response.status == 200, await response.text()
            return await response.json()

    def cpu_seconds(self) -> float:
        """The processor time of the hosts that run now; 0 where the system does not say."""
        files = [Path(f"/proc/{host.process.pid}/stat") for host in self._hosts if host is not None]
        ticks = [sum(map(int, file.read_text().rpartition(")")[2].split()[11:13])) for file in files if file.exists()]
        return sum(ticks) / os.sysconf("SC_CLK_TCK") if ticks else 0.0

    async def close(self) -> None:
        for stack in self._stacks:
            await stack.aclose()
        await self.web.close()

    def _host(self, number: int) -> RunningHost:
        host = self._hosts[number]
        assert host is not None, "it was never started"
        return host


async def recover(folder: Path, plan: Plan, patience_seconds: float) -> Recovery:
    """Kills hosts as planned, and waits until the figures are complete, or for the patience."""
    chance = random.Random(plan.seed)
    async with AsyncExitStack() as stack:
        urls = await Feeds(plan).serve(stack)
        hosts = Hosts(folder, plan.hosts)
        stack.push_async_callback(hosts.close)
        for number in range(plan.hosts):
            await hosts.start(number)
        await _fill(hosts, urls)
        restarted = time.monotonic()
        await hosts.tick(0)
        for _ in range(plan.kills):
            await asyncio.sleep(chance.uniform(0.05, plan.longest_life))
            killed = chance.randrange(plan.hosts)
            await hosts.kill(killed)
            restarted = time.monotonic()
            await hosts.start(killed)
            await hosts.tick(killed)
        mentions: dict[str, int] = {}
        while mentions != plan.mentions() and time.monotonic() - restarted < patience_seconds:
            await asyncio.sleep(0.5)
            mentions = await _figures(hosts)
        complete = time.monotonic()
        # A moment later, the figures are still the same: nothing is counted twice. On a busy machine, an answer may not
        # know for a moment whether its figures are complete.
        mentions = {}
        while not mentions and time.monotonic() - complete < patience_seconds:
            await asyncio.sleep(1)
            mentions = await _figures(hosts)
        return Recovery(mentions, await _statuses(hosts), complete - restarted)


async def _fill(hosts: Hosts, urls: list[str]) -> None:
    for name in TOOLS:
        await hosts.post(0, "api/v1/tools", {"name": name})
    for number, url in enumerate(urls):
        await hosts.post(
            0, "api/v1/feeds", {"url": url, "source_name": f"Source {number}", "feed_id": f"feed-{number:03}"}
        )


async def _figures(hosts: Hosts) -> dict[str, int]:
    """How many mentions are served for each tool, if its figures say that they are complete."""
    items = (await hosts.get(0, "sentiment/latest?period=DAY_7"))["items"]
    return {each["tool"]: each["total_mentions"] for each in items if each.get("complete", True)}


async def _statuses(hosts: Hosts) -> dict[str, int]:
    found: Counter[str] = Counter()
    cursor = ""
    while True:
        page = await hosts.get(0, f"articles?limit=500{cursor}")
        found.update(each["status"] for each in page["items"])
        if page["next"] is None:
            return dict(found)
        cursor = f"&cursor={page['next']}"
