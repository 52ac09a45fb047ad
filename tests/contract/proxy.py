"""An HTTP proxy in front of a Cosmos DB server, in this process."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any, Self

import aiohttp
from aiohttp import web
from yarl import URL

_OF_A_HOP = ("host", "connection", "content-length", "transfer-encoding")
LARGEST_HEADER = 1 << 20


class Proxy:
    """Passes requests on to `upstream`; a subclass decides in `respond` which, and what the client gets. `open` and
    `requests` count the present connections and requests, `accepted` all connections, `most_requests` the most requests
    at once; `idle` is set while there is no connection."""

    def __init__(self, upstream: str) -> None:
        self.upstream = upstream.rstrip("/")
        self.port = 0
        self.accepted = self.open = self.requests = self.most_requests = 0
        self.idle = asyncio.Event()
        self._session = aiohttp.ClientSession(
            connector=aiohttp.TCPConnector(ssl=False, limit=0),  # emulators sign their certificates themselves
            auto_decompress=False,
            skip_auto_headers=("User-Agent", "Accept", "Accept-Encoding", "Content-Type"),
        )

    @property
    def endpoint(self) -> str:
        return f"http://127.0.0.1:{self.port}"

    async def respond(self, request: web.BaseRequest, body: bytes) -> web.Response | None:
        """None ends the connection without an answer."""
        raise NotImplementedError

    async def forward(self, request: web.BaseRequest, body: bytes) -> web.Response:
        """The answer of the server."""
        headers = [(name, value) for name, value in request.headers.items() if name.lower() not in _OF_A_HOP]
        url = URL(self.upstream + request.raw_path, encoded=True)
        async with self._session.request(request.method, url, headers=headers, data=body or None) as found:
            kept = {name: value for name, value in found.headers.items() if name.lower() not in _OF_A_HOP}
            return web.Response(status=found.status, headers=kept, body=await found.read())

    async def handle(self, request: web.BaseRequest) -> web.Response:
        body = await request.content.read()
        self.requests += 1
        self.most_requests = max(self.most_requests, self.requests)
        try:
            response = await self.respond(request, body)
        finally:
            self.requests -= 1
        if response is None and request.transport is not None:
            request.transport.close()
        return response or web.Response()

    @asynccontextmanager
    async def serving(self) -> AsyncIterator[Self]:
        server = _Server(self.handle, max_line_size=LARGEST_HEADER, max_field_size=LARGEST_HEADER)
        server.proxy = self
        runner = web.ServerRunner(server, shutdown_timeout=0.01)
        await runner.setup()
        await web.TCPSite(runner, "127.0.0.1", 0).start()
        self.port = runner.addresses[0][1]
        try:
            yield self
        finally:
            await runner.cleanup()
            await self._session.close()


class _Server(web.Server):
    proxy: Proxy

    def connection_made(self, handler: Any, transport: asyncio.Transport) -> None:
        super().connection_made(handler, transport)
        self.proxy.accepted += 1
        self.proxy.open += 1
        self.proxy.idle.clear()

    def connection_lost(self, handler: Any, exc: BaseException | None = None) -> None:
        super().connection_lost(handler, exc)
        self.proxy.open -= 1
        if not self.proxy.open:
            self.proxy.idle.set()
