"""Secrets stay where they were put: not in a log line, an answer, a stored document or a message, whatever fails."""

from __future__ import annotations

import asyncio
import base64
import io
import json
import re
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import aiohttp
from aiohttp import web
from aiohttp.test_utils import TestServer

from scripts.local_host.storage_rest import connection_string
from services.ports import Query, utc_now
from services.settings import table
from services.store.containers import CONTAINERS
from services.store.sqlite import SqliteStore
from services.topology import TIMERS
from tests.hosting import RunningHost, running_host
from triggers.http_codec import MAX_BODY_BYTES, MAX_URL_CHARACTERS

IN_URL = "s3cret-in-a-feeds-url"
PASSWORD, HEADER_KEY = "s3cret-of-a-private-feed", "s3cret-in-a-header"
CREDENTIALS = {
    "FEED_CREDENTIAL_BASIC": f"basic reader:{PASSWORD}",
    "FEED_CREDENTIAL_HEADER": f"header X-Key: {HEADER_KEY}",
}
SENTRY_KEY = "s3cret0of0the0dsn"
OF_SETTINGS = {row.name: f"s3cret-{row.name.lower()}" for row in table() if row.secret} | {
    "SENTRY_DSN": f"http://{SENTRY_KEY}@127.0.0.1:9/1"
}
STORAGE_KEY = connection_string("").split("AccountKey=")[1].split(";")[0]
"""The local host has one of its own."""
SECRETS = (
    *(secret for name, secret in OF_SETTINGS.items() if name != "AzureWebJobsStorage"),
    STORAGE_KEY,
    SENTRY_KEY,
    PASSWORD,
    HEADER_KEY,
    base64.b64encode(f"reader:{PASSWORD}".encode()).decode(),
)
RSS = (
    "<rss version='2.0'><channel><title>News</title>"
    "<item><title>{0} is out</title><link>https://a.example/{0}</link></item></channel></rss>"
)
HEADERS = ("X-Content-Type-Options", "X-Frame-Options", "Referrer-Policy", "Cross-Origin-Resource-Policy")


def echo(request: web.Request) -> str:
    """As a server does that means well."""
    return f"you asked for {request.url} with {dict(request.headers)}"


async def failing(request: web.Request) -> web.Response:
    return web.Response(status=int(request.match_info["status"]), text=echo(request))


async def private(request: web.Request) -> web.Response:
    asked_well = PASSWORD in base64.b64decode(request.headers.get("Authorization", "")[6:] or "").decode()
    if asked_well or request.headers.get("X-Key") == HEADER_KEY:
        return web.Response(text=RSS.format(request.path.strip("/").replace("/", "-")), content_type="text/xml")
    return web.Response(status=401, text=echo(request))


async def moved(request: web.Request) -> web.Response:
    raise web.HTTPFound(f"http://127.0.0.1:9/elsewhere?{request.query_string}")


async def no_feed(request: web.Request) -> web.Response:
    return web.Response(text=f"<html>{echo(request)}</html>", content_type="text/html")


@asynccontextmanager
async def outlets() -> AsyncIterator[str]:
    app = web.Application()
    app.router.add_get("/status/{status}", failing)
    app.router.add_get("/private/{kind}", private)
    app.router.add_get("/moved", moved)
    app.router.add_get("/page", no_feed)
    app.router.add_get("/tiingo/news", no_feed)
    app.router.add_get("/company-news", no_feed)
    async with TestServer(app) as server:
        yield str(server.make_url("")).rstrip("/")


def feeds(at: str) -> dict[str, dict[str, str]]:
    token = f"?token={IN_URL}"
    return {
        "basic": {"url": f"{at}/private/basic", "credential": "FEED_CREDENTIAL_BASIC"},
        "header": {"url": f"{at}/private/header{token}", "credential": "FEED_CREDENTIAL_HEADER"},
        "refused": {"url": f"{at}/status/401{token}", "credential": "FEED_CREDENTIAL_BASIC"},
        "away": {"url": f"{at}/status/500{token}", "credential": "FEED_CREDENTIAL_HEADER"},
        "gone": {"url": f"{at}/status/410{token}"},
        "moved": {"url": f"{at}/moved{token}", "credential": "FEED_CREDENTIAL_HEADER"},
        "page": {"url": f"{at}/page{token}", "credential": "FEED_CREDENTIAL_BASIC"},
        "nobody": {"url": f"http://127.0.0.1:9/feed{token}", "credential": "FEED_CREDENTIAL_BASIC"},
        "missing": {"url": f"{at}/private/basic{token}", "credential": "FEED_CREDENTIAL_NONE"},
    }


@dataclass
class Seen:
    """All that came out of the app. `answers` is by path."""

    answers: dict[str, str] = field(default_factory=dict)
    headers_missing: list[str] = field(default_factory=list)
    statuses: set[int] = field(default_factory=set)
    printed: str = ""
    stored: list[dict[str, Any]] = field(default_factory=list)
    files: bytes = b""


class Caller:
    def __init__(self, http: aiohttp.ClientSession, seen: Seen) -> None:
        self._http = http
        self._seen = seen

    async def ask(self, method: str, path: str, **more: Any) -> Any:
        async with self._http.request(method, path, **more) as answer:
            text = await answer.text()
            self._seen.answers[f"{method} {path} {len(self._seen.answers)}"] = f"{dict(answer.headers)} {text}"
            self._seen.statuses.add(answer.status)
            if path.startswith("/api/"):
                missing = [each for each in HEADERS if each not in answer.headers]
                self._seen.headers_missing += [f"{method} {path}: {each}" for each in missing]
            return json.loads(text) if "json" in answer.content_type and "ndjson" not in answer.content_type else text


