"""The memory of one worker that ingests large feed documents, all at once: the most, and what it keeps afterwards.

    python -m benchmarks.memory                      60 documents of 10 MB, then 120 feeds with the same 19,000 entries
    python -m benchmarks.memory --feeds 8 --kind few

The documents are made up and served on loopback by a process of their own. tests/functional/articles/test_memory.py
runs small scenarios of it, and holds the app to its limit.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from datetime import UTC, datetime, timedelta
from email.utils import format_datetime
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT))

MEGABYTE = 1_000_000
LIMIT_MB = 400
"""The most memory of a worker, as docs/adr/0012-ingestion.md promises."""

KINDS = {
    "few": (9 * MEGABYTE, 500, ""),
    "many": (3 * MEGABYTE, 30_000, ""),
    "malformed": (8 * MEGABYTE, 5_000, "<br>&nbsp;"),
    "json": (9 * MEGABYTE, 5_000, ""),
    "same": (0, 19_000, ""),
}
"""By kind: the size of the texts of a document, its number of entries, and what makes it no XML. The entries of `same`
are those of every feed."""


def document(kind: str, feed: int) -> bytes:
    size, entries, noise = KINDS[kind]
    whose = "" if kind == "same" else f"{feed}-"
    text = "All quiet in the harbour, it is reported. " * (size // entries // 42)
    published = format_datetime(datetime.now(UTC) - timedelta(hours=2))
    if kind == "json":
        items = [
            {
                "id": f"{whose}{n}",
                "url": f"https://news.example/{whose}{n}",
                "title": title(whose, n),
                "content_html": text,
            }
            for n in range(entries)
        ]
        return json.dumps({"version": "https://jsonfeed.org/version/1.1", "title": "Large", "items": items}).encode()
    parts = [
        f"<item><title>{title(whose, n)}</title><link>{link(whose, n)}</link>"
        f'<guid isPermaLink="false">{whose}{n}</guid><pubDate>{published}</pubDate>'
        f"<description>{text}{noise}</description></item>"
        for n in range(entries)
    ]
    return f"<rss version='2.0'><channel><title>Large</title>{''.join(parts)}</channel></rss>".encode()


def link(whose: str, number: int) -> str:
    return f"https://news.example/{whose}{number}"


def title(whose: str, number: int) -> str:
    return f"Story {whose}{number} from the harbour is in the news again"


class Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def do_GET(self) -> None:
        _, kind, feed = self.path.split("/")
        body = document(kind, int(feed))
        self.send_response(200)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        with suppress(OSError):
            self.wfile.write(body)

    def log_message(self, *_: Any) -> None:
        pass


def serve() -> None:
    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    print(server.server_port, flush=True)
    server.serve_forever()


@contextmanager
def serving() -> Iterator[str]:
    command = [sys.executable, "-m", "benchmarks.memory", "--serve"]
    with subprocess.Popen(command, cwd=ROOT, stdout=subprocess.PIPE, text=True) as server:
        assert server.stdout is not None
        try:
            yield f"http://127.0.0.1:{int(server.stdout.readline())}"
        finally:
            server.terminate()


def memory_mb(name: str) -> int:
    """VmRSS is the memory that the process has now, VmHWM the most that it had."""
    status = Path("/proc/self/status").read_text()
    return next(int(line.split()[1]) for line in status.splitlines() if line.startswith(name)) // 1000


async def ingest(url: str, kind: str, feeds: int, folder: str) -> dict[str, Any]:
    """Ingests the feeds in this process."""
    from tests.queue_service import queue_service

    async with queue_service(Path(folder) / "queues") as queues:
        return await _ingest(url, kind, feeds, folder, queues.connection)


async def _ingest(url: str, kind: str, feeds: int, folder: str, queues: str) -> dict[str, Any]:
    from models.feed import Feed
    from services import container
    from services.ports import Where, utc_now

    environment = {
        "DATA_DIR": folder,
        "ALLOW_PRIVATE_ADDRESSES": "true",
        "LOG_LEVEL": "CRITICAL",
        "REQUEST_TIMEOUT_SECONDS": "120",
        "AzureWebJobsStorage": queues,
    }
    services = await container.build(environment)
    now = utc_now()
    for number in range(feeds):
        name, address = f"f{number}", f"{url}/{kind}/{number}"
        made = Feed(feed_id=name, source_name=name, feed_url=address, created_at=now, next_fetch_time=now)
        await services.store.create("feeds", made.to_document())
    claims, ingestion = services.feeds.claims, services.fetching.ingestion  # loads their modules
    before, started, cpu = memory_mb("VmRSS"), time.perf_counter(), time.process_time()
    batches = (await claims.claim_some([f"f{number}" for number in range(feeds)], utc_now())).runs
    await asyncio.gather(*(ingestion.ingest(batch.run_id) for batch in batches))
    seconds, cpu = time.perf_counter() - started, time.process_time() - cpu
    figures = {
        "before_mb": before,
        "most_mb": memory_mb("VmHWM"),
        "after_mb": memory_mb("VmRSS"),
        "seconds": round(seconds, 1),
        "cpu_seconds": round(cpu, 1),
        "articles": await services.store.count("articles", (Where("entity_type", "eq", "Article"),)),
        "failed": await services.store.count("feeds", (Where("consecutive_errors", "gt", 0),)),
    }
    await services.close()
    return figures


def measured(kind: str, feeds: int) -> dict[str, Any]:
    """The figures of a worker of its own."""
    with serving() as url, tempfile.TemporaryDirectory() as folder:
        command = [sys.executable, "-m", "benchmarks.memory", "--kind", kind, "--feeds", str(feeds)]
        done = subprocess.run(
            [*command, "--url", url, "--data", folder], cwd=ROOT, check=True, stdout=subprocess.PIPE, text=True
        )
        figures: dict[str, Any] = json.loads(done.stdout.splitlines()[-1])
        return figures


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--kind", choices=[*KINDS])
    parser.add_argument("--feeds", type=int)
    parser.add_argument("--serve", action="store_true", help=argparse.SUPPRESS)
    parser.add_argument("--url", help=argparse.SUPPRESS)
    parser.add_argument("--data", help=argparse.SUPPRESS)
    chosen = parser.parse_args()
    if chosen.serve:
        serve()
    elif chosen.url:
        print(json.dumps(asyncio.run(ingest(chosen.url, chosen.kind, chosen.feeds, chosen.data))))
    else:
        for kind in [chosen.kind] if chosen.kind else ["few", "same"]:
            feeds = chosen.feeds or (120 if kind == "same" else 60)
            print(f"{kind:10} {feeds:4} feeds  {measured(kind, feeds)}", flush=True)


if __name__ == "__main__":
    main()
