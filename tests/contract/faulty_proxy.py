"""A real HTTP proxy in front of a Cosmos DB server. A script defines what happens to the next requests for items."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Literal, Self

from aiohttp import web

from tests.contract.proxy import Proxy


@dataclass(frozen=True)
class Fault:
    """What happens to one request.

    hold      waits so many seconds before anything else
    pause     waits until the test lets it go on: before anything else, or after the server acted
    status    answers with it, `headers` and `body`, instead of the server
    forward   lets the server act all the same
    linger    waits so many seconds after the server acted
    cut       drops the connection instead of an answer
    """

    status: int | None = None
    headers: Mapping[str, str] = field(default_factory=dict)
    body: bytes = b""
    forward: bool = False
    cut: bool = False
    hold: float = 0.0
    pause: Literal["", "before", "after"] = ""
    linger: float = 0.0

    @classmethod
    def answer(cls, status: int, substatus: int = 0, retry_after_ms: int | None = None, body: bytes = b"") -> Self:
        headers = {"x-ms-substatus": str(substatus)} if substatus else {}
        if retry_after_ms is not None:
            headers["x-ms-retry-after-ms"] = str(retry_after_ms)
        return cls(status, headers, body)


CUT_BEFORE = Fault(cut=True)
CUT_AFTER = Fault(cut=True, forward=True)
LOST_ANSWER = Fault(503, forward=True)


class FaultyProxy(Proxy):
    """`script` is for the next requests for items, `always` for those after them. Where a request pauses, `has_paused`
    is set, and `go_on` lets it and all others go on. `item_requests` are the methods of all."""

    def __init__(self, upstream: str) -> None:
        super().__init__(upstream)
        self.script: list[Fault] = []
        self.always: Fault | None = None
        self.item_requests: list[str] = []
        self.user_agent = ""
        self.has_paused = asyncio.Event()
        self.go_on = asyncio.Event()

    async def respond(self, request: web.BaseRequest, body: bytes) -> web.Response | None:
        fault = self._fault(request)
        await asyncio.sleep(fault.hold)
        await self._paused(fault, "before")
        response: web.Response | None = None
        if fault.forward or not (fault.cut or fault.status):
            response = await self.forward(request, body)
        await asyncio.sleep(fault.linger)
        await self._paused(fault, "after")
        if fault.cut:
            return None
        return web.Response(status=fault.status, headers=fault.headers, body=fault.body) if fault.status else response

    async def _paused(self, fault: Fault, when: str) -> None:
        if fault.pause == when:
            self.has_paused.set()
            await self.go_on.wait()

    def _fault(self, request: web.BaseRequest) -> Fault:
        if "/docs" not in request.path:
            return Fault()
        self.item_requests.append(request.method)
        self.user_agent = request.headers["User-Agent"]
        return self.script.pop(0) if self.script else self.always or Fault()
