"""Bulk writes that arrive together share a transaction, and each caller gets what it would have got alone."""

import asyncio
import sqlite3
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import closing
from pathlib import Path
from typing import Any, TypeVar

import pytest

from models.errors import Unavailable
from services.ports import Create, Delete, Document, utc_now
from services.store.sqlite import SqliteStore
from services.store.sqlite_connection import Threads, Work
from services.store.sqlite_writes import ABSENT, INLINE_WRITES, Batch, Commits, Write

T = TypeVar("T")


def item(name: str = "a", tool: str = "t", **fields: Any) -> Document:
    return {"id": name, "tool_id": tool, **fields}


def batches(prefix: str, count: int, size: int = 1) -> list[Batch]:
    return [
        [Write(f"{prefix}-{n}", f"{m}", b"{}", f"etag-{prefix}-{n}-{m}", 1, None, ABSENT) for m in range(size)]
        for n in range(count)
    ]


class CountingThreads(Threads):
    """Counts transactions, and lets the test decide when one may begin."""

    def __init__(self, path: Path) -> None:
        super().__init__(path, utc_now, 1.0, 60.0)
        self.transactions: list[bool] = []
        self.may_begin = asyncio.Event()
        self.may_begin.set()
        self.asked = asyncio.Event()

    async def write(self, work: Work[T], *, inline: bool) -> T:
        self.transactions.append(inline)
        self.asked.set()
        await self.may_begin.wait()
        return await super().write(work, inline=inline)


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "store.db"


@pytest.fixture
async def threads(path: Path) -> AsyncIterator[CountingThreads]:
    threads = CountingThreads(path)
    yield threads
    await threads.close()


@pytest.fixture
async def store(path: Path) -> AsyncIterator[SqliteStore]:
    store = SqliteStore(path, utc_now, wait_seconds=0.3)
    await store.ensure_containers()
    yield store
    await store.close()


@pytest.fixture
def raw(path: Path) -> Iterator[sqlite3.Connection]:
    with closing(sqlite3.connect(path, isolation_level=None)) as connection:
        yield connection


async def test_calls_of_a_few_turns_of_the_loop_for_several_containers_are_one_transaction(
    threads: CountingThreads,
) -> None:
    commits = Commits(threads)

    async def after(turns: int) -> list[int | None]:
        for _ in range(turns):
            await asyncio.sleep(0)
        return await commits.write("articles" if turns % 2 else "mentions", batches(f"{turns}", 2))

    assert await asyncio.gather(*(after(turns) for turns in range(4))) == [[None, None]] * 4
    assert threads.transactions == [True]


async def test_calls_that_arrive_during_a_transaction_are_the_next_one(threads: CountingThreads) -> None:
    commits = Commits(threads)
    threads.may_begin.clear()
    first = asyncio.create_task(commits.write("mentions", batches("first", 1)))
    await threads.asked.wait()
    others = [asyncio.create_task(commits.write("mentions", batches(f"{n}", 1))) for n in range(9)]
    for _ in range(20):
        await asyncio.sleep(0)
    threads.may_begin.set()
    assert await asyncio.gather(first, *others) == [[None]] * 10
    assert len(threads.transactions) == 2


async def test_a_few_writes_run_on_the_loop_and_many_in_a_thread(threads: CountingThreads) -> None:
    commits = Commits(threads)
    await commits.write("mentions", batches("few", INLINE_WRITES))
    await commits.write("mentions", batches("many", INLINE_WRITES + 1))
    assert threads.transactions == [True, False]


async def test_an_error_of_the_transaction_is_raised_to_all_and_nothing_is_written(
    store: SqliteStore, raw: sqlite3.Connection
) -> None:
    raw.execute("BEGIN IMMEDIATE")
    calls: list[Any] = [
        store.create_many("mentions", [item("a")]),
        store.batch("mentions", "t", [Create(item("b"))]),
        store.batch_many("articles", [("s", [Create({"id": "article", "source_id": "s"})])]),
        store.batch_many("mentions", [("t", [Delete("c", "etag")])]),
    ]
    outcomes = await asyncio.gather(*calls, return_exceptions=True)
    assert all(isinstance(outcome, Unavailable) for outcome in outcomes)
    raw.execute("COMMIT")
    assert await store.count("mentions") == 0
    await store.batch("mentions", "t", [Create(item("b"))])


async def test_a_cancelled_call_that_waits_is_not_written(threads: CountingThreads) -> None:
    commits = Commits(threads)
    threads.may_begin.clear()
    first = asyncio.create_task(commits.write("mentions", batches("first", 1)))
    await threads.asked.wait()
    cancelled, kept = (asyncio.create_task(commits.write("mentions", batches(name, 1))) for name in ("gone", "kept"))
    await asyncio.sleep(0)
    cancelled.cancel()
    await asyncio.gather(cancelled, return_exceptions=True)
    first.cancel()  # its transaction has begun
    threads.may_begin.set()
    assert await kept == [None]
    connection = await threads.opened()
    assert connection.execute("SELECT pk FROM mentions ORDER BY pk").fetchall() == [("first-0",), ("kept-0",)]


async def test_calls_that_wait_when_the_store_closes_are_unavailable(
    store: SqliteStore, raw: sqlite3.Connection
) -> None:
    raw.execute("BEGIN IMMEDIATE")
    calls = [asyncio.create_task(store.batch("mentions", "t", [Create(item(f"{n}"))])) for n in range(3)]
    await asyncio.sleep(0.05)
    calls += [asyncio.create_task(store.batch("mentions", "t", [Create(item(f"late {n}"))])) for n in range(3)]
    await asyncio.sleep(0)
    await store.close()
    raw.execute("COMMIT")
    outcomes = await asyncio.gather(*calls, return_exceptions=True)
    assert all(isinstance(outcome, Unavailable) for outcome in outcomes)


def test_an_event_loop_that_ends_leaves_no_call_behind(path: Path) -> None:
    async def main(after: Callable[[], Any]) -> None:
        store = SqliteStore(path, utc_now)
        await store.ensure_containers()
        call = asyncio.create_task(store.batch("mentions", "t", [Create(item("a"))]))
        await after()
        store._threads._close()
        assert not call.done()

    asyncio.run(main(lambda: asyncio.sleep(0)))
