"""Plans queries for both stores: checks them, completes their order, and decodes their cursor. Pure.

Every store refuses a query that no index of Cosmos DB would serve. A cursor has the sort values of the
page's last document and a fingerprint of the query. So a cursor outlives restarts, and both stores can read it.
"""

from __future__ import annotations

import base64
import binascii
import hashlib
import json
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from models.errors import InvalidInput
from services.ports import Document, Page, Query, Scalar, Where
from services.store.containers import ASCENDING, DESCENDING, Container
from services.store.rules import check_key, is_field

MAX_LIMIT = 1000
MAX_CHOICES = 100
MAX_CURSOR = 16_384

SortValue = str | int | float
COMPARISONS = {"eq": "=", "lt": "<", "le": "<=", "gt": ">", "ge": ">="}


class Bound:
    """The values of a statement. The text of the statement has their names, never the values."""

    def __init__(self, sign: str) -> None:
        self._sign = sign
        self.values: dict[str, Any] = {}

    def add(self, value: Any) -> str:
        """The name of the value in the statement."""
        name = f"p{len(self.values)}"
        self.values[name] = value
        return self._sign + name


@dataclass(frozen=True, slots=True)
class Plan:
    """A query that has been checked. `keys` are the (field, descending) pairs of its complete order; a document is
    listed only if it has the fields in `present`; `after` has one value for each of `keys`."""

    container: Container
    query: Query
    keys: tuple[tuple[str, bool], ...]
    present: tuple[str, ...]
    after: tuple[SortValue, ...] | None
    fingerprint: str

    def moving(self) -> list[int]:
        """The indexes of the keys that no equality of the query fixes, or of the last key if all are fixed."""
        fixed = {where.field for where in self.query.where if where.op == "eq"}
        if self.query.partition is not None:
            fixed.add(self.container.partition_key)
        return [n for n, (field, _) in enumerate(self.keys) if field not in fixed] or [len(self.keys) - 1]

    def behind_cursor(self, path: Callable[[str], str], bound: Bound) -> str:
        """The SQL condition of sorting after the cursor. Its first comparison bounds the scan."""
        assert self.after is not None
        moving, steps = [], []
        for n in self.moving():
            field, down = self.keys[n]
            moving.append((path(field), "<" if down else ">", bound.add(self.after[n])))
        for n, (field, sign, value) in enumerate(moving):
            equal = [f"{before} = {its}" for before, _, its in moving[:n]]
            steps.append(f"({' AND '.join([*equal, f'{field} {sign} {value}'])})")
        field, sign, value = moving[0]
        return f"{field} {sign}= {value} AND ({' OR '.join(steps)})"

    def page(self, documents: list[Document]) -> Page:
        """The page of `documents`. The store has read one document more than the limit, if there is one."""
        items = documents[: self.query.limit]
        if len(documents) <= self.query.limit:
            return Page(items)
        return Page(items, encode_cursor(self.fingerprint, [items[-1][field] for field, _ in self.keys]))


def plan(container: Container, query: Query) -> Plan:
    """Raises InvalidInput for a filter or order without an index, a limit out of range, or another query's cursor."""
    if not 1 <= query.limit <= MAX_LIMIT:
        raise InvalidInput("limit", f"must be 1 to {MAX_LIMIT}")
    if query.partition is not None:
        check_key(container.partition_key, query.partition)
    for where in query.where:
        _check_where(container, where)
    keys, present = _keys(container, query)
    wheres = [[where.field, where.op, _plain(where.value)] for where in query.where]
    parts = [container.name, query.partition, wheres, query.order, keys]
    text = json.dumps(parts, ensure_ascii=True, separators=(",", ":"))
    fingerprint = hashlib.blake2b(text.encode(), digest_size=8).hexdigest()
    after = None
    if query.after is not None:
        after = decode_cursor(fingerprint, query.after, [field in container.numbers for field, _ in keys])
    return Plan(container, query, keys, present, after, fingerprint)


def _keys(container: Container, query: Query) -> tuple[tuple[tuple[str, bool], ...], tuple[str, ...]]:
    present: tuple[str, ...] = ()
    if query.order is None:
        pairs = container.key_order() if query.partition is None else (("id", ASCENDING),)
    elif query.order in container.orders:
        pairs = container.complete_order(query.order)
        present = tuple(field for field, _ in container.orders[query.order])
    else:
        known = ", ".join(sorted(container.orders)) or "none: this container has no orders"
        raise InvalidInput("order", f"must be one of {known}")
    return tuple((field, (way == DESCENDING) != query.reverse) for field, way in pairs), present


def _plain(value: Scalar | Sequence[Scalar] | None) -> object:
    return list(value) if isinstance(value, Sequence) and not isinstance(value, str) else value


def _check_where(container: Container, where: Where) -> None:
    if not (is_field(where.field) or where.field == "_ts") or not container.filterable(where.field):
        raise InvalidInput(str(where.field), f"is not indexed in {container.name}, so no query can filter by it")
    if where.op == "in":
        choices = _plain(where.value)
        if not isinstance(choices, list) or not 1 <= len(choices) <= MAX_CHOICES:
            raise InvalidInput(where.field, f"must be compared with 1 to {MAX_CHOICES} values")


def encode_cursor(fingerprint: str, values: Sequence[SortValue]) -> str:
    text = json.dumps([fingerprint, *values], ensure_ascii=False, separators=(",", ":"))
    return base64.urlsafe_b64encode(text.encode()).decode().rstrip("=")


def decode_cursor(fingerprint: str, cursor: str, numeric: Sequence[bool]) -> tuple[SortValue, ...]:
    """The sort values of the cursor: a number where `numeric` is true, else text."""
    refused = InvalidInput("cursor", "must be the `next` of a page of the same query")
    if len(cursor) > MAX_CURSOR:
        raise refused
    try:
        found = json.loads(base64.b64decode(cursor + "=" * (-len(cursor) % 4), altchars=b"-_", validate=True))
    except (binascii.Error, ValueError, RecursionError):
        raise refused from None
    if not isinstance(found, list) or len(found) != len(numeric) + 1 or found[0] != fingerprint:
        raise refused
    values = found[1:]
    for value, is_numeric in zip(values, numeric, strict=True):
        if isinstance(value, bool) or not isinstance(value, int | float if is_numeric else str):
            raise refused
    return tuple(values)
