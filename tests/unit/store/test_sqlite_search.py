"""The index of searches of the embedded store: its terms and numbers, and how a file gets it."""

import json
import sqlite3
from collections.abc import Callable
from contextlib import closing
from pathlib import Path

import pytest

from services.ports import Query, Where
from services.store import sqlite_sql
from services.store.sqlite import SqliteStore
from services.store.sqlite_search import INDEXES, LONGEST_TERM, numbers
from tests.builders import Watch

INDEX = INDEXES["articles"]
ROW = 1 << 29


@pytest.mark.parametrize(
    ("where", "term"),
    [
        (Where("words", "contains", "fed"), "g666564"),
        (Where("words", "contains", ""), "g"),
        (Where("detected_tool_ids", "contains", "ü"), "hc3bc"),
        (Where("status", "eq", "pending"), "n70656e64696e67"),
        (Where("words", "eq", "fed"), None),
        (Where("status", "contains", "pending"), None),
        (Where("words", "contains", 1), None),
        (Where("words", "contains", "a\0b"), None),
        (Where("words", "contains", "x" * LONGEST_TERM), "g" + "78" * LONGEST_TERM),
        (Where("words", "contains", "x" * (LONGEST_TERM + 1)), None),
        (Where("status", "missing"), None),
        (Where("headline", "eq", "fed"), None),
    ],
)
def test_a_condition_is_a_term_if_the_index_serves_it(where: Where, term: str | None) -> None:
    assert INDEX.term(where) == term


@pytest.mark.parametrize(
    ("conditions", "low", "high"),
    [
        ((), 0, (1 << 62) - 1),
        ((Where("timestamp", "ge", "1970-01-01T00:00:02Z"),), 2 * ROW, (1 << 62) - 1),
        ((Where("timestamp", "lt", "1970-01-01T00:00:02Z"),), 0, 3 * ROW - 1),
        ((Where("timestamp", "eq", "1970-01-01T00:00:02Z"),), 2 * ROW, 3 * ROW - 1),
        ((Where("timestamp", "ge", "1969-01-01T00:00:00Z"),), 0, (1 << 62) - 1),
        ((Where("timestamp", "le", "9999-01-01T00:00:00Z"),), 0, (1 << 62) - 1),
        ((Where("timestamp", "le", "yesterday"), Where("timestamp", "missing")), 0, (1 << 62) - 1),
        ((Where("updated_at", "le", "1970-01-01T00:00:02Z"),), 0, (1 << 62) - 1),
    ],
)
def test_times_bound_the_numbers(conditions: tuple[Where, ...], low: int, high: int) -> None:
    assert numbers(INDEX, conditions) == (low, high)


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "store.db"


@pytest.fixture
def open_store(path: Path, watch: Watch) -> Callable[[], SqliteStore]:
    return lambda: SqliteStore(path, watch)


FED = Query((Where("words", "contains", "fed"),), order="by_time")


def put(raw: sqlite3.Connection, name: str) -> None:
    body = {"id": "article", "source_id": name, "timestamp": "2026-02-21T20:00:00Z", "words": ["fed"]}
    row = (name, "article", json.dumps(body), "etag", 1, None)
    raw.execute("INSERT INTO articles (pk, id, body, etag, ts, expires) VALUES (?, ?, ?, ?, ?, ?)", row)


async def names(store: SqliteStore) -> list[str]:
    found = [each["source_id"] for each in (await store.query("articles", FED)).items]
    await store.close()
    return found


async def test_an_old_file_gets_an_index_of_all_that_it_has(path: Path, open_store: Callable[[], SqliteStore]) -> None:
    with closing(sqlite3.connect(path)) as raw, raw:
        for name, statement in sqlite_sql.schema().items():
            if name not in INDEX.objects:
                raw.execute(statement)
        raw.execute(f"PRAGMA user_version = {sqlite_sql.SCHEMA_VERSION}")
        put(raw, "a")
        put(raw, "b")
    assert await names(open_store()) == ["a", "b"]


async def test_an_index_of_another_definition_is_replaced(path: Path, open_store: Callable[[], SqliteStore]) -> None:
    await names(open_store())
    other = "articles_search_01234567"
    with closing(sqlite3.connect(path)) as raw, raw:
        for name, statement in INDEX.objects.items():
            raw.execute(statement.replace(INDEX.table, other))
            if name == INDEX.table:
                continue
            raw.execute(f"DROP TRIGGER {name}")
        raw.execute(f"DROP TABLE {INDEX.table}")
        put(raw, "a")
    assert await names(open_store()) == ["a"]
    with closing(sqlite3.connect(path)) as raw, raw:
        there = {name for (name,) in raw.execute("SELECT name FROM sqlite_master")}
    assert there >= INDEX.objects.keys()
    assert not any(name.startswith(other) for name in there)
