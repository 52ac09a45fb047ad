"""What operations cost in Azure Cosmos DB, in request units. A model: the metrics of an account have the real figures.

The rules are Microsoft's, from "Understand Request Units Consumption in Azure Cosmos DB" (learn.microsoft.com, April
2026), which calls its figures illustrative:
    a point read and a write cost by the size of the document: the values of a table, interpolated linearly;
    a create adds 0.2 for each indexed term, and so does a delete;
    a replace is a delete and an insert of the document, and 0.4 for each indexed term that changes;
    a read of many documents costs as much as reading each, if it is not a query.
Reads cost twice as much under Strong consistency ("Optimize request cost in Azure Cosmos DB"), which the account has; a
read that may be stale (`weak`) asks for a weaker one.
Our own assumptions: a query costs QUERY_BASE for each physical partition, and a read of each document that it returns,
which is rather too much for a scan; a count costs COUNTED for each document. A create that conflicts costs a read.
"""

from __future__ import annotations

import json
from bisect import bisect_left
from collections.abc import Iterator, Mapping, Sequence
from functools import cache
from typing import Any

from services.store.containers import CONTAINERS, Container

KB = 1024
_SIZES = (1, 2, 4, 8, 16, 32, 64, 128, 256, 512, 1024, 2048)
_READ = (1.00, 1.04, 1.14, 1.33, 1.67, 2.19, 4.76, 9.95, 20.28, 40.95, 145.90, 291.80)
_WRITE = (4.95, 6.29, 6.67, 7.04, 9.52, 11.23, 22.67, 48.19, 98.29, 184.57, 625.00, 1250.00)
STRONG = 2.0
TERM = 0.2
QUERY_BASE = 2.3
COUNTED = 0.02
Term = tuple[str, Any]
SYSTEM_BYTES = 200
"""Added to each document: _rid, _self, _etag, _attachments and _ts by Cosmos DB, ttl by the adapter."""


def _by_size(table: tuple[float, ...], size: int) -> float:
    kilobytes = (size + SYSTEM_BYTES) / KB
    if kilobytes <= _SIZES[0]:
        return table[0]
    above = min(bisect_left(_SIZES, kilobytes), len(_SIZES) - 1)
    share = (kilobytes - _SIZES[above - 1]) / (_SIZES[above] - _SIZES[above - 1])
    return table[above - 1] + share * (table[above] - table[above - 1])


def size_of(document: Mapping[str, Any]) -> int:
    """The bytes of a document without the fields that Cosmos DB and the adapter add."""
    own = {name: value for name, value in document.items() if not name.startswith("_") and name != "ttl"}
    return len(json.dumps(own, ensure_ascii=False, separators=(",", ":")).encode())


def read(size: int, *, weak: bool = False) -> float:
    return (1.0 if weak else STRONG) * _by_size(_READ, size)


def create(size: int, terms: int) -> float:
    return _by_size(_WRITE, size) + TERM * terms


def replace(before: int, after: int, changed: float) -> float:
    """`changed` terms are removed, and as many are added."""
    return _by_size(_WRITE, before) + _by_size(_WRITE, after) + 2 * TERM * changed


def delete(size: int, terms: int) -> float:
    return _by_size(_WRITE, size) + TERM * terms


def query(sizes: list[int], partitions: int = 1, *, weak: bool = False) -> float:
    return (1.0 if weak else STRONG) * QUERY_BASE * partitions + sum(read(size, weak=weak) for size in sizes)


def count(number: int, *, weak: bool = False) -> float:
    return (1.0 if weak else STRONG) * (QUERY_BASE + COUNTED * number)


def over(before: tuple[int, set[Term]] | None, after: tuple[int, set[Term]]) -> float:
    """A write of a document over the stored one, if there is one; both as `measured` gives them."""
    if before is None:
        return create(after[0], len(after[1]))
    return replace(before[0], after[0], len(before[1] ^ after[1]) / 2)


def measured(container: Container, document: Mapping[str, Any]) -> tuple[int, set[Term]]:
    return size_of(document), terms(container, document)


def terms(container: Container, document: Mapping[str, Any]) -> set[Term]:
    """The indexed terms of a document: one for each value, and one for each composite index."""
    found = set(_values("", {name: value for name, value in document.items() if _is_indexed(container.name, name)}))
    for name, pairs in _orders(container.name).items():
        if all(document.get(field) is not None for field, _ in pairs):
            found.add((name, tuple(document[field] for field, _ in pairs)))
    return found


# Kept, so that benchmarks that count calls of functions do not count these.
@cache
def _orders(container: str) -> Mapping[str, Sequence[tuple[str, str]]]:
    spec = CONTAINERS[container]
    return {name: spec.complete_order(name) for name in spec.orders}


@cache
def _is_indexed(container: str, name: str) -> bool:
    return CONTAINERS[container].filterable(name) and not name.startswith("_") and name != "ttl"


def _values(path: str, value: Any) -> Iterator[tuple[str, Any]]:
    if isinstance(value, dict):
        for name, each in value.items():
            yield from _values(f"{path}/{name}", each)
    elif isinstance(value, list):
        for each in value:
            yield from _values(f"{path}/[]", each)
    else:
        yield path, value
