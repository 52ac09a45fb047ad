"""The SQL of the embedded store: tables, indexes, statements and queries. Pure text.

A container is one rowid table with the document as JSON text and a unique index over (pk, id): twice as fast to write
as WITHOUT ROWID. An order is an expression index, so an order that is added later is one CREATE INDEX. A query's
comparison is written so that the index of an order serves it as a range.

A search is served by an FTS5 table without content (services/store/containers.py, `Search`). Its rows are numbered by
time, then by the number of the document's row, so FTS5 finds the latest documents with several values without sorting,
whatever else is stored. A value becomes a term of hexadecimal digits: FTS5 neither splits nor folds it. Triggers write
the index in the transaction of the document, whatever writes it.
"""
# ruff: noqa: S608 - names come from containers.py or have passed rules.py and plans.py; values are always bound

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime, timedelta
from typing import Any

from models.values import parse_time
from services.ports import Scalar, Where
from services.store.containers import CONTAINERS, DESCENDING, Container, Search
from services.store.plans import COMPARISONS, Bound, Plan

SCHEMA_VERSION = 2
"""A file of another version is refused. A new order needs no new version, another definition of a search does."""

ROWS_AT_ONCE = (256, 128, 64, 32, 16, 8, 4, 2, 1)
"""The numbers of rows of one upsert. Few large statements are better: SQLite runs each without the interpreter's lock,
and after each a thread may wait five milliseconds for that lock while the program is busy."""

ANY_VERSION = 0
"""Stands for any ETag. A number, so that no text equals it."""

_BODY = "CAST(? AS TEXT)"  # bound as bytes, as encoders return them
_ROW = f"(?, ?, {_BODY}, ?, ?, ?)"
_ALIVE = "(expires IS NULL OR expires > ?)"

_ROW_BITS = 29
"""The bits of a number that tell the row: for 500 million documents. The others have the seconds since 1970."""
_ROW_MASK = (1 << _ROW_BITS) - 1
_LAST_SECOND = (1 << (62 - _ROW_BITS)) - 1
"""The seconds from which on documents are numbered as of one time: in the year 2242."""
LONGEST_TERM = 8_000
"""Bytes of the longest value that is searched in the index. FTS5 truncates terms of over 32,768 bytes."""
_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)


@dataclass(frozen=True, slots=True)
class Statements:
    """The statements of one container. A row is (pk, id, body, etag, ts, expires); several keys or needs are one JSON
    text.

    read       takes (pk, id, now)
    read_some  takes [[pk, id], …] and now; returns the rows found, each after the number of its key
    unmet      takes [[pk, id, needed], …] and now; `needed` is an ETag, ANY_VERSION, or null for no row.
               Returns one text with the numbers of the needs that are not met, or null
    upserts    takes many rows; there is one for each of ROWS_AT_ONCE
    deletes    takes [[pk, id], …]
    purge      takes now and how many expired rows to delete
    """

    read: str
    read_some: str
    unmet: str
    upserts: Mapping[int, str]
    deletes: str
    purge: str


def statements(container: Container) -> Statements:
    table = container.name
    # CROSS JOIN makes SQLite look up each key, whatever the planner estimates.
    keys = f"json_each(CAST(? AS TEXT)) AS keys CROSS JOIN {table} WHERE pk = {_part(0)} AND {table}.id = {_part(1)}"
    upsert = (
        f"INSERT INTO {table} (pk, id, body, etag, ts, expires) VALUES %s ON CONFLICT (pk, id) DO UPDATE SET"
        " body = excluded.body, etag = excluded.etag, ts = excluded.ts, expires = excluded.expires"
    )
    return Statements(
        read=f"SELECT body, etag, ts FROM {table} WHERE pk = ? AND id = ? AND {_ALIVE}",
        read_some=f"SELECT keys.key, body, etag, ts FROM {keys} AND {_ALIVE}",
        # One text, not a row for each need: fetching a row releases the interpreter's lock and waits to get it back.
        unmet=f"WITH wanted AS (SELECT key AS number, {_part(2)} AS needed, etag"
        f" FROM json_each(CAST(? AS TEXT)) AS keys LEFT JOIN {table}"
        f" ON pk = {_part(0)} AND {table}.id = {_part(1)} AND {_ALIVE}) SELECT group_concat(number) FROM wanted"
        f" WHERE CASE needed WHEN {ANY_VERSION} THEN etag IS NULL ELSE etag IS NOT needed END",
        upserts={rows: upsert % ", ".join([_ROW] * rows) for rows in ROWS_AT_ONCE},
        deletes=f"DELETE FROM {table} WHERE rowid IN (SELECT {table}.rowid FROM {keys})",
        purge=f"DELETE FROM {table} WHERE rowid IN (SELECT rowid FROM {table} WHERE expires <= ? LIMIT ?)",
    )


