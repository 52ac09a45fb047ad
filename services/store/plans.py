"""How both stores read a query: checked, its order complete, its cursor opened. Pure; knows no SQL.

A query that no index would serve in Azure is refused on a laptop, too.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from models.errors import InvalidInput
from services.ports import Document, Page, Query, Scalar, Where
from services.store import cursors
from services.store.containers import DESCENDING, Container
from services.store.rules import MAXIMUM_DOCUMENT_BYTES, byte_length, check_key, is_field, is_number

MAXIMUM_LIMIT = 1000
MAXIMUM_CHOICES = 100


@dataclass(frozen=True, slots=True)
class Plan:
    """A query that has been checked. `keys` are the (field, descending) pairs of its complete order; a document is
    listed only if it has the fields in `present`; `after` has one value for each of `keys`."""

    container: Container
    query: Query
    keys: tuple[tuple[str, bool], ...]
    present: tuple[str, ...]
    after: tuple[cursors.SortValue, ...] | None
    fingerprint: str

    def moving(self) -> list[int]:
        """The places of the keys that no equality of the query fixes, or of the last key if all are fixed."""
        fixed = {where.field for where in self.query.where if where.op == "eq"}
        if self.query.partition is not None:
            fixed.add(self.container.partition_key)
        return [n for n, (field, _) in enumerate(self.keys) if field not in fixed] or [len(self.keys) - 1]

    def page(self, documents: list[Document]) -> Page:
        """The page of `documents`, of which the store has read up to one more than the limit."""
        items = documents[: self.query.limit]
        if len(documents) <= self.query.limit:
            return Page(items)
        return Page(items, cursors.encode(self.fingerprint, [items[-1][field] for field, _ in self.keys]))


def plan(container: Container, query: Query) -> Plan:
    """Raises InvalidInput for a filter or order without an index, a limit out of range, or another query's cursor."""
    if isinstance(query.limit, bool) or not isinstance(query.limit, int) or not 1 <= query.limit <= MAXIMUM_LIMIT:
        raise InvalidInput("limit", f"must be 1 to {MAXIMUM_LIMIT}")
    if query.partition is not None:
        check_key(container.partition_key, query.partition)
    for where in query.where:
        _check_where(container, where)
    keys, present = _keys(container, query)
    fingerprint = cursors.fingerprint(
        [container.name, query.partition, [[w.field, w.op, _plain(w.value)] for w in query.where], query.order, keys]
    )
    after = None
    if query.after is not None:
        after = cursors.decode(fingerprint, query.after, [field in container.numbers for field, _ in keys])
    return Plan(container, query, keys, present, after, fingerprint)


def _keys(container: Container, query: Query) -> tuple[tuple[tuple[str, bool], ...], tuple[str, ...]]:
    if query.order is None:
        pairs = container.key_order() if query.partition is None else (("id", "ascending"),)
        present: tuple[str, ...] = ()
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
    if where.op == "missing":
        return
    if where.op == "in":
        choices = _plain(where.value)
        if not isinstance(choices, list) or not 1 <= len(choices) <= MAXIMUM_CHOICES:
            raise InvalidInput(where.field, f"must be compared with 1 to {MAXIMUM_CHOICES} values")
        for choice in choices:
            _check_scalar(where.field, choice)
    elif where.op in ("eq", "contains"):
        _check_scalar(where.field, where.value)
    elif where.op in ("lt", "le", "gt", "ge"):
        if not isinstance(where.value, str) and not is_number(where.value):
            raise InvalidInput(where.field, "must be compared with text or a finite number")
        _check_scalar(where.field, where.value)
    elif where.op == "text":
        if not isinstance(where.value, str) or not where.value:
            raise InvalidInput(where.field, "must be searched for text that is not empty")
        _check_scalar(where.field, where.value)
    else:
        raise InvalidInput("op", "must be eq, lt, le, gt, ge, in, contains, missing or text")


def _check_scalar(field: str, value: object) -> None:
    if isinstance(value, str) and byte_length(value) < MAXIMUM_DOCUMENT_BYTES:
        return
    if not isinstance(value, bool) and not is_number(value):
        raise InvalidInput(field, "must be compared with text, a finite number, true or false")
