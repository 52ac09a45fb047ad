"""The app as a stranger meets it: over HTTP, in the local host, with its store and queues on disk."""

from collections.abc import AsyncIterator
from pathlib import Path

import aiohttp
import pytest

from services.queues.storage import StorageQueues
from services.topology import ANALYZE_ARTICLES, INGEST_FEEDS, QUEUES
from tests.hosting import RunningHost, run_host_once, running_host

KEY = {"X-Management-Key": "sesame"}


@pytest.fixture
async def host(tmp_path: Path) -> AsyncIterator[RunningHost]:
    settings = {"DATA_DIR": str(tmp_path), "MANAGEMENT_KEY": "sesame"}
    async with running_host(data=tmp_path, settings=settings) as host:
        yield host


@pytest.fixture
async def web(host: RunningHost) -> AsyncIterator[aiohttp.ClientSession]:
    async with aiohttp.ClientSession(host.url) as session:
        yield session


async def test_a_fresh_app_is_open_about_its_health_only_and_shows_the_timers_that_ran(
    host: RunningHost, web: aiohttp.ClientSession
) -> None:
    async with web.post("/admin/functions/clean_up?wait=1", json={"input": ""}) as response:
        assert (await response.json())["status"] == "succeeded"
    async with web.get("/api/v1/health") as response:
        body = await response.json()
    assert (response.status, body["status"]) == (200, "healthy")
    assert "clean_up" in body["checks"]["scheduler"]["timers"]
    assert response.headers["X-Content-Type-Options"] == "nosniff"
    for path, method in (("/api/v1/queues", "GET"), (f"/api/v1/queues/{INGEST_FEEDS}/redrive", "POST")):
        async with web.request(method, path) as response:
            assert response.status == 401
            assert response.content_type == "application/problem+json"
    async with web.get("/api/v1/queues", headers=KEY) as response:
        assert [each["name"] for each in (await response.json())["items"]] == list(QUEUES)
    async with web.post(f"/api/v1/queues/{ANALYZE_ARTICLES}/redrive", headers=KEY) as response:
        assert await response.json() == {"name": ANALYZE_ARTICLES, "moved": 0}
    # The same adapter as on Azure, over the wire.
    parts = ["DefaultEndpointsProtocol=http", "AccountName=devstoreaccount1", "AccountKey=a2V5"]
    queues = StorageQueues(";".join([*parts, f"QueueEndpoint={host.url}/devstoreaccount1"]))
    try:
        assert [depth.messages for depth in await queues.depths(QUEUES)] == [0] * len(QUEUES)
    finally:
        await queues.close()


async def test_poison_messages_are_shown_degrade_health_and_go_back_to_work(
    host: RunningHost, web: aiohttp.ClientSession
) -> None:
    queue = "generate-ideas"
    base = f"{host.url}/devstoreaccount1/{queue}-poison"
    async with aiohttp.ClientSession() as storage:
        await storage.put(base)
        message = "<QueueMessage><MessageText>eyJ0b29sX2lkcyI6IFsiYSJdfQ==</MessageText></QueueMessage>"
        async with storage.post(f"{base}/messages", data=message) as response:
            assert response.status == 201
    async with web.get("/api/v1/queues", headers=KEY) as response:
        shown = {each["name"]: each for each in (await response.json())["items"]}[queue]
    assert (shown["poison"], shown["poison_messages"]) == (1, ['{"tool_ids": ["a"]}'])
    async with web.get("/api/v1/health") as response:
        body = await response.json()
    assert (response.status, body["status"], body["checks"]["queues"]["poison"]) == (200, "degraded", {queue: 1})

    async with web.post(f"/api/v1/queues/{queue}/redrive", headers=KEY) as response:
        assert await response.json() == {"name": queue, "moved": 1}
    async with web.get("/api/v1/queues", headers=KEY) as response:
        shown = {each["name"]: each for each in (await response.json())["items"]}[queue]
    assert (shown["messages"], shown["poison"]) == (1, 0)


async def test_every_timer_runs_once_and_the_host_ends_well(tmp_path: Path) -> None:
    code, printed = await run_host_once(data=tmp_path, settings={"DATA_DIR": str(tmp_path)})
    assert code == 0, printed
    assert "queue_depth" in printed