def _part(number: int) -> str:
    """A part of one of the keys in a JSON text."""
    return f"json_extract(keys.value, '$[{number}]')"


STATEMENTS: dict[str, Statements] = {name: statements(container) for name, container in CONTAINERS.items()}


@dataclass(frozen=True, slots=True)
class SearchIndex:
    """A full-text index. `objects` are the definitions of the table and its triggers, by name."""

    container: Container
    search: Search
    table: str
    objects: Mapping[str, str]

    def term(self, where: Where) -> str | None:
        """The term of the condition; None if the index does not serve it."""
        if not isinstance(where.value, str) or "\0" in where.value or where.op not in ("eq", "contains"):
            return None
        field = f"{where.field}/[]" if where.op == "contains" else where.field
        if field not in self.search.fields or len(value := where.value.encode()) > LONGEST_TERM:
            return None
        return _letter(self.search.fields.index(field)) + value.hex()


def _letter(number: int) -> str:
    return chr(ord("g") + number)  # no hexadecimal digit


def _index(container: Container, search: Search) -> SearchIndex:
    def row(name: str) -> tuple[str, str, str]:
        return _number(container, name), _terms(search, name), f"{_time(container, name)} IS NOT NULL"

    new, old, table = row("new"), row("old"), f"{container.name}_search"
    add = f"INSERT INTO {table} (rowid, terms) SELECT {new[0]}, {new[1]} WHERE {new[2]}"
    remove = f"INSERT INTO {table} ({table}, rowid, terms) SELECT 'delete', {old[0]}, {old[1]} WHERE {old[2]}"
    changed = " OR ".join(f"({before}) IS NOT ({after})" for before, after in zip(old, new, strict=True))

    def trigger(name: str, event: str, steps: str) -> str:
        return f"CREATE TRIGGER IF NOT EXISTS {table}_{name} AFTER {event} ON {container.name} {steps}"

    objects = {
        table: f"CREATE VIRTUAL TABLE IF NOT EXISTS {table} USING fts5"
        "(terms, content='', detail=none, columnsize=0, tokenize='ascii')",
        f"{table}_insert": trigger("insert", "INSERT", f"BEGIN {add}; END"),
        f"{table}_delete": trigger("delete", "DELETE", f"BEGIN {remove}; END"),
        f"{table}_update": trigger("update", "UPDATE OF body", f"WHEN {changed} BEGIN {remove}; {add}; END"),
    }
    return SearchIndex(container, search, table, objects)


def _time(container: Container, row: str) -> str:
    return f"json_extract({row}.body, '$.{container.search_time}')"


def _number(container: Container, row: str) -> str:
    seconds = f"coalesce(CAST(strftime('%s', {_time(container, row)}) AS INTEGER), 0)"
    return f"((max(min({seconds}, {_LAST_SECOND}), 0) << {_ROW_BITS}) | {row}.rowid)"


def _terms(search: Search, row: str) -> str:
    parts = []
    for number, field in enumerate(search.fields):
        path = f"{row}.body, '$.{field.removesuffix('/[]')}'"
        if field.endswith("/[]"):
            each = f"(SELECT group_concat('{_letter(number)}' || hex(value), ' ') FROM json_each({path})"
            part = f"CASE json_type({path}) WHEN 'array' THEN {each} WHERE type = 'text') END"
        else:
            part = f"CASE json_type({path}) WHEN 'text' THEN '{_letter(number)}' || hex(json_extract({path})) END"
        parts.append(f"coalesce({part}, '')")
    return " || ' ' || ".join(parts)


INDEXES: Mapping[str, SearchIndex] = {
    name: _index(container, container.search) for name, container in CONTAINERS.items() if container.search is not None
}


