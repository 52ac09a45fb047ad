"""A real HTTP proxy in front of a Cosmos DB server. A script defines what happens to the next requests for items."""

import asyncio
import ssl
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass, field
from typing import Literal, Self
from urllib.parse import urlsplit


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
    headers: tuple[tuple[str, str], ...] = ()
    body: bytes = b""
    forward: bool = False
    cut: bool = False
    hold: float = 0.0
    pause: Literal["", "before", "after"] = ""
    linger: float = 0.0

    @classmethod
    def answer(cls, status: int, substatus: int = 0, retry_after_ms: int | None = None, body: bytes = b"") -> Self:
        headers = [("x-ms-substatus", str(substatus))] if substatus else []
        if retry_after_ms is not None:
            headers.append(("x-ms-retry-after-ms", str(retry_after_ms)))
        return cls(status, tuple(headers), body)


CUT_BEFORE = Fault(cut=True)
CUT_AFTER = Fault(cut=True, forward=True)
LOST_ANSWER = Fault(503, forward=True)


@dataclass
class FaultyProxy:
    """`requests` and `open` count the present requests and connections, `most_requests` the most requests at once.
    Where a request pauses, `has_paused` is set, and `go_on` lets it and all others go on."""

    upstream: str
    port: int = 0
    script: list[Fault] = field(default_factory=list)
    always: Fault | None = None
    item_requests: list[str] = field(default_factory=list)
    accepted: int = 0
    open: int = 0
    requests: int = 0
    most_requests: int = 0
    idle: asyncio.Event = field(default_factory=asyncio.Event)
    has_paused: asyncio.Event = field(default_factory=asyncio.Event)
    go_on: asyncio.Event = field(default_factory=asyncio.Event)
    serving: set[asyncio.Task[None]] = field(default_factory=set)

    @property
    def endpoint(self) -> str:
        return f"http://127.0.0.1:{self.port}"

    def serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        task = asyncio.ensure_future(self._serve(reader, writer))
        self.serving.add(task)
        task.add_done_callback(self.serving.discard)

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self.accepted += 1
        self.open += 1
        self.idle.clear()
        try:
            with suppress(ConnectionError, asyncio.IncompleteReadError):
                while await self._one(reader, writer):
                    pass
        finally:
            writer.close()
            with suppress(ConnectionError):
                await writer.wait_closed()
            self.open -= 1
            if not self.open:
                self.idle.set()

    async def _one(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> bool:
        head = await reader.readuntil(b"\r\n\r\n")
        body = await _body(head, reader)
        self.requests += 1
        self.most_requests = max(self.most_requests, self.requests)
        try:
            answer = await self._answer(head, body)
        finally:
            self.requests -= 1
        if answer is None:
            return False
        writer.write(answer)
        await writer.drain()
        return True

    async def _answer(self, head: bytes, body: bytes) -> bytes | None:
        method, target, _ = head.split(b"\r\n", 1)[0].decode().split(" ", 2)
        fault = self._fault(method, urlsplit(target).path)
        await asyncio.sleep(fault.hold)
        await self._paused(fault, "before")
        answer = b""
        if fault.forward or not (fault.cut or fault.status):
            answer = await self._forward(head, body)
        await asyncio.sleep(fault.linger)
        await self._paused(fault, "after")
        if fault.cut:
            return None
        if fault.status:
            length = ("content-length", str(len(fault.body)))
            lines = [f"HTTP/1.1 {fault.status} Scripted", *(f"{k}: {v}" for k, v in (length, *fault.headers))]
            answer = "\r\n".join([*lines, "", ""]).encode() + fault.body
        return answer

    async def _paused(self, fault: Fault, when: str) -> None:
        if fault.pause == when:
            self.has_paused.set()
            await self.go_on.wait()

    def _fault(self, method: str, path: str) -> Fault:
        if "/docs" not in path:
            return Fault()
        self.item_requests.append(method)
        return self.script.pop(0) if self.script else self.always or Fault()

    async def _forward(self, head: bytes, body: bytes) -> bytes:
        address = urlsplit(self.upstream)
        reader, writer = await asyncio.open_connection(address.hostname, address.port, ssl=_ssl(address.scheme))
        try:
            writer.write(head.replace(f" {self.upstream}/".encode(), b" /", 1) + body)
            await writer.drain()
            answer = await reader.readuntil(b"\r\n\r\n")
            return answer + await _body(answer, reader)
        finally:
            writer.close()


def _ssl(scheme: str) -> ssl.SSLContext | None:
    """Microsoft's emulators sign their certificates themselves."""
    if scheme != "https":
        return None
    context = ssl.create_default_context()
    context.check_hostname = False
    context.verify_mode = ssl.CERT_NONE
    return context


async def _body(head: bytes, reader: asyncio.StreamReader) -> bytes:
    """The body that follows a head, with its chunks as they were sent."""
    headers = head.lower().split(b"\r\n")
    if b"transfer-encoding: chunked" in headers:
        body = b""
        while True:
            size = await reader.readuntil(b"\r\n")
            chunk = await reader.readexactly(int(size.split(b";")[0], 16) + 2)
            body += size + chunk
            if chunk == b"\r\n":
                return body
    for line in headers:
        if line.startswith(b"content-length:"):
            return await reader.readexactly(int(line.partition(b":")[2]))
    return b""


@asynccontextmanager
async def running(upstream: str) -> AsyncIterator[FaultyProxy]:
    proxy = FaultyProxy(upstream.rstrip("/"))
    server = await asyncio.start_server(proxy.serve, "127.0.0.1", 0)
    proxy.port = server.sockets[0].getsockname()[1]
    try:
        yield proxy
    finally:
        server.close()
        # A client that was cancelled while it connected may leave a connection open.
        while proxy.serving:
            for task in proxy.serving:
                task.cancel()
            await asyncio.wait(proxy.serving)
        await server.wait_closed()
