"""Tables, indexes and statements of the embedded store. Pure text, and no queries: see sqlite_queries.py.

A container is one rowid table with the document as JSON text and a unique index over (pk, id): twice as fast to write
as WITHOUT ROWID. An order is an expression index, so that an order that is added later is one CREATE INDEX.
"""
# ruff: noqa: S608 - names come from containers.py or have passed rules.py; values are always bound

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

from services.store.containers import CONTAINERS, DESCENDING, Container

SCHEMA_VERSION = 1

Parameter = str | int | float | None

ROWS_AT_ONCE = (256, 128, 64, 32, 16, 8, 4, 2, 1)
"""How many rows a statement takes. Few large statements are better: SQLite runs one without the interpreter's lock, and
after each a thread may wait five milliseconds for that lock while the program is busy."""

_BODY = "CAST(? AS TEXT)"  # bound as the bytes that encoders give
_ROW = f"(?, ?, {_BODY}, ?, ?, ?)"
ALIVE = "(expires IS NULL OR expires > ?)"

ANY_VERSION = 0
"""Stands for any ETag. A number, so that no text equals it."""


@dataclass(frozen=True, slots=True)
class Statements:
    """The statements of one container. A row is (pk, id, body, etag, ts, expires).

    read, delete    take (pk, id, now); delete_if also the ETag that must be stored
    create, upsert  take a row; replace also the ETag that must be stored
    read_some       takes (pk, id) many times, then now; returns the rows found, each behind its place
    unmet           takes (pk, id, needed, now) many times; `needed` is an ETag, ANY_VERSION, or null for no row.
                    Returns one text with the places of the needs that are not met, or null
    upserts         takes many rows
    deletes         takes (pk, id) many times
    purge           takes now and how many expired rows to delete

    Where a statement takes something many times, there is one for each of ROWS_AT_ONCE. Those of read_some and unmet
    may be padded with nulls.
    """

    read: str
    read_some: Mapping[int, str]
    create: str
    upsert: str
    replace: str
    delete: str
    delete_if: str
    unmet: Mapping[int, str]
    upserts: Mapping[int, str]
    deletes: Mapping[int, str]
    purge: str


def statements(container: Container) -> Statements:
    table = container.name
    key = "pk = ? AND id = ?"
    insert = f"INSERT INTO {table} (pk, id, body, etag, ts, expires) VALUES"
    overwrite = (
        "ON CONFLICT (pk, id) DO UPDATE SET body = excluded.body, etag = excluded.etag, ts = excluded.ts,"
        " expires = excluded.expires"
    )
    upserts = {rows: f"{insert} {_ROWS[rows]} {overwrite}" for rows in ROWS_AT_ONCE}
    return Statements(
        read=f"SELECT body, etag, ts FROM {table} WHERE {key} AND {ALIVE}",
        # CROSS JOIN makes SQLite look up each key, whatever it believes about the table. A key of nulls finds nothing.
        read_some={
            rows: f"WITH keys (place, key, name) AS (VALUES {_KEYS[rows]}) SELECT place, body, etag, ts FROM keys"
            f" CROSS JOIN {table} WHERE pk = key AND id = name AND {ALIVE}"
            for rows in ROWS_AT_ONCE
        },
        create=f"{insert} {_ROW} {overwrite} WHERE {table}.expires <= excluded.ts",
        upsert=upserts[1],
        replace=f"UPDATE {table} SET body = CAST(?3 AS TEXT), etag = ?4, ts = ?5, expires = ?6"
        " WHERE pk = ?1 AND id = ?2 AND etag = ?7 AND (expires IS NULL OR expires > ?5)",
        delete=f"DELETE FROM {table} WHERE {key} AND {ALIVE}",
        delete_if=f"DELETE FROM {table} WHERE {key} AND {ALIVE} AND etag = ?",
        unmet={rows: _unmet(table, rows) for rows in ROWS_AT_ONCE},
        upserts=upserts,
        deletes={rows: _deletes(table, rows) for rows in ROWS_AT_ONCE},
        purge=f"DELETE FROM {table} WHERE rowid IN (SELECT rowid FROM {table} WHERE expires <= ? LIMIT ?)",
    )


