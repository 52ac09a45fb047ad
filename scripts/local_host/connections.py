"""The connections of a port: how many there are, and how long a client may take.

A client that sends or reads slowly keeps a connection, and so a file and memory, from others. aiohttp limits the time
between requests only.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from typing import Any

from aiohttp import web

_FULL = b"HTTP/1.1 503 Service Unavailable\r\nRetry-After: 1\r\nConnection: close\r\nContent-Length: 0\r\n\r\n"


@dataclass(frozen=True, slots=True)
class Limits:
    """Of one port. Seconds are for the whole of what they name; a response has one more for each `send_rate` bytes."""

    connections: int = 512
    idle_seconds: float = 75
    head_seconds: float = 15
    body_seconds: float = 60
    send_seconds: float = 30
    send_rate: int = 16 * 1024
    line_bytes: int = 32 * 1024
    head_bytes: int = 32 * 1024
    body_bytes: int = 100 * 1024 * 1024


class Connection(web.RequestHandler):
    """Ends itself if the client is too slow. The request of a connection calls `begun` when its head is there.

    A head whose beginning came together with the request before it has `idle_seconds`.
    """

    __slots__ = ("_head_due", "_in_request", "_limits", "_send_due", "_server", "_wire")

    def __init__(self, server: Server, limits: Limits, loop: asyncio.AbstractEventLoop) -> None:
        no_log: Any = None
        super().__init__(
            server,
            loop=loop,
            access_log=no_log,
            keepalive_timeout=limits.idle_seconds,
            max_line_size=limits.line_bytes,
            max_field_size=limits.head_bytes,
            lingering_time=1.0,
            auto_decompress=False,
        )
        self._server = server
        self._limits = limits
        self._wire: asyncio.Transport | None = None
        self._in_request = False
        self._head_due: asyncio.TimerHandle | None = None
        self._send_due: asyncio.TimerHandle | None = None

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        assert isinstance(transport, asyncio.Transport)
        self._wire = transport
        self._server.open += 1
        if self._server.open > self._limits.connections:
            transport.write(_FULL)
            transport.close()
            return
        self._await_head()
        super().connection_made(transport)

    def connection_lost(self, exc: BaseException | None) -> None:
        self._server.open -= 1
        self._wire = None
        for timer in (self._head_due, self._send_due):
            if timer is not None:
                timer.cancel()
        super().connection_lost(exc)

    def data_received(self, data: bytes) -> None:
        if not self._in_request and self._head_due is None:
            self._await_head()
        super().data_received(data)

    def begun(self) -> None:
        self._in_request = True
        if self._head_due is not None:
            self._head_due.cancel()
            self._head_due = None

    async def finish_response(
        self, request: web.BaseRequest, resp: web.StreamResponse, start_time: float | None
    ) -> tuple[web.StreamResponse, bool]:
        self._await_reader(resp)
        try:
            return await super().finish_response(request, resp, start_time)
        finally:
            self._in_request = False
            self._taken()

    def _await_head(self) -> None:
        self._head_due = self._loop.call_later(self._limits.head_seconds, self._abort)

    def _await_reader(self, response: web.StreamResponse) -> None:
        if self._send_due is None:
            size = len(response.body) if isinstance(response, web.Response) and isinstance(response.body, bytes) else 0
            seconds = self._limits.send_seconds + size / self._limits.send_rate
            self._send_due = self._loop.call_later(seconds, self._late)

    def _late(self) -> None:
        self._send_due = None
        if self._unsent():
            self._abort()

    def _taken(self) -> None:
        """The rest of a response lies in the buffer of the transport: the timer goes on until it is gone."""
        if self._send_due is not None and not self._unsent():
            self._send_due.cancel()
            self._send_due = None

    def _unsent(self) -> bool:
        return self._wire is not None and self._wire.get_write_buffer_size() > 0

    def _abort(self) -> None:
        if self._wire is not None:
            self._wire.abort()


class Server(web.Server):
    """`open` is how many connections there are."""

    def __init__(self, handler: Callable[[web.BaseRequest], Awaitable[web.StreamResponse]], limits: Limits) -> None:
        super().__init__(handler, request_factory=self._request)
        self._limits = limits
        self.open = 0

    def __call__(self) -> Connection:
        return Connection(self, self._limits, asyncio.get_running_loop())

    def _request(self, message: Any, payload: Any, protocol: Any, writer: Any, task: Any) -> web.BaseRequest:
        protocol.begun()
        most = self._limits.body_bytes
        return web.BaseRequest(message, payload, protocol, writer, task, task.get_loop(), client_max_size=most)
