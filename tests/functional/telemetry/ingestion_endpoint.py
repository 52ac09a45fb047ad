"""Application Insights at the wire: a server that keeps the envelopes that the exporter sends."""

from __future__ import annotations

import gzip
import json
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

from aiohttp import web
from aiohttp.test_utils import TestServer

KEY = "22222222-2222-2222-2222-222222222222"


class Endpoint:
    def __init__(self) -> None:
        self.envelopes: list[dict[str, Any]] = []
        self.url = ""

    @property
    def settings(self) -> dict[str, str]:
        """What makes an app send to this endpoint, and nothing elsewhere."""
        return {
            "APPLICATIONINSIGHTS_CONNECTION_STRING": f"InstrumentationKey={KEY};IngestionEndpoint={self.url}",
            "APPLICATIONINSIGHTS_STATSBEAT_DISABLED_ALL": "true",
            "APPLICATIONINSIGHTS_CONTROLPLANE_DISABLED": "true",
            "APPLICATIONINSIGHTS_OPENTELEMETRY_RESOURCE_METRIC_DISABLED": "true",
            "TELEMETRY_SAMPLE_RATIO": "1",
        }

    def spans(self) -> list[dict[str, Any]]:
        """Requests and dependencies: base data, with the ids of trace, span and parent."""
        kinds = ("RequestData", "RemoteDependencyData")
        return [
            {
                **each["data"]["baseData"],
                "trace": each["tags"]["ai.operation.id"],
                "parent": each["tags"].get("ai.operation.parentId"),
                "sampleRate": each.get("sampleRate"),
            }
            for each in self.envelopes
            if each["data"]["baseType"] in kinds
        ]

    def metrics(self) -> list[dict[str, Any]]:
        """Each point of a metric: name, value and properties."""
        found = [each["data"]["baseData"] for each in self.envelopes if each["data"]["baseType"] == "MetricData"]
        return [
            {"name": point["name"], "value": point["value"], **(each.get("properties") or {})}
            for each in found
            for point in each["metrics"]
        ]

    async def _track(self, request: web.Request) -> web.Response:
        body = await request.read()
        text = gzip.decompress(body) if body[:2] == b"\x1f\x8b" else body
        envelopes = json.loads(text) if text[:1] == b"[" else [json.loads(line) for line in text.splitlines()]
        self.envelopes += envelopes
        return web.json_response({"itemsReceived": len(envelopes), "itemsAccepted": len(envelopes), "errors": []})


@asynccontextmanager
async def ingestion_endpoint() -> AsyncIterator[Endpoint]:
    endpoint = Endpoint()
    app = web.Application(client_max_size=64 << 20)
    app.router.add_post("/{path:.*}", endpoint._track)
    async with TestServer(app) as server:
        endpoint.url = f"http://127.0.0.1:{server.port}"
        yield endpoint
