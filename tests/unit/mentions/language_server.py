"""A stand-in for Azure AI Language on a local port: its sentiment request and answers, and faults on demand."""

from __future__ import annotations

import json
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from typing import Any

from aiohttp import web

Document = dict[str, Any]


@dataclass
class LanguageServer:
    """Each request uses up one of `faults`; without faults it is judged. `refuses_whole` decides which texts make the
    whole request fail, `refuses` which fail alone."""

    url: str = ""
    requests: list[dict[str, Any]] = field(default_factory=list)
    keys: list[str] = field(default_factory=list)
    faults: list[web.Response] = field(default_factory=list)
    refuses: Callable[[str], bool] = lambda text: False
    refuses_whole: Callable[[str], bool] = lambda text: False

    def texts(self) -> list[list[str]]:
        return [[each["text"] for each in request["analysisInput"]["documents"]] for request in self.requests]

    async def answer(self, request: web.Request) -> web.Response:
        body = await request.json()
        self.requests.append(body)
        self.keys.append(request.headers.get("Ocp-Apim-Subscription-Key", ""))
        if self.faults:
            return self.faults.pop(0)
        documents = body["analysisInput"]["documents"]
        if len(documents) > 10 or any(self.refuses_whole(each["text"]) for each in documents):
            return _failed(400, "InvalidRequest")
        good = [_judged(each) for each in documents if not self.refuses(each["text"])]
        bad = [
            {"id": each["id"], "error": {"code": "InvalidDocument", "message": "Document text is empty."}}
            for each in documents
            if self.refuses(each["text"])
        ]
        results = {"documents": good, "errors": bad, "modelVersion": "2024-01-01"}
        return web.json_response({"kind": "SentimentAnalysisResults", "results": results})


def _failed(status: int, code: str) -> web.Response:
    return web.json_response({"error": {"code": code, "message": "no"}}, status=status)


def fault(status: int, **headers: str) -> web.Response:
    body = json.dumps({"error": {"code": "Fault", "message": "no"}})
    return web.Response(status=status, text=body, content_type="application/json", headers=headers)


def _judged(document: Document) -> Document:
    """A text names its judgement: `positive 0.9 0.05 0.05`."""
    words = document["text"].split()
    sentiment = words[0] if words and words[0] in ("positive", "negative", "mixed") else "neutral"
    numbers = [float(each) for each in words[1:4]] if sentiment != "neutral" else [0.0, 1.0, 0.0]
    scores = dict(zip(("positive", "neutral", "negative"), numbers, strict=True))
    sentence = {"sentiment": "neutral", "confidenceScores": scores, "offset": 0, "length": 1, "text": "."}
    return {
        "id": document["id"],
        "sentiment": sentiment,
        "confidenceScores": scores,
        "sentences": [sentence],
        "warnings": [],
    }


@asynccontextmanager
async def language_server() -> AsyncIterator[LanguageServer]:
    server = LanguageServer()
    app = web.Application(client_max_size=10_000_000)
    app.router.add_post("/language/:analyze-text", server.answer)
    runner = web.AppRunner(app)
    await runner.setup()
    site = web.TCPSite(runner, "127.0.0.1", 0)
    await site.start()
    try:
        server.url = f"http://127.0.0.1:{runner.addresses[0][1]}"
        yield server
    finally:
        await runner.cleanup()
