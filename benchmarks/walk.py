"""Follows one article from "its feed is due" to "its figures over HTTP" through the app's functions, and prints for
each stage the modules that ran, and the containers that were written, in order: `python -m benchmarks.walk`.

docs/architecture.md describes the same walk; tests/unit/benchmarks/test_walk.py compares the page with this output.
"""

from __future__ import annotations

import argparse
import asyncio
import inspect
import json
import os
import sys
import tempfile
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from email.utils import format_datetime
from http.server import BaseHTTPRequestHandler, HTTPServer
from pathlib import Path
from types import FrameType
from typing import Any
from urllib.parse import parse_qsl, urlsplit

ROOT = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT))

import azure.functions as func  # noqa: E402

from tests.queue_service import QueueService, queue_service  # noqa: E402

OURS = tuple(str(ROOT / name) + os.sep for name in ("triggers", "services", "models"))
NEVER = 1e9  # seconds
TOOL = "Moorlight"
FEED = f"""<rss version="2.0"><channel><title>Example News</title><item>
<title>{TOOL} makes builds twice as fast, and teams love it</title><link>https://news.example/1</link>
<guid isPermaLink="false">1</guid><pubDate>{format_datetime(datetime.now(UTC) - timedelta(hours=2))}</pubDate>
<description>The release of {TOOL} is excellent, say those who use it.</description></item></channel></rss>""".encode()


@dataclass(slots=True)
class Stage:
    """What ran in one part of the walk. `modules` are in the order in which they were entered, `writes` are the
    containers in the order in which they were written."""

    name: str
    modules: dict[str, None] = field(default_factory=dict)
    writes: list[str] = field(default_factory=list)


class Profile:
    """Records every call of a function of the app, in every thread."""

    def __init__(self) -> None:
        self.stages: list[Stage] = []
        self._known: set[FrameType] = set()

    @contextmanager
    def stage(self, name: str) -> Iterator[None]:
        self.stages.append(Stage(name))
        threading.setprofile(self._note)
        sys.setprofile(self._note)
        try:
            yield
        finally:
            sys.setprofile(None)
            threading.setprofile(None)

    def _note(self, frame: FrameType, event: str, argument: Any) -> None:
        code = frame.f_code
        if event != "call" or not code.co_filename.startswith(OURS) or code.co_name == "<module>":
            return
        module = code.co_filename[len(str(ROOT)) + 1 :]
        stage = self.stages[-1]
        stage.modules.setdefault(module)
        if code.co_qualname == "SqliteStore.write_batches" and frame not in self._known:
            self._known.add(frame)  # a coroutine is called again each time it continues
            container = frame.f_locals["container"].name
            if stage.writes[-1:] != [container]:
                stage.writes.append(container)


class Call:
    """The context of a function call, as far as the app uses it."""

    invocation_id = "walk"


@contextmanager
def serving() -> Iterator[str]:
    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            self.send_response(200)
            self.send_header("Content-Type", "application/rss+xml")
            self.send_header("Content-Length", str(len(FEED)))
            self.end_headers()
            self.wfile.write(FEED)

        def log_message(self, format: str, *args: object) -> None:
            """Prints nothing."""

    server = HTTPServer(("127.0.0.1", 0), Handler)
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.05})
    thread.start()
    try:
        yield f"http://127.0.0.1:{server.server_port}/feed"
    finally:
        server.shutdown()
        thread.join()
        server.server_close()


class App:
    """Calls the app's functions as the Functions host does."""

    def __init__(self) -> None:
        import function_app

        function_app.app.functions_bindings = None  # else the functions can be listed once in a process only
        self._functions = {
            str(each.get_function_name()): each.get_user_function() for each in function_app.app.get_functions()
        }

    async def call(self, name: str, **given: Any) -> Any:
        handler = self._functions[name]
        if "context" in inspect.signature(handler).parameters:
            given["context"] = Call()
        return await handler(**given)


def request(method: str, url: str, given: dict[str, str] | None = None, **route: str) -> func.HttpRequest:
    """`given` is the body of a POST."""
    headers = {"content-type": "application/json"} if given else {}
    body = json.dumps(given).encode() if given else b""
    params = dict(parse_qsl(urlsplit(url).query))
    return func.HttpRequest(method, url, headers=headers, params=params, route_params=route, body=body)


def message(text: str) -> func.QueueMessage:
    return func.QueueMessage(id="1", body=text.encode())


async def walk() -> list[Stage]:
    """The stages of one article, from its feed to its figures. The app is warmed up by one read."""
    profile = Profile()
    with serving() as url, tempfile.TemporaryDirectory() as folder:
        async with queue_service(Path(folder) / "queues") as queues:
            await _walk(App(), queues, profile, url, folder)
    return profile.stages


async def _walk(app: App, queues: QueueService, profile: Profile, url: str, folder: str) -> None:
    os.environ |= {"DATA_DIR": folder, "STORE": "sqlite", "ALLOW_PRIVATE_ADDRESSES": "true", "LOG_LEVEL": "ERROR"}
    os.environ |= {"GROUPING_THRESHOLD_ARTICLES": "1"}
    os.environ |= {"AzureWebJobsStorage": queues.connection, "MANAGEMENT_KEY": ""}
    from services import container

    sentiment = f"/api/v1/tools/{TOOL}/sentiment"
    try:
        # What is counted would be stored after ten seconds, whatever stage a slow machine is in.
        (await container.get()).figures.counters.writer._flushed_every = NEVER
        await app.call("add_tool", req=request("POST", "/api/v1/tools", {"name": TOOL}))
        await container.resumed()
        await app.call("add_feed", req=request("POST", "/api/v1/feeds", {"url": url, "source_name": "Example News"}))
        await app.call("get_tool_sentiment", req=request("GET", sentiment, tool=TOOL))
        queues.received()
        with profile.stage("claim"):
            await app.call("ingest_due_feeds", timer_request=None)
        (claimed,) = queues.received()
        with profile.stage("ingest"):
            await app.call("ingest_feeds", message=message(claimed))
        (article,) = queues.received()
        with profile.stage("analyse"):
            await app.call("analyze_articles", message=message(article))
        grouping, refresh = queues.received()
        with profile.stage("group"):
            await app.call("group_headlines", message=message(grouping))
        with profile.stage("refresh"):
            await app.call("refresh_tools", message=message(refresh))
        with profile.stage("serve"):
            response = await app.call("get_tool_sentiment", req=request("GET", f"{sentiment}?period=DAY_30", tool=TOOL))
        figures = json.loads(response.get_body())
        if figures["total_mentions"] != 1:
            raise SystemExit(f"the figures do not count the article: {figures}")
    finally:
        await container.close()


def main() -> None:
    argparse.ArgumentParser(description=(__doc__ or "").partition("\n\n")[0]).parse_args()
    for stage in asyncio.run(walk()):
        print(f"{stage.name}\n  " + "\n  ".join(stage.modules))
        print(f"writes: {', '.join(stage.writes) or 'nothing'}")


if __name__ == "__main__":
    main()
