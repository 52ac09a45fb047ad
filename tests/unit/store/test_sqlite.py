"""What only the embedded store does: waiting for locks, checkpoints, opening old files, and using its indexes."""

import asyncio
import dataclasses
import json
import re
import shutil
import sqlite3
import threading
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import closing
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest

from models.errors import Damaged, Unavailable, Unusable
from services.ports import Document, Operator, Query, Where
from services.store import plans, sqlite_sql
from services.store.containers import CONTAINERS, DESCENDING
from services.store.sqlite import SqliteStore
from services.store.sqlite_connection import translated
from tests.builders import Watch

NOW = datetime(2026, 2, 21, 20, tzinfo=UTC)


def item(name: str = "a", **fields: Any) -> Document:
    return {"id": name, "tool_id": "t", **fields}


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "store.db"


@pytest.fixture
async def open_store(path: Path) -> AsyncIterator[Callable[..., SqliteStore]]:
    opened: list[SqliteStore] = []

    def make(**options: Any) -> SqliteStore:
        opened.append(SqliteStore(path, **{"clock": lambda: NOW, **options}))
        return opened[-1]

    yield make
    for store in opened:
        await store.close()


@pytest.fixture
def raw(path: Path) -> Iterator[sqlite3.Connection]:
    with closing(sqlite3.connect(path, isolation_level=None, check_same_thread=False)) as connection:
        yield connection


async def until(true: Callable[[], bool]) -> None:
    async with asyncio.timeout(300):
        while not true():  # noqa: ASYNC110 - another thread or process changes it, and tells nobody
            await asyncio.sleep(0.01)


async def test_writes_wait_for_another_process_and_reads_do_not(
    open_store: Callable[..., SqliteStore], raw: sqlite3.Connection
) -> None:
    store = open_store()
    await store.upsert("mentions", item(n=1))
    raw.execute("BEGIN IMMEDIATE")
    writes = [
        asyncio.create_task(store.upsert("mentions", item(n=2))),
        asyncio.create_task(store.create("mentions", item("b"))),
        asyncio.create_task(store.write_many("mentions", [item("c")])),
    ]
    await asyncio.sleep(0.2)
    assert not any(write.done() for write in writes)
    stored = await store.read("mentions", "t", "a")
    assert stored is not None
    assert stored["n"] == 1
    assert len((await store.query("mentions", Query())).items) == 1
    await store.ping()
    raw.execute("COMMIT")
    await asyncio.gather(*writes)
    assert await store.count("mentions") == 3


async def test_a_lock_that_outlasts_the_budget_is_unavailable(
    open_store: Callable[..., SqliteStore], raw: sqlite3.Connection
) -> None:
    store = open_store(wait_seconds=0.2)
    await store.ensure_containers()
    raw.execute("BEGIN IMMEDIATE")
    outcomes = await asyncio.gather(
        store.upsert("mentions", item()),
        store.write_many("mentions", [item()]),
        store.delete("mentions", "t", "a"),
        return_exceptions=True,
    )
    assert all(isinstance(outcome, Unavailable) for outcome in outcomes)
    raw.execute("COMMIT")
    await store.upsert("mentions", item())


async def test_the_event_loop_goes_on_while_writes_wait(
    open_store: Callable[..., SqliteStore], raw: sqlite3.Connection
) -> None:
    store = open_store()
    await store.ensure_containers()
    raw.execute("BEGIN IMMEDIATE")
    write = asyncio.create_task(store.upsert("mentions", item()))
    for _ in range(20):
        await asyncio.sleep(0.001)
        assert not write.done()
    raw.execute("COMMIT")
    await write


async def test_what_has_expired_is_purged_from_the_file(
    open_store: Callable[..., SqliteStore], raw: sqlite3.Connection
) -> None:
    now = NOW
    store = open_store(clock=lambda: now)
    deadline = int(NOW.timestamp()) + 60
    await store.write_many("mentions", [item(f"{n}", ttl_timestamp=deadline) for n in range(1200)])
    await store.upsert("mentions", item("stays", ttl_timestamp=deadline + 1))
    left = []
    for seconds in (0, 60, 61):
        now = NOW + timedelta(seconds=seconds)
        await store.purge()
        left += raw.execute("SELECT count(*) FROM mentions").fetchone()
    assert left == [1201, 1, 0]


