"""What an app on the local host sends to Application Insights, at the wire."""

from __future__ import annotations

from pathlib import Path

import aiohttp

from tests.functional.telemetry.ingestion_endpoint import Endpoint, ingestion_endpoint
from tests.hosting import running_host


def names_of_the_trace(endpoint: Endpoint, function: str) -> set[str]:
    """The names of the spans in the traces in which the function ran."""
    spans = endpoint.spans()
    traces = {each["trace"] for each in spans if each["name"] == function}
    return {each["name"] for each in spans if each["trace"] in traces}


async def test_an_invocation_and_its_calls_of_the_store_are_one_trace(tmp_path: Path) -> None:
    async with ingestion_endpoint() as endpoint:
        settings = {**endpoint.settings, "DATA_DIR": str(tmp_path)}
        async with running_host(data=tmp_path, settings=settings) as host, aiohttp.ClientSession(host.url) as session:
            async with session.get("/api/v1/feeds") as answer:
                assert answer.status == 200
            async with session.get("/api/v1/feeds/none") as answer:
                assert answer.status == 404
            async with session.post("/admin/functions/ingest_due_feeds?wait=1", json={}) as answer:
                assert answer.status == 200
            await host.stop()
            assert "azure.monitor" not in host.printed()
        spans = {each["name"]: each for each in endpoint.spans()}
        assert "query feeds" in names_of_the_trace(endpoint, "list_feeds")
        assert "query feeds" in names_of_the_trace(endpoint, "ingest_due_feeds")
        assert spans["get_feed"]["success"]
        assert spans["list_feeds"]["properties"]["faas.invocation_id"]
        requests = [each for each in endpoint.envelopes if each["data"]["baseType"] == "RequestData"]
        assert requests == [], "the host reports requests, and alerts count them"
        assert {each["function"] for each in endpoint.metrics() if each["name"] == "toolpulse.invocations"} >= {
            "list_feeds",
            "get_feed",
            "ingest_due_feeds",
        }
