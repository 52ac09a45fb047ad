"""How a plan becomes a SELECT of the embedded store. Pure text.

Values are always bound. A comparison is written so that the index of an order serves it as a range of that index.
"""
# ruff: noqa: S608 - names come from containers.py or have passed plans.py; values are always bound

from __future__ import annotations

from collections.abc import Iterator, Sequence

from services.ports import Scalar, Where
from services.store.containers import Container
from services.store.plans import Plan
from services.store.sqlite_sql import ALIVE, Parameter, column


def select(plan: Plan, now: int) -> tuple[str, list[Parameter]]:
    """The statement of one page, and of one document more, which tells whether a page follows."""
    container, query = plan.container, plan.query
    bounded = _bounded_by_cursor(plan)
    conditions, parameters = _conditions(container, query.where, query.partition, now, bounded)
    conditions += [f"{column(container, field)} IS NOT NULL" for field in plan.present]
    if plan.after is not None:
        condition, values = _beyond(plan, plan.after)
        conditions.append(condition)
        parameters += values
    moving = [plan.keys[n] for n in plan.moving()]
    order = ", ".join(f"{column(container, field)} {'DESC' if down else 'ASC'}" for field, down in moving)
    text = (
        f"SELECT body, etag, ts FROM {container.name} WHERE {' AND '.join(conditions)}"
        f" ORDER BY {order} LIMIT {query.limit + 1}"
    )
    return text, parameters


def count(container: Container, where: Sequence[Where], partition: str | None, now: int) -> tuple[str, list[Parameter]]:
    conditions, parameters = _conditions(container, where, partition, now)
    return f"SELECT count(*) FROM {container.name} WHERE {' AND '.join(conditions)}", parameters


def _bounded_by_cursor(plan: Plan) -> tuple[Where, ...]:
    """The conditions that bound the scan at the same end as the cursor. An index takes one bound, which must be the
    cursor's, or reading all pages would take time by the square of their number."""
    if plan.after is None:
        return ()
    first, down = plan.keys[plan.moving()[0]]
    return tuple(
        each for each in plan.query.where if each.field == first and each.op in (("lt", "le") if down else ("gt", "ge"))
    )


def _conditions(
    container: Container,
    where: Sequence[Where],
    partition: str | None,
    now: int,
    unserved: tuple[Where, ...] = (),
) -> tuple[list[str], list[Parameter]]:
    conditions = [ALIVE]
    found: list[Parameter] = [now]
    if partition is not None:
        conditions.append("pk = ?")
        found.append(partition)
    for each in where:
        condition, values = _condition(container, each)
        if each in unserved:
            condition = condition.replace("(", "(+", 1)  # no longer the expression of an index
        conditions.append(condition)
        found += values
    return conditions, found


def _beyond(plan: Plan, after: Sequence[Parameter]) -> tuple[str, list[Parameter]]:
    """The condition of sorting behind the cursor. No index of expressions serves row values; those of columns do."""
    moving = plan.moving()
    columns = [column(plan.container, plan.keys[n][0]) for n in moving]
    downs = [plan.keys[n][1] for n in moving]
    values = [after[n] for n in moving]
    if len(set(downs)) == 1 and _PLAIN.issuperset(columns):
        return f"({', '.join(columns)}) {'<' if downs[0] else '>'} ({', '.join('?' for _ in columns)})", values
    # The first column bounds the scan; the rest says what row values would say.
    parameters, steps = values[:1], []
    for n, down in enumerate(downs):
        equal = [f"{column} = ?" for column in columns[:n]]
        steps.append("(" + " AND ".join([*equal, f"{columns[n]} {'<' if down else '>'} ?"]) + ")")
        parameters += values[: n + 1]
    return f"{columns[0]} {'<=' if downs[0] else '>='} ? AND ({' OR '.join(steps)})", parameters


_PLAIN = frozenset({"pk", "id", "ts"})
_SIGNS = {"eq": "=", "lt": "<", "le": "<=", "gt": ">", "ge": ">="}


def _condition(container: Container, where: Where) -> tuple[str, list[Parameter]]:
    compared = column(container, where.field)
    value = where.value
    if where.op == "missing":
        return f"{compared} IS NULL", []
    if where.op == "text":
        assert isinstance(value, str)
        typed = _of_type(container, where.field, value)
        return f"(instr(lower({compared}), lower(?)) > 0{typed})", [value]
    if where.op == "contains":
        assert isinstance(value, str | int | float)
        return _contains(where.field, value)
    if where.op == "in":
        assert isinstance(value, Sequence)
        found = [_comparison(container, where.field, "=", each) for each in value]
        return f"({' OR '.join(text for text, _ in found)})", [each for _, values in found for each in values]
    assert isinstance(value, str | int | float)
    return _comparison(container, where.field, _SIGNS[where.op], value)


def _comparison(container: Container, field: str, sign: str, value: Scalar) -> tuple[str, list[Parameter]]:
    compared = column(container, field)
    typed = _of_type(container, field, value)
    if isinstance(value, bool):
        return (f"({compared} = ?{typed})", [int(value)])
    return f"({compared} {sign} ?{typed})", [value]


def _of_type(container: Container, field: str, value: Scalar) -> str:
    """SQLite reads true as 1 and an array as its text: the JSON type decides as well.

    It is a condition besides the comparison, not part of it, so that an index still serves the comparison.
    """
    if field in ("id", container.partition_key, "_ts"):
        kind = "'integer'" if field == "_ts" else "'text'"
        return f" AND {kind} IN ({', '.join(_types(value))})"
    return f" AND json_type(body, '$.{field}') IN ({', '.join(_types(value))})"


def _types(value: Scalar) -> Iterator[str]:
    if isinstance(value, bool):
        yield "'true'" if value else "'false'"
    elif isinstance(value, str):
        yield "'text'"
    else:
        yield from ("'integer'", "'real'")


def _contains(field: str, value: Scalar) -> tuple[str, list[Parameter]]:
    stored: Parameter = int(value) if isinstance(value, bool) else value
    return (
        f"(json_type(body, '$.{field}') = 'array' AND EXISTS (SELECT 1 FROM json_each(body, '$.{field}') AS item"
        f" WHERE item.value = ? AND item.type IN ({', '.join(_types(value))})))"
    ), [stored]