def schema(containers: Mapping[str, Container] = CONTAINERS) -> dict[str, str]:
    """Every table and index that the file must have, by name; each table before its indexes."""
    objects: dict[str, str] = {}
    for table, container in containers.items():
        objects[table] = (
            f"CREATE TABLE IF NOT EXISTS {table} (pk TEXT NOT NULL, id TEXT NOT NULL, body TEXT NOT NULL,"
            " etag TEXT NOT NULL, ts INTEGER NOT NULL, expires INTEGER)"
        )
        objects[f"{table}_key"] = f"CREATE UNIQUE INDEX IF NOT EXISTS {table}_key ON {table} (pk, id)"
        objects[f"{table}_expires"] = (
            f"CREATE INDEX IF NOT EXISTS {table}_expires ON {table} (expires) WHERE expires IS NOT NULL"
        )
        for order in container.orders:
            pairs = container.complete_order(order)
            present = " AND ".join(f"{_column(container, field)} IS NOT NULL" for field, _ in container.orders[order])
            # The name contains the definition, so that an order that changes gets a new index in an old file.
            name = "_".join((table, *(f"{f}{'_desc' if way == DESCENDING else ''}" for f, way in pairs)))
            columns = {f: f"{_column(container, f)} {'DESC' if way == DESCENDING else 'ASC'}" for f, way in pairs}
            indexes = {name: list(columns.values())}
            # The order of changes is read across partitions only.
            if container.crowded and "_ts" not in columns:
                del columns[container.partition_key]
                indexes[f"{name}_within"] = ["pk", *columns.values()]
            for index, parts in indexes.items():
                objects[index] = f"CREATE INDEX IF NOT EXISTS {index} ON {table} ({', '.join(parts)}) WHERE {present}"
        if container.search is not None:
            objects.update(INDEXES[table].objects)
    return objects


def select(plan: Plan, now: int) -> tuple[str, Mapping[str, Any]]:
    """The query of one page and one more document, which shows whether another page follows."""
    index = INDEXES.get(plan.container.name)
    if index is not None and plan.query.order == index.search.order:
        terms = [index.term(where) for where in plan.query.where]
        if any(terms):
            return _search(plan, now, index, terms)
    container, bound = plan.container, Bound(":")
    conditions = _conditions(plan, now, bound)
    conditions += [f"{_column(container, field)} IS NOT NULL" for field in plan.present]
    if plan.after is not None:
        conditions.append(_behind_cursor(plan, bound))
    moving = [plan.keys[n] for n in plan.moving()]
    order = ", ".join(f"{_column(container, field)} {'DESC' if down else 'ASC'}" for field, down in moving)
    return (
        f"SELECT body, etag, ts FROM {container.name} WHERE {' AND '.join(conditions)}"
        f" ORDER BY {order} LIMIT {plan.query.limit + 1}"
    ), bound.values


def _search(plan: Plan, now: int, index: SearchIndex, terms: Sequence[str | None]) -> tuple[str, Mapping[str, Any]]:
    """The query of one page through the index of searches. Its documents come by the second. So the second of the last
    document of the page is found first; then all documents up to that second are sorted by the whole order."""
    container, bound, down = plan.container, Bound(":"), plan.keys[0][1]
    others = tuple(where for where, term in zip(plan.query.where, terms, strict=True) if term is None)
    conditions = _conditions(replace(plan, query=replace(plan.query, where=others)), now, bound)
    bounds = list(others)
    if plan.after is not None:
        conditions.append(_behind_cursor(plan, bound))
        bounds.append(Where(plan.keys[0][0], "le" if down else "ge", plan.after[0]))
    low, high = (bound.add(each) for each in numbers(index, bounds))
    number, rest = f"{index.table}.rowid", " AND ".join(conditions)
    found = f"{index.table} MATCH {bound.add(' '.join(sorted({term for term in terms if term})))}"
    source = f"{index.table} CROSS JOIN {container.name} ON {container.name}.rowid = ({number} & {_ROW_MASK})"
    way, limit = "DESC" if down else "ASC", plan.query.limit + 1
    page = (
        f"SELECT {number} AS number FROM {source} WHERE {found} AND {number} BETWEEN {low} AND {high} AND {rest}"
        f" ORDER BY {number} {way} LIMIT {limit}"
    )
    end = f"SELECT {_of_second('min(number)' if down else 'max(number)', last=not down)} FROM ({page})"
    span = f"{number} BETWEEN last AND {high}" if down else f"{number} BETWEEN {low} AND last"
    order = ", ".join(f"{_column(container, field)} {'DESC' if way else 'ASC'}" for field, way in plan.keys)
    return (
        f"WITH ends (last) AS MATERIALIZED ({end}) SELECT body, etag, ts FROM ends CROSS JOIN {source}"
        f" WHERE {found} AND {span} AND {rest} ORDER BY {order} LIMIT {limit}"
    ), bound.values


def count(plan: Plan, now: int) -> tuple[str, Mapping[str, Any]]:
    bound = Bound(":")
    conditions = _conditions(plan, now, bound)
    return f"SELECT count(*) FROM {plan.container.name} WHERE {' AND '.join(conditions)}", bound.values


