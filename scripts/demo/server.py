"""The demo's outlets over HTTP, on 127.0.0.1 only: most with validators, and one of each kind of broken feed."""

from __future__ import annotations

import asyncio
import contextlib
import dataclasses
import hashlib
import socket
from collections.abc import AsyncIterator, Callable
from datetime import datetime

from aiohttp import web

from scripts.demo.cast import OUTLETS, Outlet, outlet_of
from scripts.demo.formats import FORMATS, article_page, front_page
from scripts.demo.newsroom import Entry, Newsroom, is_failing

Clock = Callable[[], datetime]
SLOW_SECONDS = 6.0


class Newsstand:
    """Once `has_turned`, one outlet is gone, and another one gives all its entries new ids and URLs."""

    def __init__(
        self, clock: Clock, newsroom: Newsroom, slow_seconds: float = SLOW_SECONDS, has_turned: bool = False
    ) -> None:
        self._clock = clock
        self._newsroom = newsroom
        self._slow_seconds = slow_seconds
        self.has_turned = has_turned

    def application(self) -> web.Application:
        application = web.Application()
        application.router.add_get("/", self._directory)
        application.router.add_get("/{outlet}/", self._front)
        application.router.add_get("/{outlet}/feed", self._feed)
        application.router.add_get("/{outlet}/{slug}", self._article)
        return application

    async def _directory(self, request: web.Request) -> web.Response:
        lines = "".join(f'<li><a href="/{each.id}/">{each.name}</a></li>' for each in OUTLETS)
        return _page(f"<!doctype html><title>toolpulse demo</title><ul>{lines}</ul>")

    async def _front(self, request: web.Request) -> web.Response:
        outlet = _outlet(request)
        return _page(front_page(outlet, self._entries(outlet, self._clock()), _base(request)))

    async def _article(self, request: web.Request) -> web.Response:
        slug = request.match_info["slug"].removesuffix(".html")
        entry = self._newsroom.entry_of(_outlet(request), slug, self._clock())
        if entry is None:
            raise web.HTTPNotFound
        return _page(article_page(entry))

    async def _feed(self, request: web.Request) -> web.Response:
        outlet, now = _outlet(request), self._clock()
        if outlet.behaviour == "not_a_feed":
            return _page(front_page(outlet, [], _base(request)))
        if outlet.behaviour == "failing" and is_failing(self._newsroom.opened, now):
            raise web.HTTPServiceUnavailable(text="The server is busy. Try again later.")
        if outlet.behaviour == "gone" and self.has_turned:
            raise web.HTTPGone(text="This was the last post.")
        if outlet.behaviour == "slow":
            await asyncio.sleep(self._slow_seconds)
        kind, write = FORMATS[outlet.form]
        body = write(outlet, self._entries(outlet, now), _base(request)).encode()
        response = web.Response(body=body, content_type=kind, charset="utf-8")
        if outlet.behaviour == "no_validators":
            return response
        etag = hashlib.sha256(body).hexdigest()[:16]
        if any(each.value == etag for each in request.if_none_match or ()):
            response = web.Response(status=304)
        response.etag = etag
        return response

    def _entries(self, outlet: Outlet, now: datetime) -> list[Entry]:
        found = self._newsroom.entries(outlet, now)
        if outlet.behaviour != "moved" or not self.has_turned:
            return found
        return [dataclasses.replace(each, is_renewed=True) for each in found]


def _outlet(request: web.Request) -> Outlet:
    outlet = outlet_of(request.match_info["outlet"])
    if outlet is None:
        raise web.HTTPNotFound
    return outlet


def _base(request: web.Request) -> str:
    """The address that feeds are registered with, whatever the Host header says."""
    port = request.url.port
    return f"http://127.0.0.1:{port}"


def _page(html: str) -> web.Response:
    return web.Response(text=html, content_type="text/html")


@contextlib.asynccontextmanager
async def served(newsstand: Newsstand, port: int) -> AsyncIterator[str]:
    """Serves on `port`, or on another one if it is taken. Yields the URL, without a slash at its end."""
    runner = web.AppRunner(newsstand.application(), access_log=None, handle_signals=False, shutdown_timeout=0.5)
    await runner.setup()
    try:
        listener = _listening(port)
        await web.SockSite(runner, listener).start()
        yield f"http://127.0.0.1:{listener.getsockname()[1]}"
    finally:
        await runner.cleanup()


def _listening(port: int) -> socket.socket:
    try:
        return socket.create_server(("127.0.0.1", port))
    except OSError:
        return socket.create_server(("127.0.0.1", 0))
