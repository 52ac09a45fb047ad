"""What an app on the local host sends to Application Insights, at the wire."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

import aiohttp
from aiohttp import web
from aiohttp.test_utils import TestServer

from services import telemetry
from services.store.cosmos_connection import METRICS as OF_COSMOS
from tests.functional.telemetry.ingestion_endpoint import Endpoint, ingestion_endpoint
from tests.hosting import RunningHost, running_host

FEED = """<?xml version="1.0"?><rss version="2.0"><channel><title>News</title>
<item><guid>1</guid><title>Moorlight is a great and wonderful tool for everybody</title>
<link>https://news.example/1</link></item></channel></rss>"""

THROUGH_THE_APP = {
    *("ingest_due_feeds", "ingest_feeds", "fetch", "analyze_articles", "refresh_tools"),
    "POST /devstoreaccount1/analyze-articles/messages",
}
"""What follows from one tick, over three queues, to the entries of the cache."""

DECISIONS = {"feeds_claimed", "feed_parsed", "cache_read"}
"""Lines at DEBUG."""

LOCAL = {metric.name for metric in telemetry.METRICS} - {metric.name for metric in OF_COSMOS.values()}
"""All but the metrics of Cosmos DB."""


@asynccontextmanager
async def feed_server() -> AsyncIterator[str]:
    async def serve(request: web.Request) -> web.Response:
        return web.Response(text=FEED, content_type="application/rss+xml")

    app = web.Application()
    app.router.add_get("/feed.xml", serve)
    async with TestServer(app) as server:
        yield str(server.make_url("/feed.xml"))


async def post(session: aiohttp.ClientSession, path: str, body: object) -> None:
    async with session.post(path, json=body) as answer:
        assert answer.status < 300, await answer.text()


def names_of_the_trace(endpoint: Endpoint, function: str) -> set[str]:
    """The names of the spans in the traces in which the function ran."""
    spans = endpoint.spans()
    traces = {each["trace"] for each in spans if each["name"] == function}
    return {each["name"] for each in spans if each["trace"] in traces}


async def printed_by(host: RunningHost, text: str, times: int = 1) -> None:
    async with asyncio.timeout(300):
        while host.printed().count(text) < times:  # noqa: ASYNC110 - another process writes it
            await asyncio.sleep(0.1)


async def nothing_waits(session: aiohttp.ClientSession) -> None:
    """Returns when the runs have ended and the queues are empty."""
    async with asyncio.timeout(300):
        while True:
            async with session.get("/api/v1/runs") as runs, session.get("/api/v1/queues") as queues:
                ended = all(run["status"] == "SUCCEEDED" for run in (await runs.json())["items"])
                if ended and not any(queue["messages"] for queue in (await queues.json())["items"]):
                    return
            await asyncio.sleep(0.1)


async def test_one_trace_goes_from_a_timer_through_the_queues_to_the_cache_and_all_metrics_are_sent(
    tmp_path: Path,
) -> None:
    async with ingestion_endpoint() as endpoint, feed_server() as feed_url:
        settings = {**endpoint.settings, "DATA_DIR": str(tmp_path), "ALLOW_PRIVATE_ADDRESSES": "true"}
        settings["LOG_LEVEL"] = "DEBUG"
        async with running_host(data=tmp_path, settings=settings) as host, aiohttp.ClientSession(host.url) as session:
            await post(session, "/api/v1/tools", {"name": "Moorlight"})
            await nothing_waits(session)  # else a refresh waits, and gathers what follows
            refreshes = host.printed().count("Executed 'Functions.refresh_tools'")
            await printed_by(host, '"event": "work_resumed"')  # the worker claims feeds when it starts, too
            await post(session, "/api/v1/feeds", {"url": feed_url, "source_name": "News"})
            await post(session, "/admin/functions/ingest_due_feeds?wait=1", {})
            await printed_by(host, "Executed 'Functions.refresh_tools'", times=refreshes + 1)
            for name in ("refresh_sentiment_cache", "clean_up"):
                await post(session, f"/admin/functions/{name}?wait=1", {})
                await nothing_waits(session)
            paths = {"tools/Moorlight/sentiment": 200, "tools/none/sentiment": 404, "feeds": 200, "health": 200}
            for path, status in paths.items():
                async with session.get(f"/api/v1/{path}") as answer:
                    assert answer.status == status
            await host.stop()
            printed = host.printed()
        assert {event for event in DECISIONS if f'"event": "{event}"' in printed} == DECISIONS
        assert names_of_the_trace(endpoint, "ingest_due_feeds") >= THROUGH_THE_APP
        assert "azure.monitor" not in printed
        spans = {each["name"]: each for each in endpoint.spans()}
        assert spans["list_feeds"]["success"]
        assert spans["list_feeds"]["properties"]["faas.invocation_id"]
        requests = [each for each in endpoint.envelopes if each["data"]["baseType"] == "RequestData"]
        assert requests == [], "the host reports requests, and alerts count them"
        counted = {each["function"] for each in endpoint.metrics() if each["name"] == "toolpulse.invocations"}
        assert {"list_feeds", "ingest_due_feeds"} <= counted
        sent = {each["name"] for each in endpoint.metrics()}
        assert sent >= LOCAL - {"toolpulse.cache.errors"}
