"""The embedded store's SQL: its tables and indexes, its statements, and how a plan becomes a SELECT.

Pure text; services/store/sqlite.py runs it. A container is one rowid table with the document as JSON text and a unique
index over (pk, id): measured twice as fast to write as WITHOUT ROWID. An order is an expression index, so that a new
one in containers.py is one CREATE INDEX on an old file.
"""
# ruff: noqa: S608 - names come from containers.py or have passed rules.py; values are always bound

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from services.ports import Scalar, Where
from services.store.containers import CONTAINERS, DESCENDING, Container
from services.store.rules import Plan

SCHEMA_VERSION = 1

Parameter = str | int | float | None

READ_AT_ONCE = 32
ROWS_AT_ONCE = (256, 64, 16, 4, 1)
"""Rows of one statement, as many as there are: SQLite works through them without Python, so that other threads get on
meanwhile. Between statements a busy program may keep the thread waiting for five milliseconds."""

_BODY = "CAST(? AS TEXT)"  # bound as the bytes that encoders give
_ALIVE = "(expires IS NULL OR expires > ?)"
_KEYS = ", ".join(f"({n}, ?, ?)" for n in range(READ_AT_ONCE))


ANY_VERSION = 0
"""In place of an ETag: whatever version is stored. A number, so that no text equals it."""


@dataclass(frozen=True, slots=True)
class Statements:
    """The statements of one container. A row is (pk, id, body, etag, ts, expires).

    `create`, `upsert`, `replace`, `delete` and `delete_if` write one row each; `replace` takes the ETag that must be
    stored behind the row. `read_some` takes READ_AT_ONCE keys, padded with nulls, and answers with the places of those
    that are there. Of `unmet`, `upserts` and `deletes` there is one for each of ROWS_AT_ONCE. `unmet` takes
    (pk, id, needed, now) and answers in one row with the places of those that are not met: `needed` is an ETag,
    ANY_VERSION, or null for none stored. `deletes` takes (pk, id).
    """

    read: str
    read_some: str
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
    row = f"(?, ?, {_BODY}, ?, ?, ?)"
    overwrite = (
        "ON CONFLICT (pk, id) DO UPDATE SET body = excluded.body, etag = excluded.etag, ts = excluded.ts,"
        " expires = excluded.expires"
    )
    upserts = {rows: f"{insert} {', '.join([row] * rows)} {overwrite}" for rows in ROWS_AT_ONCE}
    return Statements(
        read=f"SELECT body, etag, ts FROM {table} WHERE {key} AND {_ALIVE}",
        # CROSS JOIN: each key is looked up, whatever SQLite believes about the table. A key of nulls finds nothing.
        read_some=f"WITH keys (place, key, name) AS (VALUES {_KEYS}) SELECT place, body, etag, ts FROM keys"
        f" CROSS JOIN {table} WHERE pk = key AND id = name AND {_ALIVE}",
        create=f"{insert} {row} {overwrite} WHERE {table}.expires <= excluded.ts",
        upsert=upserts[1],
        replace=f"UPDATE {table} SET body = CAST(?3 AS TEXT), etag = ?4, ts = ?5, expires = ?6"
        " WHERE pk = ?1 AND id = ?2 AND etag = ?7 AND (expires IS NULL OR expires > ?5)",
        delete=f"DELETE FROM {table} WHERE {key} AND {_ALIVE}",
        delete_if=f"DELETE FROM {table} WHERE {key} AND {_ALIVE} AND etag = ?",
        unmet={rows: _unmet(table, rows) for rows in ROWS_AT_ONCE},
        upserts=upserts,
        deletes={rows: _deletes(table, rows) for rows in ROWS_AT_ONCE},
        purge=f"DELETE FROM {table} WHERE rowid IN (SELECT rowid FROM {table} WHERE expires <= ? LIMIT ?)",
    )


