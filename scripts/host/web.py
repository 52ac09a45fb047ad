"""The HTTP side: requests to functions by route, and the host's own addresses. Bound to 127.0.0.1 by the caller.

Nothing is routed by aiohttp: the Functions host takes functions by name, and the first whose route and method match
answers.
"""

from __future__ import annotations

import ipaddress
from collections.abc import Mapping, Sequence
from typing import Any
from urllib.parse import urlsplit

from aiohttp import hdrs, web
from azure.functions.http import HttpRequest
from multidict import CIMultiDict

from scripts.host.admin import Admin
from scripts.host.console import Console
from scripts.host.functions import Function
from scripts.host.invoke import PROGRAMMATIC, Invoker
from scripts.host.reply import Reply
from scripts.host.routes import routed_path
from scripts.host.storage_rest import ACCOUNT, StorageRest
from scripts.host.values import query_parameters

BODY_BYTES = 100 * 1024 * 1024
_HEADER_BYTES = 32 * 1024
# The server writes these itself.
_OWN_HEADERS = ("content-length", "connection", "keep-alive")


class Front:
    """Answers every request on the port."""

    def __init__(
        self,
        functions: Sequence[Function],
        invoker: Invoker,
        admin: Admin,
        storage: StorageRest,
        headers: Mapping[str, str],
        console: Console,
    ) -> None:
        self._routed = [(each, each.route) for each in functions if each.route is not None and not each.disabled]
        self._invoker = invoker
        self._admin = admin
        self._storage = storage
        self._headers = headers
        self._console = console
        self.stopping = False

    def server(self) -> web.Server:
        return web.Server(
            self.handle,
            request_factory=_request,
            access_log=None,
            max_line_size=_HEADER_BYTES,
            max_field_size=_HEADER_BYTES,
            auto_decompress=False,
        )

    async def handle(self, request: web.BaseRequest) -> web.StreamResponse:
        raw_path, _, query = request.raw_path.partition("?")
        if raw_path.startswith(("/admin/", f"/{ACCOUNT}")):
            return await self._own(request, raw_path)
        if self.stopping:
            return web.Response(status=503, headers={"Connection": "close"})
        if not all(_is_text(value) for value in request.headers.values()):
            return web.Response(status=400, headers={"Connection": "close"})
        found = self._resolve(request.method, raw_path)
        if found is not None:
            return await self._call(request, *found, query)
        if raw_path == "/":
            return self._response(Reply(200, [("content-type", "text/plain")], b"The Functions app is running.\n"))
        return self._response(Reply(404, [], b""))

    async def _own(self, request: web.BaseRequest, raw_path: str) -> web.Response:
        if not _is_local(request):
            return web.Response(status=403, text="only from this machine")
        if raw_path.startswith("/admin/"):
            return web.Response(status=503) if self.stopping else await self._admin.handle(request)
        return await self._storage.handle(request)

    async def _call(
        self, request: web.BaseRequest, function: Function, parameters: Mapping[str, str], query: str
    ) -> web.Response:
        value = await self._http_request(request, query, parameters)
        parent = request.headers.get("traceparent", "")
        outcome = await self._invoker.start(function, value, PROGRAMMATIC, method=request.method, trace_parent=parent)
        if outcome.stopped:
            return web.Response(status=503, headers={"Connection": "close"})
        if outcome.reply is not None:
            return self._response(outcome.reply)
        # Without a reply or an error, $return went to a queue.
        return self._response(Reply(204 if outcome.error is None else 500, [], b""))

    def _resolve(self, method: str, raw_path: str) -> tuple[Function, dict[str, str]] | None:
        path = routed_path(raw_path)
        for function, route in self._routed:
            if route.takes(method):
                found = route.match(path)
                if found is not None:
                    return function, found
        return None

    async def _http_request(self, request: web.BaseRequest, query: str, parameters: Mapping[str, str]) -> HttpRequest:
        headers: dict[str, str] = {}
        for name, text in request.headers.items():
            key = name.lower()
            headers[key] = f"{headers[key]},{text}" if key in headers else text
        body = b""
        if request.body_exists:
            if headers.get("expect", "").lower() == "100-continue":
                await request.writer.write(b"HTTP/1.1 100 Continue\r\n\r\n")
                request.writer.output_size = 0
            body = await request.read()
            if body and "content-length" not in headers:
                self._console.log(
                    "warning", "Host", "warning: a chunked body is not passed on: the host reads by length"
                )
                body = b""
        return HttpRequest(
            method=request.method,
            url=f"http://{_authority(request)}{request.raw_path}",
            headers=headers,
            params=query_parameters(query) if query else {},
            route_params=parameters,
            body_type="bytes",
            body=body,
        )

    def _response(self, reply: Reply) -> web.Response:
        headers: CIMultiDict[str] = CIMultiDict()
        for name, text in reply.headers:
            if name.lower() not in _OWN_HEADERS:
                headers.add(name, text)
        for name, text in self._headers.items():
            headers.setdefault(name, text)
        return web.Response(status=reply.status, headers=headers, body=reply.body or None)


def _request(message: Any, payload: Any, protocol: Any, writer: Any, task: Any) -> web.BaseRequest:
    return web.BaseRequest(message, payload, protocol, writer, task, task.get_loop(), client_max_size=BODY_BYTES)


def _is_text(value: str) -> bool:
    """Whether a header is UTF-8, as the real server insists; aiohttp makes half surrogate pairs of other bytes."""
    return value.isascii() or not any("\ud800" <= char <= "\udfff" for char in value)


def _authority(request: web.BaseRequest) -> str:
    return request.headers.get(hdrs.HOST, "localhost")


def _is_local(request: web.BaseRequest) -> bool:
    """Whether it comes from this machine and by its name, and not from a page of another site in a browser."""
    origin = request.headers.get(hdrs.ORIGIN)
    here = _is_loopback(request.remote) and _is_loopback(_hostname(f"//{_authority(request)}"))
    return here and (origin is None or _is_loopback(_hostname(origin)))


def _hostname(url: str) -> str | None:
    try:
        return urlsplit(url).hostname
    except ValueError:
        return None


def _is_loopback(name: str | None) -> bool:
    if name == "localhost":
        return True
    try:
        return name is not None and ipaddress.ip_address(name).is_loopback
    except ValueError:
        return False
