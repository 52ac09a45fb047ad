"""The cache as a stranger meets it: over HTTP, in the local host, its messages over its queues."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from datetime import timedelta
from pathlib import Path
from typing import Any

import aiohttp
import pytest

from services.ports import utc_now
from services.store.containers import CATALOG
from services.store.sqlite import SqliteStore
from tests.functional.figures.world import Judgement, Process, a_tool
from tests.hosting import running_host

TOOLS = 60


@pytest.fixture
async def web(tmp_path: Path) -> AsyncIterator[aiohttp.ClientSession]:
    now = utc_now()
    store = SqliteStore(tmp_path / "toolpulse.db", utc_now)
    process = Process(store, utc_now)
    for number in range(TOOLS):
        tool = a_tool(number, now - timedelta(days=1))
        await store.create(CATALOG.name, tool.to_document())
        await process.catalog.claim(tool.primary_name, tool)
    for age in range(10):
        await process.analyse(
            tool.tool_id, f"article-{age}", Judgement(now - timedelta(hours=age, minutes=2), "positive")
        )
    await process.close()
    await store.close()
    settings = {"DATA_DIR": str(tmp_path), "MANAGEMENT_KEY": "sesame"}
    async with (
        running_host(data=tmp_path, settings=settings) as host,
        aiohttp.ClientSession(host.url, headers={"X-Management-Key": "sesame"}) as session,
    ):
        yield session


async def _json(web: aiohttp.ClientSession, path: str) -> Any:
    async with web.get(path) as response:
        assert response.status == 200, await response.text()
        return await response.json()


async def _finished(web: aiohttp.ClientSession, run: str) -> dict[str, Any]:
    for _ in range(1200):
        told: dict[str, Any] = await _json(web, run)
        if told["ended_at"] is not None:
            return told
        await asyncio.sleep(0.05)
    raise AssertionError(f"{run} did not end")


async def _queues_are_empty(web: aiohttp.ClientSession) -> None:
    for _ in range(1200):
        if not any(each["messages"] for each in (await _json(web, "/api/v1/queues"))["items"]):
            return
        await asyncio.sleep(0.05)
    raise AssertionError("messages are left")


async def test_from_mentions_in_dirty_hours_to_cached_aggregates(web: aiohttp.ClientSession) -> None:
    last = f"/api/v1/tools/tool%20{TOOLS - 1}"
    async with web.post("/admin/functions/refresh_sentiment_cache?wait=1", json={"input": ""}) as response:
        assert (await response.json())["status"] == "succeeded"
    run_id = (await _json(web, "/api/v1/runs"))["items"][0]["run_id"]
    run = await _finished(web, f"/api/v1/runs/{run_id}")
    assert (run["status"], run["progress"], run["batches"]) == ("SUCCEEDED", TOOLS, 2)

    async with web.get(f"{last}/sentiment?hours=24") as response:
        assert (response.headers["X-Cache"], response.content_type) == ("HIT", "application/json")
        body, tag = await response.json(), response.headers["ETag"]
    assert (body["total_mentions"], body["tool"]) == (10, f"tool {TOOLS - 1}")
    async with web.get(f"{last}/sentiment", headers={"If-None-Match": tag}) as response:
        assert (response.status, await response.read(), response.headers["ETag"]) == (304, b"", tag)
    assert len((await _json(web, f"{last}/sentiment/evidence?hours=24"))["items"]) == 10
    assert len((await _json(web, "/api/v1/sentiment/latest?limit=500"))["items"]) == TOOLS
    assert len((await _json(web, f"{last}/history?days=3"))["items"]) == 3

    # At its start, the worker has announced the tool, which had dirty hours.
    await _queues_are_empty(web)
    async with web.delete(f"{last}/cache") as response:
        assert (response.status, await response.read()) == (204, b"")
    async with web.get(f"{last}/sentiment?hours=24&view=full") as response:
        again = await response.json()
        assert (response.headers["X-Cache"], again["generation"]) == ("MISS", 1)
        assert again["total_mentions"] == body["total_mentions"]
    async with web.post("/api/v1/cache/refresh") as response:
        assert response.status == 202
        location = response.headers["Location"]
    assert (await _finished(web, location))["status"] == "SUCCEEDED"

    health = await _json(web, "/api/v1/cache/health")
    assert (health["status"], health["total_entries"], health["lacking"]) == ("healthy", 4 * TOOLS, [])
    assert health["cache_misses_24h"] == 1
    async with web.get("/api/v1/metrics") as response:
        assert (response.status, response.content_type) == (200, "text/plain")
        assert "toolpulse_cache_misses_total 1" in await response.text()
