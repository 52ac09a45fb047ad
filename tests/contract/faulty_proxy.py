"""A real HTTP proxy before a Cosmos DB server that does, to the next requests for items, what a script says."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass, field
from typing import Self
from urllib.parse import urlsplit


@dataclass(frozen=True)
class Fault:
    """`status` answers instead of the server; `forward` lets the server act all the same; `cut` then drops the line;
    `hold` waits, for so many seconds, before anything."""

    status: int | None = None
    headers: tuple[tuple[str, str], ...] = ()
    forward: bool = False
    cut: bool = False
    hold: float = 0.0

    @classmethod
    def answer(cls, status: int, substatus: int = 0, retry_after_ms: int | None = None) -> Self:
        headers = [("x-ms-substatus", str(substatus))] if substatus else []
        if retry_after_ms is not None:
            headers.append(("x-ms-retry-after-ms", str(retry_after_ms)))
        return cls(status, tuple(headers))


CUT_BEFORE = Fault(cut=True)
CUT_AFTER = Fault(cut=True, forward=True)
LOST_ANSWER = Fault(503, forward=True)


@dataclass
class FaultyProxy:
    upstream: str
    port: int = 0
    script: list[Fault] = field(default_factory=list)
    always: Fault | None = None
    item_requests: list[str] = field(default_factory=list)
    accepted: int = 0
    open: int = 0
    idle: asyncio.Event = field(default_factory=asyncio.Event)

    @property
    def endpoint(self) -> str:
        return f"http://127.0.0.1:{self.port}"

    async def serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
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
        body = await reader.readexactly(_length(head))
        method, target, _ = head.split(b"\r\n", 1)[0].decode().split(" ", 2)
        fault = self._fault(method, urlsplit(target).path)
        if fault.hold:
            await asyncio.sleep(fault.hold)
        answer = b""
        if fault.forward or not (fault.cut or fault.status):
            answer = await self._forward(head, body)
        if fault.cut:
            return False
        if fault.status:
            lines = [f"HTTP/1.1 {fault.status} Scripted", "content-length: 0", *(f"{k}: {v}" for k, v in fault.headers)]
            answer = "\r\n".join([*lines, "", ""]).encode()
        writer.write(answer)
        await writer.drain()
        return True

    def _fault(self, method: str, path: str) -> Fault:
        if "/docs" not in path:
            return Fault()
        self.item_requests.append(method)
        return self.script.pop(0) if self.script else self.always or Fault()

    async def _forward(self, head: bytes, body: bytes) -> bytes:
        address = urlsplit(self.upstream)
        reader, writer = await asyncio.open_connection(address.hostname, address.port)
        try:
            writer.write(head.replace(f" {self.upstream}/".encode(), b" /", 1) + body)
            await writer.drain()
            answer = await reader.readuntil(b"\r\n\r\n")
            return answer + await reader.readexactly(_length(answer))
        finally:
            writer.close()


def _length(head: bytes) -> int:
    for line in head.lower().split(b"\r\n"):
        if line.startswith(b"content-length:"):
            return int(line.partition(b":")[2])
    return 0


@asynccontextmanager
async def running(upstream: str) -> AsyncIterator[FaultyProxy]:
    proxy = FaultyProxy(upstream)
    server = await asyncio.start_server(proxy.serve, "127.0.0.1", 0)
    proxy.port = server.sockets[0].getsockname()[1]
    try:
        yield proxy
    finally:
        server.close()
        async with asyncio.timeout(5):
            await server.wait_closed()
            if proxy.open:
                await proxy.idle.wait()
