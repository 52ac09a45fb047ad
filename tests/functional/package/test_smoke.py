"""The smoke script passes a good app and reports what is wrong with another; it runs as after a deployment."""

import asyncio
import json
import sys
from typing import Any

import pytest
from aiohttp import web
from aiohttp.test_utils import TestServer

from tests.hosting import ROOT, host_environment

Route = tuple[int, object]

GOOD_HEALTH = {"version": "9.9.9", "checks": {"database": {"status": "healthy", "detail": "the store answers"}}}
GOOD: dict[str, Route] = {
    "/api/v1/health": (200, GOOD_HEALTH),
    "/api/v1/queues": (200, {"items": [{"name": "ingest-feeds"}], "next": None}),
}
SAFE = {"X-Content-Type-Options": "nosniff", "X-Frame-Options": "DENY"}
KEYS = {"FUNCTION_KEY": "function", "MANAGEMENT_KEY": "sesame"}


async def smoke(
    routes: dict[str, Route],
    keys: dict[str, str] | None = None,
    headers: dict[str, str] | None = None,
    locked: bool = True,
) -> tuple[int, str]:
    """Its exit code and what it printed, against a server that answers as Azure would in front of such an app."""

    async def answer(request: web.Request) -> web.Response:
        if request.path not in routes:
            return web.Response(status=404)
        asked_by = (request.headers.get("x-functions-key"), request.headers.get("X-Management-Key"))
        if request.path.endswith("queues") and locked and asked_by != tuple(KEYS.values()):
            return web.Response(status=401)
        status, body = routes[request.path]
        return web.json_response(body, status=status, headers=SAFE if headers is None else headers)

    app = web.Application()
    app.router.add_get("/{path:.*}", answer)
    async with TestServer(app) as server:
        return await smoke_of(str(server.make_url("/")), keys)


async def smoke_of(url: str, keys: dict[str, str] | None = None) -> tuple[int, str]:
    process = await asyncio.create_subprocess_exec(
        *(sys.executable, str(ROOT / "scripts" / "smoke.py"), url, "--version", "9.9.9", "--wait", "0"),
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.STDOUT,
        env=host_environment(keys),
    )
    printed, _ = await process.communicate()
    assert process.returncode is not None
    return process.returncode, printed.decode()


@pytest.mark.parametrize("keys", [{}, KEYS])
async def test_a_good_app_passes(keys: dict[str, str]) -> None:
    code, printed = await smoke(GOOD, keys)
    assert code == 0, printed
    assert "database: healthy, the store answers" in printed


@pytest.mark.parametrize(
    ("routes", "options", "said"),
    [
        ({"/api/v1/health": (503, {})}, {}, "health answers 503"),
        ({"/api/v1/health": (200, {**GOOD_HEALTH, "version": "9.9.8"})}, {}, "version 9.9.8, not 9.9.9"),
        ({"/api/v1/queues": (200, {"items": []})}, {}, "queues answer 200 with the keys"),
        ({"/api/v1/no-such-thing": (200, {})}, {}, "an unknown route answers 200"),
        ({}, {"keys": None, "locked": False}, "200 without a key, not 401"),
        ({}, {"headers": {}}, "lacks the header x-frame-options"),
    ],
)
async def test_a_wrong_response_is_reported(routes: dict[str, Route], options: dict[str, Any], said: str) -> None:
    code, printed = await smoke({**GOOD, **routes}, **{"keys": KEYS, **options})
    assert code == 1
    assert said in printed


async def test_an_app_that_does_not_respond_is_reported() -> None:
    code, printed = await smoke_of("http://127.0.0.1:9")
    assert code == 1
    assert "health answers 0" in printed


def test_the_headers_it_wants_are_those_of_host_json() -> None:
    from scripts.smoke import HEADERS

    host = json.loads((ROOT / "host.json").read_text())
    sent = {name.lower(): value for name, value in host["extensions"]["http"]["customHeaders"].items()}
    assert HEADERS.items() <= sent.items()
