"""What the cache's claims rest on, measured side by side in one run on the embedded store.

    python benchmarks/cache.py                 everything at full size: minutes, and about 2 GB of disk
    python benchmarks/cache.py --scale 0.05    the same with a twentieth of the mentions
    python benchmarks/cache.py --only a

(a) a cached GET against a function that answers a constant of the same size, through the local host, and the latency
at a steady 500 requests a second; (b) the time of a refresh of 1,000 tools. benchmarks/budgets.py counts the operations
of both.
"""

from __future__ import annotations

import argparse
import asyncio
import random
import statistics
import sys
import tempfile
import time
from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from contextlib import asynccontextmanager
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT))

from models.values import format_time  # noqa: E402
from services.mentions.due import MAX_TOOLS, mark_dirty  # noqa: E402
from services.ports import Document, Store, utc_now  # noqa: E402
from services.store.containers import CATALOG, MENTIONS  # noqa: E402
from services.store.sqlite import SqliteStore  # noqa: E402
from services.work.stage import parts_of  # noqa: E402
from tests.builders import Watch  # noqa: E402
from tests.functional.figures.world import Process, a_mention, a_tool  # noqa: E402
from tests.hosting import running_host  # noqa: E402

NOW = datetime(2026, 2, 21, 20, 17, 31, tzinfo=UTC)
MADE = NOW - timedelta(days=60)
MONTH = 30 * 86_400
SIGNS = {"positive": 1, "negative": -1, "neutral": 0}
SENTIMENTS = tuple(SIGNS)
CONNECTIONS = 16
REST = 5.0
"""Seconds in which the store copies its log into its file: what the first build left of that is not the refresh's."""


def say(text: str) -> None:
    print(text, flush=True)


@asynccontextmanager
async def embedded(watch: Watch) -> AsyncIterator[SqliteStore]:
    with tempfile.TemporaryDirectory(dir="/var/tmp") as folder:
        store = SqliteStore(Path(folder) / "toolpulse.db", watch)
        await store.ensure_containers()
        try:
            yield store
        finally:
            await store.close()


def mention_documents(tool_ids: Sequence[str], count: int, seed: int) -> list[Document]:
    """`count` mentions in all, at random times of the last 30 days."""
    chance = random.Random(seed)
    template = a_mention("t", "s", NOW, headline="Something happened to something that people watch, says somebody")
    document = template.to_document()
    found = []
    for number in range(count):
        moment = format_time(NOW - timedelta(seconds=chance.randrange(60, MONTH)))
        sentiment = chance.choice(SENTIMENTS)
        tool_id, source_id = chance.choice(tool_ids), f"dedup:{seed:04x}{number:028x}"
        found.append(
            document
            | {
                "id": source_id,
                "source_id": source_id,
                "tool_id": tool_id,
                "sentiment": sentiment,
                "polarity": SIGNS[sentiment] * round(chance.uniform(0.0001, 1), 4),
                "published_at": moment,
            }
        )
    return found


async def fill(store: Store, tool_ids: Sequence[str], count: int) -> float:
    started = time.perf_counter()
    step = 50_000
    for seed, start in enumerate(range(0, count, step)):
        await store.write_many(MENTIONS.name, mention_documents(tool_ids, min(step, count - start), seed))
    return time.perf_counter() - started


async def timed(work: Callable[[], Awaitable[Any]]) -> float:
    started = time.perf_counter()
    await work()
    return time.perf_counter() - started


# (a)

APP = """
import importlib.util
import sys

sys.path.insert(0, {root!r})
import azure.functions as func

spec = importlib.util.spec_from_file_location("toolpulse_app", {root!r} + "/function_app.py")
module = importlib.util.module_from_spec(spec)
spec.loader.exec_module(module)
app = module.app


@app.route(route="v1/constant", methods=["GET"], auth_level=func.AuthLevel.ANONYMOUS)
async def constant(req: func.HttpRequest) -> func.HttpResponse:
    return func.HttpResponse({body!r}, mimetype="application/json", charset="utf-8")
"""


async def get(reader: asyncio.StreamReader, writer: asyncio.StreamWriter, request: bytes) -> bytes:
    writer.write(request)
    head = await reader.readuntil(b"\r\n\r\n")
    length = next(int(line[15:]) for line in head.split(b"\r\n") if line.lower().startswith(b"content-length:"))
    assert head.startswith(b"HTTP/1.1 200"), head
    return await reader.readexactly(length)


def request_of(path: str) -> bytes:
    return f"GET {path} HTTP/1.1\r\nHost: localhost\r\n\r\n".encode()


async def throughput(port: int, path: str, seconds: float) -> float:
    done = 0
    until = time.perf_counter() + seconds

    async def caller() -> None:
        nonlocal done
        reader, writer = await asyncio.open_connection("127.0.0.1", port)
        while time.perf_counter() < until:
            await get(reader, writer, request_of(path))
            done += 1
        writer.close()

    started = time.perf_counter()
    await asyncio.gather(*(caller() for _ in range(CONNECTIONS)))
    return done / (time.perf_counter() - started)


