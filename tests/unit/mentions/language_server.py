"""A stand-in for Azure AI Language on a local port: its sentiment request and answers, and faults on demand."""

from __future__ import annotations

import json
import re
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
        parameters = body["parameters"]
        good = [_judged(each, parameters) for each in documents if not self.refuses(each["text"])]
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


_WORDS = {"good": "positive", "bad": "negative", "odd": "mixed"}
_OPINION = re.compile(r"(\w+) is (good|bad|odd)\b")
_SENTENCE = re.compile(r"\S.*?(?:\.(?=\s)|$)")


def _judged(document: Document, parameters: dict[str, Any]) -> Document:
    """A text that begins with a judgement (`positive 0.9 0.05 0.05`) has that judgement, and so has each sentence.
    `X is good`, `X is bad` and `X is odd` are opinions about X."""
    text = document["text"]
    sentences = []
    for index, match in enumerate(_SENTENCE.finditer(text)):
        opinions = list(_OPINION.finditer(match[0])) if parameters.get("opinionMining") else []
        targets = [
            {
                **_part(text, match.start() + each.start(1), each[1], parameters),
                **_scored(_WORDS[each[2]], {"positive": 0.8, "negative": 0.7, "mixed": 0.5}[_WORDS[each[2]]]),
                "relations": [
                    {"relationType": "assessment", "ref": f"#/documents/0/sentences/{index}/assessments/{number}"}
                ],
            }
            for number, each in enumerate(opinions)
        ]
        assessments = [
            {
                **_part(text, match.start() + each.start(2), each[2], parameters),
                **_scored(_WORDS[each[2]], 0.8),
                "isNegated": False,
            }
            for each in opinions
        ]
        found = _part(text, match.start(), match[0], parameters) | _named(match[0])
        sentences.append({**found, "targets": targets, "assessments": assessments})
    empty = {"offset": 0, "length": 1, "text": ".", **_named("")}
    return {"id": document["id"], **_named(text), "sentences": sentences or [empty], "warnings": []}


def _named(text: str) -> Document:
    """The judgement that a text begins with."""
    words = text.split()
    sentiment = words[0] if words and words[0] in ("positive", "negative", "mixed") else "neutral"
    numbers = [float(each) for each in words[1:4]] if sentiment != "neutral" else [0.0, 1.0, 0.0]
    scores = dict(zip(("positive", "neutral", "negative"), numbers, strict=True))
    return {"sentiment": sentiment, "confidenceScores": scores}


def _scored(sentiment: str, positive_or_negative: float) -> Document:
    """The scores of a target: never neutral."""
    positive = 1 - positive_or_negative if sentiment == "negative" else positive_or_negative
    return {"sentiment": sentiment, "confidenceScores": {"positive": positive, "negative": 1 - positive}}


def _part(text: str, start: int, part: str, parameters: dict[str, Any]) -> Document:
    """Offset and length in code points, as the adapter must ask for."""
    assert parameters["stringIndexType"] == "UnicodeCodePoint"
    return {"offset": start, "length": len(part), "text": part}


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
