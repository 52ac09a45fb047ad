"""A host that others than this machine reach: keys, the two ports, limits of requests."""

from __future__ import annotations

import asyncio
import re
from collections.abc import AsyncIterator
from urllib.parse import urlsplit

import aiohttp
import pytest
import pytest_asyncio

from tests.functional.local_host.sample import Sample, running_sample
from tests.hosting import ROOT, host_command, host_environment

pytestmark = pytest.mark.asyncio(loop_scope="module")

KEY = "the-key-of-the-functions"
PUBLIC = "https://news.example.com"


@pytest_asyncio.fixture(loop_scope="module", scope="module")
async def served(tmp_path_factory: pytest.TempPathFactory) -> AsyncIterator[Sample]:
    folder = tmp_path_factory.mktemp("served")
    async with running_sample(
        folder, "--host", "127.0.0.1", "--public-url", PUBLIC, settings={"FUNCTION_KEYS": f"{KEY},{KEY}-2"}
    ) as sample:
        yield sample


def own_address(sample: Sample) -> str:
    found = re.search(r"listed at (\S+)/admin/functions", sample.host.printed())
    assert found
    return found[1]


@pytest.mark.parametrize(
    ("path", "headers", "status"),
    [
        ("/api/v1/ping", {}, 200),
        ("/api/v1/locked", {}, 401),
        ("/api/v1/locked", {"X-Functions-Key": f"{KEY}-2"}, 200),
        (f"/api/v1/locked?Code={KEY}", {}, 200),
        (f"/api/v1/locked?code={KEY}", {"x-functions-key": "wrong"}, 401),
        ("/api/v1/masters", {"x-functions-key": KEY}, 401),
        ("/api/v1/ping", {"Origin": "https://evil.example"}, 403),
        ("/api/v1/ping", {"Origin": PUBLIC, "Host": "any.example"}, 200),
        ("/api/v1/ping", {f"X-{n}": "x" * 8_000 for n in range(5)}, 431),
        ("/admin/functions", {"x-functions-key": KEY}, 404),
        ("/devstoreaccount1?comp=list", {"x-functions-key": KEY}, 404),
    ],
)
async def test_a_request_is_answered_as_its_key_allows(
    served: Sample, path: str, headers: dict[str, str], status: int
) -> None:
    async with served.client.get(path, headers=headers) as response:
        assert response.status == status


async def test_a_function_sees_the_public_url(served: Sample) -> None:
    forged = {"x-functions-key": KEY, "X-Forwarded-Host": "evil.example", "X-Forwarded-Proto": "ftp"}
    async with served.client.post("/api/v1/locked", data=b"abc", headers=forged) as response:
        assert await response.text() == f"{PUBLIC}/api/v1/locked news.example.com 3"


async def test_a_body_is_not_read_before_the_key_is_right(served: Sample) -> None:
    head = "POST /api/v1/locked HTTP/1.1\r\nHost: localhost\r\nContent-Length: {}\r\nConnection: close\r\n\r\n"
    for size, status in ((1000, b"401"), (10**9, b"413")):
        reader, writer = await asyncio.open_connection("127.0.0.1", urlsplit(served.host.url).port)
        writer.write(head.format(size).encode())
        async with asyncio.timeout(300):
            assert (await reader.readline()).split()[1] == status
        writer.close()


async def test_the_hosts_own_addresses_are_on_a_loopback_port_without_functions(served: Sample) -> None:
    async with aiohttp.ClientSession(own_address(served)) as own:
        assert urlsplit(own_address(served)).hostname == "127.0.0.1"
        for path, status in (("/admin/functions", 200), ("/devstoreaccount1?comp=list", 200), ("/api/v1/ping", 404)):
            async with own.get(path) as response:
                assert response.status == status


async def test_the_app_does_not_start_without_its_keys() -> None:
    command = host_command("--port", "0", "--host", "0.0.0.0", app_dir=ROOT, data=ROOT / "none", settings={})
    process = await asyncio.create_subprocess_exec(
        *command, stderr=asyncio.subprocess.PIPE, cwd=ROOT, env=host_environment()
    )
    _, printed = await process.communicate()
    assert process.returncode == 1
    assert printed.startswith(b"The host does not start: FUNCTION_KEYS and MANAGEMENT_KEY must be set to serve on")
    assert printed.count(b"\n") == 1
    assert not (ROOT / "none").exists()
