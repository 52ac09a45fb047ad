"""Slow clients and too many of them, on a port with short limits."""

from __future__ import annotations

import asyncio
import socket
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager, suppress
from dataclasses import replace

import pytest
from aiohttp import web

from scripts.local_host.connections import Limits, Server

SHORT = Limits(idle_seconds=0.1, head_seconds=0.1, body_seconds=0.1, send_seconds=0.1, send_rate=10**9)
LONG = Limits()
HEAD = b"POST / HTTP/1.1\r\nHost: localhost\r\n"
LARGE = 20_000_000


async def answer(request: web.BaseRequest) -> web.StreamResponse:
    body = await request.read()
    return web.Response(body=b"x" * LARGE if body == b"large" else b"ok " + body)


@asynccontextmanager
async def serving(limits: Limits) -> AsyncIterator[tuple[Server, int]]:
    server = Server(answer, limits)
    listening = await asyncio.get_running_loop().create_server(server, "127.0.0.1", 0)
    try:
        yield server, listening.sockets[0].getsockname()[1]
    finally:
        listening.close()
        await server.shutdown(0.1)


async def until(condition: Callable[[], bool]) -> None:
    while not condition():  # noqa: ASYNC110 (another task of aiohttp makes it true)
        await asyncio.sleep(0.001)


async def until_closed(port: int, *parts: bytes) -> bytes:
    """What the host sends until it ends the connection by itself."""
    reader, writer = await asyncio.open_connection("127.0.0.1", port)
    for part in parts:
        writer.write(part)
        await writer.drain()
    try:
        async with asyncio.timeout(300):
            return await reader.read()
    except ConnectionError:
        return b""
    finally:
        writer.close()
        with suppress(ConnectionError):
            await writer.wait_closed()


@pytest.mark.parametrize(
    "parts",
    [
        (),
        (b"POST / HT",),
        (HEAD + b"X-Slow: ",),
    ],
)
async def test_a_head_that_does_not_come_ends_the_connection(parts: tuple[bytes, ...]) -> None:
    async with serving(replace(SHORT, idle_seconds=1000)) as (_, port):
        assert await until_closed(port, *parts) == b""


async def test_a_head_that_does_not_come_after_an_answer_ends_the_connection() -> None:
    async with serving(replace(SHORT, idle_seconds=1000)) as (_, port), asyncio.timeout(300):
        reader, writer = await asyncio.open_connection("127.0.0.1", port)
        writer.write(HEAD + b"Content-Length: 2\r\n\r\nhi")
        await reader.readuntil(b"ok hi")
        writer.write(b"GET / HT")
        with suppress(ConnectionError):
            assert await reader.read() == b""
        writer.close()


async def test_an_idle_connection_ends_and_is_not_taken_for_a_slow_head() -> None:
    async with serving(replace(SHORT, head_seconds=1000)) as (_, port):
        assert (await until_closed(port, HEAD + b"Content-Length: 2\r\n\r\nhi")).endswith(b"ok hi")


async def test_a_client_that_does_not_read_ends_the_connection() -> None:
    async with serving(replace(SHORT, idle_seconds=1000, head_seconds=1000)) as (server, port):
        with socket.create_connection(("127.0.0.1", port)) as client:
            client.setblocking(False)
            await asyncio.get_running_loop().sock_sendall(client, HEAD + b"Content-Length: 5\r\n\r\nlarge")
            async with asyncio.timeout(300):
                await until(lambda: server.open == 1)
                await until(lambda: server.open == 0)


async def test_a_client_that_reads_gets_a_large_response_whole() -> None:
    async with serving(replace(LONG, idle_seconds=0.1)) as (_, port):
        got = await until_closed(port, HEAD + b"Content-Length: 5\r\n\r\nlarge")
        assert len(got.partition(b"\r\n\r\n")[2]) == LARGE


async def test_one_connection_too_many_is_told_to_come_later() -> None:
    async with serving(replace(LONG, connections=2)) as (server, port):
        async with asyncio.timeout(300):
            held = [await asyncio.open_connection("127.0.0.1", port) for _ in range(2)]
            await until(lambda: server.open == 2)
            assert (await until_closed(port)).startswith(b"HTTP/1.1 503 ")
            for _, writer in held:
                writer.close()
            await until(lambda: server.open == 0)
        async with asyncio.timeout(300):
            reader, writer = await asyncio.open_connection("127.0.0.1", port)
            writer.write(HEAD + b"Content-Length: 2\r\nConnection: close\r\n\r\nhi")
            assert (await reader.read()).endswith(b"ok hi")
            writer.close()
