"""How fast the stores are, and what the port costs over the library below it, measured side by side in one run.

    python3 -m benchmarks.store [--seconds 1] [--cosmos]

The embedded store against bare sqlite3: the same tables and indexes, the same durability, the same JSON in and out, one
transaction for each single write. With --cosmos, point reads through the port against the bare SDK, both on npm's
server. Rounds of the two alternate, and the median ratio counts. Prints figures, asserts nothing.
"""

import argparse
import asyncio
import sqlite3
import statistics
import sys
import tempfile
import time
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any

import pydantic_core

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

from services.ports import Document, utc_now
from services.store import sqlite_sql
from services.store.containers import CONTAINERS
from services.store.sqlite import SqliteStore

ROUNDS = 21  # short ones, so that other load on the machine slows both sides alike
BATCH = 500
SPREAD = 20_000  # documents in each file

Run = Callable[[int], Awaitable[None]]


def article(container: str, n: int) -> Document:
    key = CONTAINERS[container].partition_key
    return {
        "id": "article",
        key: f"dedup:{(n * 7919) % SPREAD:032x}",
        "entity_type": "Article",
        "schema_version": 1,
        "created_at": "2026-02-21T20:00:00Z",
        "updated_at": "2026-02-21T20:00:00Z",
        "headline": "A release that everybody has been waiting for is out",
        "status": "pending",
        "timestamp": f"2026-02-21T20:{n % 60:02}:00Z",
        "sentiment": "positive",
        "tags": ["python", "azure"],
        "text_for_analysis": "What it says in full is of some length. " * 12,
        "ttl_timestamp": 4_000_000_000,
    }


class Bare:
    """sqlite3 without the port."""

    def __init__(self, path: Path, container: str) -> None:
        self.connection = sqlite3.connect(path, isolation_level=None)
        self.connection.execute("PRAGMA journal_mode = WAL")
        self.connection.execute("PRAGMA synchronous = NORMAL")
        for statement in sqlite_sql.schema({container: CONTAINERS[container]}).values():
            self.connection.execute(statement)
        self.container = container
        self.key = CONTAINERS[container].partition_key
        self.statements = sqlite_sql.statements(CONTAINERS[container])

    def row(self, document: Document) -> tuple[Any, ...]:
        text = pydantic_core.to_json(document).decode()
        return (document[self.key], document["id"], text, "etag", 1, document["ttl_timestamp"])

    async def upserts(self, count: int) -> None:
        for n in range(count):
            self.connection.execute(self.statements.upsert, self.row(article(self.container, n)))

    async def batches(self, count: int) -> None:
        for start in range(0, count, BATCH):
            rows = [self.row(article(self.container, n)) for n in range(start, min(start + BATCH, count))]
            self.connection.execute("BEGIN IMMEDIATE")
            self.connection.executemany(self.statements.upsert, rows)
            self.connection.execute("COMMIT")

    async def reads(self, count: int) -> None:
        for n in range(count):
            key = (f"dedup:{(n * 7919) % SPREAD:032x}", "article", 1)
            row = self.connection.execute(self.statements.read, key).fetchone()
            assert pydantic_core.from_json(row[0])["id"] == "article"


class Port:
    """The same through SqliteStore."""

    def __init__(self, path: Path, container: str) -> None:
        self.store = SqliteStore(path, utc_now)
        self.container = container

    async def upserts(self, count: int) -> None:
        for n in range(count):
            await self.store.upsert(self.container, article(self.container, n))

    async def batches(self, count: int) -> None:
        for start in range(0, count, BATCH):
            documents = [article(self.container, n) for n in range(start, min(start + BATCH, count))]
            await self.store.write_many(self.container, documents)

    async def reads(self, count: int) -> None:
        for n in range(count):
            stored = await self.store.read(self.container, f"dedup:{(n * 7919) % SPREAD:032x}", "article")
            assert stored is not None
            assert stored["id"] == "article"


async def rate(run: Run, count: int) -> float:
    start = time.perf_counter()
    await run(count)
    return count / (time.perf_counter() - start)


async def compare(what: str, port: Run, bare: Run, seconds: float, limit: float) -> None:
    count = max(BATCH, int(await rate(bare, BATCH) * seconds / ROUNDS))
    ports, bares = [], []
    for _ in range(ROUNDS):
        bares.append(await rate(bare, count))
        ports.append(await rate(port, count))
    ratio = statistics.median(b / p for b, p in zip(bares, ports, strict=True))
    print(
        f"{what:34} port {statistics.median(ports):>9,.0f}/s   bare {statistics.median(bares):>9,.0f}/s   "
        f"the port costs {ratio:4.2f} times bare (at most {limit})"
    )


async def embedded(seconds: float) -> None:
    print(f"sqlite {sqlite3.sqlite_version}, documents of {len(pydantic_core.to_json(article('articles', 1)))} bytes")
    for container in ("locators", "articles"):
        orders = len(CONTAINERS[container].orders)
        with tempfile.TemporaryDirectory() as folder:
            bare = Bare(Path(folder) / "bare.db", container)
            port = Port(Path(folder) / "port.db", container)
            try:
                await bare.batches(SPREAD)
                await port.batches(SPREAD)
                for what in ("upserts", "batches", "reads"):
                    title = f"{container} ({orders} orders): {what}"
                    await compare(title, getattr(port, what), getattr(bare, what), seconds, 2.5)
            finally:
                bare.connection.close()
                await port.store.close()


async def cosmos(seconds: float) -> None:
    from azure.core.pipeline.transport import AioHttpTransport
    from azure.cosmos.aio import CosmosClient

    from services.store.cosmos import CosmosStore
    from tests.contract import cosmos_server

    with cosmos_server.running() as server:
        store = CosmosStore(server.endpoint, "benchmark", utc_now, key=server.key)
        await store.ensure_containers()
        document = await store.upsert("articles", article("articles", 1))
        partition = document["source_id"]
        transport = AioHttpTransport(use_env_settings=False)
        async with CosmosClient(
            server.endpoint, server.key, transport=transport, enable_endpoint_discovery=False
        ) as client:
            items = client.get_database_client("benchmark").get_container_client("articles")

            async def bare(count: int) -> None:
                for _ in range(count):
                    await items.read_item("article", partition)

            async def port(count: int) -> None:
                for _ in range(count):
                    await store.read("articles", partition, "article")

            await compare("cosmos: point reads", port, bare, seconds * 3, 1.2)
        await store.close()


def main() -> None:
    options = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    options.add_argument("--seconds", type=float, default=1.0, help="how long each side of a comparison runs, roughly")
    options.add_argument("--cosmos", action="store_true", help="compare with the bare Azure SDK too (needs Node.js)")
    given = options.parse_args()
    asyncio.run(embedded(given.seconds))
    if given.cosmos:
        asyncio.run(cosmos(given.seconds))


if __name__ == "__main__":
    main()