def _unmet(table: str, rows: int) -> str:
    """One row of text, not a row for each: to fetch a row gives the interpreter's lock away, and asks for it again."""
    wanted = ", ".join(f"({place}, ?, ?, ?, ?)" for place in range(rows))
    return (
        f"WITH wanted (place, key, name, needed, now) AS (VALUES {wanted}) SELECT group_concat(place) FROM wanted"
        f" LEFT JOIN {table} ON pk = key AND id = name AND (expires IS NULL OR expires > now)"
        f" WHERE CASE needed WHEN {ANY_VERSION} THEN etag IS NULL ELSE etag IS NOT needed END"
    )


def _deletes(table: str, rows: int) -> str:
    return (
        f"DELETE FROM {table} WHERE rowid IN (SELECT {table}.rowid FROM (VALUES {', '.join(['(?, ?)'] * rows)}) AS gone"
        f" CROSS JOIN {table} WHERE pk = gone.column1 AND id = gone.column2)"
    )


STATEMENTS: dict[str, Statements] = {name: statements(container) for name, container in CONTAINERS.items()}


def increment(container: Container, fields: Sequence[str]) -> str:
    """Takes the row of a first increment, now, the amounts, now and now.

    A document that has expired is overwritten by that row; one whose field holds no number is left alone.
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
    """Name and statement of everything that the file must have, tables first."""
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
            present = " AND ".join(f"{_column(container, field)} IS NOT NULL" for field, _ in container.orders[name])
            within = [pair for pair in pairs if pair[0] != container.partition_key]
            # An index is named for its definition: an order that changes gets a new one on an old file.
            index = "_".join((table, *(f"{f}{'_desc' if way == DESCENDING else ''}" for f, way in pairs)))
            objects[index] = _index(index, container, "", pairs, present)
            if container.crowded:
                objects[f"{index}_within"] = _index(f"{index}_within", container, "pk, ", within, present)
    return objects


def _index(name: str, container: Container, prefix: str, pairs: Sequence[tuple[str, str]], present: str) -> str:
    columns = ", ".join(f"{_column(container, f)} {'DESC' if way == DESCENDING else 'ASC'}" for f, way in pairs)
    return f"CREATE INDEX IF NOT EXISTS {name} ON {container.name} ({prefix}{columns}) WHERE {present}"


def select(plan: Plan, now: int) -> tuple[str, list[Parameter]]:
    """One page and one document more."""
    container, query = plan.container, plan.query
    bounded = _bounded_by_cursor(plan)
    conditions, parameters = _conditions(container, query.where, query.partition, now, bounded)
    conditions += [f"{_column(container, field)} IS NOT NULL" for field in plan.present]
    if plan.after is not None:
        condition, values = _beyond(plan, plan.after)
        conditions.append(condition)
        parameters += values
    moving = [plan.keys[n] for n in plan.moving()]
    order = ", ".join(f"{_column(container, field)} {'DESC' if down else 'ASC'}" for field, down in moving)
    text = (
        f"SELECT body, etag, ts FROM {container.name} WHERE {' AND '.join(conditions)}"
        f" ORDER BY {order} LIMIT {query.limit + 1}"
    )
    return text, parameters


def count(container: Container, where: Sequence[Where], partition: str | None, now: int) -> tuple[str, list[Parameter]]:
    conditions, parameters = _conditions(container, where, partition, now)
    return f"SELECT count(*) FROM {container.name} WHERE {' AND '.join(conditions)}", parameters


def _bounded_by_cursor(plan: Plan) -> tuple[Where, ...]:
    """The conditions that the cursor makes looser than itself. An index serves one bound: it must be the cursor's."""
    if plan.after is None:
        return ()
    first, down = plan.keys[plan.moving()[0]]
    return tuple(
        each for each in plan.query.where if each.field == first and each.op in (("lt", "le") if down else ("gt", "ge"))
    )


def _conditions(
    container: Container,
    where: Sequence[Where],
    partition: str | None,
    now: int,
    unserved: tuple[Where, ...] = (),
) -> tuple[list[str], list[Parameter]]:
    conditions = [_ALIVE]
    found: list[Parameter] = [now]
    if partition is not None:
        conditions.append("pk = ?")
        found.append(partition)
    for each in where:
        condition, values = _condition(container, each)
        if each in unserved:
            condition = condition.replace("(", "(+", 1)  # to SQLite, no longer the index's expression
        conditions.append(condition)
        found += values
    return conditions, found