def _unmet(table: str, rows: int) -> str:
    """One text, not a row for each need: to fetch a row releases the interpreter's lock and waits for it again."""
    return (
        f"WITH wanted (place, key, name, needed, now) AS (VALUES {_NEEDS[rows]}) SELECT group_concat(place) FROM wanted"
        f" LEFT JOIN {table} ON pk = key AND id = name AND (expires IS NULL OR expires > now)"
        f" WHERE CASE needed WHEN {ANY_VERSION} THEN etag IS NULL ELSE etag IS NOT needed END"
    )


def _deletes(table: str, rows: int) -> str:
    return (
        f"DELETE FROM {table} WHERE rowid IN (SELECT {table}.rowid FROM (VALUES {_ADDRESSES[rows]}) AS gone"
        f" CROSS JOIN {table} WHERE pk = gone.column1 AND id = gone.column2)"
    )


def _values(row: Callable[[int], str]) -> dict[int, str]:
    every = [row(place) for place in range(max(ROWS_AT_ONCE))]
    return {rows: ", ".join(every[:rows]) for rows in ROWS_AT_ONCE}


_ROWS = _values(lambda _: _ROW)
_KEYS = _values(lambda place: f"({place}, ?, ?)")
_NEEDS = _values(lambda place: f"({place}, ?, ?, ?, ?)")
_ADDRESSES = _values(lambda _: "(?, ?)")
STATEMENTS: dict[str, Statements] = {name: statements(container) for name, container in CONTAINERS.items()}


def increment(container: Container, fields: Sequence[str]) -> str:
    """Takes the row of a first increment, now, the amounts, now and now.

    It overwrites a document that has expired with that row, and does nothing if a field holds no number.
    """
    table = container.name
    old = f"{table}.body"
    raised = ", ".join(f"'$.{field}', coalesce(json_extract({old}, '$.{field}'), 0) + ?" for field in fields)
    counts = " AND ".join(
        f"coalesce(json_type({old}, '$.{field}'), 'integer') IN ('integer', 'real')" for field in fields
    )
    return (
        f"INSERT INTO {table} (pk, id, body, etag, ts, expires) VALUES (?, ?, {_BODY}, ?, ?, ?) ON CONFLICT (pk, id)"
        f" DO UPDATE SET body = CASE WHEN {table}.expires <= ? THEN excluded.body ELSE json_set({old}, {raised}) END,"
        f" etag = excluded.etag, ts = excluded.ts,"
        f" expires = CASE WHEN {table}.expires <= ? THEN excluded.expires ELSE {table}.expires END"
        f" WHERE {table}.expires <= ? OR ({counts})"
    )


def schema(containers: Mapping[str, Container] = CONTAINERS) -> dict[str, str]:
    """Every table and index that the file must have, by name, tables first."""
    objects: dict[str, str] = {}
    for container in containers.values():
        table = container.name
        objects[table] = (
            f"CREATE TABLE IF NOT EXISTS {table} (pk TEXT NOT NULL, id TEXT NOT NULL, body TEXT NOT NULL,"
            " etag TEXT NOT NULL, ts INTEGER NOT NULL, expires INTEGER)"
        )
    for container in containers.values():
        table = container.name
        objects[f"{table}_key"] = f"CREATE UNIQUE INDEX IF NOT EXISTS {table}_key ON {table} (pk, id)"
        objects[f"{table}_expires"] = (
            f"CREATE INDEX IF NOT EXISTS {table}_expires ON {table} (expires) WHERE expires IS NOT NULL"
        )
        for name in container.orders:
            pairs = container.complete_order(name)
            present = " AND ".join(f"{column(container, field)} IS NOT NULL" for field, _ in container.orders[name])
            within = [pair for pair in pairs if pair[0] != container.partition_key]
            # The name tells the definition, so that an order that changes gets a new index in an old file.
            index = "_".join((table, *(f"{f}{'_desc' if way == DESCENDING else ''}" for f, way in pairs)))
            objects[index] = _index(index, container, "", pairs, present)
            if container.crowded:
                objects[f"{index}_within"] = _index(f"{index}_within", container, "pk, ", within, present)
    return objects


def _index(name: str, container: Container, prefix: str, pairs: Sequence[tuple[str, str]], present: str) -> str:
    columns = ", ".join(f"{column(container, f)} {'DESC' if way == DESCENDING else 'ASC'}" for f, way in pairs)
    return f"CREATE INDEX IF NOT EXISTS {name} ON {container.name} ({prefix}{columns}) WHERE {present}"


def column(container: Container, field: str) -> str:
    own = {"id": "id", container.partition_key: "pk", "_ts": "ts"}
    return own.get(field) or f"json_extract(body, '$.{field}')"
