"""The SQL of the embedded store, run on an SQLite in memory."""

import json
import sqlite3
from collections.abc import Iterator
from contextlib import closing
from typing import Any

import pytest

from services.ports import Query, Where
from services.store import plans, sqlite_sql
from services.store.containers import CONTAINERS, MENTIONS, Container

NOW = 1_000
TABLE = {"mentions": MENTIONS}
STATEMENTS = sqlite_sql.STATEMENTS["mentions"]


@pytest.fixture
def connection() -> Iterator[sqlite3.Connection]:
    with closing(sqlite3.connect(":memory:", isolation_level=None)) as connection:
        for statement in sqlite_sql.schema(TABLE).values():
            connection.execute(statement)
        yield connection


def row(name: str, *, etag: str = "1", expires: int | None = None, ts: int = NOW, **fields: Any) -> tuple[Any, ...]:
    body = json.dumps({"id": name, "tool_id": "t", **fields}).encode()
    return ("t", name, body, etag, ts, expires)


def rows(connection: sqlite3.Connection) -> list[tuple[Any, ...]]:
    return connection.execute("SELECT id, etag, expires FROM mentions ORDER BY id").fetchall()


# Statements of one row


def test_a_row_is_read_until_it_expires(connection: sqlite3.Connection) -> None:
    connection.execute(STATEMENTS.upserts[1], row("a", expires=NOW + 1))
    assert connection.execute(STATEMENTS.read, ("t", "a", NOW)).fetchone()[1:] == ("1", NOW)
    for partition, name, now in (("t", "a", NOW + 1), ("t", "b", NOW), ("u", "a", NOW)):
        assert connection.execute(STATEMENTS.read, (partition, name, now)).fetchone() is None


def test_a_purge_deletes_a_few_expired_rows(connection: sqlite3.Connection) -> None:
    for name, expires in (("a", NOW), ("b", NOW - 1), ("c", NOW + 1), ("d", None)):
        connection.execute(STATEMENTS.upserts[1], row(name, expires=expires))
    assert connection.execute(STATEMENTS.purge, (NOW, 1)).rowcount == 1
    assert connection.execute(STATEMENTS.purge, (NOW, 9)).rowcount == 1
    assert [name for name, _, _ in rows(connection)] == ["c", "d"]


# Statements of many rows


@pytest.mark.parametrize("size", sqlite_sql.ROWS_AT_ONCE)
def test_many_rows_are_written_read_and_deleted(connection: sqlite3.Connection, size: int) -> None:
    names = [f'{n:03}"ü' for n in range(size)]
    connection.execute(STATEMENTS.upserts[size], [value for name in names for value in row(name)])
    keys = json.dumps([["t", name] for name in [*names, "none"]])
    read = connection.execute(STATEMENTS.read_some, (keys, NOW)).fetchall()
    assert [(number, json.loads(body)["id"]) for number, body, _, _ in sorted(read)] == list(enumerate(names))
    assert connection.execute(STATEMENTS.deletes, (keys,)).rowcount == size


@pytest.mark.parametrize(
    ("name", "needed", "is_met"),
    [
        ("a", "1", True),
        ("a", "2", False),
        ("a", None, False),
        ("a", sqlite_sql.ANY_VERSION, True),
        ("expired", "1", False),
        ("expired", None, True),
        ("expired", sqlite_sql.ANY_VERSION, False),
        ("gone", "1", False),
        ("gone", None, True),
        ("gone", sqlite_sql.ANY_VERSION, False),
    ],
)
def test_a_need_is_met_by_the_version_that_is_stored(
    connection: sqlite3.Connection, name: str, needed: object, is_met: bool
) -> None:
    connection.execute(STATEMENTS.upserts[1], row("a"))
    connection.execute(STATEMENTS.upserts[1], row("expired", expires=NOW))
    needs = json.dumps([["t", "a", "1"], ["t", name, needed]])
    (unmet,) = connection.execute(STATEMENTS.unmet, (needs, NOW)).fetchone()
    assert unmet == (None if is_met else "1")


# Queries


def test_keys_that_are_columns_are_compared_with_the_cursor_as_row_values() -> None:
    for reverse, sign in ((False, ">"), (True, "<")):
        first = plans.plan(MENTIONS, Query(reverse=reverse))
        later = Query(reverse=reverse, after=plans.encode_cursor(first.fingerprint, ["t", "h"]))
        statement, _ = sqlite_sql.select(plans.plan(MENTIONS, later), NOW)
        assert f" AND (pk, id) {sign} (:p1, :p2) ORDER BY pk" in statement


def test_a_condition_at_the_end_of_the_cursor_does_not_bound_the_scan() -> None:
    spec = CONTAINERS["feeds"]
    behind, ahead = ("lt", "le"), ("gt", "ge")  # the order is descending
    cases = [(op, reverse, (op in behind) is reverse) for op in (*behind, *ahead) for reverse in (False, True)]
    for op, reverse, is_bound in cases:
        query = Query((Where("priority_score", op, 1),), order="by_priority", reverse=reverse)  # type: ignore[arg-type]
        first = plans.plan(spec, query)
        cursor = plans.encode_cursor(first.fingerprint, [1, "2026", "f", "feed"])
        later = Query(query.where, order="by_priority", reverse=reverse, after=cursor)
        text, _ = sqlite_sql.select(plans.plan(spec, later), NOW)
        assert ("(json_extract(body, '$.priority_score') " in text.split(" AND ")[1]) is is_bound
        assert "(+json" not in sqlite_sql.select(first, NOW)[0]


# Tables and indexes


def test_a_file_has_the_schema_of_version_1() -> None:
    assert sqlite_sql.SCHEMA_VERSION == 1


def test_every_container_is_a_table_with_an_index_for_its_key_its_deadlines_and_each_order() -> None:
    container = Container("x", "pk", orders={"by_b": (("a", "ascending"), ("b", "descending"))}, crowded=True)
    a, b = "json_extract(body, '$.a')", "json_extract(body, '$.b')"
    present = f"WHERE {a} IS NOT NULL AND {b} IS NOT NULL"
    assert list(sqlite_sql.schema({"x": container}).items())[2:] == [
        ("x_key", "CREATE UNIQUE INDEX IF NOT EXISTS x_key ON x (pk, id)"),
        ("x_expires", "CREATE INDEX IF NOT EXISTS x_expires ON x (expires) WHERE expires IS NOT NULL"),
        (
            "x_a_b_desc_pk_desc_id_desc",
            "CREATE INDEX IF NOT EXISTS x_a_b_desc_pk_desc_id_desc ON x"
            f" ({a} ASC, {b} DESC, pk DESC, id DESC) {present}",
        ),
        (
            "x_a_b_desc_pk_desc_id_desc_within",
            "CREATE INDEX IF NOT EXISTS x_a_b_desc_pk_desc_id_desc_within ON x"
            f" (pk, {a} ASC, {b} DESC, id DESC) {present}",
        ),
    ]