def overwrite_the_middle(path: Path) -> None:
    with path.open("r+b") as file:
        file.seek(path.stat().st_size // 2)
        file.write(b"\xff" * 20_000)


async def pinged_until_it_fails(store: SqliteStore) -> None:
    async with asyncio.timeout(300):
        while True:
            await store.ping()
            await asyncio.sleep(0.01)


async def test_damage_of_the_file_is_found_where_nothing_reads(
    open_store: Callable[..., SqliteStore], path: Path
) -> None:
    store = open_store()
    await store.write_many("mentions", [item(f"{n}", text="x" * 4000) for n in range(200)])
    await store.ping()
    await store.close()
    overwrite_the_middle(path)
    with pytest.raises(Unavailable, match=rf"{path} is damaged.*: restore a backup, or move its whole folder away"):
        await pinged_until_it_fails(open_store())


async def test_damage_that_a_request_meets_shows_at_every_later_ping(
    open_store: Callable[..., SqliteStore], path: Path, raw: sqlite3.Connection
) -> None:
    store = open_store()
    await store.write_many("mentions", [item(f"{n}", text="x" * 4000) for n in range(200)])
    raw.execute("PRAGMA wal_checkpoint(TRUNCATE)")
    overwrite_the_middle(path)
    await store.ping()
    with pytest.raises(Damaged):
        await store.query("mentions", Query(partition="t", limit=200))
    with pytest.raises(Damaged, match=rf"{path} is damaged"):
        await store.ping()


@pytest.mark.parametrize(
    ("code", "text"),
    [
        (sqlite3.SQLITE_BUSY, "the store was busy for longer than its budget"),
        (sqlite3.SQLITE_LOCKED, "the store was busy for longer than its budget"),
        (sqlite3.SQLITE_CORRUPT, "F is damaged, or no database of this program (why): restore a backup, or move its "
         "whole folder away to start with an empty store"),
        (sqlite3.SQLITE_NOTADB, "F is damaged, or no database of this program (why): restore a backup, or move its "
         "whole folder away to start with an empty store"),
        (sqlite3.SQLITE_FULL, "no space is left on the disk of F: make room"),
        (sqlite3.SQLITE_READONLY, "F cannot be used (why): check its rights and the space on its disk"),
        (sqlite3.SQLITE_CANTOPEN, "F cannot be used (why): check its rights and the space on its disk"),
        (sqlite3.SQLITE_PERM, "F cannot be used (why): check its rights and the space on its disk"),
        (sqlite3.SQLITE_IOERR_WRITE, "F cannot be used (why): check its rights and the space on its disk"),
        (sqlite3.SQLITE_ERROR, "the store F failed: why"),
    ],
)  # fmt: skip
def test_an_error_of_the_file_says_what_to_do(code: int, text: str) -> None:
    error = sqlite3.OperationalError("why")
    error.sqlite_errorcode = code
    assert str(translated(error, Path("F"))) == text


async def test_the_log_is_copied_into_the_file_soon_after(
    open_store: Callable[..., SqliteStore], path: Path, tmp_path: Path
) -> None:
    store = open_store(checkpoint_seconds=0.02)
    await store.upsert("mentions", item())

    def arrived() -> bool:
        shutil.copy(path, tmp_path / "copy.db")  # without its log
        with closing(sqlite3.connect(tmp_path / "copy.db")) as copy:
            try:
                return bool(copy.execute("SELECT count(*) FROM mentions").fetchone() == (1,))
            except sqlite3.Error:
                return False

    await until(arrived)


async def test_the_log_starts_afresh_under_writes_without_pause(
    open_store: Callable[..., SqliteStore], path: Path
) -> None:
    store = open_store(checkpoint_seconds=0.02)
    await store.ensure_containers()

    def rounds() -> bytes:
        return path.with_name("store.db-wal").read_bytes()[12:16]  # how often the log began anew

    async with asyncio.timeout(300):
        batch = 0
        while batch == 0 or await asyncio.to_thread(rounds) == b"\0\0\0\0":
            batch += 1
            documents = [{"id": "a", "locator": f"{batch}-{n}", "text": "x" * 4000} for n in range(500)]
            await store.write_many("locators", documents)


async def test_closing_leaves_one_file_and_no_thread(open_store: Callable[..., SqliteStore], path: Path) -> None:
    def of_stores() -> set[threading.Thread]:
        return {each for each in threading.enumerate() if each.name.startswith("store-")}

    before = of_stores()
    store = open_store()
    await store.upsert("mentions", item())
    await store.query("mentions", Query())
    assert of_stores() - before
    await store.close()
    assert [each.name for each in path.parent.iterdir()] == ["store.db"]
    assert not of_stores() - before


@pytest.mark.parametrize("order", CONTAINERS["articles"].orders)
async def test_an_order_that_is_added_later_gets_its_index_when_an_old_file_is_opened(
    open_store: Callable[..., SqliteStore], raw: sqlite3.Connection, order: str
) -> None:
    articles = CONTAINERS["articles"]
    others = {name: pairs for name, pairs in articles.orders.items() if name != order}
    older = {**CONTAINERS, "articles": dataclasses.replace(articles, orders=others)}
    for statement in sqlite_sql.schema(older).values():
        raw.execute(statement)
    raw.execute(f"PRAGMA user_version = {sqlite_sql.SCHEMA_VERSION}")
    for n in (2, 0, 1):
        body = {"id": "article", "source_id": f"{n}", **{field: f"{n}" for field, _ in articles.orders[order]}}
        row = (f"{n}", "article", json.dumps(body), f"etag {n}", n, None)
        raw.execute("INSERT INTO articles (pk, id, body, etag, ts, expires) VALUES (?, ?, ?, ?, ?, ?)", row)
    page = await open_store().query("articles", Query(order=order))
    assert [each["source_id"] for each in page.items] == ["0", "1", "2"]
    (added,) = sqlite_sql.schema().keys() - sqlite_sql.schema(older).keys()
    assert (added,) in raw.execute("SELECT name FROM sqlite_master").fetchall()
    statement, parameters = sqlite_sql.select(plans.plan(articles, Query(order=order)), 0)
    (step,) = [row[3] for row in raw.execute(f"EXPLAIN QUERY PLAN {statement}", parameters)]
    assert step == f"SCAN articles USING INDEX {added}"


@pytest.mark.parametrize("version", [sqlite_sql.SCHEMA_VERSION + 1, sqlite_sql.SCHEMA_VERSION - 1])
async def test_a_file_of_another_version_is_refused(
    open_store: Callable[..., SqliteStore], path: Path, raw: sqlite3.Connection, version: int
) -> None:
    raw.execute(f"PRAGMA user_version = {version}")
    with pytest.raises(Unusable, match=rf"{path} has schema version .*: run the version that wrote it, or choose"):
        await open_store().read("mentions", "t", "a")


@pytest.mark.parametrize("statement", ["CREATE TABLE customers (a)", "CREATE TABLE mentions (a)"])
async def test_a_database_of_another_program_is_refused_and_left_as_it_is(
    open_store: Callable[..., SqliteStore], path: Path, statement: str
) -> None:
    with closing(sqlite3.connect(path)) as other:
        other.execute(statement)
        before = other.execute("SELECT sql FROM sqlite_master").fetchall()
        with pytest.raises(Unusable, match=rf"{path} is a database of another program .*: move the file away"):
            await open_store().read("mentions", "t", "a")
        assert other.execute("SELECT sql FROM sqlite_master").fetchall() == before


async def test_a_write_that_finds_the_disk_full_shows_in_pings_for_a_minute(
    open_store: Callable[..., SqliteStore], path: Path
) -> None:
    now = NOW
    store = open_store(clock=lambda: now)
    await store.upsert("mentions", item("a", text="x"))
    connection = await store._threads.opened()
    (most_pages,) = connection.execute("PRAGMA max_page_count").fetchone()
    connection.execute("PRAGMA max_page_count = 1")
    with pytest.raises(Unusable, match=rf"no space is left on the disk of {path}: make room"):
        await store.upsert("mentions", item("b", text="x" * 100_000))
    await store.upsert("mentions", item("a", text="y"))
    now = NOW + timedelta(seconds=59)
    with pytest.raises(Unusable, match="make room"):
        await store.ping()
    now = NOW + timedelta(seconds=60)
    await store.ping()
    connection.execute(f"PRAGMA max_page_count = {most_pages}")
    await store.upsert("mentions", item("b", text="x" * 100_000))


async def test_a_full_disk_shows_in_pings_while_the_log_still_takes_writes(
    open_store: Callable[..., SqliteStore], path: Path
) -> None:
    store = open_store()
    store._threads.least_free_bytes = 2**62
    await store.upsert("mentions", item("a"))
    with pytest.raises(Unusable, match=rf"no space is left on the disk of {path}: make room"):
        await store.ping()
    assert [each for each in path.parent.glob(f"{path.name}*") if each.stat().st_mode & 0o077] == []


ORDERS = [(name, order) for name, container in CONTAINERS.items() for order in container.orders]


@pytest.mark.parametrize(("container", "order"), ORDERS)
@pytest.mark.parametrize("reverse", [False, True])
async def test_an_index_serves_every_order(
    open_store: Callable[..., SqliteStore], raw: sqlite3.Connection, container: str, order: str, reverse: bool
) -> None:
    await open_store().ensure_containers()
    spec = CONTAINERS[container]
    first = spec.orders[order][0][0]
    value: Any = 1 if first in spec.numbers else "x"
    shapes = [
        Query(order=order, reverse=reverse),
        Query(order=order, reverse=reverse, where=(Where(first, "eq", value),)),
    ]
    if spec.crowded and order != "by_change":
        shapes.append(Query(order=order, reverse=reverse, partition="p", where=(Where(first, "ge", value),)))
    for shape in shapes:
        plan = plans.plan(spec, shape)
        statement, parameters = sqlite_sql.select(plan, 0)
        steps = [row[3] for row in raw.execute(f"EXPLAIN QUERY PLAN {statement}", parameters)]
        assert not any("TEMP B-TREE" in step for step in steps)
        assert all("USING INDEX" in step for step in steps)


@pytest.mark.parametrize(("container", "order"), ORDERS)
@pytest.mark.parametrize("reverse", [False, True])
async def test_an_equality_on_the_first_field_of_an_order_is_a_range_of_its_index(
    open_store: Callable[..., SqliteStore], raw: sqlite3.Connection, container: str, order: str, reverse: bool
) -> None:
    await open_store().ensure_containers()
    spec = CONTAINERS[container]
    fields = [field for field, _ in spec.orders[order]]
    first = fields[0]
    where = (Where(first, "eq", 1 if first in spec.numbers else "x"),)
    statement, parameters = sqlite_sql.select(plans.plan(spec, Query(where, order=order, reverse=reverse)), 0)
    (step,) = [row[3] for row in raw.execute(f"EXPLAIN QUERY PLAN {statement}", parameters)]
    named = re.compile(f"{container}_{'_(?:desc_)?'.join(fields)}_")
    index = next(name for name in sqlite_sql.schema() if named.match(name))
    assert step.startswith(f"SEARCH {container} USING INDEX {index}")
    assert ("(ts=?" if first == "_ts" else "(<expr>=?") in step


@pytest.mark.parametrize(("container", "order"), ORDERS)
async def test_a_later_page_begins_at_its_cursor(
    open_store: Callable[..., SqliteStore], raw: sqlite3.Connection, container: str, order: str
) -> None:
    """Otherwise reading all pages would take time by the square of their number."""
    await open_store().ensure_containers()
    spec = CONTAINERS[container]
    first, way = spec.orders[order][0]
    bound: Any = 1 if first in spec.numbers else "x"
    for reverse in (False, True):
        op: Operator = "le" if reverse != (way == DESCENDING) else "ge"
        shapes = [Query(order=order, reverse=reverse), Query((Where(first, op, bound),), order=order, reverse=reverse)]
        if spec.crowded and order != "by_change":
            shapes += [dataclasses.replace(shape, partition="p") for shape in shapes]
        for shape in shapes:
            plan = plans.plan(spec, shape)
            values: list[Any] = [1 if field in spec.numbers else "y" for field, _ in plan.keys]
            later = dataclasses.replace(shape, after=plans.encode_cursor(plan.fingerprint, values))
            statement, parameters = sqlite_sql.select(plans.plan(spec, later), 0)
            if order == "by_change":  # an index of columns serves row values
                assert "(ts, pk, id) " in statement
                continue
            of_cursor = [name for name, value in parameters.items() if value == values[0]]
            assert any(statement.count(f":{name}") > 1 for name in of_cursor), "the bound and the comparison"
            (step,) = [row[3] for row in raw.execute(f"EXPLAIN QUERY PLAN {statement}", parameters)]
            assert "<expr><?" in step if op == "le" else "<expr>>?" in step


async def test_a_partition_is_read_by_its_key(open_store: Callable[..., SqliteStore], raw: sqlite3.Connection) -> None:
    await open_store().ensure_containers()
    for name, container in CONTAINERS.items():
        statement, parameters = sqlite_sql.select(plans.plan(container, Query(partition="p")), 0)
        steps = [row[3] for row in raw.execute(f"EXPLAIN QUERY PLAN {statement}", parameters)]
        assert steps == [f"SEARCH {name} USING INDEX {name}_key (pk=?)"]


async def test_a_store_that_is_closed_while_it_is_read_refuses_further_reads(tmp_path: Path) -> None:
    """The process crashed here: the connection was closed in a thread, under a statement of the event loop."""
    for number in range(30):
        store = SqliteStore(tmp_path / f"{number}.db", Watch(NOW))
        await store.read("feeds", "feed", "feed")

        async def reads(store: SqliteStore = store) -> None:
            while True:
                await store.read("feeds", "feed", "feed")
                await asyncio.sleep(0)

        reading = asyncio.create_task(reads())
        await asyncio.sleep(0)
        await store.close()
        with pytest.raises(Unavailable, match="the store is closed"):
            await reading
