"""Rows of the embedded store: read as documents, and written batch by batch, each batch all or nothing.

Works in a transaction that the caller has begun, so that its checks still hold when it writes.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, NamedTuple

import orjson

from services.ports import Document
from services.store import rules
from services.store.sqlite_sql import ANY_VERSION, ROWS_AT_ONCE, STATEMENTS

Needs = str | int | None
ANYTHING = -1
ABSENT = None
PRESENT = ANY_VERSION


class Write(NamedTuple):
    """One row to write, or to delete if `body` is None. It fails unless the stored row is as it `needs`: ANYTHING,
    ABSENT, PRESENT, or the row with that ETag. An expired row is absent."""

    partition: str
    id: str
    body: bytes | None
    etag: str | None
    ts: int
    expires: int | None
    needs: Needs


Batch = Sequence[Write]
"""At least one write, no two of one row."""


def document_of(body: str, etag: str, ts: int) -> Document:
    read: Document = orjson.loads(body)
    read["_etag"] = etag
    read["_ts"] = ts
    return read


def version(etag: str) -> str:
    """The ETag as it is compared. Text that no store has given may be none that SQLite takes."""
    rules.check_etag(etag)
    return etag if etag.isascii() else ""


def write(connection: sqlite3.Connection, container: str, batches: Sequence[Batch]) -> list[int | None]:
    """Writes the batches as if one after the other. For each, None, or the index of the first write that failed."""
    failed: list[int | None] = [None] * len(batches)
    for run in _runs(batches):
        _check(connection, container, batches, run, failed)
        done = [each for number in run if failed[number] is None for each in batches[number]]
        upserts = [each[:6] for each in done if each.body is not None]
        _execute(connection, STATEMENTS[container].upserts, upserts)
        deletes = [each[:2] for each in done if each.body is None]
        _execute(connection, STATEMENTS[container].deletes, deletes)
    return failed


def _runs(batches: Sequence[Batch]) -> Iterator[range]:
    """Runs of batches of which no two are about the same row: a run can be checked as a whole, then written."""
    if len({each[:2] for batch in batches for each in batch}) == sum(map(len, batches)):
        yield range(len(batches))
        return
    start, touched = 0, set[tuple[str, ...]]()
    for number, batch in enumerate(batches):
        keys = {each[:2] for each in batch}
        if not touched.isdisjoint(keys):
            yield range(start, number)
            start, touched = number, set()
        touched |= keys
    yield range(start, len(batches))


def _check(
    connection: sqlite3.Connection, container: str, batches: Sequence[Batch], run: range, failed: list[int | None]
) -> None:
    """Notes in `failed`, for each batch of the run, the first write that would fail."""
    places = [(number, index) for number in run for index, each in enumerate(batches[number]) if each.needs != ANYTHING]
    for some, size in padded(places):
        needs: list[Needs] = []
        for number, index in some:
            each = batches[number][index]
            needs += (each.partition, each.id, each.needs, each.ts)
        needs += [None] * (4 * (size - len(some)))
        (unmet,) = connection.execute(STATEMENTS[container].unmet[size], needs).fetchone()
        for place in () if unmet is None else unmet.split(","):
            number, index = some[int(place)]
            before = failed[number]
            failed[number] = index if before is None else min(index, before)


def _execute(connection: sqlite3.Connection, statements: Mapping[int, str], rows: Sequence[tuple[Any, ...]]) -> None:
    """Runs the rows in as few statements as they fill, the largest first."""
    start = 0
    for size, statement in statements.items():
        while len(rows) - start >= size:
            connection.execute(statement, [value for row in rows[start : start + size] for value in row])
            start += size


def padded(rows: Sequence[Any]) -> Iterator[tuple[Sequence[Any], int]]:
    """The rows in as few statements as hold them, each with the size of its statement, which may be larger."""
    largest = ROWS_AT_ONCE[0]
    for start in range(0, len(rows), largest):
        some = rows[start : start + largest]
        yield some, min(size for size in ROWS_AT_ONCE if size >= len(some))