def _column(container: Container, field: str) -> str:
    own = {"id": "id", container.partition_key: "pk", "_ts": "ts"}
    return own.get(field) or f"json_extract(body, '$.{field}')"


def _beyond(plan: Plan, after: Sequence[Parameter]) -> tuple[str, list[Parameter]]:
    """What sorts behind the cursor. Row values are for plain columns: no index of expressions serves them."""
    moving = plan.moving()
    columns = [_column(plan.container, plan.keys[n][0]) for n in moving]
    downs = [plan.keys[n][1] for n in moving]
    values = [after[n] for n in moving]
    if len(set(downs)) == 1 and _PLAIN.issuperset(columns):
        return f"({', '.join(columns)}) {'<' if downs[0] else '>'} ({', '.join('?' for _ in columns)})", values
    # The first column bounds the scan; the rest is what row values would say.
    parameters, steps = values[:1], []
    for n, down in enumerate(downs):
        equal = [f"{column} = ?" for column in columns[:n]]
        steps.append("(" + " AND ".join([*equal, f"{columns[n]} {'<' if down else '>'} ?"]) + ")")
        parameters += values[: n + 1]
    return f"{columns[0]} {'<=' if downs[0] else '>='} ? AND ({' OR '.join(steps)})", parameters


_PLAIN = frozenset({"pk", "id", "ts"})
_SIGNS = {"eq": "=", "lt": "<", "le": "<=", "gt": ">", "ge": ">="}


def _condition(container: Container, where: Where) -> tuple[str, list[Parameter]]:
    column = _column(container, where.field)
    value = where.value
    if where.op == "missing":
        return f"{column} IS NULL", []
    if where.op == "text":
        assert isinstance(value, str)
        typed = _of_type(container, where.field, value)
        return f"(instr(lower({column}), lower(?)) > 0{typed})", [value]
    if where.op == "contains":
        assert isinstance(value, str | int | float)
        return _contains(where.field, value)
    if where.op == "in":
        assert isinstance(value, Sequence)
        found = [_comparison(container, where.field, "=", each) for each in value]
        return f"({' OR '.join(text for text, _ in found)})", [each for _, values in found for each in values]
    assert isinstance(value, str | int | float)
    return _comparison(container, where.field, _SIGNS[where.op], value)


def _comparison(container: Container, field: str, sign: str, value: Scalar) -> tuple[str, list[Parameter]]:
    column = _column(container, field)
    typed = _of_type(container, field, value)
    if isinstance(value, bool):
        return (f"({column} = ?{typed})", [int(value)])
    return f"({column} {sign} ?{typed})", [value]


def _of_type(container: Container, field: str, value: Scalar) -> str:
    """SQLite reads true as 1 and an array as its text: the JSON type decides as well.

    It is a condition besides the comparison, not part of it, so that an index still serves the comparison.
    """
    if field in ("id", container.partition_key, "_ts"):
        kind = "'integer'" if field == "_ts" else "'text'"
        return f" AND {kind} IN ({', '.join(_types(value))})"
    return f" AND json_type(body, '$.{field}') IN ({', '.join(_types(value))})"


def _types(value: Scalar) -> Iterator[str]:
    if isinstance(value, bool):
        yield "'true'" if value else "'false'"
    elif isinstance(value, str):
        yield "'text'"
    else:
        yield from ("'integer'", "'real'")


def _contains(field: str, value: Scalar) -> tuple[str, list[Parameter]]:
    stored: Parameter = int(value) if isinstance(value, bool) else value
    return (
        f"(json_type(body, '$.{field}') = 'array' AND EXISTS (SELECT 1 FROM json_each(body, '$.{field}') AS item"
        f" WHERE item.value = ? AND item.type IN ({', '.join(_types(value))})))"
    ), [stored]
