"""HTTP: requests to functions by their routes, and the host's own addresses below /admin.

aiohttp does not route: the Functions host sorts functions by name, and the first whose route and method match handles
the request. `?wait=1` below /admin is only in this host.
"""

from __future__ import annotations

import asyncio
import json
import time
import uuid
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from aiohttp import hdrs, web
from azure.functions.http import HttpRequest
from multidict import CIMultiDict

from .access import Access, Caller
from .connections import Limits, Server
from .console import Console
from .functions import Function
from .invoke import PROGRAMMATIC, Invoker, Outcome
from .queues import WEEK, Message
from .routes import router
from .storage_rest import ACCOUNT, StorageRest
from .timers import Timer
from .values import Reply, query_parameters, queue_message

_OF_PROXIES = ("forwarded", "via", "x-forwarded-")
# The server writes these itself.
_OWN_HEADERS = ("content-length", "connection", "keep-alive")


class Front:
    """Answers every request on a port: `functions` by their routes, and the host's own addresses if it has `own`."""

    def __init__(
        self,
        functions: Sequence[Function],
        invoker: Invoker,
        own: tuple[Admin, StorageRest] | None,
        headers: Mapping[str, str],
        prefix: str,
        console: Console,
        access: Access,
        limits: Limits,
    ) -> None:
        routed = [(each, each.route) for each in functions if each.route is not None and not each.disabled]
        self._resolve = router(routed)
        self._invoker = invoker
        self._own = own
        self._headers = headers
        self._home = f"/{prefix}"
        self._console = console
        self._access = access
        self._limits = limits
        self.stopping = False

    def server(self) -> Server:
        return Server(self.handle, self._limits)

    async def handle(self, request: web.BaseRequest) -> web.StreamResponse:
        raw_path, _, query = request.raw_path.partition("?")
        own = self._own if raw_path.startswith(("/admin/", f"/{ACCOUNT}")) else None
        if (refused := self._refused(request, is_own=own is not None)) is not None:
            return refused
        if own is not None:
            return await self._of_host(request, raw_path, *own)
        if self.stopping:
            return web.Response(status=503, headers={"Connection": "close"})
        found = self._resolve(request.method, raw_path)
        if found is not None:
            return await self._call(request, *found, query)
        return self._response(self._home_page(request.method) if raw_path == "/" else Reply(404, [], b""))

    def _home_page(self, method: str) -> Reply:
        """Leads to the address below which functions are, if one of them answers there."""
        if self._resolve(method, self._home) is not None:
            return Reply(302, [("location", self._home)], b"")
        return Reply(200, [("content-type", "text/plain")], b"The Functions app is running.\n")

    def _refused(self, request: web.BaseRequest, *, is_own: bool) -> web.Response | None:
        if not all(_is_text(value) for value in request.headers.values()):
            return web.Response(status=400, headers={"Connection": "close"})
        if sum(len(name) + len(value) for name, value in request.raw_headers) > self._limits.head_bytes:
            return web.Response(status=431, headers={"Connection": "close"})
        if (request.content_length or 0) > self._limits.body_bytes:
            return web.Response(status=413, headers={"Connection": "close"})
        sender = _caller(request)
        why = self._access.refusal(sender)
        if why is None and is_own:
            why = self._access.refusal_of_own(sender)
        return None if why is None else web.Response(status=403, text=why)

    async def _of_host(
        self, request: web.BaseRequest, raw_path: str, admin: Admin, storage: StorageRest
    ) -> web.Response:
        if raw_path.startswith("/admin/"):
            return web.Response(status=503) if self.stopping else await admin.handle(request)
        return await storage.handle(request)

    async def _call(
        self, request: web.BaseRequest, function: Function, parameters: Mapping[str, str], query: str
    ) -> web.Response:
        if not self._access.lets(function.auth_level, _key(request, query)):
            return self._response(Reply(401, [], b""))
        try:
            async with asyncio.timeout(self._limits.body_seconds):
                value = await self._http_request(request, query, parameters)
        except TimeoutError:
            return web.Response(status=408, headers={"Connection": "close"})
        parent = request.headers.get("traceparent", "")
        outcome = await self._invoker.start(function, value, PROGRAMMATIC, method=request.method, trace_parent=parent)
        if outcome.stopped:
            return web.Response(status=503, headers={"Connection": "close"})
        if outcome.reply is not None:
            return self._response(outcome.reply)
        # Without a reply or an error, $return went to a queue.
        return self._response(Reply(204 if outcome.error is None else 500, [], b""))

    async def _http_request(self, request: web.BaseRequest, query: str, parameters: Mapping[str, str]) -> HttpRequest:
        headers: dict[str, str] = {}
        for name, text in request.headers.items():
            key = name.lower()
            headers[key] = f"{headers[key]},{text}" if key in headers else text
        if self._access.public is not None:
            headers["host"] = self._access.public.netloc
        body = b""
        if request.body_exists:
            if headers.get("expect", "").lower() == "100-continue":
                await request.writer.write(b"HTTP/1.1 100 Continue\r\n\r\n")
                request.writer.output_size = 0
            body = await request.read()
            if body and "content-length" not in headers:
                why = "a chunked body is not passed on: the host reads by length"
                self._console.log("warning", "Host", {"message": why})
                body = b""
        return HttpRequest(
            method=request.method,
            url=f"{self._access.origin(_authority(request))}{request.raw_path}",
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


def _is_text(value: str) -> bool:
    """Whether a header is UTF-8, as the real server insists; aiohttp makes half surrogate pairs of other bytes."""
    return value.isascii() or not any("\ud800" <= char <= "\udfff" for char in value)


def _caller(request: web.BaseRequest) -> Caller:
    headers = request.headers
    is_forwarded = any(name.lower().startswith(_OF_PROXIES) for name in headers)
    origin, fetch_site = headers.get(hdrs.ORIGIN), headers.get("Sec-Fetch-Site")
    return Caller(request.remote, _authority(request), origin, fetch_site, is_forwarded)


def _authority(request: web.BaseRequest) -> str:
    return request.headers.get(hdrs.HOST, "localhost")


def _key(request: web.BaseRequest, query: str) -> str | None:
    """The key that the request gives; the header wins, as in Azure."""
    header = request.headers.get("x-functions-key")
    if header is not None or not query:
        return header
    return next((text for name, text in query_parameters(query).items() if name.lower() == "code"), None)


class Admin:
    """`timers` is by function name."""

    def __init__(
        self, functions: Sequence[Function], timers: Mapping[str, Timer], invoker: Invoker, clock: Callable[[], float]
    ) -> None:
        self._functions = {each.name.lower(): each for each in functions}
        self._timers = timers
        self._invoker = invoker
        self._clock = clock
        self._began = time.monotonic()

    async def handle(self, request: web.BaseRequest) -> web.Response:
        body = await request.read()
        match [request.method, *request.rel_url.path.strip("/").split("/")[1:]]:
            case ["GET" | "POST", "host", "ping"]:
                return web.Response()
            case ["GET", "host", "status"]:
                uptime = round((time.monotonic() - self._began) * 1000)
                return web.json_response({"id": "local", "state": "Running", "version": "4.0", "processUptime": uptime})
            case ["GET", "functions"]:
                return web.json_response([described(each) for each in self._functions.values()])
            case ["POST", "functions", name]:
                return await self._fire(name.lower(), body, wait="wait" in request.rel_url.query)
        return web.Response(status=404)

    async def _fire(self, name: str, body: bytes, *, wait: bool) -> web.Response:
        function = self._functions.get(name)
        try:
            content = json.loads(body)
        except ValueError:
            content = None
        if not isinstance(content, dict):
            return web.Response(status=400, text='the body must be JSON: {"input": "..."}')
        if function is None:
            return web.Response(status=404)
        given = content.get("input", content.get("Input"))
        if isinstance(given, dict | list):
            return web.Response(status=400, text="input must be a string")
        if function.route is not None:
            return web.Response(status=400, text="call an HTTP function by its route")
        task = self._start(function, str(given or ""))
        if not wait:
            return web.Response(status=202)
        return web.json_response(outcome_described(await asyncio.shield(task)))

    def _start(self, function: Function, text: str) -> asyncio.Task[Outcome]:
        if function.schedule is not None:
            return self._timers[function.name].start(PROGRAMMATIC)
        now = self._clock()
        queue = function.queue or ""
        message = Message(0, queue, str(uuid.uuid4()), text, now, now + WEEK, now, 0, "")
        value = text if function.parameters.as_text else queue_message(message, text)
        return self._invoker.start(function, value, PROGRAMMATIC)


def described(function: Function) -> dict[str, Any]:
    shown: dict[str, Any] = {"name": function.name, "language": "python", "isDisabled": function.disabled}
    if function.route is not None:
        methods = sorted(function.route.methods) if function.route.methods else None
        shown |= {"route": function.route.template, "methods": methods}
    if function.schedule is not None:
        shown["schedule"] = function.schedule_text
    if function.queue is not None:
        shown["queue"] = function.queue
    return {**shown, "outputs": dict(function.outputs)}


def outcome_described(outcome: Outcome) -> dict[str, Any]:
    return {
        "status": "succeeded" if outcome.error is None else "failed",
        "error": outcome.error,
        "sent": [{"queue": queue, "message": text} for queue, text in outcome.sent],
        "ms": outcome.milliseconds,
        "invocation_id": outcome.id,
    }
