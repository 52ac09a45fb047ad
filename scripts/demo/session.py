"""A run of the app with the demo: its feeds are served and registered once, with the tools that they are about.

A file in the data folder stores the port, so that feeds have the same URLs after a restart, and when the demo first
ran. A run without the demo removes the demo's feeds and deprecates its tools; articles and mentions stay.
"""

from __future__ import annotations

import asyncio
import contextlib
import json
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping, MutableMapping
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path

import aiohttp

from models.errors import Conflict, NotFound, ToolpulseError
from models.values import format_time, parse_time
from scripts.demo import FIRST_PORT, HOST, PRIVATE, SETTINGS
from scripts.demo.newsroom import OUTLETS, PRODUCTS, Outlet
from scripts.demo.server import Newsstand, served
from scripts.local_host import Refused
from services import container
from services.container import Container
from services.feeds.form import new_feed
from services.feeds.registry import FeedRegistry
from services.ports import Clock, utc_now
from services.tools.catalog import Catalog
from services.tools.form import new_tool

REFRESHED_AFTER = (4, 4, 3, 4, 10, 20)
"""Seconds from one refresh to the next, the first from the first fetch."""


@dataclass(frozen=True, slots=True)
class _Mark:
    port: int
    opened: datetime

    def write(self, path: Path) -> None:
        path.write_text(json.dumps({"port": self.port, "opened": format_time(self.opened)}), "utf-8")


def _marked(path: Path, now: datetime) -> _Mark:
    try:
        mark = json.loads(path.read_text("utf-8"))
        return _Mark(int(mark["port"]), parse_time(mark["opened"]))
    except (OSError, ValueError, KeyError, TypeError):
        return _Mark(FIRST_PORT, now)


def _forget(path: Path) -> None:
    path.unlink()


def feed_url(outlet: Outlet, base: str) -> str:
    """The URL to register. One outlet is registered by its front page, as people often do."""
    return f"{base}/{outlet.id}/" if outlet.behaviour == "page" else f"{base}/{outlet.id}/feed"


async def register(registry: FeedRegistry, base: str) -> None:
    """Adds the demo's feeds, or updates their URLs. Other changes to them stay."""
    for outlet in OUTLETS:
        url = feed_url(outlet, base)
        fields = {"url": url, "source_name": outlet.name, "id": outlet.id}
        priorities = {"priority": outlet.priority, "source_priority": outlet.source_priority}
        try:
            await registry.add(new_feed(fields | priorities, utc_now()))
        except Conflict:
            await registry.change(outlet.id, {"url": url})


async def unregister(registry: FeedRegistry) -> None:
    for outlet in OUTLETS:
        with contextlib.suppress(NotFound):
            await registry.remove(outlet.id)


async def watch_products(catalog: Catalog) -> None:
    """Adds the demo's tools, or makes them active again. Other changes to them stay."""
    for product in PRODUCTS:
        tickers = [product.ticker] if product.ticker else []
        try:
            await catalog.add(new_tool({"name": product.name, "tickers": tickers}))
        except Conflict:
            await catalog.change(product.name, {"status": "ACTIVE"})


async def forget_products(catalog: Catalog) -> None:
    for product in PRODUCTS:
        with contextlib.suppress(NotFound):
            await catalog.change(product.name, {"status": "DEPRECATED"})


@contextlib.asynccontextmanager
async def running(mark: Path, environment: MutableMapping[str, str], clock: Clock = utc_now) -> AsyncIterator[str]:
    """Yields the URL that the demo is served on. The file `mark` records the port."""
    known = _marked(mark, clock())
    async with served(Newsstand(clock, known.opened), known.port) as base:
        port = int(base.rpartition(":")[2])
        _Mark(port, known.opened).write(mark)
        if environment.get(PRIVATE) == SETTINGS[PRIVATE]:
            environment[PRIVATE] = f"{HOST}:{port}"

        async def opened(app: Container) -> None:
            await watch_products(app.tools)
            await register(app.feeds, base)

        await _with_app(environment, opened)
        first_fetch = asyncio.create_task(_first_minute(environment["WEBSITE_HOSTNAME"]))
        try:
            yield base
        finally:
            first_fetch.cancel()


async def cleared(mark: Path, environment: Mapping[str, str]) -> None:
    async def closed(app: Container) -> None:
        await unregister(app.feeds)
        await forget_products(app.tools)

    await _with_app(environment, closed)
    _forget(mark)


async def _with_app(environment: Mapping[str, str], work: Callable[[Container], Awaitable[None]]) -> None:
    try:
        app = await container.build(environment)
        try:
            await work(app)
        finally:
            await app.close()
    except ToolpulseError as error:
        raise Refused(str(error)) from error


async def _first_minute(host: str) -> None:
    """Runs the app's timers as soon as the app serves requests, so that a newcomer sees figures soon: the next ticks
    may be half a minute and a quarter of an hour away."""
    await _fired(host, "ingest_due_feeds")
    for seconds in REFRESHED_AFTER:
        await asyncio.sleep(seconds)
        await _fired(host, "refresh_sentiment_cache")


async def _fired(host: str, timer: str) -> None:
    async with aiohttp.ClientSession(f"http://{host}") as session:
        for _ in range(100):
            with contextlib.suppress(aiohttp.ClientError):
                async with session.post(f"/admin/functions/{timer}", json={}):
                    return
            await asyncio.sleep(0.1)
