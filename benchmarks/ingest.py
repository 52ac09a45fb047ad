"""Feeds and articles a second: ours beside lemon24/reader, for one corpus served on loopback, in one run.

    python -m venv /tmp/reader && /tmp/reader/bin/pip install reader sgmllib3k  # thrown away afterwards
    python -m benchmarks.ingest --reader /tmp/reader/bin/python

Cold, then unchanged (304), then unchanged without validators, then with three new entries in each feed. Each side runs
in a process of its own; so does the server. `--delay-ms` is added to every response. Printed, never asserted. Last, the
whole app in the local host: how long until the figures of some tools count every new entry, beside reader's update.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import resource
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import AsyncExitStack, contextmanager
from pathlib import Path
from typing import Any
from urllib.request import urlopen

ROOT = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT))

from benchmarks import corpus  # noqa: E402
from benchmarks.feed_server import HOSTS  # noqa: E402

ROUNDS = (
    ("cold", "base", True),
    ("304", "base", True),
    ("same body", "base", False),
    ("3 new each", "full", False),
)
"""What is measured: name, which corpus is served, and whether with validators."""


@contextmanager
def serving(folder: Path, delay_ms: int) -> Iterator[str]:
    command = [sys.executable, "-m", "benchmarks.feed_server", str(folder), str(delay_ms)]
    with subprocess.Popen(command, cwd=ROOT, stdout=subprocess.PIPE, text=True) as server:
        assert server.stdout is not None
        try:
            yield f"http://{HOSTS[0]}:{int(server.stdout.readline())}"
        finally:
            server.terminate()


def serve(url: str, served: str, validators: bool) -> None:
    with urlopen(f"{url}/serve/{served}/{int(validators)}") as answer:
        answer.read()


async def ours(url: str, folder: Path, names: list[str]) -> list[dict[str, Any]]:
    from tests.queue_service import queue_service

    async with queue_service(folder / "queues") as queues:
        return await _ours(url, folder, names, queues.connection)


def due_feeds(url: str, names: list[str]) -> list[dict[str, Any]]:
    from models.feed import Feed
    from services.ports import utc_now

    urls = [f"{url.replace(HOSTS[0], HOSTS[number % len(HOSTS)])}/{name}.xml" for number, name in enumerate(names)]
    now = utc_now()
    return [
        Feed(feed_id=name, source_name=name, feed_url=each, created_at=now, next_fetch_time=now).to_document()
        for name, each in zip(names, urls, strict=True)
    ]


async def into_figures(url: str, folder: Path, names: list[str], measured: list[dict[str, Any]]) -> list[float]:
    """The seconds until the new articles of the first and the last round are analysed and all figures are complete."""
    from services.ports import Where, utc_now
    from services.store.sqlite import SqliteStore
    from tests.functional.app.recovery import Hosts

    async with AsyncExitStack() as stack:
        hosts = Hosts(folder, 1)
        stack.push_async_callback(hosts.close)
        await hosts.start(0)
        for name in corpus.NAMES.split():
            await hosts.post(0, "api/v1/tools", {"name": name})
        store = SqliteStore(folder / "store" / "toolpulse.db", utc_now)
        stack.push_async_callback(store.close)
        await store.create_many("feeds", due_feeds(url, names))
        wanted, taken = 0, list[float]()
        for served, n in (("base", 0), ("full", -1)):
            await asyncio.sleep(2)  # the runs before have ended
            serve(url, served, validators=False)
            wanted += measured[n]["articles"]
            before = time.perf_counter()
            await hosts.post(0, "api/v1/feeds/bulk", {"action": "fetch", "filter": {"enabled": True}})
            is_counted = False
            while not is_counted:
                await asyncio.sleep(0.1)
                analysed = await store.count("articles", (Where("status", "eq", "analyzed"),))
                rows = (await hosts.get(0, "sentiment/latest"))["items"]
                is_counted = analysed >= wanted and all(row["complete"] for row in rows)
            taken.append(time.perf_counter() - before)
        return taken


async def _ours(url: str, folder: Path, names: list[str], connection: str) -> list[dict[str, Any]]:
    from services import container
    from services.ports import Where, utc_now
    from services.topology import ANALYZE_ARTICLES

    services = await container.build(
        {
            "DATA_DIR": str(folder),
            "ALLOW_PRIVATE_ADDRESSES": "true",
            "LOG_LEVEL": "ERROR",
            "AzureWebJobsStorage": connection,
        }
    )
    await services.queues.send(ANALYZE_ARTICLES, [json.dumps({"article_ids": []})])  # imports the SDK, as at a start
    await services.store.create_many("feeds", due_feeds(url, names))
    measured: list[dict[str, Any]] = []
    for label, served, validators in ROUNDS:
        serve(url, served, validators)
        before, cpu = time.perf_counter(), time.process_time()
        batches = (await services.feeds.claims.claim_some(names, utc_now())).runs
        await asyncio.gather(*(services.fetching.ingestion.ingest(batch.run_id) for batch in batches))
        seconds, cpu = time.perf_counter() - before, time.process_time() - cpu
        stored = await services.store.count("articles", (Where("entity_type", "eq", "Article"),))
        new = stored - sum(each["articles"] for each in measured)
        measured.append({"round": label, "seconds": seconds, "cpu": cpu, "articles": new, "memory": _memory()})
    failed = await services.store.count("feeds", (Where("consecutive_errors", "gt", 0),))
    await services.close()
    assert failed == 0, f"{failed} feeds failed"
    measured[-1]["stored"] = stored
    return measured


def _memory() -> int:
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss // 1024


def shown(side: str, feeds: int, measured: list[dict[str, Any]]) -> None:
    for each in measured:
        print(
            f"{side:22} {each['round']:12} {feeds / each['seconds']:8.1f} feeds/s"
            f" {each['articles'] / each['seconds']:9.0f} articles/s {each['cpu']:6.2f} s CPU {each['memory']:5d} MB"
        )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--feeds", type=int, default=200)
    parser.add_argument("--entries", type=int, default=60)
    parser.add_argument("--delay-ms", type=int, default=0)
    parser.add_argument("--reader", help="a Python that has `reader` installed")
    parser.add_argument("--workers", type=int, nargs="*", default=[1, 10], help="reader's own, each measured")
    parser.add_argument("--side", choices=["ours"], help=argparse.SUPPRESS)
    parser.add_argument("--url", help=argparse.SUPPRESS)
    parser.add_argument("--data", type=Path, help=argparse.SUPPRESS)
    options = parser.parse_args()
    names = [f"feed-{number:04}" for number in range(options.feeds)]
    if options.side:
        print(json.dumps(asyncio.run(ours(options.url, options.data, names))))
        return
    with tempfile.TemporaryDirectory() as text:
        folder = Path(text)
        for name, newest_left_out in (("base", 3), ("full", 0)):
            corpus.write(folder / name, options.feeds, options.entries, newest_left_out)
        with serving(folder, options.delay_ms) as url:
            own = ["-m", "benchmarks.ingest", "--side", "ours", "--url", url, "--data", str(folder / "data")]
            measured = _run([sys.executable, *own, "--feeds", str(options.feeds)])
            shown("toolpulse", options.feeds, measured)
            taken = asyncio.run(into_figures(url, folder / "host", names, measured))
            for workers in options.workers if options.reader else ():
                theirs = [options.reader, str(ROOT / "benchmarks/ingest_reader.py"), url, str(folder), str(workers)]
                updated = _run([*theirs, str(options.feeds)])
                shown(f"reader, {workers} workers", options.feeds, updated)
                for each, seconds in zip((updated[0], updated[-1]), taken, strict=True):
                    print(f"{each['round']:12} in the figures after {seconds:.1f} s: {each['seconds'] / seconds:.2f}")


def _run(command: list[str]) -> list[dict[str, Any]]:
    done = subprocess.run(command, cwd=ROOT, check=True, stdout=subprocess.PIPE, text=True)
    measured: list[dict[str, Any]] = json.loads(done.stdout.splitlines()[-1])
    return measured


if __name__ == "__main__":
    main()