async def use(host: RunningHost, at: str, seen: Seen) -> None:
    """Everything that can be asked for, and every fetch that can go wrong."""
    key = {"X-Management-Key": OF_SETTINGS["MANAGEMENT_KEY"]}
    async with aiohttp.ClientSession(host.url) as http, aiohttp.ClientSession(host.url, headers=key) as trusted:
        stranger, caller = Caller(http, seen), Caller(trusted, seen)
        for name, fields in feeds(at).items():
            await caller.ask("POST", "/api/v1/feeds", json={"feed_id": name, "source_name": name, **fields})
        await caller.ask("POST", "/api/v1/tools", json={"name": "Widget"})
        for timer in TIMERS:
            await stranger.ask("POST", f"/admin/functions/{timer.name}?wait=1", json={})
        while True:
            runs = (await caller.ask("GET", "/api/v1/runs"))["items"]
            if runs and not any(run["status"] in ("QUEUED", "RUNNING") for run in runs):
                break
            await asyncio.sleep(0.1)
        await stranger.ask("POST", "/api/v1/feeds", data=io.BytesIO(bytes(MAX_BODY_BYTES + 1)))
        await stranger.ask("GET", f"/api/v1/articles?text={'x' * MAX_URL_CHARACTERS}")
        ids = {
            "feed_id": list(feeds(at)),
            "run_id": [run["run_id"] for run in runs],
            "tool": ["Widget"],
        }
        for function in await stranger.ask("GET", "/admin/functions"):
            methods = [each.upper() for each in function.get("methods", ())]
            if "GET" in methods:
                for path in paths(function["route"], ids):
                    await caller.ask("GET", path)
                    await stranger.ask("GET", f"{path}?limit=0&nonsense=1")
            elif methods:
                for path in paths(function["route"], ids):
                    await stranger.ask(methods[0], path, data=b"{", headers={"X-Management-Key": "guess"})


def paths(route: str, ids: dict[str, list[str]]) -> list[str]:
    found = [f"/{route}"]
    for name in re.findall(r"{(\w+)[^}]*}", route):
        known = ids.get(name, ["x"])
        found = [re.sub(rf"{{{name}[^}}]*}}", each, path) for path in found for each in known]
    return found


async def stored(data: Path) -> list[dict[str, Any]]:
    store = SqliteStore(data / "toolpulse.db", utc_now)
    found: list[dict[str, Any]] = []
    try:
        for container in CONTAINERS.values():
            found += (await store.query(container.name, Query(limit=1000))).items
    finally:
        await store.close()
    return found


async def seen_in(data: Path) -> Seen:
    seen = Seen()
    settings = {
        "DATA_DIR": str(data),
        "ALLOW_PRIVATE_ADDRESSES": "true",
        "LOG_LEVEL": "DEBUG",
        "RETRY_ATTEMPTS": "1",
        "REQUEST_TIMEOUT_SECONDS": "2",
        "API_TICKERS": "AAPL",
        **{name: secret for name, secret in OF_SETTINGS.items() if name != "AzureWebJobsStorage"},
        **CREDENTIALS,
    }
    async with outlets() as at:
        settings |= {"TIINGO_BASE_URL": at, "FINNHUB_BASE_URL": at}
        async with running_host(data=data, settings=settings) as host:
            await asyncio.wait_for(use(host, at, seen), 60)
            await host.stop()
            seen.printed = host.printed()
    seen.stored = await stored(data)
    seen.files = b"".join(path.read_bytes() for path in files_in(data))
    return seen


def files_in(folder: Path) -> list[Path]:
    return [path for path in sorted(folder.rglob("*")) if path.is_file()]


async def test_no_secret_gets_out_whatever_is_asked_for_and_whatever_fails(tmp_path: Path) -> None:
    seen = await seen_in(tmp_path)

    ingestion = [each for each in seen.stored if each.get("workflow_name") == "ingest_feeds"]
    attempts = {each["subject"]: each for run in ingestion for each in run.get("attempts", ())}
    assert attempts.keys() == {*feeds(""), "tiingo", "finnhub"} - {"missing"}, "no feed is added without its setting"
    well = {name for name, attempt in attempts.items() if attempt["status"] == "SUCCEEDED"}
    assert well == {"basic", "header"}, "what is given as a secret must have been used"
    assert {200, 400, 401, 404, 413, 414} <= seen.statuses
    assert not {status for status in seen.statuses if status >= 500}

    for secret in SECRETS:
        assert secret not in seen.printed
        assert [path for path, answer in seen.answers.items() if secret in answer] == []
        assert secret.encode() not in seen.files

    # The address of a feed is what a reader of feeds asks for; nothing else has it.
    assert IN_URL not in seen.printed
    assert [path for path, answer in seen.answers.items() if IN_URL in answer and "/v1/feeds" not in path] == []
    for document in seen.stored:
        kept = {name: value for name, value in document.items() if name not in ("feed_url", "redirect_url")}
        assert IN_URL not in json.dumps(kept), document["entity_type"]

    assert seen.headers_missing == []
