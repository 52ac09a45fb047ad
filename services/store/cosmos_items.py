"""How documents and queries of the port become items and SQL of Azure Cosmos DB, and items become documents. Pure.

In SQL, values are always parameters. A sort names every field of its composite index, also those that an equality
fixes: Cosmos matches the index by that list.
"""
# ruff: noqa: S608 - names come from containers.py or have passed rules.py and plans.py; values are always parameters

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from services.ports import Document, Where
from services.store import rules
from services.store.containers import Container
from services.store.plans import COMPARISONS, Bound, Plan

Item = Mapping[str, Any]
"""A document with `ttl` for Cosmos's own purge, and with the fields that Cosmos adds."""

Sql = tuple[str, list[dict[str, Any]]]

LONGEST_TTL = 2**31 - 1

_OWN_FIELDS = frozenset({"_rid", "_self", "_attachments", "ttl"})
_TTL = 'c["ttl_timestamp"]'


def item(prepared: rules.Prepared, now: int) -> Document:
    """The item to write."""
    # Cosmos counts a lifetime from the last write.
    ttl = {} if prepared.expires is None else {"ttl": min(max(1, prepared.expires - now), LONGEST_TTL)}
    return {**prepared.body, **ttl}


def expired(stored: Item, now: int) -> bool:
    expires = stored.get("ttl_timestamp")
    return expires is not None and expires <= now


def document(stored: Item) -> Document:
    read = {field: value for field, value in stored.items() if field not in _OWN_FIELDS}
    read["_etag"] = etag(stored)
    return read


def etag(stored: Item) -> str:
    """The port's ETag: the version's expiry and Cosmos's own ETag. From the expiry a replace knows, without a read,
    that the version has expired."""
    expires = stored.get("ttl_timestamp")
    return f"{'' if expires is None else expires}|{stored['_etag']}"


def etag_to_match(etag: str, now: int) -> str | None:
    """Cosmos's own ETag; None if the version has expired, or the text is not an ETag of this store."""
    deadline, _, stored = etag.partition("|")
    if not stored or not stored.isascii() or not stored.isprintable():
        return None
    if deadline and not (deadline.isdecimal() and int(deadline) > now):
        return None
    return stored


def select(plan: Plan, now: int) -> Sql:
    """The query of one page and one more document, which shows whether another page follows."""
    bound = Bound("@")
    conditions = _conditions(plan, now, bound)
    for field in plan.present:
        conditions.append(f"{'IS_NUMBER' if field in plan.container.numbers else 'IS_STRING'}({_path(field)})")
    if plan.after is not None:
        conditions.append(plan.behind_cursor(_path, bound))
    order = ", ".join(f"{_path(field)} {'DESC' if down else 'ASC'}" for field, down in plan.keys)
    return _sql(f"SELECT TOP {plan.query.limit + 1} * FROM c WHERE {' AND '.join(conditions)} ORDER BY {order}", bound)


def count(plan: Plan, now: int) -> Sql:
    bound = Bound("@")
    return _sql(f"SELECT VALUE COUNT(1) FROM c WHERE {' AND '.join(_conditions(plan, now, bound))}", bound)


def versions(container: Container, partition: str, names: Sequence[str]) -> Sql:
    """The versions of some documents of a partition, expired or not."""
    bound = Bound("@")
    fields = ", ".join(map(_path, ("id", "_etag", "ttl_timestamp")))
    of_partition = f"{_path(container.partition_key)} = {bound.add(partition)}"
    return _sql(f"SELECT {fields} FROM c WHERE {of_partition} AND {_in('id', names, bound)}", bound)


def _sql(text: str, bound: Bound) -> Sql:
    return text, [{"name": f"@{name}", "value": value} for name, value in bound.values.items()]


def _path(field: str) -> str:
    return f'c["{field}"]'


def _conditions(plan: Plan, now: int, bound: Bound) -> list[str]:
    conditions = []
    if plan.query.partition is not None:
        conditions.append(f"{_path(plan.container.partition_key)} = {bound.add(plan.query.partition)}")
    conditions += [_condition(where, bound) for where in plan.query.where]
    if not plan.container.lasting:
        conditions.append(f"(NOT IS_DEFINED({_TTL}) OR IS_NULL({_TTL}) OR {_TTL} > {bound.add(now)})")
    return conditions or ["true"]


def _condition(where: Where, bound: Bound) -> str:
    path = _path(where.field)
    if where.op == "missing":
        return f"(NOT IS_DEFINED({path}) OR IS_NULL({path}))"
    if where.op == "in":
        assert isinstance(where.value, Sequence)
        return _in(where.field, where.value, bound)
    value = bound.add(where.value)
    if where.op == "contains":
        return f"ARRAY_CONTAINS({path}, {value})"
    return f"{path} {COMPARISONS[where.op]} {value}"


def _in(field: str, values: Sequence[Any], bound: Bound) -> str:
    return f"{_path(field)} IN ({', '.join(bound.add(value) for value in values)})"
