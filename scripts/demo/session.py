"""A run of the app with the demo: its feeds are served and registered once, with the tools that they are about.

A file in the data folder stores the port, so that feeds have the same URLs after a restart, when the demo first ran,
and whether its feeds have turned since: one goes away, another gives all its entries new ids and URLs, once the app
has read both. A run without the demo removes the demo's feeds and deprecates its tools; articles and mentions stay.
"""

from __future__ import annotations

import asyncio
import contextlib
import dataclasses
import json
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping, MutableMapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path

import aiohttp

from models.errors import Conflict, NotFound, ToolpulseError
from models.values import format_time, parse_time
from scripts.demo import FIRST_PORT, HOST, PRIVATE, SETTINGS
from scripts.demo.cast import OUTLETS, PRODUCTS, Outlet
from scripts.demo.newsroom import Newsroom, opening
from scripts.demo.server import Newsstand, served
from scripts.local_host import Refused
from scripts.local_host.data import Running, running_host
from services import container
from services.container import Container
from services.feeds.form import new_feed
from services.feeds.registry import FeedRegistry
from services.ports import Clock, utc_now
from services.tools.catalog import Catalog, new_tool

REFRESHED_AFTER = (4, 4, 3, 4, 10, 20)
"""Seconds from one refresh to the next, the first from the first fetch."""
TURNING = tuple(each.id for each in OUTLETS if each.behaviour in ("gone", "moved"))
ASKED_EVERY, ASKED_FOR = 1.0, 300
"""Seconds, and how often it is asked whether the app has read the feeds that turn."""


@dataclass(frozen=True, slots=True)
class _Mark:
    port: int
    opened: datetime
    has_turned: bool = False

    def write(self, path: Path) -> None:
        fields = {"port": self.port, "opened": format_time(self.opened), "has_turned": self.has_turned}
        path.write_text(json.dumps(fields), "utf-8")


def _marked(path: Path, now: datetime) -> _Mark:
    try:
        mark = json.loads(path.read_text("utf-8"))
        return _Mark(int(mark["port"]), parse_time(mark["opened"]), mark.get("has_turned") is True)
    except (OSError, ValueError, KeyError, TypeError):
        return _Mark(FIRST_PORT, opening(now))


def _forget(path: Path) -> None:
    path.unlink()


def feed_url(outlet: Outlet, base: str) -> str:
    """The URL to register. One outlet is registered by its front page, as people often do."""
    return f"{base}/{outlet.id}/" if outlet.behaviour == "page" else f"{base}/{outlet.id}/feed"


async def register(registry: FeedRegistry, base: str) -> None:
    """Adds the demo's feeds, or updates their URLs. Other changes to them stay."""
    for outlet in OUTLETS:
        url = feed_url(outlet, base)
        fields = {"url": url, "source_name": outlet.name, "feed_id": outlet.id}
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
    newsstand = Newsstand(clock, Newsroom(known.opened), has_turned=known.has_turned)
    async with served(newsstand, known.port) as base:
        here = dataclasses.replace(known, port=int(base.rpartition(":")[2]))
        here.write(mark)
        if environment.get(PRIVATE) == SETTINGS[PRIVATE]:
            environment[PRIVATE] = f"{HOST}:{here.port}"

        async def opened(app: Container) -> None:
            await watch_products(app.tools)
            await register(app.feeds.registry, base)

        def turn() -> None:
            newsstand.has_turned = True
            dataclasses.replace(here, has_turned=True).write(mark)

        await _with_app(environment, opened)
        app = RunningApp.of(environment, running_host(mark.parent))
        work = [asyncio.create_task(_first_minute(app))]
        if not known.has_turned:
            work.append(asyncio.create_task(_turned(app, turn)))
        try:
            yield base
        finally:
            for each in work:
                each.cancel()


async def cleared(mark: Path, environment: Mapping[str, str]) -> None:
    async def closed(app: Container) -> None:
        await unregister(app.feeds.registry)
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


@dataclass(frozen=True, slots=True)
class RunningApp:
    """The running app, as its own HTTP API shows it."""

    own: str
    functions: str
    keys: Mapping[str, str]

    @classmethod
    def of(cls, environment: Mapping[str, str], host: Running | None) -> RunningApp:
        """`host` is where the local host serves itself and the functions: two ports if it has keys."""
        own = f"http://{environment['WEBSITE_HOSTNAME']}"
        key = environment.get("FUNCTION_KEYS", "").partition(",")[0].strip()
        given = {"x-functions-key": key, "X-Management-Key": environment.get("MANAGEMENT_KEY", "")}
        keys = {name: value for name, value in given.items() if value}
        return cls(own, own if host is None else host.functions, keys)

    async def fire(self, timer: str) -> None:
        """Runs a timer, as soon as the app serves requests."""
        async with aiohttp.ClientSession(self.own) as session:
            for _ in range(100):
                with contextlib.suppress(aiohttp.ClientError):
                    async with session.post(f"/admin/functions/{timer}", json={}):
                        return
                await asyncio.sleep(0.1)

    async def has_read(self, feed_ids: Sequence[str]) -> bool:
        """Whether each of these feeds was fetched with success; feeds that a person removed do not count."""
        async with aiohttp.ClientSession(self.functions, headers=self.keys) as session:
            for feed_id in feed_ids:
                async with session.get(f"/api/v1/feeds/{feed_id}") as response:
                    if response.status != 404 and not (await response.json()).get("last_successful_fetch"):
                        return False
        return True

    async def post(self, path: str) -> None:
        async with (
            aiohttp.ClientSession(self.functions, headers=self.keys) as session,
            session.post(f"/api/v1/{path}", json={}),
        ):
            pass


async def _first_minute(app: RunningApp) -> None:
    """Fetches and refreshes as soon as the app serves requests, so that a newcomer sees figures soon: the next ticks
    may be half a minute and a quarter of an hour away."""
    await app.fire("ingest_due_feeds")
    for seconds in REFRESHED_AFTER:
        await asyncio.sleep(seconds)
        with contextlib.suppress(aiohttp.ClientError):
            await app.post("cache/refresh")
    await app.fire("clean_up")  # collects the fetches, of which the next refresh shows the coverage


async def _turned(app: RunningApp, turn: Callable[[], None]) -> None:
    """Turns the feeds that turn once the app has read them, and has the app fetch them again, so that a newcomer sees a
    dead feed and a flood in quarantine."""
    for _ in range(ASKED_FOR):
        await asyncio.sleep(ASKED_EVERY)
        with contextlib.suppress(aiohttp.ClientError):
            if await app.has_read(TURNING):
                turn()
                for feed_id in TURNING:
                    await app.post(f"feeds/{feed_id}/fetch")
                return
