"""The endpoint for programs that speak MCP (Model Context Protocol): streamable HTTP, without sessions.

The official SDK speaks the protocol; it is an ASGI application, and this module hands it one request at a time. Each
request is on its own, so that any instance can answer it: there is no stream to listen to, and no session to end.
The SDK is imported at the first request, since it takes half a second to load. No key comes with a request by itself,
as a cookie would, so a page of another site cannot use one; the local host refuses such pages besides.
"""

from __future__ import annotations

import asyncio
from collections.abc import Iterable
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit

import azure.functions as func

from services.container import Container
from triggers.bindings import READ, traced, with_container
from triggers.http_codec import with_problem_responses

if TYPE_CHECKING:
    from mcp.server.lowlevel import Server

mcp_http = func.Blueprint()


# A GET would open a stream and a DELETE end a session: the specification wants 405 where there are none.
@mcp_http.route(route="mcp", methods=["GET", "POST", "DELETE"], auth_level=READ)
@traced
@with_problem_responses
@with_container
async def mcp(services: Container, req: func.HttpRequest) -> func.HttpResponse:
    if req.method != "POST":
        return func.HttpResponse(status_code=405, headers={"Allow": "POST"})
    from triggers.mcp_tools import server_of

    return await _handed_over(server_of(services), req)


async def _handed_over(server: Server[Any], req: func.HttpRequest) -> func.HttpResponse:
    from mcp.server.streamable_http_manager import StreamableHTTPSessionManager

    manager = StreamableHTTPSessionManager(server, json_response=True, stateless=True)
    exchange = _Exchange(req)
    async with manager.run():
        await manager.handle_request(exchange.scope(), exchange.receive, exchange.send)
    return exchange.response()


class _Exchange:
    """One request and its response, as ASGI has them."""

    def __init__(self, req: func.HttpRequest) -> None:
        self._req = req
        self._is_read = False
        self._status = 500
        self._headers: Iterable[tuple[bytes, bytes]] = ()
        self._body = bytearray()

    def scope(self) -> dict[str, Any]:
        url = urlsplit(self._req.url)
        return {
            "type": "http",
            "asgi": {"version": "3.0"},
            "http_version": "1.1",
            "method": self._req.method,
            "scheme": url.scheme,
            "path": url.path,
            "raw_path": url.path.encode(),
            "query_string": b"",
            "headers": [(name.lower().encode(), value.encode()) for name, value in self._req.headers.items()],
        }

    async def receive(self) -> dict[str, Any]:
        if self._is_read:
            await asyncio.Event().wait()  # the client stays until it has its answer
        self._is_read = True
        return {"type": "http.request", "body": self._req.get_body(), "more_body": False}

    async def send(self, message: Any) -> None:
        if message["type"] == "http.response.start":
            self._status, self._headers = int(message["status"]), message["headers"]
        else:
            self._body += message.get("body", b"")

    def response(self) -> func.HttpResponse:
        headers = {name.decode().lower(): value.decode() for name, value in self._headers}
        headers.pop("content-length", None)
        media_type = headers.pop("content-type", "application/json")
        return func.HttpResponse(bytes(self._body), status_code=self._status, headers=headers, mimetype=media_type)
