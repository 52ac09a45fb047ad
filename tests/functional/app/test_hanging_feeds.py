"""Feeds of one server on this machine, some of which never answer, over HTTP."""

from __future__ import annotations

import asyncio
from contextlib import AsyncExitStack
from datetime import UTC, datetime, timedelta
from pathlib import Path

from aiohttp import web

from tests.functional.app.recovery import TOOLS, Hosts
from tests.functional.articles.world import Item, rss

HANGING = 3
SECONDS = 240.0
SETTINGS = {"REQUEST_TIMEOUT_SECONDS": "120"}
"""All attempts at a feed that hangs take longer."""


async def test_feeds_that_hang_delay_no_other_feeds_of_their_server(tmp_path: Path) -> None:
    published = datetime.now(UTC).replace(microsecond=0) - timedelta(minutes=5)

    async def respond(request: web.BaseRequest) -> web.Response:
        number = int(request.path[1:])
        if number < HANGING:
            await asyncio.sleep(3600)
        title = f"{TOOLS[number - HANGING]} works for many"
        item = Item(title, f"https://news.example/{number}", str(number), published)
        return web.Response(body=rss([item]), content_type="application/rss+xml")

    async with AsyncExitStack() as stack:
        runner = web.ServerRunner(web.Server(respond), shutdown_timeout=0.1)
        await runner.setup()
        stack.push_async_callback(runner.cleanup)
        await web.TCPSite(runner, "127.0.0.1", 0).start()
        port = runner.addresses[0][1]
        hosts = Hosts(tmp_path, 1, SETTINGS)
        stack.push_async_callback(hosts.close)
        await hosts.start(0)
        for tool in TOOLS:
            await hosts.post(0, "api/v1/tools", {"name": tool})
        for number in range(HANGING + len(TOOLS)):
            feed = {"url": f"http://127.0.0.1:{port}/{number}", "source_name": f"Source {number}"}
            await hosts.post(0, "api/v1/feeds", {**feed, "priority": 2 if number < HANGING else 1})
        await hosts.tick(0)
        counted = 0
        async with asyncio.timeout(SECONDS):
            while counted < len(TOOLS):
                await asyncio.sleep(0.2)
                rows = (await hosts.get(0, "sentiment/latest?period=HOUR_1"))["items"]
                counted = sum(row["total_mentions"] for row in rows)
