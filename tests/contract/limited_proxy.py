"""A proxy in front of a Cosmos DB server that charges request units and refuses what exceeds a limit, as Azure does.

Every container may spend so many RU a second. A request is admitted while something is left, and what it costs too much
is missing afterwards. Above the limit the answer is 429 with `x-ms-retry-after-ms`; every second batch that is refused
gets it as 207 with the 429 in its first operation. Every answer has `x-ms-request-charge`. The account looks like one
with Strong consistency, which Azure has and the server behind has not.
"""

from __future__ import annotations

import asyncio
import contextlib
import time
from collections import Counter, defaultdict
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from typing import Any
from urllib.parse import urlsplit

import orjson

from tests.contract.charged_requests import Charges, Request, parsed

REFUSAL_UNITS = 0.38
"""What Azure says that a refused request has cost. It is not taken from what is left."""
MIN_WAIT_MS = 5


@dataclass
class Spent:
    """What was charged: by second and container; by container and kind; and how many requests were refused."""

    by_second: defaultdict[int, Counter[str]] = field(default_factory=lambda: defaultdict(Counter))
    units: Counter[str] = field(default_factory=Counter)
    requests: Counter[str] = field(default_factory=Counter)
    refused: Counter[str] = field(default_factory=Counter)

    def add(self, request: Request, units: float) -> None:
        self.by_second[int(time.time())][request.container] += units  # type: ignore[assignment]
        self.units[f"{request.container} {request.kind}"] += units  # type: ignore[assignment]
        self.requests[f"{request.container} {request.kind}"] += 1

    @property
    def total(self) -> float:
        return sum(self.units.values())

    def seconds(self) -> list[float]:
        """RU of every second from the first to the last with a request."""
        if not self.by_second:
            return []
        return [sum(self.by_second[at].values()) for at in range(min(self.by_second), max(self.by_second) + 1)]


@dataclass
class _Budget:
    """What a container may still spend: at most a second's units, negative after a costly request."""

    left: float
    at: float

    def refill(self, limit: float, now: float) -> None:
        self.left = min(limit, self.left + limit * (now - self.at))
        self.at = now


