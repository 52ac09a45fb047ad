"""A real server on this machine that sends exactly the given bytes, and fetchers to test with it."""

import asyncio
import socket
from collections.abc import AsyncIterator, Awaitable, Callable
from dataclasses import dataclass, field
from typing import Any

import pytest
from aiohttp.abc import AbstractResolver, ResolveResult

from services.fetch.fetcher import Fetcher
from services.fetch.transport import CheckedTransport
from services.settings import Settings

Handler = Callable[["Request", asyncio.StreamWriter], Awaitable[None]]


@dataclass
class Request:
    path: str
    headers: dict[str, str]


@dataclass
class Server:
    """`answers` maps a path to a response's bytes, or to a coroutine that writes what it likes."""

    answers: dict[str, bytes | list[bytes] | Handler] = field(default_factory=dict)
    requests: list[Request] = field(default_factory=list)
    port: int = 0
    scheme: str = "http"
    connections: int = 0

    def url(self, path: str = "/feed", host: str = "127.0.0.1") -> str:
        return f"{self.scheme}://{host}:{self.port}{path}"

    async def serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self.connections += 1
        try:
            while head := await reader.readuntil(b"\r\n\r\n"):
                first, *lines = head.decode("latin-1").split("\r\n")
                headers = {name.lower(): value.strip() for name, _, value in (line.partition(":") for line in lines)}
                request = Request(first.split()[1], headers)
                self.requests.append(request)
                answer = self.answers.get(request.path.partition("?")[0], response(404))
                if isinstance(answer, list):
                    answer = answer.pop(0) if len(answer) > 1 else answer[0]
                if isinstance(answer, bytes):
                    writer.write(answer)
                    await writer.drain()
                else:
                    await answer(request, writer)
                    break
        except (asyncio.IncompleteReadError, ConnectionError):
            pass
        finally:
            writer.close()


def response(status: int = 200, body: bytes = b"<rss/>", **headers: str) -> bytes:
    """`headers` in Python's spelling: content_type means Content-Type."""
    fields = {"Content-Length": str(len(body)), **{name.replace("_", "-"): text for name, text in headers.items()}}
    lines = [f"HTTP/1.1 {status} Because", *(f"{name}: {text}" for name, text in fields.items()), "", ""]
    return "\r\n".join(lines).encode("latin-1") + (b"" if status == 304 else body)


@pytest.fixture
async def server() -> AsyncIterator[Server]:
    made = Server()
    listening = await asyncio.start_server(made.serve, "127.0.0.1", 0)
    made.port = listening.sockets[0].getsockname()[1]
    yield made
    listening.close()


class Names(AbstractResolver):
    """Answers with the given addresses; of a list, one for each lookup, the last for all that follow."""

    def __init__(self, **names: list[str]) -> None:
        self.names = {name.replace("_", "."): addresses for name, addresses in names.items()}

    async def resolve(
        self, host: str, port: int = 0, family: socket.AddressFamily = socket.AF_UNSPEC
    ) -> list[ResolveResult]:
        known = self.names.get(host.rstrip("."))
        if known is None:
            raise socket.gaierror(socket.EAI_NONAME, "unknown")
        address = known.pop(0) if len(known) > 1 else known[0]
        kind = socket.AF_INET6 if ":" in address else socket.AF_INET
        return [ResolveResult(hostname=host, host=address, port=port, family=kind, proto=0, flags=0)]

    async def close(self) -> None:
        pass


Make = Callable[..., Fetcher]


@pytest.fixture
async def make() -> AsyncIterator[Make]:
    """Fetchers that need not wait: `waits`, if handed in, collects what they would have slept."""
    made: list[Fetcher] = []

    def fetcher(waits: list[float] | None = None, tools: dict[str, Any] | None = None, **settings: Any) -> Fetcher:
        async def sleep(seconds: float) -> None:
            if waits is not None:
                waits.append(seconds)

        chosen = {
            "store": "sqlite",
            "fetch_user_agent": ("toolpulse-test (test@example.com)",),
            "max_concurrent_requests": 10,
            "allow_private_addresses": True,
            **settings,
        }
        given = {"chance": lambda: 0.0, **(tools or {})}
        network = {name: given.pop(name) for name in ("tls", "resolver") if name in given}
        if network:
            private = bool(chosen["allow_private_addresses"])
            given["transport"] = CheckedTransport(connections=10, allow_private_addresses=private, **network)
        made.append(Fetcher(Settings(**chosen), sleep=sleep, **given))
        return made[-1]

    yield fetcher
    for each in made:
        await each.close()
