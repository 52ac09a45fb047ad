"""Rows of the embedded store: read as documents, and written batch by batch, each batch whole or not at all.

Works inside a transaction that the caller has begun: the write lock keeps what was checked true until it is written.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, NamedTuple

import orjson

from services.ports import Document
from services.store.sqlite_sql import ANY_VERSION, STATEMENTS

ANYTHING = -1
ABSENT = None
PRESENT = ANY_VERSION


class Write(NamedTuple):
    """One document of a batch; without a body it is deleted. `needs` is what must be stored before: ANYTHING, ABSENT,
    PRESENT or the version with that ETag."""

    partition: str
    id: str
    body: bytes | None
    etag: str | None
    ts: int
    expires: int | None
    needs: str | int | None


Batch = Sequence[Write]


def document(body: str, etag: str, ts: int) -> Document:
    read: Document = orjson.loads(body)
    read["_etag"] = etag
    read["_ts"] = ts
    return read


def write(connection: sqlite3.Connection, container: str, batches: Sequence[Batch]) -> list[int | None]:
    """Does the batches one after the other. For each, None if it was done, or the index of the write that failed."""
    failed: list[int | None] = [None] * len(batches)
    for start, end in _runs(batches):
        _check(connection, container, batches, range(start, end), failed)
        done = [each for n in range(start, end) if failed[n] is None for each in batches[n]]
        upserts = [each[:6] for each in done if each.body is not None]
        for some, statement in _portions(upserts, STATEMENTS[container].upserts):
            connection.execute(statement, [value for row in some for value in row])
        deletes = [each[:2] for each in done if each.body is None]
        for some, statement in _portions(deletes, STATEMENTS[container].deletes):
            connection.execute(statement, [value for row in some for value in row])
    return failed


def _runs(batches: Sequence[Batch]) -> Iterator[tuple[int, int]]:
    """Runs of batches, from and to, in which no two touch one document: such a run is checked, then written."""
    if len({each[:2] for batch in batches for each in batch}) == sum(map(len, batches)):
        yield 0, len(batches)
        return
    start, touched = 0, set[tuple[str, str]]()
    for n, batch in enumerate(batches):
        keys = {each[:2] for each in batch}
        if not touched.isdisjoint(keys):
            yield start, n
            start, touched = n, set()
        touched |= keys
    yield start, len(batches)


def _check(
    connection: sqlite3.Connection,
    container: str,
    batches: Sequence[Batch],
    numbers: Sequence[int],
    failed: list[int | None],
) -> None:
    places = [(n, m) for n in numbers for m, each in enumerate(batches[n]) if each.needs != ANYTHING]
    for some, statement in _portions(places, STATEMENTS[container].unmet):
        wanted: list[str | int | None] = []
        for n, m in some:
            each = batches[n][m]
            wanted += (each.partition, each.id, each.needs, each.ts)
        (unmet,) = connection.execute(statement, wanted).fetchone()
        for place in () if unmet is None else unmet.split(","):
            n, m = some[int(place)]
            before = failed[n]
            failed[n] = m if before is None else min(m, before)


def _portions(rows: Sequence[Any], statements: Mapping[int, str]) -> Iterator[tuple[Sequence[Any], str]]:
    """The rows in as few statements as they fit, the largest first."""
    start = 0
    for size, statement in statements.items():
        while len(rows) - start >= size:
            yield rows[start : start + size], statement
            start += size