@dataclass
class LimitedProxy:
    """`limit` is in RU/s of each container; None for no limit."""

    upstream: str
    limit: float | None = None
    port: int = 0
    spent: Spent = field(default_factory=Spent)
    observe: Callable[[Request, float], None] = lambda request, units: None
    """Called with every request that was charged."""
    charges: Charges = field(default_factory=Charges)
    _budgets: dict[str, _Budget] = field(default_factory=dict)
    _idle: list[tuple[asyncio.StreamReader, asyncio.StreamWriter]] = field(default_factory=list)
    _serving: set[asyncio.Task[Any]] = field(default_factory=set)
    _refused_batches: int = 0

    @property
    def endpoint(self) -> str:
        return f"http://127.0.0.1:{self.port}"

    async def serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        task = asyncio.current_task()
        assert task is not None
        self._serving.add(task)
        try:
            with contextlib.suppress(ConnectionError, asyncio.IncompleteReadError, asyncio.CancelledError):
                while True:
                    head = await reader.readuntil(b"\r\n\r\n")
                    writer.write(await self._answer(head, await _body(head, reader)))
                    await writer.drain()
        finally:
            self._serving.discard(task)
            writer.close()

    async def _answer(self, head: bytes, body: bytes) -> bytes:
        request = parsed(head, body)
        if request is None:
            return await self._of_account(head, body)
        refusal = self._refusal(request)
        if refusal is not None:
            self.spent.refused[request.container] += 1
            return refusal
        status, headers, found = await self._forward(head, body)
        answered = orjson.loads(found) if found else None
        units = self.charges.of(request, (status, answered))
        self.spent.add(request, units)
        self.observe(request, units)
        if request.container in self._budgets:
            self._budgets[request.container].left -= units
        return _response(status, headers, found, units)

    async def _of_account(self, head: bytes, body: bytes) -> bytes:
        status, headers, found = await self._forward(head, body)
        if head.startswith(b"GET / "):
            found = found.replace(b'"defaultConsistencyLevel":"Session"', b'"defaultConsistencyLevel":"Strong"')
        return _response(status, headers, found, 0)

    def _refusal(self, request: Request) -> bytes | None:
        if self.limit is None:
            return None
        now = time.monotonic()
        budget = self._budgets.setdefault(request.container, _Budget(self.limit, now))
        budget.refill(self.limit, now)
        if budget.left > 0:
            return None
        wait = MIN_WAIT_MS + int(1000 * -budget.left / self.limit)
        if request.kind == "batch":
            self._refused_batches += 1
            if self._refused_batches % 2:
                first = {"statusCode": 429, "requestCharge": 0, "retryAfterMilliseconds": wait}
                others = [{"statusCode": 424, "requestCharge": 0}] * (len(orjson.loads(request.body)) - 1)
                return _response(207, [], orjson.dumps([first, *others]), REFUSAL_UNITS)
        headers = [f"x-ms-retry-after-ms: {wait}", "x-ms-substatus: 3200"]
        return _response(429, headers, b'{"code":"TooManyRequests","message":"over the limit"}', REFUSAL_UNITS)

    async def _forward(self, head: bytes, body: bytes) -> tuple[int, list[str], bytes]:
        address = urlsplit(self.upstream)
        message = head.replace(f" {self.upstream}/".encode(), b" /", 1) + body
        while True:
            was_idle = bool(self._idle)
            reader, writer = (
                self._idle.pop() if was_idle else await asyncio.open_connection(address.hostname, address.port)
            )
            try:
                writer.write(message)
                await writer.drain()
                answer = await reader.readuntil(b"\r\n\r\n")
                status = int(answer[9:12])
                found = b"" if status in (204, 304) else await _body(answer, reader)
            except (ConnectionError, asyncio.IncompleteReadError):
                writer.close()
                if not was_idle:
                    raise
                continue
            except BaseException:
                writer.close()
                raise
            self._idle.append((reader, writer))
            return status, answer.decode("latin-1").split("\r\n")[1:-2], found

    async def close(self) -> None:
        for task in self._serving:
            task.cancel()
        await asyncio.gather(*self._serving, return_exceptions=True)
        for _, writer in self._idle:
            writer.close()
            with contextlib.suppress(ConnectionError):
                await writer.wait_closed()


_OWN_HEADERS = ("content-length:", "transfer-encoding:", "x-ms-request-charge:", "connection:")


def _response(status: int, headers: list[str], body: bytes, units: float) -> bytes:
    kept = [each for each in headers if not each.lower().startswith(_OWN_HEADERS)]
    own = [f"content-length: {len(body)}", f"x-ms-request-charge: {units:.2f}"]
    if status == 304:
        own = own[1:]
    return "\r\n".join([f"HTTP/1.1 {status} Charged", *kept, *own, "", ""]).encode("latin-1") + body


async def _body(head: bytes, reader: asyncio.StreamReader) -> bytes:
    """The body that follows a head, its chunks put together."""
    headers = head.lower()
    if b"transfer-encoding: chunked" in headers:
        body = b""
        while True:
            size = int((await reader.readuntil(b"\r\n")).split(b";")[0], 16)
            chunk = await reader.readexactly(size + 2)
            if not size:
                return body
            body += chunk[:-2]
    _, found, rest = headers.partition(b"\r\ncontent-length:")
    length = int(rest.partition(b"\r\n")[0]) if found else 0
    return await reader.readexactly(length) if length else b""


@asynccontextmanager
async def running(upstream: str) -> AsyncIterator[LimitedProxy]:
    proxy = LimitedProxy(upstream.rstrip("/"))
    server = await asyncio.start_server(proxy.serve, "127.0.0.1", 0, limit=4 * 1024 * 1024)
    proxy.port = server.sockets[0].getsockname()[1]
    try:
        yield proxy
    finally:
        server.close()
        await proxy.close()
