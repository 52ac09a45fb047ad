"""How a plan becomes Cosmos DB's SQL. Pure text; services/store/cosmos.py sends it.

Values are always parameters. A sort names every field of its composite index, also those that an equality fixes:
Cosmos matches the index by that list.
"""
# ruff: noqa: S608 - names come from containers.py or have passed rules.py; values are always parameters

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from services.ports import Where
from services.store.containers import Container
from services.store.plans import Plan

_TTL = 'c["ttl_timestamp"]'
ALIVE = f"(NOT IS_DEFINED({_TTL}) OR IS_NULL({_TTL}) OR {_TTL} > @now)"

_SIGNS = {"eq": "=", "lt": "<", "le": "<=", "gt": ">", "ge": ">="}


class Parameters:
    """Values on their way into a statement, each under a name of its own."""

    def __init__(self, **named: Any) -> None:
        self.sent = [{"name": f"@{name}", "value": value} for name, value in named.items()]

    def add(self, value: Any) -> str:
        name = f"@p{len(self.sent)}"
        self.sent.append({"name": name, "value": value})
        return name


def alive(now: int) -> str:
    """The condition of a patch, which takes no parameters."""
    return f"FROM c\nWHERE {ALIVE.replace('@now', str(now))}"


def select(plan: Plan, now: int) -> tuple[str, list[dict[str, Any]]]:
    """One page and one document more."""
    query, parameters = plan.query, Parameters(now=now)
    conditions = _conditions(plan.container, query.where, query.partition, parameters)
    for field in plan.present:
        kind = "IS_NUMBER" if field in plan.container.numbers else "IS_STRING"
        conditions.append(f"{kind}({_path(field)})")
    if plan.after is not None:
        conditions.append(_beyond(plan, plan.after, parameters))
    order = ", ".join(f"{_path(field)} {'DESC' if down else 'ASC'}" for field, down in plan.keys)
    text = f"SELECT TOP {query.limit + 1} * FROM c WHERE {' AND '.join(conditions)} ORDER BY {order}"
    return text, parameters.sent


def count(
    container: Container, where: Sequence[Where], partition: str | None, now: int
) -> tuple[str, list[dict[str, Any]]]:
    parameters = Parameters(now=now)
    conditions = _conditions(container, where, partition, parameters)
    return f"SELECT VALUE COUNT(1) FROM c WHERE {' AND '.join(conditions)}", parameters.sent


def versions(container: Container, partition: str, names: Sequence[str]) -> tuple[str, list[dict[str, Any]]]:
    """The versions of some documents of a partition, expired or not."""
    parameters = Parameters(partition=partition)
    fields = ", ".join(map(_path, ("id", "_etag", "_write", "ttl_timestamp")))
    chosen = ", ".join(parameters.add(name) for name in names)
    return (
        f"SELECT {fields} FROM c WHERE {_path(container.partition_key)} = @partition AND {_path('id')} IN ({chosen})"
    ), parameters.sent


def _conditions(
    container: Container, where: Sequence[Where], partition: str | None, parameters: Parameters
) -> list[str]:
    conditions = [] if partition is None else [f"{_path(container.partition_key)} = {parameters.add(partition)}"]
    return [*conditions, *(_condition(each, parameters) for each in where), ALIVE]


def _path(field: str) -> str:
    return f'c["{field}"]'


def _condition(where: Where, parameters: Parameters) -> str:
    path = _path(where.field)
    if where.op == "missing":
        return f"(NOT IS_DEFINED({path}) OR IS_NULL({path}))"
    if where.op == "in":
        assert isinstance(where.value, Sequence)
        return f"{path} IN ({', '.join(parameters.add(value) for value in where.value)})"
    value = parameters.add(where.value)
    if where.op == "contains":
        return f"ARRAY_CONTAINS({path}, {value})"
    if where.op == "text":
        return f"CONTAINS(LOWER({path}), LOWER({value}))"
    return f"{path} {_SIGNS[where.op]} {value}"


def _beyond(plan: Plan, after: Sequence[Any], parameters: Parameters) -> str:
    """What sorts behind the cursor. The first field bounds the scan."""
    moving = [(plan.keys[n], parameters.add(after[n])) for n in plan.moving()]
    steps = []
    for n, ((field, down), value) in enumerate(moving):
        equal = [f"{_path(before)} = {held}" for (before, _), held in moving[:n]]
        steps.append("(" + " AND ".join([*equal, f"{_path(field)} {'<' if down else '>'} {value}"]) + ")")
    (first, down), value = moving[0]
    return f"{_path(first)} {'<=' if down else '>='} {value} AND ({' OR '.join(steps)})"