async def latencies(port: int, path: str, rate: int, seconds: float) -> list[float]:
    """At a steady rate, whether or not answers come: each latency counts from when the request was due."""
    due: asyncio.Queue[float | None] = asyncio.Queue()
    found: list[float] = []

    async def caller() -> None:
        reader, writer = await asyncio.open_connection("127.0.0.1", port)
        while (at := await due.get()) is not None:
            await get(reader, writer, request_of(path))
            found.append(time.perf_counter() - at)
        writer.close()

    callers = [asyncio.create_task(caller()) for _ in range(CONNECTIONS)]
    start = time.perf_counter() + 0.1
    for number in range(int(rate * seconds)):
        at = start + number / rate
        if (wait := at - time.perf_counter()) > 0:
            await asyncio.sleep(wait)
        due.put_nowait(at)
    for _ in callers:
        due.put_nowait(None)
    await asyncio.gather(*callers)
    return found


async def over_http(rounds: int, seconds: float) -> None:
    with tempfile.TemporaryDirectory(dir="/var/tmp") as folder:
        data = Path(folder)
        store = SqliteStore(data / "toolpulse.db", utc_now)
        tool = a_tool(0, utc_now() - timedelta(days=60))
        await store.create(CATALOG.name, tool.to_document())
        process = Process(store, utc_now)
        body = (await process.cache.reader.read(tool.tool_id, "HOUR_24")).body
        await process.close()
        await store.close()
        app = data / "app"
        app.mkdir()
        (app / "host.json").write_text((ROOT / "host.json").read_text())
        (app / "function_app.py").write_text(APP.format(root=str(ROOT), body=body))
        settings = {"DATA_DIR": folder, "LOG_LEVEL": "WARNING", "READ_AUTH_LEVEL": "anonymous"}
        async with running_host(app_dir=app, data=data / "host", settings=settings) as host:
            port = int(host.url.rsplit(":", 1)[1])
            cached = f"/api/v1/tools/{tool.tool_id}/sentiment?hours=24"
            paths = {"constant": "/api/v1/constant", "cached": cached}
            for path in paths.values():
                await throughput(port, path, 1.0)
            rates: dict[str, list[float]] = {name: [] for name in paths}
            for _ in range(rounds):
                for name, path in paths.items():
                    rates[name].append(await throughput(port, path, seconds))
            constant, fast = (statistics.median(rates[name]) for name in paths)
            say(f"(a) {len(body)} bytes: constant {constant:,.0f}/s, cached {fast:,.0f}/s: {fast / constant:.2f}")
            found = sorted(await latencies(port, cached, 500, 4 * seconds))
            p50, p99 = (1000 * found[int(len(found) * part)] for part in (0.5, 0.99))
            say(f"    at 500 requests/s: p50 {p50:.2f} ms, p99 {p99:.2f} ms of {len(found):,}")


# (b)


async def refresh_all(process: Process, tool_ids: Sequence[str]) -> None:
    for batch in parts_of(tool_ids, MAX_TOOLS):
        refreshed = await process.cache.refresh.refresh_tools(batch)
        assert not refreshed.failed, refreshed.failed


async def refreshes(scale: float) -> None:
    watch = Watch(NOW)
    tools = [a_tool(number, MADE) for number in range(1000)]
    tool_ids = [tool.tool_id for tool in tools]
    count = int(1_000_000 * scale)
    async with embedded(watch) as store:
        await store.write_many(CATALOG.name, [tool.to_document() for tool in tools])
        took = await fill(store, tool_ids, count)
        say(f"(b) 1,000 tools with {count:,} mentions (written in {took:.0f} s)")
        process = Process(store, watch)

        async def build() -> None:
            for tool_id in tool_ids:
                await process.cache.recount.rebuild_tool(tool_id, NOW)
            await refresh_all(process, tool_ids)

        say(f"    first build: {await timed(build):.2f} s")
        watch.advance(minutes=15)
        chance = random.Random(1)
        moments: dict[str, list[datetime]] = {}
        for number in range(1000):
            tool_id, at = chance.choice(tool_ids), NOW + timedelta(seconds=chance.randrange(900))
            moments.setdefault(tool_id, []).append(at)
            await store.create(MENTIONS.name, a_mention(tool_id, f"new-{number}", at).to_document())
        for tool_id, times in moments.items():
            await mark_dirty(store, {tool_id: times}, watch.now)
        await asyncio.sleep(REST)
        for name in (
            f"after 1,000 new mentions of {len(moments)} tools",
            *("with nothing new", "with nothing new, the first in a new hour", "with nothing new, the next"),
        ):
            say(f"    {name}: {await timed(lambda: refresh_all(process, tool_ids)):.2f} s")
            watch.advance(minutes=15)
        await process.close()


async def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--scale", type=float, default=1.0)
    parser.add_argument("--only", default="a,b")
    given = parser.parse_args()
    only = given.only.split(",")
    if "a" in only:
        await over_http(rounds=5, seconds=3.0 * min(1.0, max(given.scale, 0.3)))
    if "b" in only:
        await refreshes(given.scale)


if __name__ == "__main__":
    asyncio.run(main())
