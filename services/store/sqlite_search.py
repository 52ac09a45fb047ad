"""The index of the embedded store for searches: which documents have which values, in the order of their times.

A search is served by an FTS5 table without content (services/store/containers.py, `Search`). Its rows are numbered by
time, then by the number of the document's row, so FTS5 finds the latest documents with several values without sorting,
whatever else is stored. A value becomes a term of hexadecimal digits: FTS5 neither splits nor folds it. Triggers write
the index in the transaction of the document, whatever writes it. Pure text.
"""
# ruff: noqa: S608 - names come from containers.py; values are always bound

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta

from models.values import parse_time
from services.ports import Where
from services.store.containers import CONTAINERS, Container, Search

_ROW_BITS = 29
"""The bits of a number that tell the row: for 500 million documents. The others have the seconds since 1970."""
_ROW = (1 << _ROW_BITS) - 1
_LAST = (1 << (62 - _ROW_BITS)) - 1
"""The seconds from which on documents are numbered as of one time: in the year 2242."""
LONGEST_TERM = 8_000
"""Bytes of the longest value that is searched in the index. FTS5 truncates terms of over 32,768 bytes."""
_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)


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
    return f"((max(min({seconds}, {_LAST}), 0) << {_ROW_BITS}) | {row}.rowid)"


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


def row_of(number: str) -> str:
    """SQL: the row of the document with this number."""
    return f"({number} & {_ROW})"


def numbers(index: SearchIndex, conditions: Sequence[Where]) -> tuple[int, int]:
    """The least and the greatest number that documents with these conditions have. Not exact: the conditions have to be
    checked as well."""
    low, high = 0, (_LAST << _ROW_BITS) | _ROW
    for where in conditions:
        if where.field != index.container.search_time or not isinstance(where.value, str):
            continue
        try:
            seconds = (parse_time(where.value) - _EPOCH) // timedelta(seconds=1)
        except ValueError:
            continue
        seconds = max(min(seconds, _LAST), 0)
        if where.op in ("ge", "gt", "eq"):
            low = max(low, seconds << _ROW_BITS)
        if where.op in ("le", "lt", "eq"):
            high = min(high, (seconds << _ROW_BITS) | _ROW)
    return low, high


def of_second(number: str, *, last: bool) -> str:
    """SQL: the least number of the second of this number, or the greatest."""
    first = f"(({number}) >> {_ROW_BITS} << {_ROW_BITS})"
    return f"({first} | {_ROW})" if last else first
