"""Rows of the embedded store: read as documents, and written in as few statements as they fit.

Knows the order of a row's columns and what a statement's count of rows says; knows no SQL, no locks and no threads.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import orjson

from services.ports import Document

Row = tuple[str, str, bytes, str, int, int | None]
"""Partition, id, body, ETag, when it was written, when it expires. What is replaced has its old ETag behind these."""

_ETAG = 3


def document(body: str, etag: str, ts: int) -> Document:
    read: Document = orjson.loads(body)
    read["_etag"] = etag
    read["_ts"] = ts
    return read


def write(connection: sqlite3.Connection, statements: Mapping[int, str], rows: Sequence[tuple[Any, ...]]) -> None:
    for _ in _written(connection, statements, rows):
        pass


def won(
    connection: sqlite3.Connection, statements: Mapping[int, str], etag: str, rows: Sequence[tuple[Any, ...]]
) -> list[bool]:
    """Writes the rows; of each whether it was written, as its own ETag is there."""
    of_each: list[bool] = []
    for some, written in _written(connection, statements, rows):
        if written == len(some):
            of_each += [True] * written
        else:
            of_each += [connection.execute(etag, row[:2]).fetchone() == (row[_ETAG],) for row in some]
    return of_each


def _written(
    connection: sqlite3.Connection, statements: Mapping[int, str], rows: Sequence[tuple[Any, ...]]
) -> Iterator[tuple[Sequence[tuple[Any, ...]], int]]:
    """The rows, statement by statement, each with how many of its rows were written; the largest come first."""
    execute, start = connection.cursor().execute, 0
    for size, statement in statements.items():
        while len(rows) - start >= size:
            some = rows[start : start + size]
            yield some, execute(statement, [value for row in some for value in row]).rowcount
            start += size