def _conditions(plan: Plan, now: int, bound: Bound) -> list[str]:
    conditions = [_ALIVE.replace("?", bound.add(now))]
    if plan.query.partition is not None:
        conditions.append(f"pk = {bound.add(plan.query.partition)}")
    return conditions + [_condition(plan, where, bound) for where in plan.query.where]


def _behind_cursor(plan: Plan, bound: Bound) -> str:
    """The condition of sorting after the cursor: as row values if the index is one of columns, since SQLite uses no
    index of expressions for row values."""
    assert plan.after is not None
    moving = plan.moving()
    columns = [_column(plan.container, plan.keys[n][0]) for n in moving]
    downs = {plan.keys[n][1] for n in moving}
    if len(downs) == 1 and {"pk", "id", "ts"}.issuperset(columns):
        values = ", ".join(bound.add(plan.after[n]) for n in moving)
        return f"({', '.join(columns)}) {'<' if downs == {True} else '>'} ({values})"
    return plan.behind_cursor(lambda field: _column(plan.container, field), bound)


def _condition(plan: Plan, where: Where, bound: Bound) -> str:
    column, value = _column(plan.container, where.field), where.value
    if where.op == "missing":
        return f"{column} IS NULL"
    if where.op == "in":
        assert isinstance(value, Sequence)
        return f"({' OR '.join(_comparison(plan, where.field, '=', each, bound) for each in value)})"
    assert isinstance(value, str | int | float)
    if where.op == "contains":
        path = f"body, '$.{where.field}'"
        return (
            f"(json_type({path}) = 'array' AND EXISTS (SELECT 1 FROM json_each({path}) AS item"
            f" WHERE item.value = {bound.add(value)} AND item.type IN {_types(value)}))"
        )
    condition = _comparison(plan, where.field, COMPARISONS[where.op], value, bound)
    return f"(+{condition[1:]}" if _bounds_with_cursor(plan, where) else condition


def _bounds_with_cursor(plan: Plan, where: Where) -> bool:
    """Whether the condition bounds the scan at the same end as the cursor. SQLite uses one of the two bounds for the
    index, and must use that of the cursor: with the other, the time to read all pages is quadratic in their number. A
    `+` before the column keeps SQLite from using the condition for the index."""
    first, down = plan.keys[plan.moving()[0]]
    return plan.after is not None and where.field == first and where.op in (("lt", "le") if down else ("gt", "ge"))


def _comparison(plan: Plan, field: str, sign: str, value: Scalar, bound: Bound) -> str:
    return f"({_column(plan.container, field)} {sign} {bound.add(value)} AND {_has_type(plan, field, value)})"


def _has_type(plan: Plan, field: str, value: Scalar) -> str:
    """The condition on the JSON type: SQLite reads true as 1 and an array as its text.

    It is added to the comparison with AND, so that an index still serves the comparison.
    """
    kind = f"json_type(body, '$.{field}')"
    if field in ("id", plan.container.partition_key):
        kind = "'text'"
    elif field == "_ts":
        kind = "'integer'"
    return f"{kind} IN {_types(value)}"


def _types(value: Scalar) -> str:
    if isinstance(value, bool):
        return "('true')" if value else "('false')"
    return "('text')" if isinstance(value, str) else "('integer', 'real')"


def _column(container: Container, field: str) -> str:
    own = {"id": "id", container.partition_key: "pk", "_ts": "ts"}
    return own.get(field) or f"json_extract(body, '$.{field}')"


def numbers(index: SearchIndex, conditions: Sequence[Where]) -> tuple[int, int]:
    """The least and the greatest number that documents with these conditions have. Not exact: the conditions have to be
    checked as well."""
    low, high = 0, (_LAST_SECOND << _ROW_BITS) | _ROW_MASK
    for where in conditions:
        if where.field != index.container.search_time or not isinstance(where.value, str):
            continue
        try:
            seconds = (parse_time(where.value) - _EPOCH) // timedelta(seconds=1)
        except ValueError:
            continue
        seconds = max(min(seconds, _LAST_SECOND), 0)
        if where.op in ("ge", "gt", "eq"):
            low = max(low, seconds << _ROW_BITS)
        if where.op in ("le", "lt", "eq"):
            high = min(high, (seconds << _ROW_BITS) | _ROW_MASK)
    return low, high


def _of_second(number: str, *, last: bool) -> str:
    """SQL: the least number of the second of this number, or the greatest."""
    first = f"(({number}) >> {_ROW_BITS} << {_ROW_BITS})"
    return f"({first} | {_ROW_MASK})" if last else first
