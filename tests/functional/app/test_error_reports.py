"""Errors go to Sentry where SENTRY_DSN says so: an error's line and where it was raised, and nothing else."""

from __future__ import annotations

import gzip
import json
import logging
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest
from aiohttp import web
from aiohttp.test_utils import TestServer

from services import container
from services.logs import log_event

log = logging.getLogger("toolpulse.tests")


class Sentry:
    """What it was sent, and by whom."""

    def __init__(self) -> None:
        self.events: list[dict[str, Any]] = []
        self.auth: list[str] = []
        self.bodies: list[str] = []

    async def envelope(self, request: web.Request) -> web.Response:
        body = await request.read()
        lines = (gzip.decompress(body) if body[:2] == b"\x1f\x8b" else body).decode().splitlines()
        self.auth.append(request.headers["X-Sentry-Auth"])
        self.bodies += lines
        self.events += [json.loads(line) for line in lines if '"event_id"' in line and '"platform"' in line]
        return web.json_response({})


@pytest.fixture
async def sentry() -> AsyncIterator[tuple[Sentry, str]]:
    there = Sentry()
    site = web.Application()
    site.router.add_post("/api/7/envelope/", there.envelope)
    async with TestServer(site) as server:
        yield there, f"http://publickey@127.0.0.1:{server.port}/7"


async def test_errors_are_reported_each_event_as_one_issue_and_end_with_the_app(
    sentry: tuple[Sentry, str], tmp_path: Path
) -> None:
    there, dsn = sentry
    settings = {"DATA_DIR": str(tmp_path), "AzureWebJobsStorage": "UseDevelopmentStorage=true", "SENTRY_DSN": dsn}
    app = await container.build(settings)
    log_event(log, logging.WARNING, "slow_fetch_detected", feed_id="a")
    log_event(log, logging.ERROR, "feed_disabled", feed_id="a", reason="gone")
    log_event(log, logging.ERROR, "feed_disabled", feed_id="b", reason="ten errors")
    raised("in-a-local-variable")
    await app.close()
    log_event(log, logging.ERROR, "feed_disabled", feed_id="c", reason="gone")

    assert len(there.events) == 3
    a, b, broken = there.events
    assert json.loads(a["logentry"]["formatted"])["feed_id"] == "a"
    assert a["fingerprint"] == b["fingerprint"] == ["toolpulse.tests", "feed_disabled"]
    assert broken["exception"]["values"][0]["type"] == "ZeroDivisionError"
    assert "fingerprint" not in broken
    assert all("sentry_key=publickey" in each for each in there.auth)
    assert not any("in-a-local" + "-variable" in body for body in there.bodies)


def raised(handed_in: str) -> None:
    """Logs an exception; the text that it was handed is in its frame only."""
    try:
        1 / (len(handed_in) - len(handed_in))
    except ZeroDivisionError:
        log.exception("it breaks")
