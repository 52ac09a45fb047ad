"""The host's own addresses below /admin: short forms of the real ones, and `?wait=1`, which only this host has."""

from __future__ import annotations

import asyncio
import json
import time
import uuid
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from aiohttp import web

from scripts.host.functions import Function
from scripts.host.invoke import PROGRAMMATIC, Invoker, Outcome
from scripts.host.queues import WEEK, Message
from scripts.host.timers import Timer
from scripts.host.values import net_text, queue_message


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
        task = self._start(function, net_text(given))
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
